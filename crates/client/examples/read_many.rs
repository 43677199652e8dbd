//! Many items that are known by name, read at once; and all of one partition key, deleted at once.
//!
//! `cargo run -p cosmonaut --example read_many`

mod support;

use std::error::Error;

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerProperties, CosmosClient, FeedScope};
use serde::{Deserialize, Serialize};
use support::Account;

#[derive(Debug, Serialize, Deserialize)]
struct Product {
    id: String,
    shop: String,
    price: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("read-many").await?;
    let database = client.database("read-many");
    database.create_container_if_not_exists(ContainerProperties::new("products", "/shop")).await?;
    let products = database.container("products");
    for number in 0..200 {
        let shop = format!("shop {}", number % 5);
        let product = Product { id: number.to_string(), price: f64::from(number), shop };
        products.upsert_item(&*product.shop, &product).await?;
    }

    // What lies in a basket: any keys, in any order. Each partition is asked once, and what is not there is no error.
    let basket = [("shop 3", "113"), ("shop 0", "5"), ("shop 1", "sold out"), ("shop 2", "197")];
    let options = FeedOptions::default().max_concurrency(4);
    let read = products.read_many::<Product>(basket).options(options).await?;
    for missing in read.missing() {
        println!("{:?} is not there", basket[missing]);
    }
    println!("{} requests, {:.2} RU", read.diagnostics().len(), read.request_charge());
    let total: f64 = read.into_found().iter().map(|product| product.price).sum();
    assert_eq!(total, 315.0);

    // A shop closes. Its items are gone for every reader at once; the service removes them in the background.
    match products.delete_all_items_by_partition_key("shop 3").await {
        Ok(_) => {
            let count = products.query_items::<u32>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
            assert_eq!(count.collect().await?, [160]);
        }
        // On Azure it is to be enabled for the account.
        Err(error) => println!("this account does not delete by partition key: {error}"),
    }
    database.delete().await?;
    Ok(())
}
