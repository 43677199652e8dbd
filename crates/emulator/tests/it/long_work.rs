//! Nobody waits for somebody else's query, and no query goes on for nobody.

use std::time::Duration;

use cosmonaut_emulator::{Answered, Control, Emulator, EmulatorBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Answer, send};
use crate::socket::{Connection, KEY, key, manage, within};

/// Each document has so many elements that a join of them with themselves is just within the limit of rows.
const ELEMENTS: u32 = 900;

/// 162 million rows: with pages of any length, nobody sees the end of it.
const DOCUMENTS: u32 = 200;

const STREAMED: &str = "SELECT VALUE 1 FROM c JOIN a IN c.l JOIN b IN c.l WHERE a + b < 0";
const GATHERED: &str = "SELECT VALUE COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l WHERE a + b < 0";

/// An account with a container `c` of documents that are expensive to join, and a container `other` with one item.
async fn account(builder: EmulatorBuilder) -> Emulator {
    let emulator = builder.start().await.unwrap();
    assert_eq!(send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await.code(), 201);
    for id in ["c", "other"] {
        let container = json!({
            "id": id,
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
            "indexingPolicy": {"indexingMode": "none", "automatic": false},
        });
        let made = send(&emulator, "POST /dbs/d/colls", &[], &container).await;
        assert_eq!(made.code(), 201, "{}", made.body);
    }
    let list: Vec<u32> = (0..ELEMENTS).collect();
    for n in 0..DOCUMENTS {
        let item = json!({"id": n.to_string(), "pk": "a", "l": list});
        assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[(KEY, &key("a"))], &item).await.code(), 201);
    }
    let item = json!({"id": "0", "pk": "a"});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/other/docs", &[(KEY, &key("a"))], &item).await.code(), 201);
    emulator
}

fn endless() -> EmulatorBuilder {
    Emulator::builder().management(0).page_time(Duration::from_secs(3600))
}

async fn query(
    connection: &mut Connection,
    text: &str,
    more: &[(&str, &str)],
) -> Result<Answer, hyper::Error> {
    let kind = [("content-type", "application/query+json"), ("x-ms-documentdb-isquery", "True")];
    let headers = [&kind[..], &[(KEY, "[\"a\"]")], more].concat();
    connection.send("POST /dbs/d/colls/c/docs", &headers, &json!({"query": text})).await
}

/// Waits until so many long requests are under way.
async fn under_way(control: &Control, count: usize) {
    within(async {
        while control.long_requests() != count {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn read(connection: &mut Connection, container: &str) -> u16 {
    let line = format!("GET /dbs/d/colls/{container}/docs/0");
    connection.send(&line, &[(KEY, "[\"a\"]")], &Value::Null).await.unwrap().code()
}

/// On one thread for all sockets, which nothing but waiting may hold.
#[tokio::test]
async fn others_are_answered_beside_a_query_that_does_not_end() {
    let emulator = account(endless()).await;
    for text in [STREAMED, GATHERED] {
        let mut queries = JoinSet::new();
        // More than there are threads to work on them.
        for _ in 0..8 {
            let mut slow = Connection::open(emulator.url()).await.unwrap();
            queries.spawn(async move { query(&mut slow, text, &[]).await.map(|_| ()) });
        }
        under_way(emulator.control(), 8).await;
        let mut connection = Connection::open(emulator.url()).await.unwrap();
        within(async {
            for container in ["c", "other"] {
                assert_eq!(read(&mut connection, container).await, 200);
                let line = format!("POST /dbs/d/colls/{container}/docs");
                let upsert = [(KEY, "[\"a\"]"), ("x-ms-documentdb-is-upsert", "true")];
                let written = connection.send(&line, &upsert, &json!({"id": "0", "pk": "a"})).await.unwrap();
                assert!(matches!(written.code(), 200 | 201), "{}", written.body);
            }
            let short =
                query(&mut connection, "SELECT VALUE c.id FROM c WHERE c.id = '7'", &[]).await.unwrap();
            assert_eq!(short.body["Documents"], json!(["7"]));
            assert_eq!(manage(&emulator, "GET /regions", "").await.0, 200);
        })
        .await;
        assert_eq!(emulator.control().long_requests(), 8, "none of them has ended: {text}");
        queries.shutdown().await;
        under_way(emulator.control(), 0).await;
    }
}

#[tokio::test]
async fn a_query_ends_when_its_client_leaves() {
    let emulator = account(endless()).await;
    for text in [STREAMED, GATHERED] {
        let mut slow = Connection::open(emulator.url()).await.unwrap();
        let mut queries = JoinSet::new();
        queries.spawn(async move { query(&mut slow, text, &[]).await.map(|_| ()) });
        under_way(emulator.control(), 1).await;
        // The connection is dropped with its task.
        queries.shutdown().await;
        under_way(emulator.control(), 0).await;

        // One request of a connection that stays.
        let mut both = Connection::open_http2(emulator.url()).await.unwrap();
        {
            let slow = query(&mut both, text, &[]);
            tokio::select! {
                _ = slow => panic!("it does not end"),
                () = under_way(emulator.control(), 1) => {}
            }
        }
        under_way(emulator.control(), 0).await;
        assert_eq!(read(&mut both, "other").await, 200);
    }
}

/// A patch on a condition, and a batch with one, of an item that takes minutes to judge.
const JUDGED: &str =
    "FROM c WHERE EXISTS(SELECT VALUE 1 FROM x IN c.l JOIN y IN c.l WHERE ARRAY_CONTAINS(c.big, x + y))";

async fn judge(connection: &mut Connection, line: &str) -> Result<Answer, hyper::Error> {
    let operations = json!([{"op": "incr", "path": "/n", "value": 1}]);
    let patch = json!({"condition": JUDGED, "operations": operations});
    let batch = json!([{"operationType": "Patch", "id": "big", "resourceBody": patch}]);
    let headers =
        [(KEY, "[\"a\"]"), ("x-ms-cosmos-is-batch-request", "True"), ("x-ms-cosmos-batch-atomic", "True")];
    match line.starts_with("PATCH") {
        true => connection.send(line, &headers[..1], &patch).await,
        false => connection.send(line, &headers, &batch).await,
    }
}

#[tokio::test]
async fn others_are_answered_beside_a_condition_of_a_patch_and_it_ends_when_its_client_leaves() {
    let emulator = account(endless()).await;
    let (list, big): (Vec<u32>, Vec<String>) =
        ((0..ELEMENTS).collect(), (0..2000).map(|n| format!("text {n}")).collect());
    let item = json!({"id": "big", "pk": "a", "l": list, "big": big});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[(KEY, &key("a"))], &item).await.code(), 201);
    for line in ["PATCH /dbs/d/colls/c/docs/big", "POST /dbs/d/colls/c/docs"] {
        let mut slow = Connection::open(emulator.url()).await.unwrap();
        let mut patches = JoinSet::new();
        patches.spawn(async move { judge(&mut slow, line).await.map(|_| ()) });
        under_way(emulator.control(), 1).await;
        let mut connection = Connection::open(emulator.url()).await.unwrap();
        within(async {
            assert_eq!(read(&mut connection, "c").await, 200);
            let upsert = [(KEY, "[\"a\"]"), ("x-ms-documentdb-is-upsert", "true")];
            let item = json!({"id": "0", "pk": "a"});
            let written = connection.send("POST /dbs/d/colls/c/docs", &upsert, &item).await.unwrap();
            assert!(matches!(written.code(), 200 | 201), "{}", written.body);
        })
        .await;
        assert_eq!(emulator.control().long_requests(), 1, "it has not ended: {line}");
        patches.shutdown().await;
        under_way(emulator.control(), 0).await;
    }
}

#[tokio::test]
async fn a_query_whose_client_has_left_is_told_of() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let listen = move |answered: &Answered| {
        if answered.status.is_none() {
            drop(tell.send((answered.method.clone(), answered.path.clone())));
        }
    };
    let emulator = account(endless().request_log(listen)).await;
    let mut slow = Connection::open(emulator.url()).await.unwrap();
    let mut queries = JoinSet::new();
    queries.spawn(async move { query(&mut slow, STREAMED, &[]).await.map(|_| ()) });
    under_way(emulator.control(), 1).await;
    queries.shutdown().await;
    let expected = ("POST".to_owned(), "/dbs/d/colls/c/docs".to_owned());
    assert_eq!(within(told.recv()).await, Some(expected));
}

/// Whoever waits for a thread must not keep those who have one from working.
#[test]
fn more_queries_than_threads_end_and_leave_nothing_behind() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let emulator = account(endless()).await;
        let mut queries = JoinSet::new();
        for _ in 0..64 {
            let mut slow = Connection::open(emulator.url()).await.unwrap();
            queries.spawn(async move { query(&mut slow, STREAMED, &[]).await.map(|_| ()) });
        }
        under_way(emulator.control(), 64).await;
        queries.shutdown().await;
        under_way(emulator.control(), 0).await;
        let mut connection = Connection::open(emulator.url()).await.unwrap();
        let short = query(&mut connection, "SELECT VALUE c.id FROM c WHERE c.id = '7'", &[]);
        assert_eq!(within(short).await.unwrap().body["Documents"], json!(["7"]));
    });
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_query() {
    let emulator = account(endless()).await;
    let control = std::sync::Arc::clone(emulator.control());
    let mut slow = Connection::open(emulator.url()).await.unwrap();
    let mut queries = JoinSet::new();
    queries.spawn(async move { query(&mut slow, GATHERED, &[]).await.is_err() });
    under_way(&control, 1).await;
    within(emulator.shutdown()).await;
    under_way(&control, 0).await;
    assert!(queries.join_next().await.unwrap().unwrap(), "it was cut off");
}

#[tokio::test]
async fn a_page_that_has_taken_its_time_ends_with_a_continuation() {
    let emulator = account(Emulator::builder().page_time(Duration::ZERO)).await;
    let mut connection = Connection::open(emulator.url()).await.unwrap();
    let text = "SELECT VALUE c.id FROM c JOIN a IN c.l WHERE a = 1";
    let (mut found, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let more = [("x-ms-max-item-count", "-1"), ("x-ms-continuation", after.as_str())];
        let page = query(&mut connection, text, &more).await.unwrap();
        assert_eq!(page.code(), 200, "{}", page.body);
        found.extend(
            page.body["Documents"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()),
        );
        pages += 1;
        after = page.header("x-ms-continuation").to_owned();
        if after.is_empty() {
            break;
        }
    }
    let expected: Vec<String> = (0..DOCUMENTS).map(|n| n.to_string()).collect();
    assert_eq!(found, expected);
    assert_eq!(pages, DOCUMENTS, "a page gets on by one document at least");
}
