//! Scripts belong to the account's data: other regions have them, and so has the next run.

use std::time::Duration;

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use super::{KEY, source};
use crate::client::send;
use crate::socket::{Connection, EAST, WEST, two_regions};

#[tokio::test]
async fn other_regions_have_the_scripts_and_what_they_wrote() {
    let emulator = two_regions(Emulator::builder().script_time(Duration::from_secs(3600))).await;
    let mut east = Connection::open(&emulator.region_url(EAST).unwrap()).await.unwrap();
    let mut west = Connection::open(&emulator.region_url(WEST).unwrap()).await.unwrap();
    let body = source(
        "coll.createDocument(link, {id: '1', pk: 'a'}); coll.createDocument(link, {id: '2', pk: 'a'});",
    );
    let script = json!({"id": "p", "body": body});
    let feed = "POST /dbs/d/colls/c/sprocs";
    assert_eq!(east.send(feed, &[], &script).await.unwrap().code(), 201);
    let ran = east.send("POST /dbs/d/colls/c/sprocs/p", &[KEY], &json!([])).await.unwrap();
    assert_eq!(ran.code(), 200, "{}", ran.body);
    // A region that takes no writes runs none.
    let refused = west.send("POST /dbs/d/colls/c/sprocs/p", &[KEY], &json!([])).await.unwrap();
    assert_eq!((refused.code(), refused.status.sub_status()), (403, 3));
    let script = west.send("GET /dbs/d/colls/c/sprocs/p", &[], &Value::Null).await.unwrap();
    assert_eq!(script.code(), 200);
    let session = [KEY, ("x-ms-session-token", ran.header("x-ms-session-token"))];
    for id in ["1", "2"] {
        let line = format!("GET /dbs/d/colls/c/docs/{id}");
        loop {
            let read = west.send(&line, &session, &Value::Null).await.unwrap();
            // Until the region has heard of what the session has seen.
            if (read.code(), read.status.sub_status()) != (404, 1002) {
                assert_eq!(read.code(), 200);
                break;
            }
        }
    }
}

#[tokio::test]
async fn the_next_run_has_the_scripts_and_what_they_wrote() {
    let directory = std::env::temp_dir().join(format!("cosmonaut-scripts-{}", std::process::id()));
    let start = || Emulator::builder().data(&directory).script_time(Duration::from_secs(3600)).start();
    let emulator = start().await.unwrap();
    assert_eq!(send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await.code(), 201);
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    assert_eq!(send(&emulator, "POST /dbs/d/colls", &[], &container).await.code(), 201);
    let body = source(
        "coll.createDocument(link, {pk: 'a'}, () => coll.readDocuments(link, (e, docs) => set(docs.length)))",
    );
    let script = json!({"id": "p", "body": body});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/sprocs", &[], &script).await.code(), 201);
    let run =
        async |emulator: &Emulator| send(emulator, "POST /dbs/d/colls/c/sprocs/p", &[KEY], &json!([])).await;
    assert_eq!(run(&emulator).await.body, json!(1));
    emulator.shutdown().await;
    let emulator = start().await.unwrap();
    assert_eq!(run(&emulator).await.body, json!(2));
    emulator.shutdown().await;
    std::fs::remove_dir_all(&directory).unwrap();
}
