//! The management API: everything that breaks regions, over HTTP.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::socket::{Connection, EAST, WEST, manage, read, two_regions, write};

async fn started() -> Emulator {
    two_regions(Emulator::builder().management(0)).await
}

#[tokio::test]
async fn it_says_what_can_be_asked_and_each_of_it_can_be() {
    let emulator = started().await;
    let (status, body, headers) = manage(&emulator, "GET /", "").await;
    assert_eq!((status, &headers["content-type"]), (200, &"application/json".parse().unwrap()));
    for row in body["requests"].as_array().unwrap() {
        let path = row["path"].as_str().unwrap().replace("{name}", "Mars").replace("{id}", "99");
        let path = path.replace("{database}", "x").replace("{container}", "y");
        let line = format!("{} {path}", row["method"].as_str().unwrap());
        // Nothing but members that it does not know: whatever takes a body refuses it, and names the member.
        let (status, answer, _) = manage(&emulator, &line, r#"{"surprise":1}"#).await;
        assert!(status != 405, "{line}: {answer}");
        if row.get("body").is_some() {
            assert_eq!(status, 400, "{line}: {answer}");
            assert!(answer["message"].as_str().unwrap().contains("surprise"), "{line}: {answer}");
        }
    }
    assert_eq!(manage(&emulator, "GET /ready", "").await.1, json!({"ready": true}));
}

#[tokio::test]
async fn a_web_page_cannot_break_anything() {
    let emulator = started().await;
    let url = emulator.management_url().unwrap();
    let mut page = Connection::open(url).await.unwrap();
    let answer = page.send("DELETE /faults", &[("origin", "http://evil.test")], &Value::Null).await.unwrap();
    assert_eq!(answer.code(), 403);
    assert_eq!(page.send("DELETE /faults", &[], &Value::Null).await.unwrap().code(), 200);
}

#[tokio::test]
async fn regions_are_broken_and_mended() {
    let emulator = started().await;
    let west = emulator.region_url(WEST).unwrap();
    let state = |body: &Value| body["regions"][1]["state"].as_str().unwrap().to_owned();
    for (mode, state_then) in [
        ("", "refuse"),
        (r#"{"mode":"refuse"}"#, "refuse"),
        (r#"{"mode":"hang"}"#, "hang"),
        (r#"{"mode":"unavailable"}"#, "unavailable"),
    ] {
        let (status, body, _) = manage(&emulator, "POST /regions/West%20US/down", mode).await;
        assert_eq!((status, state(&body).as_str()), (200, state_then), "{body}");
    }
    assert_eq!(Connection::open(&west).await.unwrap().get("/").await.unwrap().code(), 503);
    let (status, body, _) = manage(&emulator, "POST /regions/westus/up", "").await;
    assert_eq!((status, state(&body).as_str()), (200, "up"));
    assert_eq!(Connection::open(&west).await.unwrap().get("/").await.unwrap().code(), 200);
    let (_, body, _) = manage(&emulator, "POST /regions/westus/slow", r#"{"delay":"1ms..2ms"}"#).await;
    assert_eq!(state(&body), "slow");
    let (_, body, _) = manage(&emulator, "POST /regions/westus/forbid-writes", "").await;
    assert_eq!(body["regions"][1]["writesForbidden"], true);
    let (_, body, _) = manage(&emulator, "POST /regions/westus/allow-writes", "{}").await;
    assert_eq!(body["regions"][1]["writesForbidden"], false);

    let (status, body, _) = manage(&emulator, "POST /regions", r#"{"name":"North Europe"}"#).await;
    assert_eq!((status, &body["regions"][2]["name"]), (201, &json!("North Europe")));
    let (status, body, _) = manage(&emulator, "DELETE /regions/North%20Europe", "").await;
    assert_eq!((status, body["regions"].as_array().unwrap().len()), (200, 2));

    let (status, body, _) = manage(&emulator, "POST /failover", r#"{"to":"West US"}"#).await;
    assert_eq!((status, body), (200, json!({"lost": 0})));
    let (_, body, _) = manage(&emulator, "GET /regions", "").await;
    assert_eq!(
        (&body["regions"][0]["name"], &body["regions"][0]["takesWrites"]),
        (&json!(WEST), &json!(true))
    );
    assert_eq!(body["consistency"], "Session");
}

#[tokio::test]
async fn faults_are_added_listed_with_their_hits_and_lifted() {
    let emulator = started().await;
    let mut east = Connection::open(emulator.url()).await.unwrap();
    let fault = r#"{"region":"eastus","container":"d/c","operations":"write","effect":"status","status":410,"subStatus":1007,"count":5}"#;
    let (status, added, _) = manage(&emulator, "POST /faults", fault).await;
    assert_eq!((status, &added["hits"], &added["left"]), (201, &json!(0), &json!(5)));
    assert_eq!(write(&mut east, "a").await.status.to_string(), "410/1007");
    assert_eq!(read(&mut east, "a").await.unwrap().code(), 404);
    let (_, listed, _) = manage(&emulator, "GET /faults", "").await;
    let fault = &listed["faults"][0];
    assert_eq!((&fault["hits"], &fault["left"], &fault["subStatus"]), (&json!(1), &json!(4), &json!(1007)));
    assert_eq!(fault["region"], EAST, "as the account spells it");
    let (_, links, _) =
        manage(&emulator, "PUT /links", r#"{"to":"West US","lag":"5ms","paused":true}"#).await;
    let late = json!({"from": EAST, "to": WEST, "lag": "5ms", "paused": true});
    assert_eq!(links["links"][0], late);
    let (_, listed, _) = manage(&emulator, "GET /faults", "").await;
    assert_eq!(listed["links"], json!([late]), "what lags is out of order too");

    let line = format!("DELETE /faults/{}", fault["id"]);
    assert_eq!(manage(&emulator, &line, "").await.1["faults"], json!([]));
    assert_eq!(manage(&emulator, &line, "").await.0, 404);
    assert_eq!(write(&mut east, "a").await.code(), 201);
    manage(&emulator, "POST /faults", r#"{"effect":"slow","delay":"1ms"}"#).await;
    let (status, listed, _) = manage(&emulator, "DELETE /faults", "").await;
    assert_eq!((status, &listed["faults"]), (200, &json!([])));
    assert_eq!(manage(&emulator, "GET /links", "").await.1["links"][0]["paused"], false);
}

#[tokio::test]
async fn partitions_are_listed_split_and_moved() {
    let emulator = two_regions(Emulator::builder().management(0).partition_failover(true)).await;
    let (_, body, _) = manage(&emulator, "GET /partitions/d/c", "").await;
    assert_eq!((&body["partitions"][0]["id"], &body["partitions"][0]["min"]), (&json!("0"), &json!("")));
    assert_eq!(body["partitions"][1]["lsns"][1]["region"], WEST);
    let (status, body, _) =
        manage(&emulator, "POST /partitions/split", r#"{"container":"d/c","partition":"0"}"#).await;
    assert_eq!((status, body), (200, json!({"partitions": ["2", "3"]})));
    let move_one = r#"{"container":"d/c","partition":"1","to":"West US"}"#;
    let (status, body, _) = manage(&emulator, "POST /partitions/failover", move_one).await;
    assert_eq!((status, body), (200, json!({"lost": 0})));
    let (_, body, _) = manage(&emulator, "GET /partitions/d/c", "").await;
    let writers: Vec<_> = body["partitions"].as_array().unwrap().iter().map(|row| &row["writer"]).collect();
    assert_eq!(writers, [EAST, EAST, WEST]);

    let without = started().await;
    let (status, body, _) = manage(&without, "POST /partitions/failover", move_one).await;
    assert_eq!((status, &body["code"]), (400, &json!("BadRequest")), "{body}");
}

#[tokio::test]
async fn what_cannot_be_done_says_what_can() {
    let emulator = started().await;
    for (line, body, status, part) in [
        ("GET /nonsense", "", 404, "GET /"),
        ("POST /regions/East%20US/sideways", "", 404, "forbid-writes"),
        ("PATCH /regions", "", 405, "GET or POST"),
        ("GET /failover", "", 405, "POST"),
        ("GET /regions/East%20US/down", "", 405, "POST"),
        ("POST /regions/Mars/down", "", 404, "East US, West US"),
        ("POST /regions/East%2/down", "", 400, "East%20US"),
        ("POST /regions/East%20US/down", "{", 400, "reading outage"),
        ("POST /regions/East%20US/down", r#"{"mode":"gently"}"#, 400, "unavailable"),
        ("POST /regions/East%20US/slow", r#"{"delay":"soon"}"#, 400, "p50=20ms"),
        ("POST /regions/East%20US/slow", "", 400, "delay"),
        ("POST /failover", "{}", 400, "to"),
        ("POST /failover", r#"{"to":"Mars"}"#, 404, "Mars"),
        ("POST /partitions/split", r#"{"container":"d/c","partition":"9"}"#, 404, "0, 1"),
        ("POST /partitions/split", r#"{"container":"d","partition":"0"}"#, 400, "database/container"),
        ("GET /partitions/d/nothing", "", 404, "nothing"),
        ("PUT /links", "{}", 400, "paused"),
        ("PUT /links", r#"{"lag":"p50=1ms,p99=2ms"}"#, 400, "10ms..80ms"),
        ("POST /faults", r#"{"effect":"explode"}"#, 400, "drop-response"),
        ("DELETE /faults/x", "", 400, "number"),
    ] {
        let (found, answer, _) = manage(&emulator, line, body).await;
        assert_eq!(found, status, "{line} {body}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(part), "{line} {body}: {answer}");
        assert!(answer["code"].is_string(), "{answer}");
    }
}

#[tokio::test]
async fn it_is_off_unless_asked_for_and_takes_another_port_if_it_may() {
    assert_eq!(Emulator::builder().start().await.unwrap().management_url(), None);
    let first = Emulator::builder().management(0).start().await.unwrap();
    let url = first.management_url().unwrap();
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    assert!(Emulator::builder().management(port).start().await.is_err());
    let second = Emulator::builder().management_or_any(port).start().await.unwrap();
    assert_ne!(second.management_url(), Some(url));
}
