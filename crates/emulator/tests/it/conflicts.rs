//! Regions that write at the same time: the conflict feed, and tokens and numbers as a client sees them.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::{Answer, request};

const REGIONS: [&str; 2] = ["East US", "West US"];
const DOCS: &str = "/dbs/d/colls/c/docs";
const FEED: &str = "/dbs/d/colls/c/conflicts";
const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"a\"]");

async fn send(
    emulator: &Emulator,
    region: usize,
    line: &str,
    extra: &[(&str, &str)],
    body: &Value,
) -> Answer {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    Answer::of(emulator.handle_in(REGIONS[region], request(line, extra, &text)).await)
}

/// Two regions that both write, and do not hear of each other until resumed.
async fn apart() -> Emulator {
    let emulator = Emulator::builder().regions(REGIONS).multi_write(true).start().await.unwrap();
    send(&emulator, 0, "POST /dbs", &[], &json!({"id": "d"})).await;
    let container = json!({
        "id": "c",
        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "conflictResolutionPolicy": {"mode": "Custom"},
    });
    assert_eq!(send(&emulator, 1, "POST /dbs/d/colls", &[], &container).await.code(), 201);
    emulator.control().pause(None, None).unwrap();
    emulator
}

#[tokio::test]
async fn what_has_lost_is_listed_queried_read_and_deleted() {
    let emulator = apart().await;
    for (id, region) in ["1", "2", "3"].into_iter().flat_map(|id| [(id, 0), (id, 1)]) {
        let item = json!({"id": id, "pk": "a", "region": region});
        assert_eq!(send(&emulator, region, &format!("POST {DOCS}"), &[KEY], &item).await.code(), 201);
    }
    let empty = send(&emulator, 0, &format!("GET {FEED}"), &[], &Value::Null).await;
    assert_eq!((empty.code(), &empty.body["_count"]), (200, &json!(0)));
    emulator.control().resume(None, None).unwrap();

    // Page by page, deleting what was read: the next page goes on after it.
    let mut seen = Vec::new();
    let mut continuation = String::new();
    loop {
        let most = [("x-ms-max-item-count", "2"), ("x-ms-continuation", &continuation)];
        let page = send(&emulator, 1, &format!("GET {FEED}"), &most, &Value::Null).await;
        assert_eq!(page.code(), 200, "{}", page.body);
        for conflict in page.body["Conflicts"].as_array().unwrap() {
            let path = format!("{FEED}/{}", conflict["id"].as_str().unwrap());
            let read = send(&emulator, 0, &format!("GET {path}"), &[KEY], &Value::Null).await;
            assert_eq!((read.code(), &read.body), (200, conflict));
            let content: Value = serde_json::from_str(conflict["content"].as_str().unwrap()).unwrap();
            assert_eq!((&conflict["operationType"], &content["pk"]), (&json!("create"), &json!("a")));
            let kept = send(
                &emulator,
                0,
                &format!("GET {DOCS}/{}", content["id"].as_str().unwrap()),
                &[KEY],
                &Value::Null,
            )
            .await;
            assert_ne!(kept.body["region"], content["region"], "the other one has won");
            seen.push(content["id"].as_str().unwrap().to_owned());
            assert_eq!(send(&emulator, 1, &format!("DELETE {path}"), &[KEY], &Value::Null).await.code(), 204);
            assert_eq!(send(&emulator, 1, &format!("GET {path}"), &[KEY], &Value::Null).await.code(), 404);
        }
        continuation = page.header("x-ms-continuation").to_owned();
        if continuation.is_empty() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["1", "2", "3"]);
    let bad = [("x-ms-continuation", "x")];
    assert_eq!(send(&emulator, 0, &format!("GET {FEED}"), &bad, &Value::Null).await.code(), 400);
    assert_eq!(send(&emulator, 0, &format!("POST {FEED}"), &[], &json!({"id": "x"})).await.code(), 405);
    let query = [("content-type", "application/query+json")];
    let text = json!({"query": "SELECT VALUE COUNT(1) FROM c"});
    let counted = send(&emulator, 0, &format!("POST {FEED}"), &query, &text).await;
    assert_eq!((counted.code(), &counted.body["Conflicts"]), (200, &json!([0])));
}

#[tokio::test]
async fn answers_say_how_far_each_region_is() {
    let emulator = apart().await;
    let item = |id: &str| json!({"id": id, "pk": "a"});
    let east = send(&emulator, 0, &format!("POST {DOCS}"), &[KEY], &item("1")).await;
    let west = send(&emulator, 1, &format!("POST {DOCS}"), &[KEY], &item("2")).await;
    assert_eq!(east.header("x-ms-session-token"), "0:-1#1#0=1#1=0");
    assert_eq!(west.header("x-ms-session-token"), "0:-1#1#0=0#1=1");
    assert_eq!((west.header("lsn"), west.header("x-ms-global-committed-lsn")), ("1", "0"));
    let seen = [KEY, ("x-ms-session-token", east.header("x-ms-session-token"))];
    let behind = send(&emulator, 1, &format!("GET {DOCS}/1"), &seen, &Value::Null).await;
    assert_eq!((behind.code(), behind.status.sub_status()), (404, 1002));
    let missing = send(&emulator, 1, &format!("GET {DOCS}/1"), &[KEY], &Value::Null).await;
    assert_eq!((missing.code(), missing.status.sub_status()), (404, 0));
    assert_eq!(missing.header("x-ms-session-token"), "0:-1#1#0=0#1=1", "that it was not there was seen, too");
    emulator.control().resume(None, None).unwrap();
    let there = send(&emulator, 1, &format!("GET {DOCS}/1"), &seen, &Value::Null).await;
    assert_eq!(there.code(), 200);
    assert_eq!(there.header("x-ms-session-token"), "0:-1#2#0=1#1=1");
    assert_eq!((there.header("x-ms-cosmos-llsn"), there.header("x-ms-global-committed-lsn")), ("2", "2"));
}

#[tokio::test]
async fn a_region_takes_a_write_once_it_has_what_the_session_has_seen() {
    let emulator = apart().await;
    let item = json!({"id": "1", "pk": "a"});
    let made = send(&emulator, 0, &format!("POST {DOCS}"), &[KEY], &item).await;
    let session = ("x-ms-session-token", made.header("x-ms-session-token"));
    let patch = json!({"operations": [{"op": "set", "path": "/x", "value": 1}]});
    let operations = json!([{"operationType": "Upsert", "resourceBody": item}]);
    let (upsert, json_patch) =
        (("x-ms-documentdb-is-upsert", "True"), ("content-type", "application/json_patch+json"));
    let (batch, atomic) = (("x-ms-cosmos-is-batch-request", "True"), ("x-ms-cosmos-batch-atomic", "True"));
    let range = ("x-ms-documentdb-partitionkeyrangeid", "0");
    let one = format!("{DOCS}/1");
    let bulk = json!([{"operationType": "Upsert", "partitionKey": "[\"a\"]", "resourceBody": item}]);
    let writes = [
        (format!("POST {DOCS}"), vec![KEY], &item),
        (format!("POST {DOCS}"), vec![KEY, upsert], &item),
        (format!("PUT {one}"), vec![KEY], &item),
        (format!("PATCH {one}"), vec![KEY, json_patch], &patch),
        (format!("DELETE {one}"), vec![KEY], &Value::Null),
        (format!("POST {DOCS}"), vec![KEY, batch, atomic], &operations),
        (format!("POST {DOCS}"), vec![range, batch], &bulk),
    ];
    for (line, extra, body) in &writes {
        let with_session = [&extra[..], &[session]].concat();
        let behind = send(&emulator, 1, line, &with_session, body).await;
        assert_eq!(behind.status.to_string(), "404/1002", "{line}: {}", behind.body);
    }
    let here = send(&emulator, 0, &format!("PUT {one}"), &[KEY, session], &item).await;
    assert_eq!(here.code(), 200, "the region that the session has seen takes it");
    let without = send(&emulator, 1, &format!("POST {DOCS}"), &[KEY], &item).await;
    assert_eq!(without.code(), 201, "who has no session is owed nothing");
    emulator.control().resume(None, None).unwrap();
    let there = send(&emulator, 1, &format!("PUT {one}"), &[KEY, session], &item).await;
    assert_eq!(there.code(), 200);
}
