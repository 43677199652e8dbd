//! Partition key values that are no scalars, and keys of which a part is missing.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::{Connection, KEY};

const DOCS: &str = "/dbs/d/colls/c/docs";

async fn hierarchical() -> (Emulator, Connection) {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let container =
        json!({"id": "h", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}});
    let made = connection.send("POST /dbs/d/colls", &[], &container).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    (emulator, connection)
}

#[tokio::test]
async fn an_object_or_array_at_the_keys_path_counts_as_undefined() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let undefined = (KEY, "[{}]");
    for (id, value) in [("1", json!({})), ("2", json!({"a": 1})), ("3", json!([])), ("4", json!(["x"]))] {
        let item = json!({"id": id, "pk": value});
        let made = connection.send(&format!("POST {DOCS}"), &[undefined], &item).await.unwrap();
        assert_eq!(made.code(), 201, "{value}: {}", made.body);
        let read = connection.send(&format!("GET {DOCS}/{id}"), &[undefined], &Value::Null).await.unwrap();
        assert_eq!((read.code(), &read.body["pk"]), (200, &value));
        // Some clients send the value itself.
        let as_it_is = json!([value]).to_string();
        let read =
            connection.send(&format!("GET {DOCS}/{id}"), &[(KEY, &as_it_is)], &Value::Null).await.unwrap();
        assert_eq!(read.code(), 200, "{}", read.body);
    }
    // Without the header the key is found in the item.
    let made = connection.send(&format!("POST {DOCS}"), &[], &json!({"id": "5", "pk": {}})).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    let item = json!({"id": "6", "pk": {}});
    let other = connection.send(&format!("POST {DOCS}"), &[(KEY, "[\"x\"]")], &item).await.unwrap();
    assert_eq!(other.status.to_string(), "400/1001");
}

#[tokio::test]
async fn so_it_does_within_a_hierarchical_key() {
    let (_emulator, mut connection) = hierarchical().await;
    let docs = "/dbs/d/colls/h/docs";
    for (id, item, key) in [
        ("1", json!({"id": "1", "t": "x", "u": {}}), r#"["x",{}]"#),
        ("2", json!({"id": "2", "t": [1], "u": "y"}), r#"[{},"y"]"#),
    ] {
        let made = connection.send(&format!("POST {docs}"), &[(KEY, key)], &item).await.unwrap();
        assert_eq!(made.code(), 201, "{}", made.body);
        let read = connection.send(&format!("GET {docs}/{id}"), &[(KEY, key)], &Value::Null).await.unwrap();
        assert_eq!(read.code(), 200, "{}", read.body);
    }
}

#[tokio::test]
async fn part_of_a_hierarchical_key_is_400_1001_for_one_item() {
    let (_emulator, mut connection) = hierarchical().await;
    let docs = "/dbs/d/colls/h/docs";
    let part = (KEY, r#"["x"]"#);
    connection.send(&format!("POST {docs}"), &[], &json!({"id": "1", "t": "x", "u": "y"})).await.unwrap();
    let patch = json!([{"op": "set", "path": "/n", "value": 1}]);
    for (method, body) in [("GET", Value::Null), ("DELETE", Value::Null), ("PATCH", patch)] {
        let answer = connection.send(&format!("{method} {docs}/1"), &[part], &body).await.unwrap();
        assert_eq!(answer.status.to_string(), "400/1001", "{method}: {}", answer.body);
        let message = answer.body["message"].as_str().unwrap();
        assert!(
            message
                .contains("Partition key provided either doesn't correspond to definition in the collection"),
            "{message}"
        );
    }
    let batch = [part, ("x-ms-cosmos-is-batch-request", "true"), ("x-ms-cosmos-batch-atomic", "true")];
    let read = json!([{"operationType": "Read", "id": "1"}]);
    let answer = connection.send(&format!("POST {docs}"), &batch, &read).await.unwrap();
    assert_eq!(answer.status.to_string(), "400/1001", "{}", answer.body);
}
