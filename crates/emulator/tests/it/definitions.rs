//! What the definition of a container may say, and how the service writes it back.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::{Answer, with_container};
use crate::socket::Connection;

const ETAG: &str = "/\"_etag\"/?";

async fn open() -> (Emulator, Connection) {
    let emulator = with_container().await;
    let connection = Connection::open(emulator.url()).await.unwrap();
    (emulator, connection)
}

async fn create(connection: &mut Connection, id: &str, members: &Value) -> Answer {
    let mut container = json!({"id": id, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    container.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    connection.send("POST /dbs/d/colls", &[], &container).await.unwrap()
}

fn message(answer: &Answer) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn indexing_that_is_not_automatic_is_automatic_all_the_same() {
    let (_emulator, mut connection) = open().await;
    let policy = json!({"indexingMode": "consistent", "automatic": false, "includedPaths": [{"path": "/*"}]});
    let made = create(&mut connection, "m", &json!({ "indexingPolicy": policy })).await;
    assert_eq!((made.code(), &made.body["indexingPolicy"]["automatic"]), (201, &json!(true)));
    let docs = "/dbs/d/colls/m/docs";
    connection.send(&format!("POST {docs}"), &[], &json!({"id": "1", "pk": "a", "n": 5})).await.unwrap();
    let query = json!({"query": "SELECT VALUE c.id FROM c WHERE c.n = 5"});
    let headers = [
        ("x-ms-documentdb-isquery", "true"),
        ("content-type", "application/query+json"),
        ("x-ms-documentdb-partitionkey", "[\"a\"]"),
    ];
    let found = connection.send(&format!("POST {docs}"), &headers, &query).await.unwrap();
    assert_eq!(found.body["Documents"], json!(["1"]), "{}", found.body);
    // Without an index there is nothing that could be automatic.
    let none = json!({"indexingPolicy": {"indexingMode": "none", "automatic": false}});
    let made = create(&mut connection, "n", &none).await;
    assert_eq!((made.code(), &made.body["indexingPolicy"]["automatic"]), (201, &json!(false)));
}

#[tokio::test]
async fn what_a_policy_leaves_out_is_filled_in() {
    let (_emulator, mut connection) = open().await;
    for (nth, (policy, included, excluded)) in [
        (json!({}), json!([{"path": "/*"}]), json!([{"path": ETAG}])),
        (json!({"excludedPaths": [{"path": "/*"}]}), json!([]), json!([{"path": "/*"}, {"path": ETAG}])),
        (
            json!({"excludedPaths": [{"path": "/x/?"}]}),
            json!([{"path": "/*"}]),
            json!([{"path": "/x/?"}, {"path": ETAG}]),
        ),
        (
            json!({"includedPaths": [{"path": "/a/?", "indexes": [{"kind": "Range", "dataType": "String"}, {"kind": "Hash", "dataType": "Number", "precision": 3}]}, {"path": "/*"}]}),
            json!([{"path": "/a/?", "indexes": [{"kind": "Range", "dataType": "String", "precision": -1}, {"kind": "Hash", "dataType": "Number", "precision": 3}]}, {"path": "/*"}]),
            json!([{"path": ETAG}]),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let made = create(&mut connection, &format!("p{nth}"), &json!({ "indexingPolicy": policy })).await;
        let found = &made.body["indexingPolicy"];
        assert_eq!(made.code(), 201, "{policy}: {}", made.body);
        assert_eq!((&found["includedPaths"], &found["excludedPaths"]), (&included, &excluded), "{policy}");
        assert_eq!((&found["indexingMode"], &found["automatic"]), (&json!("consistent"), &json!(true)));
    }
}

#[tokio::test]
async fn a_malformed_policy_is_named_in_the_services_words() {
    let (_emulator, mut connection) = open().await;
    for members in [
        json!({"indexingPolicy": []}),
        json!({"indexingPolicy": {"includedPaths": "all"}}),
        json!({"computedProperties": "x"}),
        json!({"computedProperties": [{"name": "x"}]}),
        json!({"computedProperties": [{"query": "SELECT VALUE 1 FROM c"}]}),
        json!({"uniqueKeyPolicy": 7}),
        json!({"defaultTtl": "soon"}),
    ] {
        let made = create(&mut connection, "bad", &members).await;
        let part = "One of the specified inputs is invalid";
        assert!(made.code() == 400 && message(&made).contains(part), "{members}: {}", made.body);
        // Which of them is said as well.
        let member = members.as_object().unwrap().keys().next().unwrap();
        assert!(message(&made).contains(member), "{}", message(&made));
    }
}

#[tokio::test]
async fn computed_properties_are_checked_in_the_services_words() {
    let (_emulator, mut connection) = open().await;
    let query = "SELECT VALUE LOWER(c.x) FROM c";
    for (properties, part) in [
        (
            json!([{"name": "x", "query": query}, {"name": "x", "query": query}]),
            "Computed property name 'x' cannot be used in multiple definitions.",
        ),
        (json!([{"name": "", "query": query}]), "Computed property 'name' is either empty or unspecified."),
        (json!([{"name": "x", "query": ""}]), "Computed property 'query' is either empty or unspecified."),
        (
            json!([{"name": "id", "query": query}]),
            "The system property name 'id' cannot be used as a computed property name.",
        ),
        (
            json!([{"name": "x", "query": "SELECT c.x FROM c"}]),
            "Required VALUE expression missing from computed property query 'SELECT c.x FROM c' at index (0).",
        ),
        (
            json!([{"name": "x", "query": "SELEC"}]),
            "Computed property at index (0) has a malformed query: 'SELEC' Error details: '{\"errors\":[{\"severity\":\"Error\",\"location\":{\"start\":0,\"end\":5},\"code\":1001,\"message\":\"Syntax error, incorrect syntax near 'SELEC'.\"}]}'",
        ),
        (
            json!([{"name": "x", "query": "SELECT VALUE LOWER(d.x) FROM c"}]),
            "Error details: '{\"errors\":[{\"severity\":\"Error\",\"location\":{\"start\":19,\"end\":20},\"code\":2001,\"message\":\"Identifier 'd' could not be resolved.\"}]}'",
        ),
    ] {
        let made = create(&mut connection, "bad", &json!({ "computedProperties": properties })).await;
        assert!(made.code() == 400 && message(&made).contains(part), "{properties}: {}", made.body);
    }
}

#[tokio::test]
async fn paths_of_partition_keys_are_checked() {
    let (_emulator, mut connection) = open().await;
    for (path, position) in
        [("/id ds", 4), ("/asdwqr31 @#$#$WRadf", 10), ("id", 0), ("/a/", 3), ("/a/*", 3), ("/a?", 2)]
    {
        let key = json!({"partitionKey": {"paths": [path], "kind": "Hash", "version": 2}});
        let made = create(&mut connection, "bad", &key).await;
        let text = format!(
            "The partition key component definition path '{path}' could not be accepted, failed near position '{position}'. Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character."
        );
        assert!(made.code() == 400 && message(&made).contains(&text), "{path}: {}", message(&made));
    }
    let many =
        json!({"partitionKey": {"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2}});
    let made = create(&mut connection, "bad", &many).await;
    assert!(made.code() == 400 && message(&made).contains("Too many partition key paths"), "{}", made.body);
}

#[tokio::test]
async fn a_quoted_path_leads_to_a_member_of_any_name() {
    let (_emulator, mut connection) = open().await;
    let key =
        json!({"partitionKey": {"paths": [r#"/"level 1*()"/"le/vel2""#], "kind": "Hash", "version": 2}});
    assert_eq!(create(&mut connection, "q", &key).await.code(), 201);
    let docs = "/dbs/d/colls/q/docs";
    let item = json!({"id": "1", "level 1*()": {"le/vel2": "x"}});
    let header = ("x-ms-documentdb-partitionkey", "[\"x\"]");
    let made = connection.send(&format!("POST {docs}"), &[header], &item).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    let read = connection.send(&format!("GET {docs}/1"), &[header], &Value::Null).await.unwrap();
    assert_eq!(read.code(), 200);
}
