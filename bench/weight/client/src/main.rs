//! The least client that reads an item on `cosmonaut`: what `cosmonaut-bench weight` builds and weighs.
//!
//! `weight-client ENDPOINT KEY DATABASE CONTAINER ID PARTITION-KEY`

use cosmonaut::{CosmosClient, Credential};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, key, database, container, id, partition_key] = arguments.as_slice() else {
        return Err("usage: weight-client ENDPOINT KEY DATABASE CONTAINER ID PARTITION-KEY".into());
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let client = CosmosClient::new(endpoint, Credential::master_key(key)?)?;
        let container = client.database(database).container(container);
        let read = container.read_item::<serde_json::Value>(partition_key.as_str(), id).await?;
        println!("{}", read.value());
        Ok(())
    })
}
