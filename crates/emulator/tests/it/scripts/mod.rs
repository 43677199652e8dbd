//! Scripts over the gateway: stored procedures, triggers and user-defined functions.

mod collection;
mod functions;
mod hostile;
mod procedures;
mod query_functions;
mod replicated;
mod spatial;
mod transactions;
mod triggers;

use std::time::Duration;

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::{Answer, send};

pub(crate) const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"a\"]");

/// An emulator with a container `c` of the key `/pk`, whose scripts have time enough for a machine that stalls.
pub(crate) async fn patient() -> Emulator {
    with_script_time(Duration::from_secs(3600)).await
}

pub(crate) async fn with_script_time(time: Duration) -> Emulator {
    let emulator = Emulator::builder().script_time(time).start().await.unwrap();
    assert_eq!(send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await.code(), 201);
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    assert_eq!(send(&emulator, "POST /dbs/d/colls", &[], &container).await.code(), 201);
    emulator
}

/// Puts a script of a kind in the place of the one of the same id.
pub(crate) async fn put(emulator: &Emulator, feed: &str, script: &Value) {
    let line = format!("POST /dbs/d/colls/c/{feed}");
    let answer = send(emulator, &line, &[("x-ms-documentdb-is-upsert", "true")], script).await;
    assert!(matches!(answer.code(), 200 | 201), "{}", answer.body);
}

/// Runs a source as a stored procedure `p` of the partition key `a`.
pub(crate) async fn run(emulator: &Emulator, source: &str, arguments: &Value) -> Answer {
    run_with(emulator, source, arguments, &[]).await
}

pub(crate) async fn run_with(
    emulator: &Emulator,
    source: &str,
    arguments: &Value,
    headers: &[(&str, &str)],
) -> Answer {
    put(emulator, "sprocs", &json!({"id": "p", "body": source})).await;
    execute(emulator, arguments, &[&[KEY], headers].concat()).await
}

pub(crate) async fn execute(emulator: &Emulator, arguments: &Value, headers: &[(&str, &str)]) -> Answer {
    send(emulator, "POST /dbs/d/colls/c/sprocs/p", headers, arguments).await
}

/// The body that a function body answers with; `coll`, `link` and `set` are at hand.
pub(crate) async fn answer(emulator: &Emulator, body: &str) -> Value {
    let answer = run(emulator, &source(body), &json!([])).await;
    assert_eq!(answer.code(), 200, "{body}: {}", answer.body);
    answer.body
}

pub(crate) fn source(body: &str) -> String {
    format!(
        "function p() {{ const coll = getContext().getCollection(), link = coll.getSelfLink(); \
         const set = value => getContext().getResponse().setBody(value); {body} }}"
    )
}

pub(crate) async fn create(emulator: &Emulator, item: Value) -> Value {
    let key = format!("[{}]", item["pk"]);
    let made = send(emulator, "POST /dbs/d/colls/c/docs", &[(KEY.0, &key)], &item).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    made.body
}

pub(crate) async fn read(emulator: &Emulator, id: &str) -> Answer {
    send(emulator, &format!("GET /dbs/d/colls/c/docs/{id}"), &[KEY], &Value::Null).await
}

/// The error in an answer: status, sub-status, and the text that the service writes.
pub(crate) fn error(answer: &Answer) -> (u16, u32, String) {
    let message = answer.body["message"].as_str().unwrap_or_default();
    let inner = message.strip_prefix("Message: ").and_then(|rest| rest.split("\r\nActivityId").next());
    let inner: Value = inner.and_then(|inner| serde_json::from_str(inner).ok()).unwrap_or_default();
    let text = inner["Errors"][0].as_str().unwrap_or(message).to_owned();
    (answer.code(), answer.status.sub_status(), text)
}
