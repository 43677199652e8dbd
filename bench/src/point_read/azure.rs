//! A point read through `azure_data_cosmos_driver`, the operation built anew for each. Built by the feature `peers`.

use super::{Client, Reader};
use crate::Result;

pub const NAME: &str = "azure_data_cosmos_driver 1.1.0-beta.1";

#[cfg(feature = "peers")]
pub use peer::Azure;

#[cfg(not(feature = "peers"))]
pub use absent::Azure;

#[cfg(feature = "peers")]
mod peer {
    use std::sync::Arc;

    use azure_data_cosmos_driver::models::{
        AccountReference, ContainerReference, CosmosOperation, ItemReference, PartitionKey,
    };
    use azure_data_cosmos_driver::options::{DriverOptions, OperationOptions};
    use azure_data_cosmos_driver::{CosmosDriver, CosmosDriverRuntime};
    use cosmonaut_wire::EMULATOR_KEY;
    use url::Url;

    use super::super::check;
    use super::{Client, Reader, Result};

    #[derive(Clone)]
    pub struct Azure {
        driver: Arc<CosmosDriver>,
        container: ContainerReference,
    }

    impl Azure {
        /// It accepts clear text, and HTTP/2 in it, from a server on this machine: it takes that for an emulator.
        pub async fn connect(address: &str) -> Result<Self> {
            let runtime = CosmosDriverRuntime::builder().build().await?;
            let account =
                AccountReference::with_account_key(Url::parse(&format!("http://{address}/"))?, EMULATOR_KEY);
            let driver = runtime.create_driver(DriverOptions::builder(account).build()).await?;
            let container = driver.resolve_container("bench", "bench", OperationOptions::default()).await?;
            Ok(Self { driver, container })
        }
    }

    impl Client for Azure {
        fn reader(&self, _: usize) -> impl Reader + 'static {
            self.clone()
        }
    }

    impl Reader for Azure {
        async fn read(&mut self, id: &str) -> Result<()> {
            let key = PartitionKey::from(id.to_owned());
            let read =
                CosmosOperation::read_item(ItemReference::from_name(&self.container, key, id.to_owned()));
            let response = self.driver.execute_operation(read, OperationOptions::default()).await?;
            let response = response.ok_or("a point read that answered nothing")?;
            let status = response.status().status_code().into();
            check(status, &response.into_body().single()?)
        }
    }
}

#[cfg(not(feature = "peers"))]
mod absent {
    use super::{Client, Reader, Result};

    /// Stands where the peer would, and says why it is not there.
    #[derive(Clone)]
    pub enum Azure {}

    impl Azure {
        pub async fn connect(_: &str) -> Result<Self> {
            Err("this benchmark was built without the feature `peers`".into())
        }
    }

    impl Client for Azure {
        fn reader(&self, _: usize) -> impl Reader + 'static {
            self.clone()
        }
    }

    impl Reader for Azure {
        async fn read(&mut self, _: &str) -> Result<()> {
            match *self {}
        }
    }
}
