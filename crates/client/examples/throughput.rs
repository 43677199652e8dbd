//! Throughput: read it, change it, and keep an import from using all of it.
//!
//! `cargo run -p cosmonaut --example throughput`

mod support;

use std::error::Error;

use cosmonaut::{
    ContainerProperties, CosmosClient, PriorityLevel, ThroughputControlGroup, ThroughputProperties,
};
use serde::Serialize;
use support::Account;

#[derive(Serialize)]
struct Reading {
    id: String,
    sensor: String,
    celsius: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("throughput").await?;
    let database = client.database("throughput");
    let properties = ContainerProperties::new("readings", "/sensor");
    database.create_container_if_not_exists(properties).throughput(ThroughputProperties::manual(400)).await?;
    let readings = database.container("readings");
    println!("now: {:?}", readings.read_throughput().await?.value());

    // The service may take minutes for it; this returns when it has done it.
    let changed =
        readings.begin_replace_throughput(ThroughputProperties::autoscale(4000, None)).wait().await?;
    println!("then: {changed:?}");

    // An import that leaves half to everybody else, and that the service throttles first.
    let import = ThroughputControlGroup::share("import", 0.5).priority(PriorityLevel::Low);
    let import = readings.with_throughput_control(&import);
    for number in 0..20 {
        let sensor = format!("sensor {}", number % 3);
        let reading = Reading { id: number.to_string(), celsius: 20.0 + f64::from(number) / 10.0, sensor };
        import.upsert_item(&*reading.sensor, &reading).await?;
    }

    // What one sensor has measured is not wanted any more. Not every account can do this.
    match readings.delete_all_items_by_partition_key("sensor 2").await {
        Ok(_) => println!("deleted what sensor 2 has measured"),
        Err(error) => println!("this account deletes item by item: {error}"),
    }
    database.delete().await?;
    Ok(())
}
