//! The change feed: what was written, then what is written since, shared out between two readers, then what comes.
//!
//! `cargo run -p cosmonaut --example change_feed`

mod support;

use std::error::Error;
use std::time::Duration;

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
    while let Some(reading) = changes.next().await {
        reading?;
        seen += 1;
    }
    assert_eq!(seen, 10);
    let token = changes.continuation().ok_or("a change feed can always go on")?.to_owned();

    // What comes later is for two readers, each with one half of the keys.
    measure(&readings, 2.0).await?;
    let (low, high) = FeedRange::full().split().ok_or("the whole can always be halved")?;
    let half = |range: FeedRange| {
        let changes = readings.change_feed::<Reading>(ChangeFeedStart::Beginning, range);
        changes.continue_from(token.clone()).collect()
    };
    let (low, high) = tokio::join!(half(low), half(high));
    assert_eq!(low?.len() + high?.len(), 10);

    // Whoever follows the feed is not told that it ends.
    let changes = readings.change_feed::<Reading>(ChangeFeedStart::Beginning, "sensor 7");
    let mut changes =
        changes.continue_from(first_page(&readings).await?).poll_interval(Duration::from_millis(100));
    let (written, change) = tokio::join!(measure(&readings, 3.0), changes.next());
    written?;
    if let Some(Reading { sensor, value, .. }) = change.transpose()? {
        println!("{sensor} now reads {value}");
    }
    database.delete().await?;
    Ok(())
}

/// The token behind the first page of one sensor.
async fn first_page(readings: &ContainerClient) -> Result<String, Box<dyn Error>> {
    let mut pages = readings.change_feed::<Reading>(ChangeFeedStart::Beginning, "sensor 7").into_pages();
    let page = pages.next().await.ok_or("there is always a first page")??;
    Ok(page.continuation.ok_or("a change feed can always go on")?)
}

async fn measure(readings: &ContainerClient, value: f64) -> Result<(), Box<dyn Error>> {
    for number in 0..10 {
        let reading = Reading { id: "latest".into(), sensor: format!("sensor {number}"), value };
        readings.upsert_item(&*reading.sensor, &reading).await?;
    }
    Ok(())
}
