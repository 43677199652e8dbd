//! Regions that are down or slow, as clients on sockets meet them.

use std::io::ErrorKind;
use std::time::Duration;

use cosmonaut_emulator::{Delay, Emulator, Outage, RegionState};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::socket::{Connection, EAST, WEST, read, struck, two_regions, within, write};

const AN_HOUR: Duration = Duration::from_secs(3600);

fn state(emulator: &Emulator, region: &str) -> RegionState {
    let regions = emulator.control().regions();
    regions.iter().find(|status| status.name == region.into()).unwrap().state
}

#[tokio::test]
async fn a_region_that_refuses_cuts_connections_and_takes_none() {
    let emulator = two_regions(Emulator::builder()).await;
    let west = emulator.region_url(WEST).unwrap();
    let mut http1 = Connection::open(&west).await.unwrap();
    let mut http2 = Connection::open_http2(&west).await.unwrap();
    for connection in [&mut http1, &mut http2] {
        assert_eq!(connection.get("/").await.unwrap().code(), 200);
    }

    emulator.control().take_down(WEST, Outage::Refuse).await.unwrap();
    assert_eq!(state(&emulator, WEST), RegionState::Down(Outage::Refuse));
    for connection in [&mut http1, &mut http2] {
        assert!(connection.get("/").await.is_err(), "an open connection is cut");
    }
    let refused = Connection::open(&west).await.err().expect("the port is closed");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let mut east = Connection::open(emulator.url()).await.unwrap();
    assert_eq!(east.get("/").await.unwrap().code(), 200, "the other region goes on");

    emulator.control().bring_back(WEST).await.unwrap();
    assert_eq!(state(&emulator, WEST), RegionState::Up);
    assert_eq!(emulator.region_url(WEST).unwrap(), west, "at the same port");
    assert_eq!(Connection::open(&west).await.unwrap().get("/").await.unwrap().code(), 200);
}

#[tokio::test]
async fn a_region_that_hangs_answers_when_it_is_back() {
    let emulator = two_regions(Emulator::builder()).await;
    let west = emulator.region_url(WEST).unwrap();
    // Both were open before, so it takes effect on open connections too.
    let connections = [Connection::open(&west).await.unwrap(), Connection::open_http2(&west).await.unwrap()];
    let id = emulator.control().take_down(WEST, Outage::Hang).await.unwrap();
    let mut answers = JoinSet::new();
    for mut connection in connections {
        answers.spawn(async move { connection.get("/").await.unwrap().code() });
    }
    struck(&emulator, id, 2).await;
    assert!(answers.try_join_next().is_none());
    emulator.control().bring_back(WEST).await.unwrap();
    assert_eq!(within(answers.join_all()).await, [200, 200]);
}

#[tokio::test]
async fn a_client_that_gives_up_on_a_region_that_hangs_holds_nothing_up() {
    let emulator = two_regions(Emulator::builder()).await;
    let id = emulator.control().take_down(EAST, Outage::Hang).await.unwrap();
    let mut answers = JoinSet::new();
    for _ in 0..2 {
        let mut connection = Connection::open(emulator.url()).await.unwrap();
        answers.spawn(async move { connection.get("/").await.is_ok() });
    }
    struck(&emulator, id, 2).await;
    answers.abort_all();
    within(emulator.shutdown()).await;
}

#[tokio::test]
async fn the_way_in_which_a_region_is_down_can_change() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    let west = emulator.region_url(WEST).unwrap();
    let id = control.take_down(WEST, Outage::Hang).await.unwrap();
    let mut hanging = Connection::open(&west).await.unwrap();
    let mut answers = JoinSet::new();
    answers.spawn(async move { hanging.get("/").await.unwrap().code() });
    struck(&emulator, id, 1).await;

    control.take_down(WEST, Outage::Unavailable).await.unwrap();
    assert_eq!(within(answers.join_all()).await, [503], "who hung gets what holds now");
    assert_eq!(control.faults().len(), 1);
    control.take_down(WEST, Outage::Refuse).await.unwrap();
    assert!(Connection::open(&west).await.is_err());
    control.take_down(WEST, Outage::Unavailable).await.unwrap();
    let mut connection = Connection::open(&west).await.unwrap();
    let answer = read(&mut connection, "a").await.unwrap();
    assert_eq!(answer.status.to_string(), "503");
    assert!(answer.body["message"].as_str().unwrap().contains("fault"), "{}", answer.body);
    control.bring_back("westus").await.unwrap();
    assert!(control.faults().is_empty());
}

#[tokio::test]
async fn a_slow_region_answers_late_and_at_once_when_it_is_back() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    let id = control.slow_down(EAST, Delay::Fixed(AN_HOUR)).await.unwrap();
    assert_eq!(state(&emulator, EAST), RegionState::Slow);
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let mut answers = JoinSet::new();
    answers.spawn(async move { write(&mut connection, "a").await.code() });
    struck(&emulator, id, 1).await;
    assert!(answers.try_join_next().is_none());
    control.bring_back(EAST).await.unwrap();
    assert_eq!(within(answers.join_all()).await, [201]);

    let id = control.slow_down(EAST, Delay::Fixed(Duration::from_millis(1))).await.unwrap();
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    assert_eq!(read(&mut connection, "a").await.unwrap().code(), 200);
    let faults = control.faults();
    assert_eq!((faults.len(), faults[0].id, faults[0].hits), (1, id, 1));
}

#[tokio::test]
async fn what_was_asked_in_each_region_is_counted() {
    let emulator = two_regions(Emulator::builder()).await;
    let (total, east) = (emulator.requests(), emulator.requests_in(EAST));
    let mut west = Connection::open(&emulator.region_url(WEST).unwrap()).await.unwrap();
    for _ in 0..3 {
        west.send("GET /", &[], &Value::Null).await.unwrap();
    }
    assert_eq!((emulator.requests_in(WEST), emulator.requests_in(EAST)), (3, east));
    assert_eq!(emulator.requests(), total + 3);
    assert_eq!(emulator.requests_in("Mars"), 0);
}

#[tokio::test]
async fn what_was_charged_in_each_region_is_counted() {
    let emulator = two_regions(Emulator::builder()).await;
    let (before, west) = (emulator.charged_in(EAST), emulator.charged_in(WEST));
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let mut charged = 0.0;
    for pk in ["a", "b"] {
        let written = write(&mut connection, pk).await;
        charged += written.header("x-ms-request-charge").parse::<f64>().unwrap();
    }
    assert!(charged > 0.0);
    assert!((emulator.charged_in(EAST) - before - charged).abs() < 0.001, "{charged}");
    assert_eq!((emulator.charged_in(WEST), emulator.charged_in("Mars")), (west, 0.0));
}

#[tokio::test]
async fn a_region_that_does_not_exist_is_named_with_those_that_do() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    let failure = control.take_down("East Asia", Outage::Refuse).await.unwrap_err();
    for part in ["East Asia", EAST, WEST] {
        assert!(failure.message.contains(part), "{failure}");
    }
    assert!(control.bring_back("East Asia").await.is_err());
    assert!(control.slow_down("East Asia", Delay::Fixed(AN_HOUR)).await.is_err());
    assert!(control.forbid_writes("East Asia").await.is_err());
    assert!(control.pause(Some("East Asia"), None).is_err());
    assert!(control.faults().is_empty());
}
