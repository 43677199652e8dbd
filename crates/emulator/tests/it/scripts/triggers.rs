//! Triggers around writes of items.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use super::{KEY, create, error, patient, put, read};
use crate::client::{Answer, send};

const PRE: &str = "x-ms-documentdb-pre-trigger-include";
const POST: &str = "x-ms-documentdb-post-trigger-include";

async fn trigger(emulator: &Emulator, id: &str, kind: &str, operation: &str, body: &str) {
    let source = format!(
        "function t() {{ const coll = getContext().getCollection(), link = coll.getSelfLink(); \
         const request = getContext().getRequest(); {body} }}"
    );
    let script = json!({"id": id, "body": source, "triggerType": kind, "triggerOperation": operation});
    put(emulator, "triggers", &script).await;
}

async fn post(emulator: &Emulator, headers: &[(&str, &str)], item: &Value) -> Answer {
    send(emulator, "POST /dbs/d/colls/c/docs", &[&[KEY], headers].concat(), item).await
}

#[tokio::test]
async fn a_pre_trigger_changes_what_is_stored() {
    let emulator = patient().await;
    trigger(
        &emulator,
        "stamp",
        "pre",
        "All",
        "const b = request.getBody(); b.by = request.getOperationType(); if (b.id === 'wrong') b.id = 'right'; request.setBody(b);",
    )
    .await;
    let made = post(&emulator, &[(PRE, "stamp")], &json!({"id": "1", "pk": "a"})).await;
    assert_eq!((made.code(), &made.body["by"]), (201, &json!("Create")), "{}", made.body);
    assert_eq!(made.header("etag"), made.body["_etag"].as_str().unwrap());
    assert_eq!(read(&emulator, "1").await.body, made.body);
    let upserted = [(PRE, "stamp"), ("x-ms-documentdb-is-upsert", "true")];
    assert_eq!(post(&emulator, &upserted, &json!({"id": "1", "pk": "a"})).await.body["by"], "Upsert");
    let line = "PUT /dbs/d/colls/c/docs/1";
    let replaced = send(&emulator, line, &[KEY, (PRE, "stamp")], &json!({"id": "1", "pk": "a"})).await;
    assert_eq!((replaced.code(), &replaced.body["by"]), (200, &json!("Replace")));
    assert_eq!(
        post(&emulator, &[(PRE, "stamp")], &json!({"id": "wrong", "pk": "a"})).await.body["id"],
        "right"
    );
    // It may not move the item.
    trigger(&emulator, "move", "pre", "All", "const b = request.getBody(); b.pk = 'b'; request.setBody(b);")
        .await;
    assert_eq!(post(&emulator, &[(PRE, "move")], &json!({"id": "2", "pk": "a"})).await.code(), 400);
    // Without the header, nothing is run.
    assert_eq!(post(&emulator, &[], &json!({"id": "3", "pk": "a"})).await.body["by"], Value::Null);
}

#[tokio::test]
async fn a_post_trigger_writes_in_the_same_transaction() {
    let emulator = patient().await;
    create(&emulator, json!({"id": "total", "pk": "a", "n": 0})).await;
    trigger(
        &emulator,
        "count",
        "Post",
        "Create",
        "coll.readDocument(coll.getAltLink() + '/docs/total', (err, total) => {
           total.n++; coll.replaceDocument(total._self, total, err => {
             if (err) throw err;
             if (request.getBody().bad) throw new Error(4444, 'bad');
             const r = getContext().getResponse(), b = r.getBody(); b.shown = true; r.setBody(b); }); });",
    )
    .await;
    let made = post(&emulator, &[(POST, "count")], &json!({"id": "1", "pk": "a"})).await;
    assert_eq!((made.code(), &made.body["shown"]), (201, &json!(true)), "{}", made.body);
    assert_eq!(read(&emulator, "1").await.body["shown"], Value::Null);
    let bad = post(&emulator, &[(POST, "count")], &json!({"id": "2", "pk": "a", "bad": true})).await;
    let (status, sub_status, text) = error(&bad);
    assert_eq!((status, sub_status), (400, 4444), "{text}");
    assert_eq!(read(&emulator, "2").await.code(), 404);
    assert_eq!(read(&emulator, "total").await.body["n"], 1);
    // A document that its trigger deletes was created all the same.
    let body = "coll.deleteDocument(getContext().getResponse().getBody()._self);";
    trigger(&emulator, "gone", "Post", "All", body).await;
    assert_eq!(post(&emulator, &[(POST, "gone")], &json!({"id": "3", "pk": "a"})).await.code(), 201);
    assert_eq!(read(&emulator, "3").await.code(), 404);
}

#[tokio::test]
async fn both_kinds_run_around_a_delete() {
    let emulator = patient().await;
    create(&emulator, json!({"id": "1", "pk": "a"})).await;
    let log = "coll.createDocument(link, {id: ID, pk: 'a', op: request.getOperationType()});";
    trigger(&emulator, "before", "Pre", "Delete", &log.replace("ID", "'before'")).await;
    trigger(&emulator, "after", "Post", "Delete", &log.replace("ID", "'after'")).await;
    let headers = [KEY, (PRE, "before"), (POST, "after")];
    let deleted = send(&emulator, "DELETE /dbs/d/colls/c/docs/1", &headers, &Value::Null).await;
    assert_eq!((deleted.code(), &deleted.body), (204, &Value::Null));
    for id in ["before", "after"] {
        assert_eq!(read(&emulator, id).await.body["op"], "Delete", "{id}");
    }
    // What the write is refused for undoes the trigger.
    let headers = [KEY, (PRE, "before"), ("if-match", "\"other\"")];
    create(&emulator, json!({"id": "1", "pk": "a"})).await;
    let line = "DELETE /dbs/d/colls/c/docs/before";
    assert_eq!(send(&emulator, line, &[KEY], &Value::Null).await.code(), 204);
    assert_eq!(send(&emulator, "DELETE /dbs/d/colls/c/docs/1", &headers, &Value::Null).await.code(), 412);
    assert_eq!(read(&emulator, "before").await.code(), 404);
}

#[tokio::test]
async fn a_trigger_that_does_not_fit_is_refused() {
    let emulator = patient().await;
    trigger(&emulator, "pre", "Pre", "All", "").await;
    trigger(&emulator, "post", "Post", "All", "").await;
    trigger(&emulator, "deletes", "pre", "delete", "").await;
    trigger(&emulator, "upserts", "Pre", "Upsert", "").await;
    trigger(&emulator, "broken", "Pre", "All", "} {").await;
    let item = json!({"id": "1", "pk": "a"});
    for headers in [
        [(PRE, "post")],
        [(POST, "pre")],
        [(PRE, "none")],
        [(PRE, "deletes")],
        [(PRE, "upserts")],
        [(PRE, "pre,upserts")],
        [(PRE, "broken")],
    ] {
        let refused = post(&emulator, &headers, &item).await;
        assert_eq!(refused.code(), 400, "{headers:?}: {}", refused.body);
    }
    let patch = json!([{"op": "set", "path": "/x", "value": 1}]);
    let line = "PATCH /dbs/d/colls/c/docs/1";
    assert_eq!(send(&emulator, line, &[KEY, (PRE, "pre")], &patch).await.code(), 400);
    assert_eq!(read(&emulator, "1").await.code(), 404);
    assert_eq!(post(&emulator, &[(PRE, "pre"), (POST, "post")], &item).await.code(), 201);
    assert_eq!(post(&emulator, &[(PRE, "pre")], &item).await.code(), 409);
    // Reads do not ask.
    let line = "GET /dbs/d/colls/c/docs/1";
    assert_eq!(send(&emulator, line, &[KEY, (PRE, "none")], &Value::Null).await.code(), 200);
}

/// Nobody says what the service does. A write that is to run a trigger must not succeed without it.
#[tokio::test]
async fn a_batch_that_names_triggers_is_refused() {
    let emulator = patient().await;
    let batch = [KEY, ("x-ms-cosmos-is-batch-request", "true"), ("x-ms-cosmos-batch-atomic", "true")];
    let operations = json!([{"operationType": "Create", "resourceBody": {"id": "1", "pk": "a"}}]);
    for header in [PRE, POST] {
        let headers = [&batch[..], &[(header, "t")]].concat();
        let answer = send(&emulator, "POST /dbs/d/colls/c/docs", &headers, &operations).await;
        assert_eq!(answer.code(), 400, "{}", answer.body);
        assert!(answer.body["message"].as_str().unwrap().contains(header), "{}", answer.body);
    }
    assert_eq!(read(&emulator, "1").await.code(), 404);
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &batch, &operations).await.code(), 200);
}
