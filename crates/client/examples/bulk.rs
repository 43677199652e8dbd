//! Bulk: a price list is imported, changed and emptied, with a result for each item.
//!
//! `cargo run -p cosmonaut --example bulk`

mod support;

use std::error::Error;

use cosmonaut::{BulkOperation, ContainerProperties, CosmosClient, FeedScope, Patch};
use serde::Serialize;
use support::Account;

#[derive(Serialize)]
struct Product {
    id: String,
    category: String,
    price: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

fn product(number: u32) -> Product {
    let category = format!("category {}", number % 20);
    Product { id: number.to_string(), category, price: f64::from(number) / 10.0 }
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("shop").await?;
    let database = client.database("shop");
    database.create_container_if_not_exists(ContainerProperties::new("prices", "/category")).await?;
    let prices = database.container("prices");

    let import =
        (0..2000).map(product).map(|product| BulkOperation::upsert(product.category.clone(), product));
    let summary = prices.bulk().run_all(import)?.finish().await;
    println!("{} imported for {:.0} RU", summary.progress.succeeded, summary.progress.request_charge);

    // Each operation succeeds or fails by itself: three of these products are not there.
    let discount = (1990..2003).map(|number| {
        let product = product(number);
        BulkOperation::patch(product.category, product.id, Patch::new().set("/price", 0.5))
    });
    let mut results = prices.bulk().run_all(discount)?;
    let mut missing = 0;
    while let Some(result) = results.next().await {
        match result.outcome() {
            Ok(_) => {}
            Err(error) if error.is_not_found() => missing += 1,
            Err(error) => return Err(error.clone().into()),
        }
    }
    let cheap =
        prices.query_items::<u32>("SELECT VALUE COUNT(1) FROM c WHERE c.price = 0.5", FeedScope::Container);
    println!("{:?} at half a euro, {missing} not there", cheap.collect().await?);
    database.delete().await?;
    Ok(())
}
