//! What single faults do to the requests they are for, and to no others.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_emulator::{Delay, Effect, Emulator, Fault, FaultId, Operations, Outage, Struck};
use cosmonaut_wire::CosmosStatus;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::socket::{Connection, EAST, KEY, WEST, key, keys, read, two_regions, write};

const UNAVAILABLE: CosmosStatus = CosmosStatus::SERVICE_UNAVAILABLE;

async fn east(emulator: &Emulator) -> Connection {
    Connection::open(emulator.url()).await.unwrap()
}

#[tokio::test]
async fn a_status_is_answered_instead_of_doing_what_was_asked() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = east(&emulator).await;
    for (status, retry_after) in [
        (UNAVAILABLE, None),
        (CosmosStatus::WRITE_FORBIDDEN, None),
        (CosmosStatus::PARTITION_KEY_RANGE_GONE, None),
        (CosmosStatus::SYSTEM_RESOURCE_UNAVAILABLE, Some(Duration::from_millis(7))),
    ] {
        let fault = Fault::new(Effect::Status { status, retry_after }).in_region(EAST).in_container("d/c");
        let id = emulator.control().add_fault(fault).await.unwrap();
        let answer = write(&mut east, "never").await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("x-ms-retry-after-ms"), retry_after.map_or("", |_| "7"));
        assert_eq!(east.get("/dbs/d").await.unwrap().code(), 200, "another resource");
        emulator.control().remove_fault(id).await.unwrap();
    }
    assert_eq!(read(&mut east, "never").await.unwrap().code(), 404);
}

/// Whoever hears of requests is told which fault was it, whether or not there was an answer.
#[tokio::test]
async fn a_request_is_told_of_with_the_faults_that_struck_it() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let builder =
        Emulator::builder().request_log(move |answered| sink.lock().unwrap().push(answered.clone()));
    let emulator = two_regions(builder).await;
    let add = async |fault: Fault| emulator.control().add_fault(fault).await.unwrap();
    let slow =
        add(Fault::new(Effect::Slow(Delay::Fixed(Duration::from_millis(1)))).in_container("d/c")).await;
    let fails = add(Fault::new(Effect::status(UNAVAILABLE)).in_container("d/c").times(1)).await;
    let drops = add(Fault::new(Effect::DropResponse).in_container("d/c").on(Operations::Write)).await;
    let last = async |id: &str| {
        told.lock().unwrap().clear();
        // A connection is cut by one of them.
        let key = key("a");
        let item = json!({"id": id, "pk": "a"});
        let mut east = east(&emulator).await;
        let _ = east.send("POST /dbs/d/colls/c/docs", &[(KEY, &key)], &item).await;
        let told = told.lock().unwrap();
        assert!(told[0].headers.is_none(), "nobody has asked for them");
        (told[0].status, told[0].struck.clone())
    };
    let by = |fault: FaultId, effect| Struck { fault, effect, is_outage: false };
    assert_eq!(last("1").await, (Some(UNAVAILABLE), vec![by(slow, "slow"), by(fails, "status")]));
    assert_eq!(last("2").await, (None, vec![by(slow, "slow"), by(drops, "drop-response")]));
    emulator.control().clear().await.unwrap();
    let (status, struck) = last("3").await;
    assert_eq!((status.unwrap().code().as_u16(), struck), (201, vec![]));
    emulator.control().take_down(EAST, Outage::Unavailable).await.unwrap();
    let (status, struck) = last("4").await;
    assert_eq!(status, Some(UNAVAILABLE));
    assert!(struck.len() == 1 && struck[0].is_outage && struck[0].effect == "status", "{struck:?}");
}

#[tokio::test]
async fn used_up_throughput_is_429_with_a_time_to_wait() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = east(&emulator).await;
    let retry_after = Duration::from_millis(250);
    let fault = Fault::new(Effect::Throttle { retry_after }).in_container("d/c").times(2);
    let id = emulator.control().add_fault(fault).await.unwrap();
    for _ in 0..2 {
        let answer = write(&mut east, "a").await;
        assert_eq!(answer.status, CosmosStatus::REQUEST_RATE_TOO_LARGE);
        assert_eq!(answer.header("x-ms-retry-after-ms"), "250");
    }
    assert_eq!(write(&mut east, "a").await.code(), 201, "after as many as were asked for");
    let faults = emulator.control().faults();
    assert_eq!((faults[0].id, faults[0].hits, faults[0].left()), (id, 2, Some(0)));
}

#[tokio::test]
async fn a_dropped_response_is_of_a_request_that_was_carried_out() {
    let emulator = two_regions(Emulator::builder()).await;
    for http2 in [false, true] {
        let url = emulator.url();
        let mut connection =
            if http2 { Connection::open_http2(url).await } else { Connection::open(url).await }.unwrap();
        let fault = Fault::new(Effect::DropResponse).on(Operations::Write).times(1);
        emulator.control().add_fault(fault).await.unwrap();
        let id = format!("http2-{http2}");
        let item = json!({"id": id, "pk": id});
        let made = connection.send("POST /dbs/d/colls/c/docs", &[(KEY, &key(&id))], &item).await;
        assert!(made.is_err(), "the connection ends");
        assert!(connection.get("/").await.is_err(), "for all that is on it");
        assert_eq!(read(&mut east(&emulator).await, &id).await.unwrap().code(), 200);
    }
}

#[tokio::test]
async fn a_duplicated_request_is_carried_out_twice() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = east(&emulator).await;
    let fault = Fault::new(Effect::Duplicate).on(Operations::Write).times(1);
    emulator.control().add_fault(fault).await.unwrap();
    let made = east.send("POST /dbs/d/colls/c/docs", &[], &json!({"id": "a", "pk": "a"})).await.unwrap();
    assert_eq!(made.code(), 409, "the answer is the second one's");
    assert_eq!(read(&mut east, "a").await.unwrap().code(), 200);
}

#[tokio::test]
async fn writes_can_be_forbidden_while_reads_go_on() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = east(&emulator).await;
    assert_eq!(write(&mut east, "a").await.code(), 201);
    emulator.control().forbid_writes(EAST).await.unwrap();
    assert!(emulator.control().regions()[0].writes_forbidden);
    assert_eq!(write(&mut east, "a").await.status, CosmosStatus::WRITE_FORBIDDEN);
    let made = east.send("POST /dbs", &[], &json!({"id": "e"})).await.unwrap();
    assert_eq!(made.status, CosmosStatus::WRITE_FORBIDDEN, "the catalog too");
    assert_eq!(read(&mut east, "a").await.unwrap().code(), 200);
    let query = [("x-ms-documentdb-isquery", "true"), ("content-type", "application/query+json")];
    let rows = east
        .send(
            "POST /dbs/d/colls/c/docs",
            &[&query[..], &[(KEY, "[\"a\"]")]].concat(),
            &json!({"query": "SELECT * FROM c"}),
        )
        .await
        .unwrap();
    assert_eq!(rows.code(), 200, "a query is a POST that writes nothing");
    emulator.control().allow_writes(EAST).await.unwrap();
    assert_eq!(write(&mut east, "a").await.code(), 200);
    assert!(emulator.control().faults().is_empty());
}

#[tokio::test]
async fn a_fault_of_one_partition_leaves_the_others_alone() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    let mut east = east(&emulator).await;
    let [first, second] = keys(&mut east).await;
    let id = control.fail_partition("d/c", "1", EAST, Effect::status(UNAVAILABLE)).await.unwrap();

    assert_eq!(read(&mut east, &first).await.unwrap().code(), 200);
    assert_eq!(read(&mut east, &second).await.unwrap().status, UNAVAILABLE);
    assert_eq!(write(&mut east, &first).await.code(), 200);
    assert_eq!(write(&mut east, &second).await.status, UNAVAILABLE);
    // However the request says which partition it is for.
    let body = json!({"id": second, "pk": second});
    let by_body = east.send("POST /dbs/d/colls/c/docs", &[], &body).await.unwrap();
    assert_eq!(by_body.status, UNAVAILABLE);
    for (name, value, code) in [
        ("x-ms-documentdb-partitionkeyrangeid", "0", 200),
        ("x-ms-documentdb-partitionkeyrangeid", "1", 503),
        (KEY, &key(&first), 200),
        (KEY, &key(&second), 503),
    ] {
        let feed = east.send("GET /dbs/d/colls/c/docs", &[(name, value)], &Value::Null).await.unwrap();
        assert_eq!(feed.code(), code, "{name}: {value}");
    }
    let low = [("x-ms-start-epk", ""), ("x-ms-end-epk", "0F")];
    let part: Answer = east.send("GET /dbs/d/colls/c/docs", &low, &Value::Null).await.unwrap();
    assert_eq!(part.code(), 200, "{}", part.body);
    // What is about the container and not about its items goes on.
    assert_eq!(east.get("/dbs/d/colls/c/pkranges").await.unwrap().code(), 200);
    // So does the other region.
    let mut west = Connection::open(&emulator.region_url(WEST).unwrap()).await.unwrap();
    assert_eq!(read(&mut west, &second).await.unwrap().code(), 200);

    // The fault stays with the keys when their partition splits.
    control.split("d/c", "1").await.unwrap();
    assert_eq!(read(&mut east, &second).await.unwrap().status, UNAVAILABLE);
    assert_eq!(read(&mut east, &first).await.unwrap().code(), 200);
    control.remove_fault(id).await.unwrap();
    assert_eq!(read(&mut east, &second).await.unwrap().code(), 200);
    control.slow_partition("d/c", "0", EAST, Delay::Fixed(Duration::from_millis(1))).await.unwrap();
    assert_eq!(read(&mut east, &first).await.unwrap().code(), 200);
    assert_eq!(control.faults()[0].hits, 1);
}

#[tokio::test]
async fn a_fault_by_chance_strikes_some_and_counts_them() {
    let emulator = two_regions(Emulator::builder()).await;
    let mut east = east(&emulator).await;
    let fault = Fault::new(Effect::status(UNAVAILABLE)).on(Operations::Read).with_probability(0.5);
    emulator.control().add_fault(fault).await.unwrap();
    let mut failed = 0;
    for _ in 0..200 {
        failed += u64::from(east.get("/").await.unwrap().code() == 503);
    }
    assert!((1..200).contains(&failed), "{failed}");
    assert_eq!(emulator.control().faults()[0].hits, failed);
}

#[tokio::test]
async fn faults_that_make_no_sense_are_refused() {
    let emulator = two_regions(Emulator::builder()).await;
    let broken = || Fault::new(Effect::status(UNAVAILABLE));
    let odd = CosmosStatus::OK;
    for (fault, part) in [
        (broken().in_region("Mars"), "Mars"),
        (broken().in_container("d"), "database/container"),
        (broken().in_container("d/nothing"), "d/nothing"),
        (broken().in_container("d/c").in_partition("9"), "9"),
        (broken().in_partition("0"), "container"),
        (broken().with_probability(0.0), "probability"),
        (broken().with_probability(f64::NAN), "probability"),
        (broken().times(0), "count"),
        (Fault::new(Effect::Refuse).in_container("d/c"), "whole region"),
        (Fault::new(Effect::Refuse).times(1), "whole region"),
        (Fault::new(Effect::status(odd)), "400 to 599"),
    ] {
        let failure = emulator.control().add_fault(fault).await.unwrap_err();
        assert!(failure.message.contains(part), "{failure}");
    }
    assert!(emulator.control().remove_fault(cosmonaut_emulator::FaultId(99)).await.is_err());
    assert!(emulator.control().faults().is_empty());
}

#[tokio::test]
async fn a_fault_of_every_region_takes_all_of_them_down() {
    let emulator = two_regions(Emulator::builder()).await;
    let control = emulator.control();
    let id = control.add_fault(Fault::new(Effect::Refuse)).await.unwrap();
    for region in [EAST, WEST] {
        assert!(Connection::open(&emulator.region_url(region).unwrap()).await.is_err());
    }
    let failure = control.bring_back(WEST).await.unwrap_err();
    assert!(failure.message.contains(&format!("fault {id}")), "{failure}");
    control.clear().await.unwrap();
    assert!(Connection::open(&emulator.region_url(WEST).unwrap()).await.is_ok());
}
