//! First steps: a database, a container, and one item through its life.
//!
//! `cargo run -p cosmonaut --example first_steps`

mod support;

use std::error::Error;

use cosmonaut::{ContainerProperties, CosmosClient, Patch};
use serde::{Deserialize, Serialize};
use support::Account;

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    id: String,
    customer: String,
    total: f64,
    state: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("first-steps").await?;
    let database = client.database("first-steps");
    database.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    let orders = database.container("orders");

    let order = Order { id: "7".into(), customer: "contoso".into(), total: 12.5, state: "ready".into() };
    let made = orders.create_item("contoso", &order).await?;
    println!("created for {:.2} RU in {:?}", made.request_charge(), made.region());

    // Replaced only if nobody else has changed it since it was read.
    let read = orders.read_item::<Order>("contoso", "7").await?;
    let version = read.etag().ok_or("an item that was read has a version")?;
    let order = Order { total: 13.0, ..read.into_value() };
    orders.replace_item("contoso", "7", &order).if_match(version.clone()).await?;
    match orders.replace_item("contoso", "7", &order).if_match(version).await {
        Err(error) if error.is_precondition_failed() => println!("that version is gone: read it again"),
        other => return Err(format!("expected a failed precondition, got {other:?}").into()),
    }

    // Changed where it is stored, and only if it is still ready.
    let patch = Patch::new().set("/state", "sent").condition("FROM c WHERE c.state = 'ready'");
    let sent: Order = orders.patch_item("contoso", "7", patch).content_response(true).await?.json()?;
    println!("{sent:?}");

    orders.delete_item("contoso", "7").await?;
    match orders.read_item::<Order>("contoso", "7").await {
        Err(error) if error.is_not_found() => println!("deleted"),
        other => return Err(format!("expected nothing, got {other:?}").into()),
    }
    database.delete().await?;
    Ok(())
}
