//! The least client that reads an item: what `cosmonaut-bench weight` builds and weighs.
//!
//! `weight-cosmonaut ENDPOINT KEY ITEM PARTITION-KEY`, the item as in `/dbs/d/colls/c/docs/1`.

use cosmonaut_driver::{CosmosDriverRuntime, CosmosOperation, Credential, OperationOptions, OperationType};
use cosmonaut_wire::{PartitionKey, ResourcePath};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, key, item, partition_key] = arguments.as_slice() else {
        return Err("usage: weight-cosmonaut ENDPOINT KEY ITEM PARTITION-KEY".into());
    };
    let read = CosmosOperation::new(OperationType::Read, ResourcePath::parse(item)?)
        .with_target(PartitionKey::from(partition_key.as_str()));
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let runtime = CosmosDriverRuntime::builder().build()?;
        let driver = runtime.create_driver(endpoint, Credential::master_key(key)?, Default::default())?;
        let response = driver.execute_operation(&read, &OperationOptions::default()).await?;
        println!("{}", String::from_utf8_lossy(response.body()));
        Ok(())
    })
}
