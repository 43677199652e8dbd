//! The account document as regions move, come and go, and the ports they listen on.

use std::time::Duration;

use cosmonaut_emulator::{Consistency, Emulator, Failover, Lag, Outage};
use serde_json::{Value, json};

use crate::socket::{Connection, EAST, WEST, authority, read, two_regions, write};

async fn account(url: &str) -> Value {
    Connection::open(url).await.unwrap().get("/").await.unwrap().body
}

fn names(locations: &Value) -> Vec<&str> {
    locations.as_array().unwrap().iter().map(|location| location["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_account_lists_its_regions_at_the_host_the_client_came_by() {
    let emulator = two_regions(Emulator::builder().allow_host("cosmos.test")).await;
    let (east, west) = (emulator.url().to_owned(), emulator.region_url(WEST).unwrap());
    for url in [&east, &west] {
        let account = account(url).await;
        let east = json!({"name": EAST, "databaseAccountEndpoint": east});
        let west = json!({"name": WEST, "databaseAccountEndpoint": west});
        assert_eq!(account["writableLocations"], json!([east]));
        assert_eq!(account["readableLocations"], json!([east, west]));
        assert_eq!(account["enableMultipleWriteLocations"], false);
        assert_eq!(account["enablePerPartitionFailoverBehavior"], false);
    }
    let request = crate::client::request("GET /", &[("host", "cosmos.test:9")], "");
    let account = crate::client::Answer::of(emulator.handle_in(WEST, request).await).body;
    let port = authority(&east).rsplit(':').next().unwrap();
    assert_eq!(
        account["readableLocations"],
        json!([
            {"name": EAST, "databaseAccountEndpoint": format!("http://cosmos.test:{port}/")},
            {"name": WEST, "databaseAccountEndpoint": "http://cosmos.test:9/"},
        ])
    );
}

#[tokio::test]
async fn the_account_says_what_it_was_started_with() {
    let bounded = Consistency::BoundedStaleness { max_prefix: 1000, max_interval: Duration::from_secs(600) };
    for (consistency, policy) in [
        (Consistency::Strong, json!({"defaultConsistencyLevel": "Strong"})),
        (
            bounded,
            json!({"defaultConsistencyLevel": "BoundedStaleness", "maxStalenessPrefix": 1000, "maxIntervalInSeconds": 600}),
        ),
        (Consistency::Eventual, json!({"defaultConsistencyLevel": "Eventual"})),
    ] {
        let emulator =
            Emulator::builder().regions([EAST, WEST]).consistency(consistency).start().await.unwrap();
        assert_eq!(account(emulator.url()).await["userConsistencyPolicy"], policy);
    }
    let builder = Emulator::builder().multi_write(true).partition_failover(true);
    let emulator = builder.regions([EAST, WEST]).start().await.unwrap();
    let account = account(emulator.url()).await;
    assert_eq!(names(&account["writableLocations"]), [EAST, WEST]);
    assert_eq!(account["enableMultipleWriteLocations"], true);
    assert_eq!(account["enablePerPartitionFailoverBehavior"], true);
}

#[tokio::test]
async fn the_account_follows_when_writes_move() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    let west = emulator.region_url(WEST).unwrap();
    for (to, order) in [(WEST, [WEST, EAST]), (EAST, [EAST, WEST])] {
        assert_eq!(control.move_writes(to, Failover::Graceful).unwrap().lost, 0);
        let account = account(&west).await;
        assert_eq!(names(&account["writableLocations"]), order[..1]);
        assert_eq!(names(&account["readableLocations"]), order);
        let regions = control.regions();
        assert_eq!(
            (regions[0].name.as_str(), regions[0].takes_writes, regions[1].takes_writes),
            (to, true, false)
        );
    }
    control.take_down(EAST, Outage::Refuse).await.unwrap();
    control.move_writes(WEST, Failover::Forced).unwrap();
    let mut connection = Connection::open(&west).await.unwrap();
    assert_eq!(write(&mut connection, "a").await.code(), 201);
    control.bring_back(EAST).await.unwrap();
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    assert_eq!(read(&mut connection, "a").await.unwrap().code(), 200, "it has caught up");
    assert_eq!(write(&mut connection, "a").await.status.to_string(), "403/3");
}

#[tokio::test]
async fn regions_come_and_go() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    assert_eq!(write(&mut Connection::open(emulator.url()).await.unwrap(), "a").await.code(), 201);
    let url = control.add_region("North Europe").await.unwrap();
    let account_now = account(emulator.url()).await;
    assert_eq!(names(&account_now["readableLocations"]), [EAST, WEST, "North Europe"]);
    assert_eq!(account_now["readableLocations"][2]["databaseAccountEndpoint"], url);
    let mut north = Connection::open(&url).await.unwrap();
    assert_eq!(read(&mut north, "a").await.unwrap().code(), 200, "it has what there is");
    assert!(control.add_region("northeurope").await.unwrap_err().message.contains("already"));
    assert!(control.add_region(" ").await.is_err());

    control.take_down("North Europe", Outage::Hang).await.unwrap();
    control.clear().await.unwrap();
    control.forbid_writes("North Europe").await.unwrap();
    let before = emulator.requests();
    control.remove_region("North Europe").await.unwrap();
    assert_eq!(names(&account(emulator.url()).await["readableLocations"]), [EAST, WEST]);
    assert!(Connection::open(&url).await.is_err() && north.get("/").await.is_err());
    assert!(control.faults().is_empty(), "faults go with their region");
    assert_eq!(emulator.requests(), before + 1, "what was counted stays counted");
    assert!(control.remove_region("North Europe").await.is_err());
    let failure = control.remove_region(EAST).await.unwrap_err();
    assert!(failure.message.contains("move"), "{failure}");
}

#[tokio::test]
async fn links_lag_and_pause_in_one_direction_or_all() {
    let emulator = two_regions(Emulator::builder().lag(Lag::Fixed(Duration::from_millis(1)))).await;
    let control = emulator.control();
    let lags = || control.links().iter().map(|status| status.link.lag.to_string()).collect::<Vec<_>>();
    assert_eq!(lags(), ["1ms", "1ms"]);
    control.set_lag(Some(EAST), Some(WEST), Lag::None).unwrap();
    assert_eq!(lags(), ["none", "1ms"]);
    control.pause(Some(EAST), None).unwrap();
    let paused = || control.links().iter().map(|status| status.link.paused).collect::<Vec<_>>();
    assert_eq!((paused(), lags()), (vec![true, false], vec!["none".to_owned(), "1ms".to_owned()]));
    control.resume(None, None).unwrap();
    assert_eq!(paused(), [false, false]);
    control.set_lag(None, None, Lag::None).unwrap();
    control.add_region("North Europe").await.unwrap();
    assert!(lags().iter().all(|lag| lag == "none") && lags().len() == 6);
    assert!(control.set_lag(Some(EAST), Some("eastus"), Lag::None).is_err());
}

#[tokio::test]
async fn ports_follow_each_other_where_one_is_given() {
    // Whether three ports in a row are free is nobody's to promise: try until they are.
    for _ in 0..50 {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = Emulator::builder().port(port).regions([EAST, WEST, "North Europe"]).start().await;
        let Ok(emulator) = started else { continue };
        let urls: Vec<_> = emulator.control().regions().into_iter().map(|status| status.url).collect();
        assert_eq!(urls, [0, 1, 2].map(|nth| format!("http://127.0.0.1:{}/", port + nth)));
        return;
    }
    panic!("no three ports in a row are free");
}

#[tokio::test]
async fn an_account_without_regions_does_not_start() {
    let none: [&str; 0] = [];
    assert!(Emulator::builder().regions(none).start().await.is_err());
    let error = Emulator::builder().regions([EAST, "eastus"]).start().await.unwrap_err();
    assert!(error.to_string().contains("already"), "{error}");
    let strong = Emulator::builder().regions([EAST, WEST]).multi_write(true).consistency(Consistency::Strong);
    let error = strong.start().await.unwrap_err();
    assert!(error.to_string().contains("Strong"), "{error}");
}
