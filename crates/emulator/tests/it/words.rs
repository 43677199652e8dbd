//! Headers and texts that clients of the service look for.

use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::{Connection, KEY};

const DOCS: &str = "/dbs/d/colls/c/docs";
const A: (&str, &str) = (KEY, "[\"a\"]");
const ID: &str = "12345678-90ab-4cde-8f01-234567890abc";

#[tokio::test]
async fn the_requests_activity_id_comes_back() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    for (line, code) in [("GET /dbs", 200), ("GET /dbs/nothing", 404), ("GET /nonsense", 400)] {
        let answer = connection.send(line, &[("x-ms-activity-id", ID)], &Value::Null).await.unwrap();
        assert_eq!((answer.code(), answer.header("x-ms-activity-id")), (code, ID), "{line}");
    }
    // What is no activity id is not repeated.
    for sent in ["", "x", "12345678-90ab-4cde-8f01-234567890ab<"] {
        let answer = connection.send("GET /dbs", &[("x-ms-activity-id", sent)], &Value::Null).await.unwrap();
        let found = answer.header("x-ms-activity-id");
        assert!(found.len() == 36 && found != sent, "{sent:?}: {found}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_said_with_the_activity_id() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let headers = [
        ("x-ms-activity-id", ID),
        ("x-ms-documentdb-isquery", "true"),
        ("content-type", "application/query+json"),
        A,
    ];
    for query in ["SELECT * FRM c", "SELECT * FROM c ORDER BY c.a, c.b"] {
        let answer =
            connection.send(&format!("POST {DOCS}"), &headers, &json!({"query": query})).await.unwrap();
        let message = answer.body["message"].as_str().unwrap();
        assert_eq!((answer.code(), answer.body["code"].as_str()), (400, Some("BadRequest")), "{message}");
        let errors = message.strip_prefix("Message: ").unwrap();
        let errors =
            errors.strip_suffix(&format!("\r\nActivityId: {ID}")).unwrap_or_else(|| panic!("{message}"));
        assert!(serde_json::from_str::<Value>(errors).is_ok(), "{errors}");
    }
}

#[tokio::test]
async fn a_database_is_made_without_a_body_if_none_is_wanted() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let minimal = [("prefer", "return=minimal")];
    let made = connection.send("POST /dbs", &minimal, &json!({"id": "quiet"})).await.unwrap();
    assert_eq!((made.code(), &made.body), (201, &Value::Null));
    assert_eq!(connection.get("/dbs/quiet").await.unwrap().body["id"], "quiet");
}

#[tokio::test]
async fn a_new_container_says_what_a_session_has_seen_and_how_much_it_may_hold() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let container = json!({"id": "new", "partitionKey": {"paths": ["/pk"]}});
    let throughput = [("x-ms-offer-throughput", "12000")];
    let made = connection.send("POST /dbs/d/colls", &throughput, &container).await.unwrap();
    let token = made.header("x-ms-session-token").to_owned();
    assert!(token.starts_with("0:") && token.contains(",1:"), "{token}");
    assert_eq!(made.header("x-ms-alt-content-path"), "dbs/d");
    // The token is one that reads accept.
    let list = "GET /dbs/d/colls/new/docs";
    let read = connection.send(list, &[("x-ms-session-token", &token)], &Value::Null).await.unwrap();
    assert_eq!(read.code(), 200, "{}", read.body);
    let quota = [("x-ms-documentdb-populatequotainfo", "True")];
    let asked = connection.send("GET /dbs/d/colls/new", &quota, &Value::Null).await.unwrap();
    for answer in [&made, &asked] {
        for header in ["x-ms-resource-quota", "x-ms-resource-usage"] {
            assert!(
                answer.header(header).contains(";collectionSize="),
                "{header}: {}",
                answer.header(header)
            );
        }
    }
}

#[tokio::test]
async fn what_is_too_large_is_413_with_the_services_text() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let text = "Message: {\"Errors\":[\"Request size is too large\"]}\r\n";
    let large = json!({"id": "1", "pk": "a", "x": "y".repeat(2 * 1024 * 1024)});
    let answer = connection.send(&format!("POST {DOCS}"), &[A], &large).await.unwrap();
    assert!(answer.body["message"].as_str().unwrap().starts_with(text), "{}", answer.body);
    assert_eq!((answer.code(), &answer.body["code"]), (413, &json!("RequestEntityTooLarge")));
    let batch = [A, ("x-ms-cosmos-is-batch-request", "true"), ("x-ms-cosmos-batch-atomic", "true")];
    let operations = json!([{"operationType": "Create", "resourceBody": large}]);
    let answer = connection.send(&format!("POST {DOCS}"), &batch, &operations).await.unwrap();
    assert!(
        answer.code() == 413 && answer.body["message"].as_str().unwrap().starts_with(text),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_batch_has_at_least_one_operation_and_at_most_a_hundred() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let batch = [A, ("x-ms-cosmos-is-batch-request", "true"), ("x-ms-cosmos-batch-atomic", "true")];
    let read = json!({"operationType": "Read", "id": "1"});
    for (operations, part) in [
        (json!([]), "Batch request has no operations."),
        (json!(vec![read; 101]), "Batch request has more operations than what is supported."),
    ] {
        let answer = connection.send(&format!("POST {DOCS}"), &batch, &operations).await.unwrap();
        assert!(
            answer.code() == 400 && answer.body["message"].as_str().unwrap().contains(part),
            "{}",
            answer.body
        );
    }
}
