//! What regions have of each other's writes while links pause, regions fail and writes move, seen over sockets.

use std::time::Duration;

use cosmonaut_emulator::{Consistency, Emulator, Failover, Lag, Outage};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::Answer;
use crate::socket::{Connection, EAST, KEY, WEST, key, keys, read, two_regions, within, write};

/// The account's two regions.
async fn connections(emulator: &Emulator) -> [Connection; 2] {
    let open = async |region| Connection::open(&emulator.region_url(region).unwrap()).await.unwrap();
    [open(EAST).await, open(WEST).await]
}

async fn read_in_session(connection: &mut Connection, pk: &str, session: &str) -> Answer {
    let headers = [(KEY, key(pk)), ("x-ms-session-token", session.to_owned())];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    connection.send(&format!("GET /dbs/d/colls/c/docs/{pk}"), &headers, &Value::Null).await.unwrap()
}

/// Waits until every region has everything.
async fn caught_up(emulator: &Emulator) {
    within(async {
        while emulator.control().regions().iter().any(|region| region.behind > 0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

fn session(answer: &Answer) -> String {
    answer.header("x-ms-session-token").to_owned()
}

#[tokio::test]
async fn a_paused_link_keeps_a_region_behind_and_its_sessions_waiting() {
    let emulator = two_regions(Emulator::builder()).await;
    let [mut east, mut west] = connections(&emulator).await;
    emulator.control().pause(None, Some(WEST)).unwrap();
    let written = write(&mut east, "a").await;
    assert_eq!(written.code(), 201);
    assert_eq!(read(&mut west, "a").await.unwrap().status.to_string(), "404");
    let ahead = read_in_session(&mut west, "a", &session(&written)).await;
    assert_eq!(ahead.status.to_string(), "404/1002", "{}", ahead.body);
    let behind: Vec<_> = emulator.control().regions().iter().map(|region| region.behind).collect();
    assert_eq!(behind, [0, 1]);

    emulator.control().resume(None, None).unwrap();
    caught_up(&emulator).await;
    assert_eq!(read_in_session(&mut west, "a", &session(&written)).await.code(), 200);
}

#[tokio::test]
async fn commits_arrive_late_where_links_lag() {
    let emulator = two_regions(Emulator::builder().lag(Lag::Fixed(Duration::from_millis(1)))).await;
    let [mut east, mut west] = connections(&emulator).await;
    let mut last = write(&mut east, "a").await;
    for _ in 0..20 {
        last = write(&mut east, "a").await;
    }
    caught_up(&emulator).await;
    assert_eq!(read_in_session(&mut west, "a", &session(&last)).await.code(), 200);
}

#[tokio::test]
async fn a_region_that_is_down_gets_nothing_and_catches_up_when_it_is_back() {
    for outage in [Outage::Refuse, Outage::Hang, Outage::Unavailable] {
        let emulator = two_regions(Emulator::builder()).await;
        emulator.control().take_down(WEST, outage).await.unwrap();
        let mut east = Connection::open(emulator.url()).await.unwrap();
        assert_eq!(write(&mut east, "a").await.code(), 201);
        assert_eq!(emulator.control().regions()[1].behind, 1, "{outage:?}");
        let graceful = emulator.control().move_writes(WEST, Failover::Graceful).unwrap_err();
        assert!(graceful.message.contains("bring it back"), "{graceful}");
        emulator.control().bring_back(WEST).await.unwrap();
        caught_up(&emulator).await;
        let mut west = Connection::open(&emulator.region_url(WEST).unwrap()).await.unwrap();
        assert_eq!(read(&mut west, "a").await.unwrap().code(), 200, "{outage:?}");
    }
}

#[tokio::test]
async fn a_slow_region_or_a_broken_partition_is_replicated_to_all_the_same() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    control.slow_down(WEST, "1ms".parse().unwrap()).await.unwrap();
    let hang = cosmonaut_emulator::Effect::Hang;
    control.fail_partition("d/c", "0", WEST, hang).await.unwrap();
    control.fail_partition("d/c", "1", WEST, hang).await.unwrap();
    let mut east = Connection::open(emulator.url()).await.unwrap();
    assert_eq!(write(&mut east, "a").await.code(), 201);
    assert_eq!(control.regions()[1].behind, 0);
}

#[tokio::test]
async fn a_forced_failover_loses_what_had_not_arrived_and_says_so() {
    let emulator = two_regions(Emulator::builder()).await;
    let [mut east, mut west] = connections(&emulator).await;
    let kept = write(&mut east, "a").await;
    emulator.control().pause(None, None).unwrap();
    let lost = write(&mut east, "a").await;
    assert_eq!(lost.code(), 200);
    let moved = emulator.control().move_writes(WEST, Failover::Forced).unwrap();
    assert_eq!(moved.lost, 1);
    emulator.control().resume(None, None).unwrap();
    for connection in [&mut east, &mut west] {
        assert_eq!(read_in_session(connection, "a", &session(&kept)).await.code(), 200);
        let gone = read_in_session(connection, "a", &session(&lost)).await;
        assert_eq!(gone.status.to_string(), "404/1002");
        assert!(gone.body["message"].as_str().unwrap().contains("lost"), "{}", gone.body);
    }
    let forbidden = write(&mut east, "a").await;
    assert_eq!(forbidden.status.to_string(), "403/3");
    assert!(forbidden.body["message"].as_str().unwrap().contains(WEST), "{}", forbidden.body);
    assert_eq!(write(&mut west, "a").await.code(), 200);
}

#[tokio::test]
async fn one_partition_moves_alone() {
    let emulator = two_regions(Emulator::builder().partition_failover(true)).await;
    let [mut east, mut west] = connections(&emulator).await;
    let [first, second] = keys(&mut east).await;
    emulator.control().move_partition("d/c", "1", WEST, Failover::Graceful).unwrap();
    assert_eq!(write(&mut east, &first).await.code(), 200);
    assert_eq!(write(&mut east, &second).await.status.to_string(), "403/3");
    assert_eq!(write(&mut west, &first).await.status.to_string(), "403/3");
    assert_eq!(write(&mut west, &second).await.code(), 200);
    let account = east.get("/").await.unwrap().body;
    assert_eq!(account["writableLocations"][0]["name"], EAST, "the account's write region is what it was");
}

#[tokio::test]
async fn every_region_of_a_multi_write_account_takes_writes() {
    let emulator = two_regions(Emulator::builder().multi_write(true)).await;
    let [mut east, mut west] = connections(&emulator).await;
    assert_eq!(write(&mut east, "a").await.code(), 201);
    assert_eq!(write(&mut west, "b").await.code(), 201);
    caught_up(&emulator).await;
    for connection in [&mut east, &mut west] {
        for pk in ["a", "b"] {
            assert_eq!(read(connection, pk).await.unwrap().code(), 200);
        }
    }
}

#[tokio::test]
async fn a_strong_write_is_acknowledged_when_the_other_region_has_it() {
    let emulator = two_regions(Emulator::builder().consistency(Consistency::Strong)).await;
    let [mut east, mut west] = connections(&emulator).await;
    emulator.control().pause(None, None).unwrap();
    let mut writes = JoinSet::new();
    writes.spawn(async move { write(&mut east, "a").await.code() });
    within(async {
        while emulator.control().regions()[1].behind == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(writes.try_join_next().is_none());
    emulator.control().resume(None, None).unwrap();
    assert_eq!(within(writes.join_all()).await, [201]);
    assert_eq!(read(&mut west, "a").await.unwrap().code(), 200, "without a session");

    // Of two regions most is both: while one is down, nothing is acknowledged.
    emulator.control().take_down(WEST, Outage::Refuse).await.unwrap();
    let mut east = Connection::open(emulator.url()).await.unwrap();
    let mut writes = JoinSet::new();
    writes.spawn(async move { write(&mut east, "a").await.code() });
    within(async {
        while emulator.control().regions()[1].behind == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(writes.try_join_next().is_none());
    emulator.control().bring_back(WEST).await.unwrap();
    assert_eq!(within(writes.join_all()).await, [200]);
}
