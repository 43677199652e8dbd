//! Containers without a partition key, as clients of the API version 2018-06-18 make them.

use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::{Connection, KEY};

const OLD: (&str, &str) = ("x-ms-version", "2018-06-18");
const NEW: (&str, &str) = ("x-ms-version", "2020-07-15");
const DOCS: &str = "/dbs/d/colls/old/docs";

#[tokio::test]
async fn an_old_client_makes_and_uses_one_without_ever_naming_a_key() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let made = connection.send("POST /dbs/d/colls", &[OLD], &json!({"id": "old"})).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    assert_eq!(made.body.get("partitionKey"), None);
    let item = json!({"id": "1", "n": 1});
    assert_eq!(connection.send(&format!("POST {DOCS}"), &[OLD], &item).await.unwrap().code(), 201);
    for (method, body, code) in
        [("GET", &Value::Null, 200), ("PUT", &item, 200), ("DELETE", &Value::Null, 204)]
    {
        let answer = connection.send(&format!("{method} {DOCS}/1"), &[OLD], body).await.unwrap();
        assert_eq!(answer.code(), code, "{method}: {}", answer.body);
    }
    // Nobody else may leave the key out.
    let refused = connection.send("POST /dbs/d/colls", &[NEW], &json!({"id": "new"})).await.unwrap();
    assert!(refused.code() == 400 && refused.body.to_string().contains("partitionKey"), "{}", refused.body);
}

#[tokio::test]
async fn a_client_of_today_finds_its_items_outside_of_any_key() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    connection.send("POST /dbs/d/colls", &[OLD], &json!({"id": "old"})).await.unwrap();
    connection.send(&format!("POST {DOCS}"), &[OLD], &json!({"id": "1"})).await.unwrap();
    let container = connection.send("GET /dbs/d/colls/old", &[NEW], &Value::Null).await.unwrap().body;
    let key = &container["partitionKey"];
    assert_eq!((&key["paths"], &key["systemKey"]), (&json!(["/_partitionKey"]), &json!(true)), "{container}");
    let none = (KEY, "[]");
    assert_eq!(
        connection.send(&format!("GET {DOCS}/1"), &[NEW, none], &Value::Null).await.unwrap().code(),
        200
    );
    // Items with a key can be added beside them.
    let keyed = json!({"id": "1", "_partitionKey": "a"});
    let header = (KEY, "[\"a\"]");
    assert_eq!(connection.send(&format!("POST {DOCS}"), &[NEW, header], &keyed).await.unwrap().code(), 201);
    let read = connection.send(&format!("GET {DOCS}/1"), &[NEW, header], &Value::Null).await.unwrap();
    assert_eq!(read.body["_partitionKey"], "a");
}
