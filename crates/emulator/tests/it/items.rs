//! Items and feeds through the handler: statuses, headers, conditions.

use serde_json::{Value, json};

use crate::client::{send, with_container};

const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"a\"]");
const DOCS: &str = "/dbs/d/colls/c/docs";

#[tokio::test]
async fn an_item_goes_through_its_life() {
    let emulator = with_container().await;
    let item = json!({"id": "1", "pk": "a", "n": 1});
    let create = format!("POST {DOCS}");
    let (read, put, delete) = (format!("GET {DOCS}/1"), format!("PUT {DOCS}/1/"), format!("DELETE {DOCS}/1"));
    let created = send(&emulator, &create, &[KEY], &item).await;
    assert_eq!(created.code(), 201);
    assert_eq!(send(&emulator, &create, &[KEY], &item).await.code(), 409);
    let found = send(&emulator, &read, &[KEY], &Value::Null).await;
    assert_eq!((found.code(), &found.body), (200, &created.body));
    for name in [
        "etag",
        "lsn",
        "x-ms-item-lsn",
        "x-ms-cosmos-llsn",
        "x-ms-global-committed-lsn",
        "x-ms-session-token",
    ] {
        assert!(!found.header(name).is_empty(), "{name}");
    }
    assert_eq!(found.header("x-ms-alt-content-path"), "dbs/d/colls/c");
    assert_eq!(found.header("x-ms-documentdb-partitionkeyrangeid"), "0");
    assert_eq!(found.header("x-ms-request-charge"), "1");

    let stale = ("if-match", "\"stale\"");
    assert_eq!(send(&emulator, &put, &[KEY, stale], &item).await.code(), 412);
    let known = ("if-none-match", found.header("etag"));
    let unchanged = send(&emulator, &read, &[KEY, known], &Value::Null).await;
    assert_eq!((unchanged.code(), &unchanged.body), (304, &Value::Null));

    let minimal = send(&emulator, &put, &[KEY, ("prefer", "return=minimal")], &item).await;
    assert_eq!((minimal.code(), &minimal.body), (200, &Value::Null));
    assert_eq!(send(&emulator, &delete, &[KEY], &Value::Null).await.code(), 204);
    assert_eq!(send(&emulator, &read, &[KEY], &Value::Null).await.code(), 404);
}

#[tokio::test]
async fn a_batch_for_one_key_is_all_or_nothing_even_if_it_only_ends_at_the_first_error() {
    let emulator = with_container().await;
    let (post, batch) = (format!("POST {DOCS}"), ("x-ms-cosmos-is-batch-request", "true"));
    let create = |id: &str| json!({"operationType": "Create", "resourceBody": {"id": id, "pk": "a"}});
    let operations = json!([create("1"), create("1")]);
    for (header, code) in [
        (("x-ms-cosmos-batch-atomic", "true"), 207),
        (("x-ms-cosmos-batch-continue-on-error", "false"), 207),
        (("x-ms-cosmos-batch-continue-on-error", "true"), 400),
    ] {
        let answer = send(&emulator, &post, &[KEY, batch, header], &operations).await;
        assert_eq!(answer.code(), code, "{header:?}: {}", answer.body);
        assert_eq!(send(&emulator, &format!("GET {DOCS}/1"), &[KEY], &Value::Null).await.code(), 404);
    }
}

#[tokio::test]
async fn an_item_is_found_by_its_link() {
    let emulator = with_container().await;
    let created = send(&emulator, &format!("POST {DOCS}"), &[KEY], &json!({"id": "1", "pk": "a"})).await;
    let link = created.body["_self"].as_str().unwrap();
    let found = send(&emulator, &format!("GET /{link}"), &[KEY], &Value::Null).await;
    assert_eq!((found.code(), &found.body["id"]), (200, &json!("1")));
}

#[tokio::test]
async fn a_session_that_has_seen_more_is_404_1002() {
    let emulator = with_container().await;
    send(&emulator, &format!("POST {DOCS}"), &[KEY], &json!({"id": "1", "pk": "a"})).await;
    let read = format!("GET {DOCS}/1");
    let ahead = ("x-ms-session-token", "0:-1#9999");
    let answer = send(&emulator, &read, &[KEY, ahead], &Value::Null).await;
    assert_eq!(answer.status.to_string(), "404/1002");
    let weaker = ("x-ms-consistency-level", "Eventual");
    assert_eq!(send(&emulator, &read, &[KEY, ahead, weaker], &Value::Null).await.code(), 200);
    let stronger = ("x-ms-consistency-level", "Strong");
    assert_eq!(send(&emulator, &read, &[KEY, stronger], &Value::Null).await.code(), 400);
}

#[tokio::test]
async fn a_client_that_means_another_container_is_told() {
    let emulator = with_container().await;
    let other = ("x-ms-cosmos-intended-collection-rid", "AAAAAIAAAAE=");
    let answer = send(&emulator, &format!("GET {DOCS}/1"), &[KEY, other], &Value::Null).await;
    assert_eq!(answer.status.to_string(), "400/1024");
}

#[tokio::test]
async fn partition_ranges_are_sent_once() {
    let emulator = with_container().await;
    let list = "GET /dbs/d/colls/c/pkranges";
    let feed = ("a-im", "Incremental feed");
    let first = send(&emulator, list, &[feed], &Value::Null).await;
    assert_eq!((first.code(), &first.body["_count"]), (200, &json!(1)));
    assert_eq!(first.body["PartitionKeyRanges"][0]["maxExclusive"], "FF");
    let again = send(&emulator, list, &[feed, ("if-none-match", first.header("etag"))], &Value::Null).await;
    assert_eq!((again.code(), again.header("etag")), (304, first.header("etag")));
}

#[tokio::test]
async fn a_query_pages_through_its_rows() {
    let emulator = with_container().await;
    for n in 0..5 {
        let item = json!({"id": n.to_string(), "pk": "a", "n": n});
        assert_eq!(send(&emulator, &format!("POST {DOCS}"), &[KEY], &item).await.code(), 201);
    }
    let query = json!({"query": "SELECT VALUE c.n FROM c WHERE c.n > @least", "parameters": [{"name": "@least", "value": 0}]});
    let mut found = Vec::new();
    let mut continuation = String::new();
    loop {
        let mut headers = vec![KEY, ("x-ms-documentdb-isquery", "True"), ("x-ms-max-item-count", "3")];
        if !continuation.is_empty() {
            headers.push(("x-ms-continuation", &continuation));
        }
        let page = send(&emulator, &format!("POST {DOCS}"), &headers, &query).await;
        assert_eq!(page.code(), 200, "{}", page.body);
        let rows = page.body["Documents"].as_array().unwrap();
        assert!(rows.len() <= 3);
        assert_eq!(page.header("x-ms-item-count"), rows.len().to_string());
        found.extend(rows.iter().map(|row| row.as_i64().unwrap()));
        continuation = page.header("x-ms-continuation").to_owned();
        if continuation.is_empty() {
            break;
        }
    }
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 4]);
}

#[tokio::test]
async fn the_change_feed_ends_with_304_and_goes_on_from_its_etag() {
    let emulator = with_container().await;
    let create = format!("POST {DOCS}");
    send(&emulator, &create, &[KEY], &json!({"id": "1", "pk": "a"})).await;
    let feed = format!("GET {DOCS}");
    let mode = ("a-im", "Incremental Feed");
    let range = ("x-ms-documentdb-partitionkeyrangeid", "0");
    let first = send(&emulator, &feed, &[mode, range], &Value::Null).await;
    assert_eq!((first.code(), &first.body["_count"]), (200, &json!(1)));
    let etag = first.header("etag").to_owned();
    let nothing = send(&emulator, &feed, &[mode, range, ("if-none-match", &etag)], &Value::Null).await;
    assert_eq!((nothing.code(), nothing.header("etag").is_empty()), (304, false));
    send(&emulator, &create, &[KEY], &json!({"id": "2", "pk": "a"})).await;
    let next = send(&emulator, &feed, &[mode, range, ("if-none-match", &etag)], &Value::Null).await;
    assert_eq!(next.body["Documents"][0]["id"], "2");
}
