//! A region dies: reads go on from another one, without a line of code for it.
//!
//! The outage is made below the client's own connections, so this can be watched on any account with two regions or
//! more. `cargo run -p cosmonaut --example failover`

mod support;

use std::error::Error;

use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut::{ContainerProperties, CosmosClient, CosmosDriverRuntime};
use serde_json::{Value, json};
use support::Account;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    let faults = FaultInjector::new();
    run(&account.client(CosmosDriverRuntime::builder().fault_injection(faults.clone()))?, &faults).await
}

pub(crate) async fn run(client: &CosmosClient, faults: &FaultInjector) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("failover").await?;
    let database = client.database("failover");
    database.create_container_if_not_exists(ContainerProperties::new("items", "/pk")).await?;
    let items = database.container("items");
    items.upsert_item("a", json!({"id": "1", "pk": "a"})).await?;

    let regions = client.account().await?.readable_locations.len();
    let home = items.read_item::<Value>("a", "1").await?.region().cloned();
    let home = home.ok_or("the account does not name its regions")?;
    println!("{regions} regions; {home} answers");
    if regions == 1 {
        return Err("there is nowhere to fail over to: use an account with two regions".into());
    }

    let condition = FaultInjectionCondition { region: Some(home.clone()), ..Default::default() };
    faults.set(FaultInjectionRule::new("outage", FaultInjectionResult::ConnectionRefused).when(condition));
    println!("{home} is down");
    for _ in 0..5 {
        let read = items.read_item::<Value>("a", "1").await?;
        println!("{:?} answers: {}", read.region(), read.diagnostics());
        if read.region() == Some(&home) {
            return Err("a region that is down has answered".into());
        }
    }

    faults.clear();
    println!("{home} is back, and is used again once it has proved itself");
    items.read_item::<Value>("a", "1").await?;
    database.delete().await?;
    Ok(())
}
