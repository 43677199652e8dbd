//! Queries through the handler: plans, headers, and what clients that merge partitions say.

use cosmonaut_emulator::{Emulator, TieOrder};
use serde_json::{Value, json};

use crate::client::{Answer, send, with_container};

const DOCS: &str = "POST /dbs/d/colls/c/docs";
const QUERY: [(&str, &str); 3] = [
    ("x-ms-documentdb-isquery", "true"),
    ("content-type", "application/query+json"),
    ("x-ms-documentdb-query-enablecrosspartition", "true"),
];

async fn filled() -> Emulator {
    let emulator = with_container().await;
    fill(&emulator).await;
    emulator
}

async fn fill(emulator: &Emulator) {
    for n in 0..4 {
        let item = json!({"id": n.to_string(), "pk": "a", "n": n / 2});
        let made = send(emulator, DOCS, &[("x-ms-documentdb-partitionkey", "[\"a\"]")], &item).await;
        assert_eq!(made.code(), 201);
    }
}

async fn plan(emulator: &Emulator, query: &Value, features: &str) -> Answer {
    let headers = [
        ("x-ms-cosmos-is-query-plan-request", "True"),
        ("content-type", "application/query+json"),
        ("x-ms-cosmos-supported-query-features", features),
    ];
    send(emulator, DOCS, &headers, query).await
}

#[tokio::test]
async fn a_plan_needs_no_values_but_a_client_that_can_follow_it() {
    let emulator = filled().await;
    let features = "Aggregate, OrderBy, Top, OffsetAndLimit";
    let unknown = json!({"query": "SELECT TOP @n * FROM c WHERE c.n = @x ORDER BY c.n"});
    let planned = plan(&emulator, &unknown, features).await;
    assert_eq!(planned.code(), 200, "{}", planned.body);
    assert_eq!(planned.body["queryInfo"]["top"], Value::Null);
    assert_eq!(planned.body.get("hybridSearchQueryInfo"), Some(&Value::Null));

    for text in
        ["SELECT c.n FROM c GROUP BY c.n", "SELECT DISTINCT c.n FROM c", "SELECT COUNT(1) AS n FROM c"]
    {
        let refused = plan(&emulator, &json!({"query": text}), features).await;
        assert_eq!((refused.code(), refused.header("x-ms-substatus")), (400, "1004"), "{text}");
    }
}

#[tokio::test]
async fn a_query_that_means_nothing_is_refused_in_the_services_words() {
    let emulator = filled().await;
    for (text, code) in
        [("SELECT BADFUNC(1)", "SC2005"), ("SELECT FROM c", "SC1001"), ("SELECT d FROM c", "SC2001")]
    {
        let refused = send(&emulator, DOCS, &QUERY, &json!({"query": text})).await;
        let message = refused.body["message"].as_str().unwrap();
        let (_, errors) = message.split_once("Message: ").unwrap();
        let errors: Value = serde_json::from_str(errors.lines().next().unwrap()).unwrap();
        assert_eq!(
            (refused.code(), &refused.body["code"], &errors["errors"][0]["code"]),
            (400, &json!("BadRequest"), &json!(code))
        );
    }
}

#[tokio::test]
async fn a_page_says_how_ties_came_and_goes_on_at_the_values_of_a_row() {
    for (ties, info, second) in [
        (TieOrder::FirstKey, r#"{"reverseRidEnabled":true,"reverseIndexScan":true}"#, "2"),
        (TieOrder::Ascending, r#"{"reverseRidEnabled":false,"reverseIndexScan":false}"#, "3"),
        (TieOrder::Descending, r#"{"reverseRidEnabled":false,"reverseIndexScan":true}"#, "2"),
    ] {
        let emulator = Emulator::builder().ties(ties).start().await.unwrap();
        send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await;
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
        send(&emulator, "POST /dbs/d/colls", &[], &container).await;
        fill(&emulator).await;

        let text = "SELECT c.id, c._rid FROM c ORDER BY c.n DESC";
        let page = [&QUERY[..], &[("x-ms-max-item-count", "1")]].concat();
        let first = send(&emulator, DOCS, &page, &json!({"query": text})).await;
        assert_eq!(first.header("x-ms-cosmos-query-execution-info"), info);
        let token: Value = serde_json::from_str(first.header("x-ms-continuation")).unwrap();
        assert!(token.is_object(), "{token}");

        let row = &first.body["Documents"][0];
        let resume = json!({"value": [1], "rid": row["_rid"], "exclude": true});
        let resumed = json!({"query": text, "resumeFilter": resume});
        let next = send(&emulator, DOCS, &page, &resumed).await;
        assert_eq!(next.body["Documents"][0]["id"], second, "{ties:?}");
        // Of the filter and the continuation, the place further on counts.
        let behind = json!({"query": text, "resumeFilter": {"value": [1], "exclude": false}});
        let token = first.header("x-ms-continuation");
        let both = [&page[..], &[("x-ms-continuation", token)]].concat();
        let next = send(&emulator, DOCS, &both, &behind).await;
        assert_eq!(next.body["Documents"][0]["id"], second, "{ties:?}");
    }
}

#[tokio::test]
async fn indexes_are_reported_in_the_shape_that_was_asked_for() {
    let emulator = filled().await;
    let query = json!({"query": "SELECT * FROM c WHERE c.n = 1"});
    for (header, start) in [
        ("x-ms-cosmos-populateindexmetrics", "eyJ"),
        ("x-ms-cosmos-populateindexmetrics-V2", "%7B%22Utilized%22%3A%7B%22"),
    ] {
        let headers = [&QUERY[..], &[(header, "true")]].concat();
        let answer = send(&emulator, DOCS, &headers, &query).await;
        assert!(answer.header("x-ms-cosmos-index-utilization").starts_with(start), "{header}");
    }
}
