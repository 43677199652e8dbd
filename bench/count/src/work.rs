//! The loads that are counted: point reads through the driver and the client, and writes by partitions.

use std::sync::Arc;

use cosmonaut::{CosmosClient, RawItem};
use cosmonaut_driver::{CosmosDriverRuntime, CosmosOperation, Credential, OperationOptions, OperationType};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, ResourcePath};

use crate::Result;
use crate::gateway::{Gateway, Network};

const ENDPOINT: &str = "http://account.test";
const MANY: u64 = 10_000;
const WRITERS: u64 = 64;

/// What is counted.
pub enum Load {
    ReadByDriver,
    ReadByClient,
    Write { name: &'static str, partitions: u64, writers: u64 },
}

impl Load {
    /// Each after the one that it is compared with.
    pub const ALL: [Self; 6] = [
        Self::ReadByDriver,
        Self::ReadByClient,
        Self::Write { name: "write-1-by-1", partitions: 1, writers: 1 },
        Self::Write { name: "write-10000-by-1", partitions: MANY, writers: 1 },
        Self::Write { name: "write-1-by-64", partitions: 1, writers: WRITERS },
        Self::Write { name: "write-10000-by-64", partitions: MANY, writers: WRITERS },
    ];

    pub fn name(&self) -> &'static str {
        match self {
            Self::ReadByDriver => "read-driver",
            Self::ReadByClient => "read-client",
            Self::Write { name, .. } => name,
        }
    }

    /// Whether the loads after it are compared with it.
    pub fn is_base(&self) -> bool {
        matches!(self, Self::ReadByDriver | Self::Write { partitions: 1, .. })
    }

    pub async fn run(&self, operations: u64) -> Result<()> {
        match self {
            Self::ReadByDriver => read_by_driver(operations).await,
            Self::ReadByClient => read_by_client(operations).await,
            Self::Write { partitions, writers, .. } => write(*partitions, *writers, operations).await,
        }
    }
}

fn runtime(partitions: u64, writers: u64) -> Result<CosmosDriverRuntime> {
    let network = Network(Arc::new(Gateway::new(partitions, writers)?));
    Ok(CosmosDriverRuntime::builder().http_client_factory(Arc::new(network)).build()?)
}

async fn read_by_driver(operations: u64) -> Result<()> {
    let key = Credential::master_key(EMULATOR_KEY)?;
    let driver = runtime(1, 1)?.create_driver(ENDPOINT, key, Default::default())?;
    let options = OperationOptions::default();
    for number in 0..operations {
        let id = id_of(number);
        let path = ResourcePath::parse(&format!("/dbs/bench/colls/bench/docs/{id}"))?;
        let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from(&*id));
        let response = driver.execute_operation(&read, &options).await?;
        if response.body().len() < 1000 {
            return Err(format!("a read was answered {}", response.status()).into());
        }
    }
    Ok(())
}

async fn read_by_client(operations: u64) -> Result<()> {
    let client =
        CosmosClient::builder().endpoint(ENDPOINT).key(EMULATOR_KEY).runtime(&runtime(1, 1)?).build()?;
    let container = client.database("bench").container("bench");
    for number in 0..operations {
        let id = id_of(number);
        let read = container.read_item::<RawItem>(&*id, &id).await?;
        if read.value().as_bytes().len() < 1000 {
            return Err(format!("a read was answered {}", read.status()).into());
        }
    }
    Ok(())
}

/// Of as many digits for every number, so that all operations are alike.
fn id_of(number: u64) -> String {
    (100_000 + number).to_string()
}

async fn write(partitions: u64, writers: u64, operations: u64) -> Result<()> {
    let key = Credential::master_key(EMULATOR_KEY)?;
    let driver = runtime(partitions, writers)?.create_driver(ENDPOINT, key, Default::default())?;
    let path = ResourcePath::parse("/dbs/bench/colls/bench/docs")?;
    // Before what is counted the session has seen nearly all partitions.
    for number in 0..3 * MANY + operations {
        let id = id_of(number);
        let body = format!(r#"{{"id":"{id}","pk":"{id}"}}"#);
        let create = CosmosOperation::new(OperationType::Create, path.clone())
            .with_target(PartitionKey::from(&*id))
            .with_body(body);
        let response = driver.execute_operation(&create, &OperationOptions::default()).await?;
        if response.status().code().as_u16() != 201 {
            return Err(format!("a write was answered {}", response.status()).into());
        }
    }
    Ok(())
}
