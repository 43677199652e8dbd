//! The account's own endpoint, and the log of its requests.

use std::sync::{Arc, Mutex};

use cosmonaut_emulator::{Emulator, Failover, Outage};
use serde_json::{Value, json};

use crate::socket::{Connection, EAST, KEY, WEST, authority, key, read, two_regions, within, write};

fn names(account: &Value, which: &str) -> Vec<String> {
    let locations = account[which].as_array().unwrap();
    locations
        .iter()
        .map(|location| location["databaseAccountEndpoint"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_account_is_described_whichever_region_is_down() {
    let emulator = two_regions(Emulator::builder().global_endpoint(true)).await;
    let regions = [EAST, WEST].map(|name| emulator.region_url(name).unwrap());
    assert!(!regions.contains(&emulator.url().to_owned()));
    for outage in [Outage::Refuse, Outage::Hang, Outage::Unavailable] {
        for region in [EAST, WEST] {
            emulator.control().take_down(region, outage).await.unwrap();
            let mut connection = Connection::open(emulator.url()).await.unwrap();
            let account = within(connection.get("/")).await.unwrap().body;
            assert_eq!(names(&account, "readableLocations"), regions);
            assert_eq!(names(&account, "writableLocations"), regions[..1]);
            emulator.control().bring_back(region).await.unwrap();
        }
    }
}

#[tokio::test]
async fn everything_else_goes_where_the_writes_go() {
    let emulator = two_regions(Emulator::builder().global_endpoint(true)).await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let before = emulator.requests_in(EAST);
    assert_eq!(write(&mut connection, "a").await.code(), 201);
    assert_eq!(read(&mut connection, "a").await.unwrap().code(), 200);
    assert_eq!(emulator.requests_in(EAST), before + 2);

    // As long as the writes are nowhere, the answer says so.
    emulator.control().take_down(EAST, Outage::Refuse).await.unwrap();
    assert_eq!(read(&mut connection, "a").await.unwrap().code(), 503);
    emulator.control().move_writes(WEST, Failover::Forced).unwrap();
    let before = emulator.requests_in(WEST);
    assert_eq!(write(&mut connection, "b").await.code(), 201);
    assert_eq!(emulator.requests_in(WEST), before + 1);
    let account = connection.get("/").await.unwrap().body;
    assert_eq!(names(&account, "writableLocations"), [emulator.region_url(WEST).unwrap()]);
}

#[tokio::test]
async fn every_request_is_told_of_once_and_without_what_is_secret() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let builder = Emulator::builder()
        .global_endpoint(true)
        .request_log(move |answered| sink.lock().unwrap().push((answered.to_string(), answered.clone())));
    let emulator = two_regions(builder).await;
    told.lock().unwrap().clear();
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let item = json!({"id": "1", "pk": "a", "text": "only for some"});
    let key = key("a");
    connection.send("POST /dbs/d/colls/c/docs?token=hidden", &[(KEY, &key)], &item).await.unwrap();
    connection.get("/").await.unwrap();
    connection.get("/dbs/none").await.unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    let outlines: Vec<_> = told
        .iter()
        .map(|(_, answered)| {
            let status = answered.status.unwrap().code().as_u16();
            (answered.region.as_ref().map(|name| name.as_str()), answered.path.as_str(), status)
        })
        .collect();
    assert_eq!(
        outlines,
        [(Some(EAST), "/dbs/d/colls/c/docs", 201), (None, "/", 200), (Some(EAST), "/dbs/none", 404)]
    );
    assert!(told[0].1.charge > 1.0);
    for (line, answered) in &told {
        assert_eq!(
            answered.client.unwrap().ip().to_string(),
            authority(emulator.url()).split(':').next().unwrap()
        );
        for secret in ["hidden", "only for some", "sig", emulator.key()] {
            assert!(!line.contains(secret) && !answered.json().contains(secret), "{line}");
        }
    }
}
