//! The least client that reads an item on `azure_data_cosmos`: the peer of `weight-cosmonaut`.
//!
//! `weight-azure ENDPOINT KEY DATABASE CONTAINER ID PARTITION-KEY`

use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, RoutingStrategy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, key, database, container, id, partition_key] = arguments.as_slice() else {
        return Err("usage: weight-azure ENDPOINT KEY DATABASE CONTAINER ID PARTITION-KEY".into());
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let endpoint: AccountEndpoint = endpoint.parse()?;
        let account = AccountReference::with_authentication_key(endpoint, key.clone());
        let near = RoutingStrategy::ProximityTo("East US".into());
        let client = CosmosClient::builder().build(account, near).await?;
        let container = client.database_client(database).container_client(container, None).await?;
        let response = container.read_item(partition_key.clone(), id, None).await?;
        println!("{}", response.into_model::<serde_json::Value>()?);
        Ok(())
    })
}
