//! Queries: over one customer and over everybody, page by page, and put together from all partitions.
//!
//! `cargo run -p cosmonaut --example queries`

mod support;

use std::collections::BTreeMap;
use std::error::Error;

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerProperties, CosmosClient, FeedScope, Query};
use serde::{Deserialize, Serialize};
use support::Account;

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    id: String,
    customer: String,
    total: f64,
}

#[derive(Debug, Deserialize)]
struct Turnover {
    customer: String,
    orders: u32,
    total: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("queries").await?;
    let database = client.database("queries");
    database.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    let orders = database.container("orders");
    for number in 0..20 {
        let customer = format!("customer {}", number % 3);
        let order = Order { id: number.to_string(), total: f64::from(number) * 2.5, customer };
        orders.create_item(&*order.customer, &order).await?;
    }

    // One customer's orders, as a stream.
    let large = Query::new("SELECT * FROM c WHERE c.total > @min ORDER BY c.total DESC").with("@min", 20);
    let mut found = orders.query_items::<Order>(large, "customer 1");
    while let Some(order) = found.next().await {
        let Order { id, total, .. } = order?;
        println!("order {id} for {total}");
    }

    // Everybody's, in pages; each knows where the next one begins, in this process or in another.
    let dearest = "SELECT VALUE c.id FROM c ORDER BY c.total DESC";
    let mut continuation = None;
    let mut ids: Vec<String> = Vec::new();
    loop {
        let options = FeedOptions { max_item_count: Some(8), continuation, ..Default::default() };
        let mut pages = orders.query_items(dearest, FeedScope::Container).options(options).into_pages();
        let Some(page) = pages.next().await.transpose()? else { break };
        println!("{} orders for {:.2} RU", page.items.len(), page.request_charge);
        ids.extend(page.items);
        continuation = page.continuation;
        if continuation.is_none() {
            break;
        }
    }
    assert_eq!(ids, (0..20).rev().map(|number| number.to_string()).collect::<Vec<_>>());

    // Grouped over all partitions.
    let text = "SELECT c.customer, COUNT(1) AS orders, SUM(c.total) AS total FROM c GROUP BY c.customer";
    let turnover = orders.query_items::<Turnover>(text, FeedScope::Container).collect().await?;
    let by_customer: BTreeMap<_, _> =
        turnover.into_iter().map(|row| (row.customer, (row.orders, row.total))).collect();
    println!("{by_customer:?}");
    assert_eq!(by_customer["customer 0"], (7, 157.5));
    database.delete().await?;
    Ok(())
}
