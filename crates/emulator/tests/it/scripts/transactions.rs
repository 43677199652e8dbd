//! All or nothing, nothing lost, and bounded.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_emulator::Emulator;
use serde_json::json;
use tokio::task::JoinSet;

use super::{KEY, answer, create, error, execute, patient, put, read, run, source, with_script_time};
use crate::client::send;

#[tokio::test]
async fn a_throw_undoes_everything() {
    let emulator = patient().await;
    create(&emulator, json!({"id": "old", "pk": "a", "n": 1})).await;
    let writes = "coll.createDocument(link, {id: 'new', pk: 'a'}, () => {
          coll.upsertDocument(link, {id: 'old', pk: 'a', n: 2}, () => {
            coll.deleteDocument(coll.getAltLink() + '/docs/old', () => { END }); }); });";
    for end in
        ["throw new Error('m')", "getContext().abort(new Error('m'))", "null.x", "coll.deleteDocument('x')"]
    {
        let failed = run(&emulator, &source(&writes.replace("END", end)), &json!([])).await;
        assert_eq!(failed.code(), 400, "{end}");
        assert_eq!(read(&emulator, "new").await.code(), 404, "{end}");
        assert_eq!(read(&emulator, "old").await.body["n"], 1, "{end}");
    }
    answer(&emulator, &writes.replace("END", "set(1)")).await;
    assert_eq!((read(&emulator, "new").await.code(), read(&emulator, "old").await.code()), (200, 404));
}

/// One commit: whoever reads the changes sees all of them under one number.
#[tokio::test]
async fn all_writes_of_a_run_are_one_commit() {
    let emulator = patient().await;
    answer(&emulator, "for (let i = 0; i < 5; i++) coll.createDocument(link, {id: '' + i, pk: 'a'});").await;
    let feed =
        send(&emulator, "GET /dbs/d/colls/c/docs", &[KEY, ("a-im", "Incremental Feed")], &json!(null)).await;
    let lsns: Vec<_> =
        feed.body["Documents"].as_array().unwrap().iter().map(|item| item["_lsn"].clone()).collect();
    assert_eq!(lsns.len(), 5);
    assert!(lsns.iter().all(|lsn| *lsn == lsns[0]), "{lsns:?}");
}

async fn count_together(source: &str) {
    let emulator = Arc::new(patient().await);
    create(&emulator, json!({"id": "counter", "pk": "a", "n": 0})).await;
    put(&emulator, "sprocs", &json!({"id": "p", "body": super::source(source)})).await;
    let mut counting = JoinSet::new();
    for _ in 0..8 {
        let emulator: Arc<Emulator> = Arc::clone(&emulator);
        counting.spawn(async move {
            for _ in 0..10 {
                // A run that others have overtaken too often is for the client to repeat.
                while execute(&emulator, &json!([]), &[KEY]).await.code() != 200 {}
            }
        });
    }
    counting.join_all().await;
    assert_eq!(read(&emulator, "counter").await.body["n"], 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_together_loses_nothing() {
    count_together(
        "coll.readDocument(coll.getAltLink() + '/docs/counter', (err, doc) => {
           doc.n++; coll.replaceDocument(doc._self, doc, err => { if (err) throw err; }); })",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_together_by_a_query_loses_nothing() {
    count_together(
        "coll.queryDocuments(link, \"SELECT * FROM c WHERE c.id = 'counter'\", (err, docs) => {
           docs[0].n++; coll.replaceDocument(docs[0]._self, docs[0], err => { if (err) throw err; }); })",
    )
    .await;
}

#[tokio::test]
async fn unique_keys_hold_inside_a_run() {
    let emulator = patient().await;
    let container = json!({
        "id": "u", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]}
    });
    assert_eq!(send(&emulator, "POST /dbs/d/colls", &[], &container).await.code(), 201);
    let stored = json!({"id": "0", "pk": "a", "u": 0});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/u/docs", &[KEY], &stored).await.code(), 201);
    let body = source(
        "const seen = [], make = (id, u) => coll.createDocument(link, {id, pk: 'a', u}, e => seen.push(e ? e.number : 201));
         make('1', 0); make('2', 2); make('3', 2);
         coll.deleteDocument(coll.getAltLink() + '/docs/0');
         make('4', 0);
         coll.createDocument(link, {id: '5', pk: 'a', u: 5}, () => set(seen))",
    );
    assert_eq!(
        send(&emulator, "POST /dbs/d/colls/u/sprocs", &[], &json!({"id": "p", "body": body})).await.code(),
        201
    );
    let ran = send(&emulator, "POST /dbs/d/colls/u/sprocs/p", &[KEY], &json!([])).await;
    assert_eq!((ran.code(), &ran.body), (200, &json!([409, 201, 409, 201])));
    let query = json!({"query": "SELECT VALUE c.id FROM c ORDER BY c.id"});
    let found = send(
        &emulator,
        "POST /dbs/d/colls/u/docs",
        &[KEY, ("x-ms-documentdb-isquery", "true"), ("content-type", "application/query+json")],
        &query,
    );
    assert_eq!(found.await.body["Documents"], json!(["2", "4", "5"]));
}

/// As bulk procedures of the service do it: import until a call is not accepted, say how far, and be called again.
#[tokio::test]
async fn calls_are_accepted_until_the_budget_is_used() {
    let emulator = patient().await;
    let body = source(
        "let count = 0, total = 11000, from = arguments[0] || 0;
         function next() {
           if (from + count >= total) return set(count);
           const accepted = coll.upsertDocument(link, {id: '' + (from + count), pk: 'a'}, err => {
             if (err) throw err; count++; next(); });
           if (!accepted) set(count);
         }
         next();",
    );
    let first = run(&emulator, &body, &json!([0])).await;
    let done = first.body.as_u64().unwrap_or_else(|| panic!("{}", first.body));
    assert!((1..11000).contains(&done), "{done}");
    let second = execute(&emulator, &json!([done]), &[KEY]).await;
    assert_eq!(second.body, json!(11000 - done));
    // An endless chain of reads ends by itself.
    let body = "let n = 0; (function next() { n++; if (!coll.readDocuments(link, {pageSize: 1}, next)) set('ended') })()";
    assert_eq!(answer(&emulator, body).await, "ended");
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_ended_and_undone() {
    let emulator = with_script_time(Duration::from_millis(100)).await;
    let slow = "coll.createDocument(link, {id: '1', pk: 'a'}, () => { for (;;); })";
    let (status, _, text) = error(&run(&emulator, &source(slow), &json!([])).await);
    assert_eq!(status, 408);
    assert!(text.starts_with("The requested operation exceeded maximum alloted time."), "{text}");
    assert_eq!(read(&emulator, "1").await.code(), 404);
}
