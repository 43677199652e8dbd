//! A container that was deleted and made again under its name.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::with_container;
use crate::socket::{Connection, KEY};

const DOCS: &str = "/dbs/d/colls/c/docs";
const A: (&str, &str) = (KEY, "[\"a\"]");

async fn make_again(connection: &mut Connection) {
    assert_eq!(connection.send("DELETE /dbs/d/colls/c", &[], &Value::Null).await.unwrap().code(), 204);
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    assert_eq!(connection.send("POST /dbs/d/colls", &[], &container).await.unwrap().code(), 201);
}

#[tokio::test]
async fn what_a_session_saw_of_the_old_one_does_not_bind_the_new_one() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let mut old = String::new();
    for n in 0..5 {
        let item = json!({"id": n.to_string(), "pk": "a"});
        let made = connection.send(&format!("POST {DOCS}"), &[A], &item).await.unwrap();
        old = made.header("x-ms-session-token").to_owned();
    }
    make_again(&mut connection).await;
    connection.send(&format!("POST {DOCS}"), &[A], &json!({"id": "new", "pk": "a"})).await.unwrap();
    let seen = [A, ("x-ms-session-token", old.as_str())];
    let read = connection.send(&format!("GET {DOCS}/new"), &seen, &Value::Null).await.unwrap();
    assert_eq!(read.code(), 200, "{}", read.body);
    let gone = connection.send(&format!("GET {DOCS}/0"), &seen, &Value::Null).await.unwrap();
    assert_eq!(gone.status.to_string(), "404");
    let feed = [("x-ms-session-token", old.as_str())];
    assert_eq!(connection.send(&format!("GET {DOCS}"), &feed, &Value::Null).await.unwrap().code(), 200);

    // A container of another name has nothing to do with it.
    let other = json!({"id": "other", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    connection.send("POST /dbs/d/colls", &[], &other).await.unwrap();
    let of_other = connection.send("GET /dbs/d/colls/other/docs/1", &seen, &Value::Null).await.unwrap();
    assert_eq!(of_other.status.to_string(), "404/1002");

    // Its own tokens bind as ever.
    let own = read.header("x-ms-session-token").to_owned();
    let (version, lsn) = own.rsplit_once('#').unwrap();
    let ahead = format!("{version}#{}", lsn.parse::<i64>().unwrap() + 1000);
    let unseen = [A, ("x-ms-session-token", ahead.as_str())];
    let answer = connection.send(&format!("GET {DOCS}/new"), &unseen, &Value::Null).await.unwrap();
    assert_eq!(answer.status.to_string(), "404/1002");
}

#[tokio::test]
async fn who_knows_the_partitions_of_the_old_one_is_told_those_of_the_new_one() {
    let emulator = with_container().await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let old = connection.get("/dbs/d/colls/c/pkranges").await.unwrap();
    let tag = old.header("etag").to_owned();
    let known = [("if-none-match", tag.as_str())];
    let line = "GET /dbs/d/colls/c/pkranges";
    assert_eq!(connection.send(line, &known, &Value::Null).await.unwrap().code(), 304);
    make_again(&mut connection).await;
    let new = connection.send(line, &known, &Value::Null).await.unwrap();
    assert_eq!(new.code(), 200);
    assert_ne!(new.body["_rid"], old.body["_rid"]);
}

#[tokio::test]
async fn so_it_is_after_a_restart_and_when_the_database_went_with_it() {
    let directory = std::env::temp_dir().join(format!("cosmonaut-recreated-{}", std::process::id()));
    let start = || Emulator::builder().data(&directory).start();
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    let emulator = start().await.unwrap();
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let mut old = String::new();
    for generation in 0..2 {
        connection.send("POST /dbs", &[], &json!({"id": "d"})).await.unwrap();
        connection.send("POST /dbs/d/colls", &[], &container).await.unwrap();
        for n in 0..5 - 3 * generation {
            let item = json!({"id": n.to_string(), "pk": "a"});
            let made = connection.send(&format!("POST {DOCS}"), &[A], &item).await.unwrap();
            if generation == 0 {
                old = made.header("x-ms-session-token").to_owned();
            }
        }
        if generation == 0 {
            connection.send("DELETE /dbs/d", &[], &Value::Null).await.unwrap();
        }
    }
    drop(connection);
    emulator.shutdown().await;
    let emulator = start().await.unwrap();
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let seen = [A, ("x-ms-session-token", old.as_str())];
    let read = connection.send(&format!("GET {DOCS}/1"), &seen, &Value::Null).await.unwrap();
    assert_eq!(read.code(), 200, "{}", read.body);
    drop(connection);
    emulator.shutdown().await;
    std::fs::remove_dir_all(&directory).unwrap();
}
