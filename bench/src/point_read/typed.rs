//! A point read through the typed client, the item taken as bytes: what the client costs beyond the driver.

use cosmonaut::{ContainerClient, CosmosClient, Credential, RawItem};
use cosmonaut_wire::EMULATOR_KEY;

use super::{Client, Reader, check};
use crate::Result;

pub const NAME: &str = "cosmonaut";

#[derive(Clone)]
pub struct Typed(ContainerClient);

impl Typed {
    pub async fn connect(address: &str) -> Result<Self> {
        let key = Credential::master_key(EMULATOR_KEY)?;
        let client = CosmosClient::new(&format!("http://{address}"), key)?;
        client.connect().await?;
        Ok(Self(client.database("bench").container("bench")))
    }
}

impl Client for Typed {
    fn reader(&self, _: usize) -> impl Reader + 'static {
        self.clone()
    }
}

impl Reader for Typed {
    async fn read(&mut self, id: &str) -> Result<()> {
        let read = self.0.read_item::<RawItem>(id, id).await?;
        check(read.status().code().as_u16(), read.value().as_bytes())
    }
}
