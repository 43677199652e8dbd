//! What the text of an item may hold: ids, times to live, and JSON that other readers would take for something else.

use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::{Connection, KEY};

const DOCS: &str = "/dbs/d/colls/c/docs";
const A: (&str, &str) = (KEY, "[\"a\"]");

#[tokio::test]
async fn an_id_may_end_in_a_space() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let item = json!({"id": "Test ", "pk": "a"});
    assert_eq!(connection.send(&format!("POST {DOCS}"), &[A], &item).await.unwrap().code(), 201);
    for (method, body, code) in
        [("GET", &Value::Null, 200), ("PUT", &item, 200), ("DELETE", &Value::Null, 204)]
    {
        let answer = connection.send(&format!("{method} {DOCS}/Test%20"), &[A], body).await.unwrap();
        assert_eq!(answer.code(), code, "{method}: {}", answer.body);
    }
    let database = connection.send("POST /dbs", &[], &json!({"id": "Test "})).await.unwrap();
    assert_eq!(database.code(), 400);
}

#[tokio::test]
async fn an_id_with_a_question_mark_is_found_whether_it_was_escaped_or_not() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    for id in ["a", "a?b"] {
        let made =
            connection.send(&format!("POST {DOCS}"), &[A], &json!({"id": id, "pk": "a"})).await.unwrap();
        assert_eq!(made.code(), 201, "{}", made.body);
    }
    for (path, id) in [("a%3Fb", "a?b"), ("a?b", "a?b"), ("a", "a")] {
        let read = connection.send(&format!("GET {DOCS}/{path}"), &[A], &Value::Null).await.unwrap();
        assert_eq!((read.code(), &read.body["id"]), (200, &json!(id)), "{path}: {}", read.body);
    }
}

#[tokio::test]
async fn ids_that_cannot_be_are_refused_in_the_services_words() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let long = "x".repeat(256);
    for id in ["", "a/b", "a\\b", "a?b", "a#b", &long] {
        let key = json!({"paths": ["/pk"]});
        for (line, body) in
            [("POST /dbs", json!({"id": id})), ("POST /dbs/d/colls", json!({"id": id, "partitionKey": key}))]
        {
            let answer = connection.send(line, &[], &body).await.unwrap();
            let message = answer.body["message"].as_str().unwrap_or_default();
            let words = "Ensure to provide a unique non-empty string less than '255' characters.";
            assert!(answer.code() == 400 && message.contains(words), "{line} {id:?}: {message}");
        }
    }
    let longer = "x".repeat(1024);
    for id in ["", "a/b", "a\\b", &longer] {
        let answer =
            connection.send(&format!("POST {DOCS}"), &[A], &json!({"id": id, "pk": "a"})).await.unwrap();
        let message = answer.body["message"].as_str().unwrap_or_default();
        let words = "Ensure to provide a unique non-empty string less than '1024' characters.";
        assert!(answer.code() == 400 && message.contains(words), "{id:?}: {message}");
    }
}

#[tokio::test]
async fn a_time_to_live_of_null_is_400() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let item = json!({"id": "1", "pk": "a", "ttl": null});
    let answer = connection.send(&format!("POST {DOCS}"), &[A], &item).await.unwrap();
    assert!(
        answer.code() == 400 && answer.body["message"].as_str().unwrap().contains("ttl"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn text_that_readers_would_disagree_on_is_400_and_stores_nothing() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let digits = "1".repeat(400);
    for (item, part) in [
        (r#"{"id":"\ud800","pk":"a"}"#.to_owned(), "surrogate"),
        (r#"{"id":"\udc00","pk":"a"}"#.to_owned(), "surrogate"),
        (r#"{"id":"1","pk":"a","x":["\uD83D\uD83D"]}"#.to_owned(), "surrogate"),
        (r#"{"id":"1","pk":"a","\ud83dx":1}"#.to_owned(), "surrogate"),
        (r#"{"id":"1","pk":"a","x":{"y":"\ud83d\n"}}"#.to_owned(), "surrogate"),
        (r#"{"id":"1","pk":"a","id":"2"}"#.to_owned(), "twice"),
        (r#"{"id":"1","pk":"a","\u0069d":"2"}"#.to_owned(), "twice"),
        (r#"{"id":"1","pk":"a","n":1e400}"#.to_owned(), "1e400"),
        (r#"{"id":"1","pk":"a","n":[-1E400]}"#.to_owned(), "-1E400"),
        (format!(r#"{{"id":"1","pk":"a","n":{digits}}}"#), "1111"),
    ] {
        for header in [("x-ms-documentdb-is-upsert", "true"), ("prefer", "")] {
            let answer = connection.send_text(&format!("POST {DOCS}"), &[A, header], &item).await.unwrap();
            let message = answer.body["message"].as_str().unwrap_or_default();
            assert!(answer.code() == 400 && message.contains(part), "{item}: {} {message}", answer.status);
        }
    }
    let list = connection.send(&format!("GET {DOCS}"), &[], &Value::Null).await.unwrap();
    assert_eq!(list.body["_count"], 0, "{}", list.body);
    // What only looks like it is fine.
    let fine = r#"{"id":"1","pk":"a","e":"\ud83d\ude80","t":"\\ud800 1e400","n":[1e308,1e-400,0.0e999],"o":{"id":1}}"#;
    assert_eq!(connection.send_text(&format!("POST {DOCS}"), &[A], fine).await.unwrap().code(), 201);
}

#[tokio::test]
async fn a_patch_cannot_bring_in_what_an_item_may_not_hold() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    connection.send(&format!("POST {DOCS}"), &[A], &json!({"id": "1", "pk": "a"})).await.unwrap();
    for value in [r#""\ud800""#, "1e400", r#"{"x":["\udfff"]}"#] {
        let patch = format!(r#"[{{"op":"set","path":"/x","value":{value}}}]"#);
        let answer = connection.send_text(&format!("PATCH {DOCS}/1"), &[A], &patch).await.unwrap();
        assert_eq!(answer.code(), 400, "{value}: {}", answer.body);
    }
}
