//! User-defined functions in queries.

use std::time::Duration;

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use super::{KEY, answer, create, error, patient, put, with_script_time};
use crate::client::{Answer, send};

async fn query(emulator: &Emulator, text: &str, key: Option<(&str, &str)>) -> Answer {
    let kind = [("content-type", "application/query+json"), ("x-ms-documentdb-isquery", "True")];
    let scope = key.unwrap_or(("x-ms-documentdb-query-enablecrosspartition", "True"));
    send(emulator, "POST /dbs/d/colls/c/docs", &[&kind[..], &[scope]].concat(), &json!({"query": text})).await
}

async fn function(emulator: &Emulator, id: &str, body: &str) {
    put(emulator, "udfs", &json!({"id": id, "body": body})).await;
}

async fn with_functions() -> Emulator {
    let emulator = patient().await;
    for (id, n) in [("1", json!(5)), ("2", json!(20)), ("3", json!(null))] {
        create(&emulator, json!({"id": id, "pk": "a", "n": n})).await;
    }
    create(&emulator, json!({"id": "4", "pk": "b", "n": 7})).await;
    function(&emulator, "tax", "function tax(n) { return n === undefined ? undefined : n * 2; }").await;
    function(
        &emulator,
        "kind",
        "function (v) { return v === undefined ? 'undefined' : v === null ? 'null' : typeof v }",
    )
    .await;
    function(&emulator, "nothing", "function () {}").await;
    function(&emulator, "fails", "function () { throw new Error(4321, 'm') }").await;
    function(&emulator, "broken", "function ( {").await;
    function(&emulator, "context", "function () { return typeof getContext + typeof __ + typeof console }")
        .await;
    function(&emulator, "memory", "function () { globalThis.n = (globalThis.n || 0) + 1; return n }").await;
    emulator
}

#[tokio::test]
async fn a_query_calls_functions_wherever_a_value_stands() {
    let emulator = with_functions().await;
    for (text, expected) in [
        ("SELECT VALUE udf.tax(c.n) FROM c WHERE c.id = '1'", json!([10])),
        ("SELECT c.id, udf.tax(c.n) AS t FROM c WHERE udf.tax(c.n) > 15", json!([{"id": "2", "t": 40}])),
        ("SELECT VALUE udf.kind(c.none) FROM c WHERE c.id = '1'", json!(["undefined"])),
        ("SELECT VALUE udf.kind(c.n) FROM c WHERE c.id = '3'", json!(["null"])),
        ("SELECT c.id, udf.nothing() AS x FROM c WHERE c.id = '1'", json!([{"id": "1"}])),
        ("SELECT VALUE SUM(udf.tax(c.n)) FROM c WHERE c.id IN ('1', '2')", json!([50])),
        ("SELECT VALUE udf.tax(udf.tax(c.n)) FROM c WHERE c.id = '1'", json!([20])),
        ("SELECT VALUE udf.context()", json!(["undefinedundefinedundefined"])),
    ] {
        let found = query(&emulator, text, Some(KEY)).await;
        assert_eq!((found.code(), &found.body["Documents"]), (200, &expected), "{text}: {}", found.body);
    }
    let everywhere = query(&emulator, "SELECT VALUE udf.tax(c.n) FROM c WHERE c.id = '4'", None).await;
    assert_eq!(everywhere.body["Documents"], json!([14]));
    // Nothing carries over from one query to the next.
    for _ in 0..2 {
        assert_eq!(
            query(&emulator, "SELECT VALUE udf.memory()", Some(KEY)).await.body["Documents"],
            json!([1])
        );
    }
    let in_script =
        "coll.queryDocuments(link, \"SELECT VALUE udf.tax(c.n) FROM c WHERE c.id = '1'\", (e, r) => set(r))";
    assert_eq!(answer(&emulator, in_script).await, json!([10]));
    // A function that is replaced is another one.
    function(&emulator, "tax", "n => n + 1").await;
    let text = "SELECT VALUE udf.tax(c.n) FROM c WHERE c.id = '1'";
    assert_eq!(query(&emulator, text, Some(KEY)).await.body["Documents"], json!([6]));
}

#[tokio::test]
async fn a_function_finds_nothing_of_another_one_in_the_same_query() {
    let emulator = patient().await;
    create(&emulator, json!({"id": "1", "pk": "a", "n": 1})).await;
    let spoils = "function () { globalThis.left = 1; Array.prototype.map = () => 'spoilt'; Object.prototype.x = 1; \
                  JSON.stringify = () => '\"spoilt\"'; return 1 }";
    function(&emulator, "spoils", spoils).await;
    function(&emulator, "probe", "function () { return [typeof left, [1].map(n => n + 1), typeof {}.x] }")
        .await;
    for text in [
        "SELECT VALUE [udf.spoils(), udf.probe()] FROM c",
        "SELECT udf.probe() AS p, udf.spoils() AS s, udf.probe() AS q FROM c",
    ] {
        let found = query(&emulator, text, Some(KEY)).await;
        let found = found.body["Documents"].to_string();
        assert!(found.contains(r#"["undefined",[2],"undefined"]"#), "{text}: {found}");
        assert!(!found.contains(r#"[2],"number""#) && !found.contains(r#"["number""#), "{text}: {found}");
    }
}

#[tokio::test]
async fn functions_that_fail_fail_the_query() {
    let emulator = with_functions().await;
    for (call, sub_status, part) in [
        ("udf.fails()", 4321, "Encountered exception while executing function. Exception = Error: m"),
        ("udf.broken()", 65535, "Encountered exception while compiling Javascript."),
        ("udf.unknown()", 0, "'unknown' does not exist"),
        ("udf.Tax(1)", 0, "'Tax' does not exist"),
    ] {
        let (status, found, text) =
            error(&query(&emulator, &format!("SELECT VALUE {call} FROM c"), Some(KEY)).await);
        assert_eq!((status, found), (400, sub_status), "{call}: {text}");
        assert!(text.contains(part), "{call}: {text}");
    }
    let many = ["udf.tax(1)"; 11].join(" + ");
    let refused = query(&emulator, &format!("SELECT VALUE {many}"), Some(KEY)).await;
    assert_eq!(refused.code(), 400);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains("SC3005") && message.contains("The allowed limit is 10."), "{message}");
}

#[tokio::test]
async fn a_plan_keeps_the_calls() {
    let emulator = with_functions().await;
    let headers = [
        ("content-type", "application/query+json"),
        ("x-ms-cosmos-is-query-plan-request", "True"),
        ("x-ms-cosmos-supported-query-features", "Aggregate,OrderBy"),
    ];
    let text = "SELECT VALUE SUM(udf.tax(c.n)) FROM c WHERE udf.tax(c.n) > 1";
    let plan = send(&emulator, "POST /dbs/d/colls/c/docs", &headers, &json!({"query": text})).await;
    assert_eq!(plan.code(), 200, "{}", plan.body);
    let rewritten = plan.body["queryInfo"]["rewrittenQuery"].as_str().unwrap();
    assert!(rewritten.contains("udf.tax(") && rewritten.contains("WHERE"), "{rewritten}");
    let _: &Value = &plan.body;
}

#[tokio::test]
async fn a_function_that_takes_too_long_several_times_is_blocked() {
    let emulator = with_script_time(Duration::from_millis(20)).await;
    put(&emulator, "udfs", &json!({"id": "f", "body": "function () { for (;;) {} }"})).await;
    create(&emulator, json!({"id": "1", "pk": "a"})).await;
    let ask = || query(&emulator, "SELECT VALUE udf.f() FROM c", Some(KEY));
    for _ in 0..5 {
        assert_eq!(ask().await.code(), 408);
    }
    let (code, _, text) = error(&ask().await);
    assert_eq!(code, 403, "{text}");
    assert!(text.ends_with("has violated its allowed resources limit several times."), "{text}");
}
