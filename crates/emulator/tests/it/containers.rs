//! Databases, containers and offers through the handler.

use serde_json::{Value, json};

use crate::client::{send, with_container};

#[tokio::test]
async fn a_missing_owner_is_told_apart_from_a_missing_resource() {
    let emulator = with_container().await;
    for (line, status) in [
        ("GET /dbs/x", "404"),
        ("GET /dbs/d/colls/x", "404"),
        ("GET /dbs/x/colls/c", "404/1003"),
        ("GET /dbs/d/colls/x/docs", "404/1003"),
    ] {
        let answer = send(&emulator, line, &[], &Value::Null).await;
        assert_eq!(answer.status.to_string(), status, "{line}");
        assert_eq!(answer.body["code"], "NotFound", "{line}");
    }
}

#[tokio::test]
async fn an_offer_is_found_read_and_replaced() {
    let emulator = with_container().await;
    let container = send(&emulator, "GET /dbs/d/colls/c", &[], &Value::Null).await;
    let query = json!({
        "query": "SELECT * FROM root r WHERE r.resource = @link",
        "parameters": [{"name": "@link", "value": container.body["_self"]}],
    });
    let found = send(&emulator, "POST /offers", &[("x-ms-documentdb-isquery", "true")], &query).await;
    let mut offer = found.body["Offers"][0].clone();
    assert_eq!(offer["content"]["offerThroughput"], 400, "{}", found.body);
    offer["content"]["offerThroughput"] = json!(800);
    let line = format!("PUT /offers/{}", offer["_rid"].as_str().unwrap());
    assert_eq!(send(&emulator, &line, &[], &offer).await.code(), 200);
    let read = send(&emulator, &line.replace("PUT", "GET"), &[], &Value::Null).await;
    assert_eq!(read.body["content"]["offerThroughput"], 800);
}

#[tokio::test]
async fn quota_is_told_on_request() {
    let emulator = with_container().await;
    let line = "GET /dbs/d/colls/c";
    let plain = send(&emulator, line, &[], &Value::Null).await;
    assert_eq!(plain.header("x-ms-resource-usage"), "");
    let asked = send(&emulator, line, &[("x-ms-documentdb-populatequotainfo", "True")], &Value::Null).await;
    assert!(asked.header("x-ms-resource-usage").contains("documentsCount=0"));
}

#[tokio::test]
async fn lists_come_in_pages() {
    let emulator = with_container().await;
    for n in 0..4 {
        let container = json!({"id": format!("c{n}"), "partitionKey": {"paths": ["/pk"]}});
        assert_eq!(send(&emulator, "POST /dbs/d/colls", &[], &container).await.code(), 201);
    }
    let (mut seen, mut continuation) = (0, String::new());
    loop {
        let mut headers = vec![("x-ms-max-item-count", "2")];
        if !continuation.is_empty() {
            headers.push(("x-ms-continuation", &continuation));
        }
        let page = send(&emulator, "GET /dbs/d/colls", &headers, &Value::Null).await;
        seen += page.body["DocumentCollections"].as_array().unwrap().len();
        continuation = page.header("x-ms-continuation").to_owned();
        if continuation.is_empty() {
            break;
        }
    }
    assert_eq!(seen, 5);
}
