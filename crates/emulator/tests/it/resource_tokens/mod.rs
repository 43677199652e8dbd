//! Resource tokens: what they open, how long they hold, and what is no token.

mod held_back;
mod lifetime;
mod matrix;
mod scope;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_emulator::{Emulator, SystemWorld, Timestamp, World};
use cosmonaut_wire::Authorization;
use http::{Method, Request, header};
use serde_json::{Value, json};

use crate::client::{Answer, send};

const A: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"a\"]");
const B: (&str, &str) = ("x-ms-documentdb-partitionkey", "[\"b\"]");
const QUERY: (&str, &str) = ("content-type", "application/query+json");
const ACROSS: (&str, &str) = ("x-ms-documentdb-query-enablecrosspartition", "true");
const PLAN: (&str, &str) = ("x-ms-cosmos-is-query-plan-request", "true");
const UPSERT: (&str, &str) = ("x-ms-documentdb-is-upsert", "true");
const BATCH: (&str, &str) = ("x-ms-cosmos-is-batch-request", "true");
const ATOMIC: (&str, &str) = ("x-ms-cosmos-batch-atomic", "true");
const RANGE: (&str, &str) = ("x-ms-documentdb-partitionkeyrangeid", "0");
const CHANGES: (&str, &str) = ("a-im", "Incremental Feed");
/// A condition that never holds: a request that is let in is answered 412, and changes nothing.
const NEVER: (&str, &str) = ("if-match", "\"never\"");

/// The machine's clock, and how much later it is here.
#[derive(Default)]
struct Later {
    machine: SystemWorld,
    micros: AtomicU64,
}

impl Later {
    fn pass(&self, seconds: u64) {
        self.micros.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }
}

impl World for Later {
    fn now(&self) -> Timestamp {
        Timestamp(self.machine.now().0 + self.micros.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.machine.random()
    }
}

/// An account with a container `c`, a neighbour `n` and a user `u`; both containers hold items 1 and 2 of the key a, item 1 of
/// the key b, and scripts.
async fn account() -> (Emulator, Arc<Later>) {
    let world = Arc::new(Later::default());
    let emulator = Emulator::builder().world(Arc::<Later>::clone(&world)).start().await.unwrap();
    let make = async |feed: &str, headers: &[(&str, &str)], body: Value| {
        let made = send(&emulator, &format!("POST {feed}"), headers, &body).await;
        assert_eq!(made.code(), 201, "{feed}: {}", made.body);
    };
    make("/dbs", &[], json!({"id": "d"})).await;
    make("/dbs/d/users", &[], json!({"id": "u"})).await;
    for container in ["c", "n"] {
        make("/dbs/d/colls", &[], json!({"id": container, "partitionKey": {"paths": ["/pk"]}})).await;
        let inside = |feed: &str| format!("/dbs/d/colls/{container}/{feed}");
        for (id, key, pk) in [("1", A, "a"), ("2", A, "a"), ("1", B, "b")] {
            make(&inside("docs"), &[key], json!({"id": id, "pk": pk, "in": container})).await;
        }
        for id in ["s", "other"] {
            make(&inside("sprocs"), &[], json!({"id": id, "body": "function () {}"})).await;
        }
        make(&inside("udfs"), &[], json!({"id": "f", "body": "function () {}"})).await;
        let trigger =
            json!({"id": "g", "body": "function () {}", "triggerType": "Pre", "triggerOperation": "All"});
        make(&inside("triggers"), &[], trigger).await;
    }
    (emulator, world)
}

fn permission(id: &str, mode: &str, resource: &str, key: Option<&str>) -> Value {
    let mut permission = json!({"id": id, "permissionMode": mode, "resource": resource});
    if let Some(key) = key {
        permission["resourcePartitionKey"] = json!([key]);
    }
    permission
}

/// Makes a permission and returns its token.
async fn grant(emulator: &Emulator, permission: &Value) -> String {
    let made = send(emulator, "POST /dbs/d/users/u/permissions", &[], permission).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    token_of(&made)
}

fn token_of(answer: &Answer) -> String {
    answer.body["_token"].as_str().unwrap().to_owned()
}

/// The token of the permission, read anew to hold for some seconds.
async fn read_token(emulator: &Emulator, id: &str, seconds: &str) -> Answer {
    let headers = [("x-ms-documentdb-expiry-seconds", seconds)];
    send(emulator, &format!("GET /dbs/d/users/u/permissions/{id}"), &headers, &Value::Null).await
}

/// Sends a request with a token and without a signature, as clients escape it.
async fn ask(emulator: &Emulator, token: &str, line: &str, extra: &[(&str, &str)], body: &Value) -> Answer {
    let sig = token.strip_prefix("type=resource&ver=1&sig=").unwrap_or(token);
    ask_raw(emulator, Authorization::Resource { token: sig.to_owned() }.to_header(), line, extra, body).await
}

async fn ask_raw(
    emulator: &Emulator,
    authorization: http::HeaderValue,
    line: &str,
    extra: &[(&str, &str)],
    body: &Value,
) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let method: Method = method.parse().unwrap();
    let mut builder =
        Request::builder().method(method).uri(path).header(header::AUTHORIZATION, authorization);
    for (name, value) in extra {
        builder = builder.header(*name, *value);
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Answer::of(emulator.handle(builder.body(Bytes::from(body)).unwrap()).await)
}

#[tokio::test]
async fn permissions_are_checked_when_they_are_made() {
    let (emulator, _) = account().await;
    let keyed = |key: Value| json!({"id": "x", "permissionMode": "All", "resource": "dbs/d/colls/c", "resourcePartitionKey": key});
    let somewhere = "dbs/AQAAAA==/colls/AQAAAJ0fgTc=";
    let ranges = send(&emulator, "GET /dbs/d/colls/c/pkranges", &[], &Value::Null).await;
    let range = ranges.body["PartitionKeyRanges"][0]["_self"].as_str().unwrap().to_owned();
    for (body, code) in [
        (permission("x", "All", "dbs/d/colls/none", None), 404),
        (permission("x", "All", "dbs/none/colls/c", None), 404),
        (permission("x", "All", "dbs/d/colls/c/docs/none", Some("a")), 404),
        (permission("x", "All", "dbs/d/colls/c/docs/1", None), 400),
        (permission("x", "All", "dbs/d/colls/c/sprocs/none", None), 404),
        (permission("x", "All", "dbs/d/colls/c/pkranges/0", None), 400),
        (permission("x", "All", &range, None), 400),
        (permission("x", "All", "dbs/d/users/u", None), 400),
        (keyed(json!("a")), 400),
        (keyed(json!([[1]])), 400),
        (keyed(json!(["\u{1}".repeat(2049)])), 400),
        (keyed(json!(["b"])), 201),
        (permission("all", "All", "/dbs/d/colls/c/", None), 201),
        // A user has one permission for a resource, and one for each key of it.
        (permission("read", "Read", "dbs/d/colls/c", None), 409),
        (permission("b", "Read", "dbs/d/colls/c", Some("b")), 409),
        (permission("a", "Read", "dbs/d/colls/c", Some("a")), 201),
        (permission("a", "Read", "dbs/d/colls/n", None), 409),
        // Resource ids are not looked up.
        (permission("later", "Read", somewhere, None), 201),
    ] {
        let made = send(&emulator, "POST /dbs/d/users/u/permissions", &[], &body).await;
        assert_eq!(made.code(), code, "{body}: {}", made.body);
    }
    for seconds in ["9", "86401", "-1", "soon", ""] {
        assert_eq!(read_token(&emulator, "all", seconds).await.code(), 400, "{seconds:?}");
    }
    for seconds in ["10", "18000", "86400", " 60 "] {
        assert_eq!(read_token(&emulator, "all", seconds).await.code(), 200, "{seconds:?}");
    }
    // Every permission of a list and of a query has a token, too.
    let list = send(&emulator, "GET /dbs/d/users/u/permissions", &[], &Value::Null).await;
    let tokens = list.body["Permissions"].as_array().unwrap();
    assert!(tokens.len() == 4 && tokens.iter().all(|found| found["_token"].is_string()), "{}", list.body);
    let query = json!({"query": "SELECT * FROM c WHERE c.id = 'all'"});
    let found = send(&emulator, "POST /dbs/d/users/u/permissions", &[QUERY], &query).await;
    let token = found.body["Permissions"][0]["_token"].as_str().unwrap();
    assert_eq!(ask(&emulator, token, "GET /dbs/d/colls/c", &[], &Value::Null).await.code(), 200);
}

#[tokio::test]
async fn the_longest_key_and_id_make_a_token_that_is_read() {
    let (emulator, _) = account().await;
    // Both are longest where every character is escaped.
    let (key, id) = ("\u{1}".repeat(2048), "é".repeat(511));
    let header = format!("[\"{}\"]", "\\u0001".repeat(2048));
    let own = ("x-ms-documentdb-partitionkey", header.as_str());
    let item = json!({"id": id, "pk": key});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[own], &item).await.code(), 201);
    let path = format!("/dbs/d/colls/c/docs/{}", "%C3%A9".repeat(511));
    for (name, resource) in [("i", &path[1..]), ("k", "dbs/d/colls/c")] {
        let token = grant(&emulator, &permission(name, "Read", resource, Some(&key))).await;
        for (headers, code) in [([own], 200), ([A], 403)] {
            let read = ask(&emulator, &token, &format!("GET {path}"), &headers, &Value::Null).await;
            assert_eq!(read.code(), code, "{name}: {}", read.body);
        }
    }
}

#[tokio::test]
async fn what_is_no_token_is_401() {
    let (emulator, _) = account().await;
    let token = grant(&emulator, &permission("p", "All", "dbs/d/colls/c", None)).await;
    let sig = token.strip_prefix("type=resource&ver=1&sig=").unwrap();
    let (vouched, claim) = sig.trim_end_matches(';').split_once(';').unwrap();
    let altered = {
        let mut claim = claim.to_owned();
        claim.replace_range(10..11, if &claim[10..11] == "A" { "B" } else { "A" });
        format!("{vouched};{claim};")
    };
    for hostile in [
        altered,
        String::new(),
        ";".to_owned(),
        format!("{vouched};"),
        format!(";{claim};"),
        format!("{vouched};{claim};{claim};"),
        format!("{vouched}{claim}"),
        format!("{};{claim};", &vouched[..40]),
        format!("!!!;{claim};"),
        "A".repeat(30_000),
    ] {
        let header = Authorization::Resource { token: hostile.clone() }.to_header();
        let answer = ask_raw(&emulator, header, "GET /dbs/d/colls/c", &[], &Value::Null).await;
        let shown: String = hostile.chars().take(60).collect();
        assert_eq!(answer.code(), 401, "{shown}: {}", answer.body);
        let message = answer.body["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains(claim), "{message}");
    }
    // As it stands in the permission, without escapes.
    let raw = http::HeaderValue::try_from(&token).unwrap();
    assert_eq!(ask_raw(&emulator, raw, "GET /dbs/d/colls/c", &[], &Value::Null).await.code(), 200);
}

#[tokio::test]
async fn an_open_account_gives_tokens_and_looks_at_none() {
    let emulator = Emulator::builder().auth(false).start().await.unwrap();
    for (feed, body) in [
        ("/dbs", json!({"id": "d"})),
        ("/dbs/d/colls", json!({"id": "c", "partitionKey": {"paths": ["/pk"]}})),
        ("/dbs/d/users", json!({"id": "u"})),
    ] {
        assert_eq!(send(&emulator, &format!("POST {feed}"), &[], &body).await.code(), 201, "{feed}");
    }
    let token = grant(&emulator, &permission("p", "Read", "dbs/d/colls/c", None)).await;
    assert!(token.starts_with("type=resource&ver=1&sig="));
    assert_eq!(ask(&emulator, "nonsense", "GET /dbs", &[], &Value::Null).await.code(), 200);
}
