//! Writes of several regions that contradict each other, decided by the application.
//!
//! `cargo run -p cosmonaut --example conflicts`

mod support;

use std::error::Error;

use cosmonaut::model::ConflictResolutionPolicy;
use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient};
use serde::{Deserialize, Serialize};
use support::Account;

#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    id: String,
    page: String,
    visits: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    let client = account.client(Default::default())?;
    // An account that writes in one region only has no conflicts to decide.
    let counters = container(&client).await?;
    println!("{} conflicts decided", decide(&counters).await?);
    Ok(())
}

/// A container that leaves conflicts to the application.
pub(crate) async fn container(client: &CosmosClient) -> Result<ContainerClient, Box<dyn Error>> {
    client.create_database_if_not_exists("conflicts").await?;
    let database = client.database("conflicts");
    let properties = ContainerProperties::new("counters", "/page")
        .with_conflict_resolution_policy(ConflictResolutionPolicy::custom(None));
    database.create_container_if_not_exists(properties).await?;
    Ok(database.container("counters"))
}

/// Adds the visits of each write that has lost to those of the write that has won; says how many there were.
pub(crate) async fn decide(counters: &ContainerClient) -> Result<usize, Box<dyn Error>> {
    let mut decided = 0;
    for conflict in counters.list_conflicts().collect().await? {
        if let Some(lost) = conflict.item::<Counter>()? {
            let kept = counters.read_item::<Counter>(&*lost.page, &lost.id).await?;
            let version = kept.etag().ok_or("an item has a version")?;
            let kept = kept.into_value();
            let merged = Counter { visits: kept.visits + lost.visits, ..kept };
            counters.replace_item(&*lost.page, &lost.id, &merged).if_match(version).await?;
            counters.delete_conflict(&*lost.page, conflict.id()).await?;
            decided += 1;
        }
    }
    Ok(decided)
}
