//! Whatever is sent, the answer is a response with a reason; nothing panics.

use bytes::Bytes;
use cosmonaut_emulator::Emulator;
use http::{HeaderName, HeaderValue, Method, Request};
use proptest::prelude::*;
use serde_json::Value;

use crate::client::{Answer, request, with_container};

const KNOWN_HEADERS: [&str; 26] = [
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-documentdb-isquery",
    "x-ms-cosmos-is-query-plan-request",
    "x-ms-cosmos-is-batch-request",
    "x-ms-cosmos-batch-atomic",
    "x-ms-documentdb-is-upsert",
    "x-ms-max-item-count",
    "x-ms-continuation",
    "x-ms-session-token",
    "a-im",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "x-ms-start-epk",
    "x-ms-end-epk",
    "x-ms-read-key-type",
    "x-ms-offer-throughput",
    "x-ms-cosmos-offer-autopilot-settings",
    "x-ms-consistency-level",
    "x-ms-cosmos-supported-query-features",
    "x-ms-indexing-directive",
    "prefer",
    "content-type",
    "x-ms-cosmos-changefeed-wire-format-version",
    "x-ms-documentdb-query-enablecrosspartition",
];

const KNOWN_VALUES: [&str; 16] = [
    "True",
    "true",
    "[\"a\"]",
    "[]",
    "[{}]",
    "0",
    "-1",
    "5",
    "*",
    "Incremental Feed",
    "Full-Fidelity Feed",
    "application/query+json",
    "0:-1#1",
    "EffectivePartitionKeyRange",
    "FF",
    "{\"maxThroughput\":1000}",
];

const PATHS: [&str; 21] = [
    "/",
    "/dbs",
    "/dbs/d",
    "/dbs/d/colls",
    "/dbs/d/colls/c",
    "/dbs/d/colls/c/docs",
    "/dbs/d/colls/c/docs/1",
    "/dbs/d/colls/c/pkranges",
    "/dbs/d/colls/c/sprocs",
    "/dbs/d/colls/c/operations/partitionkeydelete",
    "/offers",
    "/offers/AAAA",
    "/dbs/d/users/u/permissions",
    "/dbs/d/colls/c/conflicts",
    "/dbs/d/colls/c/sprocs/1",
    "/dbs/d/colls/c/triggers",
    "/dbs/d/colls/c/udfs/1",
    "/dbs/d/users",
    "/dbs/d/users/u",
    "/dbs/d/users/u/permissions/p",
    "/dbs/d/clientencryptionkeys",
];

const BODIES: [&str; 13] = [
    "",
    "{}",
    "[]",
    "null",
    "{\"id\":\"1\",\"pk\":\"a\"}",
    "{\"query\":\"SELECT * FROM c\"}",
    "{\"query\":\"SELECT VALUE COUNT(1) FROM c GROUP BY c.x\",\"parameters\":[{\"name\":\"@a\",\"value\":[1]}]}",
    "[{\"operationType\":\"Create\",\"resourceBody\":{\"id\":\"2\",\"pk\":\"a\"}}]",
    "{\"operations\":[{\"op\":\"set\",\"path\":\"/x/y\",\"value\":1}]}",
    "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}",
    "{\"id\":\"1\",\"body\":\"x\",\"triggerType\":\"Pre\",\"triggerOperation\":\"All\"}",
    "{\"id\":\"u\",\"permissionMode\":\"All\",\"resource\":\"dbs/d/colls/c\"}",
    "{\"id\":\"p\",\"permissionMode\":\"Read\",\"resource\":\"dbs/d/colls/c/docs/1\",\"resourcePartitionKey\":[\"a\"]}",
];

fn known_or_any(known: &'static [&'static str], any: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(known).prop_map(str::to_owned), 1 => any]
}

fn arbitrary() -> impl Strategy<Value = Request<Bytes>> {
    let method =
        prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]);
    let header = (prop::sample::select(&KNOWN_HEADERS[..]), known_or_any(&KNOWN_VALUES, "[ -~]{0,40}"));
    let path = known_or_any(&PATHS, "(/[a-z%0-9=+.]{0,8}){0,7}");
    let body = prop_oneof![
        4 => prop::sample::select(&BODIES[..]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ];
    (method, path, prop::collection::vec(header, 0..6), body).prop_filter_map(
        "no URI",
        |(method, path, headers, body)| {
            let mut request = Request::builder()
                .method(Method::from_bytes(method.as_bytes()).ok()?)
                .uri(if path.is_empty() { "/" } else { &path })
                .body(Bytes::from(body))
                .ok()?;
            for (name, value) in headers {
                request
                    .headers_mut()
                    .insert(HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?);
            }
            Some(request)
        },
    )
}

#[test]
fn any_request_is_answered() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let emulator = runtime.block_on(async {
        let emulator = Emulator::builder().auth(false).start().await.unwrap();
        for (line, body) in
            [("POST /dbs", BODIES[4].replace('1', "d")), ("POST /dbs/d/colls", BODIES[9].to_owned())]
        {
            assert_eq!(emulator.handle(request(line, &[], &body)).await.status(), 201);
        }
        emulator
    });
    proptest!(ProptestConfig::with_cases(512), |(request in arbitrary())| {
        let outline = format!("{request:?}");
        let is_head = request.method() == Method::HEAD;
        let answer = Answer::of(runtime.block_on(emulator.handle(request)));
        prop_assert_ne!(answer.code(), 500, "{}", outline);
        if answer.code() >= 400 && !is_head {
            prop_assert!(answer.body["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", outline);
        }
    });
}

#[tokio::test]
async fn what_makes_no_sense_is_400_with_the_reason() {
    let emulator = with_container().await;
    let key = ("x-ms-documentdb-partitionkey", "[\"a\"]");
    for (line, header, body, part) in [
        ("GET /nonsense", None, "", "nonsense"),
        ("GET /dbs/a/b/c", None, "", "\"b\""),
        ("POST /dbs", None, "{", "reading database"),
        ("POST /dbs", None, "{\"id\":7}", "id"),
        ("POST /dbs/d/colls", None, "{\"id\":\"x\"}", "partitionKey"),
        ("GET /dbs/d/colls/c/docs/1", Some(("x-ms-documentdb-partitionkey", "nope")), "", "partitionkey"),
        ("GET /dbs/d/colls/c/docs", Some(("x-ms-max-item-count", "many")), "", "x-ms-max-item-count"),
        ("GET /dbs/d/colls/c/docs", Some(("x-ms-max-item-count", "0")), "", "x-ms-max-item-count"),
        (
            "POST /dbs/d/colls/c/docs",
            Some(("x-ms-documentdb-isquery", "true")),
            "{\"query\":\"SELEC\"}",
            "SELEC",
        ),
        ("POST /dbs/d/colls/c/docs", Some(("x-ms-cosmos-is-batch-request", "true")), "{}", "batch"),
        ("GET /dbs/d/colls/c/docs/1", Some(("x-ms-session-token", "?")), "", "session"),
    ] {
        let headers: Vec<_> = header.into_iter().chain((!line.starts_with("GET")).then_some(key)).collect();
        let answer = Answer::of(emulator.handle(request(line, &headers, body)).await);
        assert_eq!(answer.code(), 400, "{line} {body}: {}", answer.body);
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{line}: {message}");
    }
    let not_here = Answer::of(emulator.handle(request("PUT /dbs/d", &[], "")).await);
    assert_eq!(not_here.code(), 405);
    let options = Answer::of(emulator.handle(request("OPTIONS /dbs", &[], "")).await);
    assert_eq!((options.code(), &options.body), (204, &Value::Null));
}
