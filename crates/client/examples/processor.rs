//! A change-feed processor: two instances share the changes of a container, one of them goes, and the other has all.
//!
//! `cargo run -p cosmonaut --example processor`

mod support;

use std::error::Error;
use std::time::Duration;

use cosmonaut::{
    ChangeFeedProcessor, ChangeFeedStart, Changes, ContainerClient, ContainerProperties, CosmosClient,
};
use serde::{Deserialize, Serialize};
use support::Account;
use tokio::sync::mpsc;

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    id: String,
    customer: String,
    total: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("processor").await?;
    let database = client.database("processor");
    database.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    database.create_container_if_not_exists(ContainerProperties::new("leases", "/id")).await?;
    let (orders, leases) = (database.container("orders"), database.container("leases"));

    // Usually each of them runs in a process of its own.
    let (handled, mut bills) = mpsc::unbounded_channel();
    let first = bill(&orders, &leases, "first", handled.clone()).await?;
    let second = bill(&orders, &leases, "second", handled).await?;
    for number in 0..20 {
        let order = Order { id: number.to_string(), customer: format!("customer {number}"), total: 12.5 };
        orders.create_item(&*order.customer, &order).await?;
    }
    for _ in 0..20 {
        let (instance, order) = bills.recv().await.ok_or("the processors have ended")?;
        println!("{instance} bills {order}");
    }
    println!("{} changes behind", first.estimator().lag().await?.total());

    // What is being handled is handled to its end, and the leases are free at once.
    first.stop().await;
    let late = Order { id: "late".into(), customer: "customer 1".into(), total: 3.0 };
    orders.create_item(&*late.customer, &late).await?;
    let (instance, order) = bills.recv().await.ok_or("the processor has ended")?;
    assert_eq!((instance, &*order), ("second", "late"));
    second.stop().await;
    database.delete().await?;
    Ok(())
}

async fn bill(
    orders: &ContainerClient,
    leases: &ContainerClient,
    instance: &'static str,
    handled: mpsc::UnboundedSender<(&'static str, String)>,
) -> Result<ChangeFeedProcessor, cosmonaut::Error> {
    orders
        .change_feed_processor("billing", leases)
        .instance_name(instance)
        .start_from(ChangeFeedStart::Beginning)
        // Short, so that the example is.
        .acquire_interval(Duration::from_millis(200))
        .poll_interval(Duration::from_millis(100))
        .on_event(move |event| println!("{instance}: {event:?}"))
        .start(move |changes: Changes<Order>| {
            let handled = handled.clone();
            async move {
                for order in changes.items {
                    handled.send((instance, order.id))?;
                }
                Ok(())
            }
        })
        .await
}
