//! A point read through this driver, the operation built anew for each.

use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosDriverRuntimeBuilder, CosmosOperation, Credential,
    OperationOptions, OperationType,
};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, ResourcePath};

use super::{Client, Reader, check};
use crate::Result;

pub const NAME: &str = "cosmonaut-driver";

pub struct Cosmonaut(pub CosmosDriver);

pub struct CosmonautReader {
    driver: CosmosDriver,
    options: OperationOptions,
}

impl Cosmonaut {
    pub async fn connect(address: &str) -> Result<Self> {
        Ok(Self(connect_by(CosmosDriverRuntime::builder(), address).await?))
    }
}

/// A driver that knows the account.
pub async fn connect_by(runtime: CosmosDriverRuntimeBuilder, address: &str) -> Result<CosmosDriver> {
    let key = Credential::master_key(EMULATOR_KEY)?;
    let driver = runtime.build()?.create_driver(&format!("http://{address}"), key, Default::default())?;
    driver.initialize().await?;
    Ok(driver)
}

impl Client for Cosmonaut {
    fn reader(&self, _: usize) -> impl Reader + 'static {
        CosmonautReader { driver: self.0.clone(), options: OperationOptions::default() }
    }
}

impl Reader for CosmonautReader {
    async fn read(&mut self, id: &str) -> Result<()> {
        let path = ResourcePath::parse(&format!("/dbs/bench/colls/bench/docs/{id}"))?;
        let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from(id));
        let response = self.driver.execute_operation(&read, &self.options).await?;
        check(response.status().code().as_u16(), response.body())
    }
}
