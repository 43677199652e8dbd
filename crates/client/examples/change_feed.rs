//! The change feed: what was written, then what is written since, shared out between two readers.
//!
//! `cargo run -p cosmonaut --example change_feed`

mod support;

use std::error::Error;

use cosmonaut::{ChangeFeedStart, ContainerClient, ContainerProperties, CosmosClient, FeedRange, FeedScope};
use serde::{Deserialize, Serialize};
use support::Account;

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    id: String,
    sensor: String,
    value: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let account = Account::open().await?;
    run(&account.client(Default::default())?).await
}

pub(crate) async fn run(client: &CosmosClient) -> Result<(), Box<dyn Error>> {
    client.create_database_if_not_exists("change-feed").await?;
    let database = client.database("change-feed");
    database.create_container_if_not_exists(ContainerProperties::new("readings", "/sensor")).await?;
    let readings = database.container("readings");
    measure(&readings, 1.0).await?;

    // From the beginning until nothing is new; the token is what a reader keeps.
    let mut changes = readings.change_feed::<Reading>(ChangeFeedStart::Beginning, FeedScope::Container);
    let mut seen = 0;
    let token = loop {
        let page = changes.next_page().await?;
        if page.items.is_empty() {
            break page.continuation;
        }
        seen += page.items.len();
    };
    assert_eq!(seen, 10);

    // What comes later is for two readers, each with one half of the keys.
    measure(&readings, 2.0).await?;
    let (low, high) = FeedRange::full().split().ok_or("the whole can always be halved")?;
    let mut later = 0;
    for half in [low, high] {
        let mut changes = readings.change_feed::<Reading>(ChangeFeedStart::Token(token.clone()), half);
        loop {
            let page = changes.next_page().await?;
            if page.items.is_empty() {
                break;
            }
            for Reading { sensor, value, .. } in page.items {
                println!("{sensor} now reads {value}");
                later += 1;
            }
        }
    }
    assert_eq!(later, 10);
    database.delete().await?;
    Ok(())
}

async fn measure(readings: &ContainerClient, value: f64) -> Result<(), Box<dyn Error>> {
    for number in 0..10 {
        let reading = Reading { id: "latest".into(), sensor: format!("sensor {number}"), value };
        readings.upsert_item(&*reading.sensor, &reading).await?;
    }
    Ok(())
}
