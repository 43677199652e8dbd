//! The texts of failures that tests of SDKs look for, each by its status and the fragment.

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::client::{send, with_container};
use crate::socket::{Connection, EAST, KEY, WEST, two_regions};

const DOCS: &str = "/dbs/d/colls/c/docs";
const A: (&str, &str) = (KEY, "[\"a\"]");
const QUERY: [(&str, &str); 3] =
    [("x-ms-documentdb-isquery", "true"), ("content-type", "application/query+json"), A];
const LIMIT: &str = "x-ms-documentdb-responsecontinuationtokenlimitinkb";

/// A request and what is said of it: line, headers, body, status, text.
type Row<'r> = (&'r str, &'r [(&'r str, &'r str)], Value, &'r str, &'r str);

async fn check(emulator: &Emulator, rows: &[Row<'_>]) {
    for (line, headers, body, status, text) in rows {
        let answer = send(emulator, line, headers, body).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.status.to_string(), *status, "{line}: {message}");
        assert!(message.contains(text), "{line}: {message:?} lacks {text:?}");
    }
}

#[tokio::test]
async fn requests_that_name_nothing_or_too_much() {
    let emulator = with_container().await;
    let item = json!({"id": "1", "pk": "a", "n": 1});
    assert_eq!(send(&emulator, &format!("POST {DOCS}"), &[A], &item).await.code(), 201);
    let taken = "Resource with specified id, name, or unique index already exists.";
    let missing = "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found";
    let (item_1, item_2, post) = (format!("GET {DOCS}/1"), format!("GET {DOCS}/2"), format!("POST {DOCS}"));
    let replace = format!("PUT {DOCS}/1");
    check(
        &emulator,
        &[
            ("GET /dbs/none", &[], Value::Null, "404", missing),
            ("GET /dbs/d/colls/none", &[], Value::Null, "404", missing),
            (&item_2, &[A], Value::Null, "404", missing),
            (&item_2, &[A], Value::Null, "404", "Entity with the specified id does not exist in the system."),
            ("POST /dbs", &[], json!({"id": "d"}), "409", taken),
            ("POST /dbs/d/colls", &[], json!({"id": "c", "partitionKey": {"paths": ["/pk"]}}), "409", taken),
            (&post, &[A], item.clone(), "409", taken),
            (&post, &[A], item.clone(), "409", "Entity with the specified id already exists in the system."),
            (
                &replace,
                &[A, ("if-match", "\"other\"")],
                item.clone(),
                "412",
                "One of the specified pre-condition is not met",
            ),
            (&item_1, &[], Value::Null, "400", "PartitionKey value must be supplied for this operation."),
            ("PATCH /dbs/d", &[], Value::Null, "405", "The requested verb is not supported."),
            ("GET /nonsense", &[], Value::Null, "400", "Request url is invalid."),
            (
                &item_1,
                &[A, ("x-ms-session-token", "x")],
                Value::Null,
                "400",
                "The session token provided 'x' is invalid.",
            ),
            (
                &format!("GET {DOCS}"),
                &[("x-ms-documentdb-partitionkeyrangeid", "77")],
                Value::Null,
                "410/1002",
                "PartitionKeyRange with id '77' in this collection doesn't exist",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn continuations_that_are_none_or_too_long() {
    let emulator = with_container().await;
    let post = format!("POST {DOCS}");
    for id in ["1", "2"] {
        send(&emulator, &post, &[A], &json!({"id": id, "pk": "a"})).await;
    }
    let query = json!({"query": "SELECT * FROM c"});
    let with = |name, value| [&QUERY[..], &[("x-ms-max-item-count", "1"), (name, value)]].concat();
    let wrong = "Please pass in a valid continuation token size limit which must be a positive integer";
    check(
        &emulator,
        &[
            (&post, &with("x-ms-continuation", "x"), query.clone(), "400", "Invalid Continuation Token"),
            (
                &post,
                &with(LIMIT, "0"),
                query.clone(),
                "400",
                "continuation token limit specified is not large enough",
            ),
            (&post, &with(LIMIT, "-1"), query.clone(), "400", wrong),
            (&post, &with(LIMIT, "many"), query.clone(), "400", wrong),
        ],
    )
    .await;
    let fits = send(&emulator, &post, &with(LIMIT, "1"), &query).await;
    assert_eq!(fits.code(), 200);
    assert!(!fits.header("x-ms-continuation").is_empty());
}

#[tokio::test]
async fn batches_patches_and_feeds() {
    let emulator = with_container().await;
    let post = format!("POST {DOCS}");
    send(&emulator, &post, &[A], &json!({"id": "1", "pk": "a"})).await;
    let batch = [A, ("x-ms-cosmos-is-batch-request", "true"), ("x-ms-cosmos-batch-atomic", "true")];
    let other = |key: &str| {
        json!([
            {"operationType": "Create", "resourceBody": {"id": "2", "pk": "a"}, "partitionKey": key},
            {"operationType": "Read", "id": "1"},
        ])
    };
    let different = "One or more operations within the batch request have a different partition key value than the request.";
    let add = json!({"operations": [{"op": "add", "path": "/nonExistentParent/Child", "value": "bar"}]});
    let recursive = "For Operation(1): Add Operation can only create a child object of an existing node(array or \
                     object) and cannot create path recursively, no path found beyond: 'nonExistentParent'. Learn more:";
    let all_versions = ("a-im", "Full-Fidelity Feed");
    let retained = "You must read the change feed from within the retention period.";
    check(
        &emulator,
        &[
            (&post, &batch, other("B"), "400", different),
            (&post, &batch, other("[\"B\"]"), "400", different),
            (&format!("PATCH {DOCS}/1"), &[A], add, "400", recursive),
            (&format!("GET {DOCS}"), &[all_versions], Value::Null, "400", retained),
        ],
    )
    .await;
    for same in ["a", "[\"a\"]"] {
        let answer = send(&emulator, &post, &batch, &other(same)).await;
        assert!(answer.code() == 200 || answer.code() == 207, "{same}: {}", answer.body);
    }
}

#[tokio::test]
async fn definitions_of_containers() {
    let emulator = with_container().await;
    let container = |members: Value| {
        let mut container = json!({"id": "new", "partitionKey": {"paths": ["/pk"], "version": 2}});
        container.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        container
    };
    let indexed = |path: &str| {
        container(json!({"indexingPolicy": {"includedPaths": [{"path": path}, {"path": "/*"}]}}))
    };
    let encrypted = |paths: &[(&str, &str)]| {
        let included = |(path, kind): &(&str, &str)| json!({"path": path, "clientEncryptionKeyId": "k", "encryptionType": kind, "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256"});
        let included: Vec<Value> = paths.iter().map(included).collect();
        container(json!({"clientEncryptionPolicy": {"includedPaths": included, "policyFormatVersion": 2}}))
    };
    let old = ("x-ms-version", "2018-06-18");
    let make = "POST /dbs/d/colls";
    check(
        &emulator,
        &[
            (make, &[], indexed("\"\"/?"), "400", "Please ensure that the path has at least"),
            (make, &[], indexed("/?/Age/?"), "400", "Please ensure that the path is a valid path"),
            (
                make,
                &[],
                encrypted(&[("/path1", "Randomized"), ("/path1", "Deterministic")]),
                "400",
                "Duplicate Path found: /path1.",
            ),
            (
                make,
                &[],
                encrypted(&[("/id", "Randomized")]),
                "400",
                "Only Deterministic encryption type is supported for path: /id.",
            ),
            (
                make,
                &[old, ("x-ms-offer-throughput", "10100")],
                json!({"id": "fixed"}),
                "400",
                "between 400 and 10000 inclusive in increments of 100",
            ),
            (
                make,
                &[("x-ms-cosmos-offer-autopilot-settings", r#"{"maxThroughput":-200}"#)],
                container(json!({})),
                "400",
                "Requested throughput -200 is less than required minimum throughput 1000",
            ),
        ],
    )
    .await;
    let made =
        send(&emulator, make, &[], &encrypted(&[("/id", "Deterministic"), ("/x", "Randomized")])).await;
    assert_eq!(made.code(), 201, "{}", made.body);
}

#[tokio::test]
async fn regions_that_cannot_serve() {
    let emulator = two_regions(Emulator::builder()).await;
    let west = emulator.region_url(WEST).unwrap();
    let mut connection = Connection::open(&west).await.unwrap();
    let written =
        connection.send(&format!("POST {DOCS}"), &[A], &json!({"id": "1", "pk": "a"})).await.unwrap();
    let message = written.body["message"].as_str().unwrap();
    assert_eq!(written.status.to_string(), "403/3", "{message}");
    assert!(message.contains("cannot be performed at this region"), "{message}");
    let mut east = Connection::open(&emulator.region_url(EAST).unwrap()).await.unwrap();
    let session = ("x-ms-session-token", "0:-1#9999999,1:-1#9999999");
    let ahead = east.send(&format!("GET {DOCS}/1"), &[A, session], &Value::Null).await.unwrap();
    let message = ahead.body["message"].as_str().unwrap();
    assert!(
        message.contains("The read/write session is not available for the input session token."),
        "{}: {message}",
        ahead.status
    );
}
