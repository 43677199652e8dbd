//! What resource tokens open: every mode, kind of permission and operation, and nothing beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_emulator::{AccountKey, Emulator, SystemWorld, Timestamp, World};
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

/// Kinds of permissions, in the order of the columns below.
const HOLDINGS: [(&str, &str, Option<&str>); 4] = [
    ("container", "dbs/d/colls/c", None),
    ("key", "dbs/d/colls/c", Some("a")),
    ("item", "dbs/d/colls/c/docs/1", Some("a")),
    ("script", "dbs/d/colls/c/sprocs/s", None),
];

/// A request, whether it writes, and for which of the permissions it is open.
struct Row {
    line: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Value,
    writes: bool,
    open: [bool; 4],
}

fn row(
    line: &'static str,
    headers: &[(&'static str, &'static str)],
    body: Value,
    writes: bool,
    open: &str,
) -> Row {
    let open: Vec<_> = open.chars().map(|mark| mark == 'x').collect();
    Row { line, headers: headers.to_vec(), body, writes, open: open.try_into().unwrap() }
}

const READ: bool = false;
const WRITE: bool = true;

/// Every operation there is, for the container of the permissions and beside it. The columns: container, key, item, script.
fn rows() -> Vec<Row> {
    let nothing = || Value::Null;
    let item = |id: &str, pk: &str| json!({"id": id, "pk": pk});
    let query = || json!({"query": "SELECT * FROM c"});
    let script = || json!({"id": "s", "body": "1"});
    let create = || json!([{"operationType": "Upsert", "resourceBody": {"id": "9", "pk": "a"}}]);
    let container = || json!({"id": "c", "partitionKey": {"paths": ["/pk"]}});
    let mut rows = vec![
        row("GET /", &[], nothing(), READ, "xxxx"),
        // What clients need to find their way.
        row("GET /dbs/d/colls/c", &[], nothing(), READ, "xxxx"),
        row("GET /dbs/d/colls/c/pkranges", &[], nothing(), READ, "xxxx"),
        row("POST /dbs/d/colls/c/docs", &[PLAN, QUERY], query(), READ, "xx.."),
        // Items that are there.
        row("GET /dbs/d/colls/c/docs/1", &[A], nothing(), READ, "xxx."),
        row("HEAD /dbs/d/colls/c/docs/1", &[A], nothing(), READ, "xxx."),
        row("GET /dbs/d/colls/c/docs/1", &[B], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/docs/2", &[A], nothing(), READ, "xx.."),
        row("GET /dbs/d/colls/c/docs/1", &[], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/docs/none", &[A], nothing(), READ, "xx.."),
        row("PUT /dbs/d/colls/c/docs/1", &[A, NEVER], item("1", "a"), WRITE, "xxx."),
        row("PUT /dbs/d/colls/c/docs/1", &[B, NEVER], item("1", "b"), WRITE, "x..."),
        row("PUT /dbs/d/colls/c/docs/2", &[A, NEVER], item("2", "a"), WRITE, "xx.."),
        row(
            "PATCH /dbs/d/colls/c/docs/1",
            &[A, NEVER],
            json!([{"op": "set", "path": "/x", "value": 1}]),
            WRITE,
            "xxx.",
        ),
        row("DELETE /dbs/d/colls/c/docs/1", &[A, NEVER], nothing(), WRITE, "xxx."),
        row("DELETE /dbs/d/colls/c/docs/1", &[B, NEVER], nothing(), WRITE, "x..."),
        row("DELETE /dbs/d/colls/c/docs/2", &[A, NEVER], nothing(), WRITE, "xx.."),
        // New items.
        row("POST /dbs/d/colls/c/docs", &[A], item("1", "a"), WRITE, "xx.."),
        row("POST /dbs/d/colls/c/docs", &[B], item("1", "b"), WRITE, "x..."),
        row("POST /dbs/d/colls/c/docs", &[], item("1", "a"), WRITE, "x..."),
        row("POST /dbs/d/colls/c/docs", &[A, UPSERT], item("new", "a"), WRITE, "xx.."),
        row("POST /dbs/d/colls/c/docs", &[B, UPSERT], item("new", "b"), WRITE, "x..."),
        row("POST /dbs/d/colls/c/docs", &[A, BATCH, ATOMIC], create(), WRITE, "xx.."),
        row("POST /dbs/d/colls/c/docs", &[B, BATCH, ATOMIC], create(), WRITE, "x..."),
        row("POST /dbs/d/colls/c/docs", &[RANGE, BATCH], create(), WRITE, "x..."),
        // Feeds.
        row("GET /dbs/d/colls/c/docs", &[A], nothing(), READ, "xx.."),
        row("GET /dbs/d/colls/c/docs", &[B], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/docs", &[], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/docs", &[RANGE], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/docs", &[A, CHANGES], nothing(), READ, "xx.."),
        row("GET /dbs/d/colls/c/docs", &[B, CHANGES], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/docs", &[CHANGES], nothing(), READ, "x..."),
        row("POST /dbs/d/colls/c/docs", &[A, QUERY], query(), READ, "xx.."),
        row("POST /dbs/d/colls/c/docs", &[B, QUERY], query(), READ, "x..."),
        row("POST /dbs/d/colls/c/docs", &[ACROSS, QUERY], query(), READ, "x..."),
        row("POST /dbs/d/colls/c/docs", &[RANGE, QUERY], query(), READ, "x..."),
        // Conflicts.
        row("GET /dbs/d/colls/c/conflicts", &[A], nothing(), READ, "xx.."),
        row("GET /dbs/d/colls/c/conflicts", &[], nothing(), READ, "x..."),
        row("POST /dbs/d/colls/c/conflicts", &[QUERY], query(), READ, "x..."),
        row("GET /dbs/d/colls/c/conflicts/none", &[A], nothing(), READ, "x..."),
        row("DELETE /dbs/d/colls/c/conflicts/none", &[A], nothing(), WRITE, "x..."),
        // Scripts.
        row("GET /dbs/d/colls/c/sprocs", &[], nothing(), READ, "x..."),
        row("POST /dbs/d/colls/c/sprocs", &[QUERY], query(), READ, "x..."),
        row("GET /dbs/d/colls/c/sprocs/s", &[], nothing(), READ, "x..x"),
        row("GET /dbs/d/colls/c/sprocs/other", &[], nothing(), READ, "x..."),
        row("GET /dbs/d/colls/c/udfs/f", &[], nothing(), READ, "x..."),
        row("POST /dbs/d/colls/c/sprocs", &[], script(), WRITE, "x..."),
        row("POST /dbs/d/colls/c/sprocs", &[UPSERT], script(), WRITE, "x..."),
        row("PUT /dbs/d/colls/c/sprocs/s", &[NEVER], script(), WRITE, "x..x"),
        row("PUT /dbs/d/colls/c/sprocs/other", &[NEVER], script(), WRITE, "x..."),
        row("DELETE /dbs/d/colls/c/sprocs/s", &[NEVER], nothing(), WRITE, "x..x"),
        row("DELETE /dbs/d/colls/c/udfs/f", &[NEVER], nothing(), WRITE, "x..."),
        row("POST /dbs/d/colls/c/sprocs/s", &[A], json!([]), WRITE, "xx.x"),
        row("POST /dbs/d/colls/c/sprocs/s", &[B], json!([]), WRITE, "x..x"),
        row("POST /dbs/d/colls/c/sprocs/other", &[A], json!([]), WRITE, "xx.."),
        // What only the account's key opens.
        row("PUT /dbs/d/colls/c", &[], container(), WRITE, "...."),
        row("DELETE /dbs/d/colls/c", &[], nothing(), WRITE, "...."),
        row("GET /dbs", &[], nothing(), READ, "...."),
        row("POST /dbs", &[], json!({"id": "x"}), WRITE, "...."),
        row("POST /dbs", &[QUERY], query(), READ, "...."),
        row("GET /dbs/d", &[], nothing(), READ, "...."),
        row("DELETE /dbs/d", &[], nothing(), WRITE, "...."),
        row("GET /dbs/d/colls", &[], nothing(), READ, "...."),
        row("POST /dbs/d/colls", &[], json!({"id": "x", "partitionKey": {"paths": ["/pk"]}}), WRITE, "...."),
        row("POST /dbs/d/colls", &[QUERY], query(), READ, "...."),
        row("GET /offers", &[], nothing(), READ, "...."),
        row("POST /offers", &[QUERY], query(), READ, "...."),
        row("GET /offers/AAAA", &[], nothing(), READ, "...."),
        row("PUT /offers/AAAA", &[], json!({}), WRITE, "...."),
        row("GET /dbs/d/users", &[], nothing(), READ, "...."),
        row("POST /dbs/d/users", &[], json!({"id": "x"}), WRITE, "...."),
        row("GET /dbs/d/users/u", &[], nothing(), READ, "...."),
        row("PUT /dbs/d/users/u", &[], json!({"id": "x"}), WRITE, "...."),
        row("DELETE /dbs/d/users/u", &[], nothing(), WRITE, "...."),
        row("GET /dbs/d/users/u/permissions", &[], nothing(), READ, "...."),
        row("POST /dbs/d/users/u/permissions", &[QUERY], query(), READ, "...."),
        row(
            "POST /dbs/d/users/u/permissions",
            &[],
            permission("more", "All", "dbs/d/colls/n", None),
            WRITE,
            "....",
        ),
        row("GET /dbs/d/users/u/permissions/p", &[], nothing(), READ, "...."),
        row("DELETE /dbs/d/users/u/permissions/p", &[], nothing(), WRITE, "...."),
        row("GET /dbs/d/clientencryptionkeys", &[], nothing(), READ, "...."),
        row("GET /dbs/none", &[], nothing(), READ, "...."),
        row("GET /dbs/d/colls/none", &[], nothing(), READ, "...."),
    ];
    // This one empties the key, so that it comes last.
    rows.push(row("POST /dbs/d/colls/c/operations/partitionkeydelete", &[B], nothing(), WRITE, "x..."));
    rows.push(row("POST /dbs/d/colls/c/operations/partitionkeydelete", &[A], nothing(), WRITE, "xx.."));
    rows
}

#[tokio::test]
async fn every_cell_of_mode_permission_operation_and_time() {
    for (column, (name, resource, key)) in HOLDINGS.into_iter().enumerate() {
        for mode in ["Read", "All"] {
            let (emulator, world) = account().await;
            let token = grant(&emulator, &permission("p", mode, resource, key)).await;
            let short = token_of(&read_token(&emulator, "p", "10").await);
            for row in rows() {
                let answer = ask(&emulator, &token, row.line, &row.headers, &row.body).await;
                let open = row.open[column] && (mode == "All" || !row.writes);
                let cell = format!("{name} {mode}: {} {:?}: {}", row.line, row.headers, answer.body);
                assert_eq!(!matches!(answer.code(), 401 | 403), open, "{cell}");
                if !open && !row.line.starts_with("HEAD") {
                    let message = answer.body["message"].as_str().unwrap();
                    assert_eq!(answer.code(), 403, "{cell}");
                    assert!(message.starts_with("Insufficient permissions provided"), "{cell}");
                }
            }
            // The neighbour is closed, whatever is asked of it.
            for row in rows().iter().filter(|row| row.line.contains("/colls/c")) {
                let line = row.line.replace("/colls/c", "/colls/n");
                let answer = ask(&emulator, &token, &line, &row.headers, &row.body).await;
                assert_eq!(answer.code(), 403, "{name} {mode}: {line}: {}", answer.body);
            }
            world.pass(9);
            assert_eq!(ask(&emulator, &short, "GET /", &[], &Value::Null).await.code(), 200);
            // As at the service, five minutes are left to clocks that differ.
            world.pass(302);
            for row in rows().iter().filter(|row| !row.line.starts_with("HEAD")) {
                let answer = ask(&emulator, &short, row.line, &row.headers, &row.body).await;
                let message = answer.body["message"].as_str().unwrap();
                assert_eq!(answer.code(), 403, "{name} {mode}: {}", row.line);
                assert!(message.starts_with("The authorization token is not valid at the current time"));
            }
            assert_eq!(ask(&emulator, &token, "GET /", &[], &Value::Null).await.code(), 200);
        }
    }
}

#[tokio::test]
async fn what_comes_back_is_of_the_permissions_key_alone() {
    let (emulator, _) = account().await;
    let token = grant(&emulator, &permission("p", "All", "dbs/d/colls/c", Some("a"))).await;
    let all = json!({"query": "SELECT VALUE c.pk FROM c"});
    let docs = "POST /dbs/d/colls/c/docs";
    let found = ask(&emulator, &token, docs, &[A, QUERY, ACROSS, RANGE], &all).await;
    assert_eq!(found.body["Documents"], json!(["a", "a"]));
    let wide = [
        A,
        RANGE,
        ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
        ("x-ms-start-epk", ""),
        ("x-ms-end-epk", "FF"),
    ];
    for more in [&[][..], &[CHANGES]] {
        let headers = [&wide[..], more].concat();
        let listed = ask(&emulator, &token, "GET /dbs/d/colls/c/docs", &headers, &Value::Null).await;
        let keys: Vec<_> =
            listed.body["Documents"].as_array().unwrap().iter().map(|item| &item["pk"]).collect();
        assert_eq!(keys, ["a", "a"], "{more:?}");
    }
    // Where somebody else's feed or query goes on is not a way out of the key.
    for (line, body) in [("GET /dbs/d/colls/c/docs", &Value::Null), (docs, &all)] {
        let headers = [("x-ms-max-item-count", "1"), ACROSS];
        let headers = if body.is_null() { headers.to_vec() } else { [&headers[..], &[QUERY]].concat() };
        let page = send(&emulator, line, &headers, body).await;
        let next = page.header("x-ms-continuation").to_owned();
        assert!(!next.is_empty(), "{line}");
        let mut headers = headers.clone();
        (headers[0], headers[1]) = (("x-ms-continuation", next.as_str()), A);
        let page = ask(&emulator, &token, line, &headers, body).await;
        for row in page.body["Documents"].as_array().into_iter().flatten() {
            assert!(*row == "a" || row["pk"] == "a", "{line}: {row}");
        }
    }
    // What is written is of the key that the request names.
    for (headers, body) in [
        (vec![A], json!({"id": "x", "pk": "b"})),
        (vec![A, UPSERT], json!({"id": "1", "pk": "b"})),
        (
            vec![A, BATCH, ATOMIC],
            json!([{"operationType": "Create", "resourceBody": {"id": "x", "pk": "b"}}]),
        ),
        (
            vec![A, BATCH, ATOMIC],
            json!([{"operationType": "Create", "partitionKey": "[\"b\"]", "resourceBody": {"id": "x", "pk": "b"}}]),
        ),
        (
            vec![A, BATCH, RANGE, ("x-ms-cosmos-batch-continue-on-error", "true")],
            json!([{"operationType": "Delete", "partitionKey": "[\"b\"]", "id": "1"}]),
        ),
        (
            vec![A, BATCH],
            json!([{"operationType": "Delete", "partitionKey": "[\"b\"]", "id": "1"}, {"operationType": "Create", "resourceBody": {"id": "x", "pk": "b"}}]),
        ),
    ] {
        let answer = ask(&emulator, &token, docs, &headers, &body).await;
        let failed = answer.code() >= 400 || answer.code() == 207;
        assert!(failed, "{headers:?} {body}: {} {}", answer.code(), answer.body);
    }
    let left = send(&emulator, "GET /dbs/d/colls/c/docs", &[B], &Value::Null).await;
    let left: Vec<_> = left.body["Documents"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(left, ["1"]);
}

#[tokio::test]
async fn a_token_opens_the_same_however_the_path_is_written() {
    let (emulator, _) = account().await;
    let token = grant(&emulator, &permission("p", "Read", "dbs/d/colls/c", None)).await;
    let item = grant(&emulator, &permission("i", "Read", "dbs/d/colls/c/docs/1", Some("a"))).await;
    let link = async |path: &str, headers: &[(&str, &str)]| {
        let read = send(&emulator, &format!("GET {path}"), headers, &Value::Null).await;
        read.body["_self"].as_str().unwrap().to_owned()
    };
    let (own, other) = (link("/dbs/d/colls/c", &[]).await, link("/dbs/d/colls/n", &[]).await);
    let ids = |link: &str| {
        let mut ids = link.trim_end_matches('/').split('/').map(str::to_owned);
        (ids.nth(1).unwrap(), ids.nth(1).unwrap())
    };
    let ((database, own_rid), (_, other_rid)) = (ids(&own), ids(&other));
    let forms = |name: char, rid: &str| {
        vec![
            format!("/dbs/d/colls/{name}"),
            format!("/dbs/d/colls/{name}/"),
            format!("//dbs/d/colls/{name}//"),
            format!("/DBS/d/Colls/{name}"),
            format!("/dbs/%64/colls/%{:02x}", name as u32),
            format!("/dbs/{database}/colls/{rid}/"),
            format!("/dbs/{database}/colls/{name}"),
            format!("/dbs/d/colls/{rid}"),
            format!("/dbs/d/colls/{name}?x=y"),
        ]
    };
    for (name, rid, code) in [('c', &own_rid, 200), ('n', &other_rid, 403)] {
        for path in forms(name, rid) {
            let read = ask(&emulator, &token, &format!("GET {path}"), &[], &Value::Null).await;
            assert_eq!(read.code(), code, "{path}: {}", read.body);
        }
    }
    // Names have a case.
    for path in ["/dbs/D/colls/c", "/dbs/d/colls/C", "/dbs/d/colls/c%20", "/dbs/d/colls/c%2F..%2Fn"] {
        let read = ask(&emulator, &token, &format!("GET {path}"), &[], &Value::Null).await;
        assert!(matches!(read.code(), 400 | 403), "{path}: {}", read.code());
    }
    let one = link("/dbs/d/colls/c/docs/1", &[A]).await;
    let two = link("/dbs/d/colls/c/docs/2", &[A]).await;
    for (path, headers, code) in [
        ("/dbs/d/colls/c/docs/1".to_owned(), [A], 200),
        ("/dbs/d/colls/c/docs/%31/".to_owned(), [A], 200),
        (format!("/{one}"), [A], 200),
        (format!("/{one}"), [B], 403),
        (format!("/{two}"), [A], 403),
        ("/dbs/d/colls/c/docs/1?x".to_owned(), [A], 200),
        ("/dbs/d/colls/c/docs/2?x".to_owned(), [A], 403),
    ] {
        let read = ask(&emulator, &item, &format!("GET {path}"), &headers, &Value::Null).await;
        assert_eq!(read.code(), code, "{path}: {}", read.body);
    }
    // An item that is called as the resource id of the permitted one is another.
    let rid = one.trim_end_matches('/').rsplit('/').next().unwrap();
    let trap = json!({"id": rid, "pk": "b", "trap": true});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[B], &trap).await.code(), 201);
    let read = ask(&emulator, &item, &format!("GET /{one}"), &[B], &Value::Null).await;
    assert_eq!(read.code(), 403, "{}", read.body);
}

#[tokio::test]
async fn a_permission_of_links_by_resource_id_opens_the_same() {
    let (emulator, _) = account().await;
    let container = send(&emulator, "GET /dbs/d/colls/c", &[], &Value::Null).await;
    let item = send(&emulator, "GET /dbs/d/colls/c/docs/1", &[A], &Value::Null).await;
    let link = |answer: &Answer| answer.body["_self"].as_str().unwrap().to_owned();
    let token = grant(&emulator, &permission("c", "All", &link(&container), None)).await;
    let deleted = ask(&emulator, &token, "DELETE /dbs/d/colls/c/docs/2", &[A], &Value::Null).await;
    assert_eq!(deleted.code(), 204);
    let token = grant(&emulator, &permission("i", "All", &link(&item), None)).await;
    for (line, headers, code) in [
        ("GET /dbs/d/colls/c/docs/1", [A], 200),
        ("GET /dbs/d/colls/c/docs/1", [B], 403),
        ("DELETE /dbs/d/colls/c/docs/1", [A], 204),
        ("GET /dbs/d/colls/c/docs/1", [A], 403),
    ] {
        assert_eq!(ask(&emulator, &token, line, &headers, &Value::Null).await.code(), code, "{line}");
    }
}

#[tokio::test]
async fn what_is_made_anew_under_its_name_is_another() {
    let (emulator, _) = account().await;
    let container = grant(&emulator, &permission("c", "Read", "dbs/d/colls/c", None)).await;
    let item = grant(&emulator, &permission("i", "Read", "dbs/d/colls/c/docs/1", Some("a"))).await;
    let script = grant(&emulator, &permission("s", "Read", "dbs/d/colls/c/sprocs/s", None)).await;
    let read = async |token: &str, path: &str| {
        ask(&emulator, token, &format!("GET {path}"), &[A], &Value::Null).await.code()
    };
    let anew = async |feed: &str, id: &str, headers: &[(&str, &str)], body: Value| {
        let deleted = send(&emulator, &format!("DELETE {feed}/{id}"), headers, &Value::Null).await;
        assert_eq!(deleted.code(), 204, "{feed}");
        assert_eq!(send(&emulator, &format!("POST {feed}"), headers, &body).await.code(), 201, "{feed}");
    };
    assert_eq!(read(&item, "/dbs/d/colls/c/docs/1").await, 200);
    anew("/dbs/d/colls/c/docs", "1", &[A], json!({"id": "1", "pk": "a"})).await;
    assert_eq!(read(&item, "/dbs/d/colls/c/docs/1").await, 403);
    assert_eq!(read(&script, "/dbs/d/colls/c/sprocs/s").await, 200);
    anew("/dbs/d/colls/c/sprocs", "s", &[], json!({"id": "s", "body": ""})).await;
    assert_eq!(read(&script, "/dbs/d/colls/c/sprocs/s").await, 403);
    assert_eq!(read(&container, "/dbs/d/colls/c").await, 200);
    anew("/dbs/d/colls", "c", &[], json!({"id": "c", "partitionKey": {"paths": ["/pk"]}})).await;
    assert_eq!(read(&container, "/dbs/d/colls/c").await, 403);
    // The permission is still there, and a new token of it opens no more.
    let token = token_of(&read_token(&emulator, "c", "100").await);
    assert_eq!(read(&token, "/dbs/d/colls/c").await, 403);
}

#[tokio::test]
async fn a_token_ends_with_its_permission_its_user_and_the_key() {
    let (emulator, _) = account().await;
    let read =
        async |token: &str| ask(&emulator, token, "GET /dbs/d/colls/c", &[], &Value::Null).await.code();
    let first = grant(&emulator, &permission("p", "Read", "dbs/d/colls/c", None)).await;
    let again = read_token(&emulator, "p", "100").await;
    assert_ne!(token_of(&again), first);
    assert_eq!((read(&first).await, read(&token_of(&again)).await), (200, 200));
    let narrower = permission("p", "Read", "dbs/d/colls/n", None);
    let replaced = send(&emulator, "PUT /dbs/d/users/u/permissions/p", &[], &narrower).await;
    assert_eq!((read(&first).await, read(&token_of(&replaced)).await), (403, 403));
    let back = permission("p", "Read", "dbs/d/colls/c", None);
    let replaced = send(&emulator, "PUT /dbs/d/users/u/permissions/p", &[], &back).await;
    assert_eq!((read(&first).await, read(&token_of(&replaced)).await), (403, 200));

    let other = grant(&emulator, &permission("q", "Read", "dbs/d/colls/c", Some("a"))).await;
    assert_eq!(read(&other).await, 200);
    assert_eq!(send(&emulator, "DELETE /dbs/d/users/u/permissions/q", &[], &Value::Null).await.code(), 204);
    assert_eq!(read(&other).await, 403);
    assert_eq!(ask(&emulator, &other, "GET /", &[], &Value::Null).await.code(), 403);
    let _ = emulator.control().regenerate_key(AccountKey::Secondary).unwrap();
    assert_eq!(read(&token_of(&replaced)).await, 200);
    assert_eq!(send(&emulator, "DELETE /dbs/d/users/u", &[], &Value::Null).await.code(), 204);
    assert_eq!(read(&token_of(&replaced)).await, 403);

    assert_eq!(send(&emulator, "POST /dbs/d/users", &[], &json!({"id": "u"})).await.code(), 201);
    let last = grant(&emulator, &permission("p", "Read", "dbs/d/colls/c", None)).await;
    assert_eq!(read(&last).await, 200);
    let _ = emulator.control().regenerate_key(AccountKey::Primary).unwrap();
    assert_eq!(read(&last).await, 401);
}

#[tokio::test]
async fn a_token_holds_over_a_restart() {
    let directory = std::env::temp_dir().join(format!("cosmonaut-{}-tokens", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let start = || Emulator::builder().data(&directory).start();
    let emulator = start().await.unwrap();
    for (feed, body) in [
        ("/dbs", json!({"id": "d"})),
        ("/dbs/d/colls", json!({"id": "c", "partitionKey": {"paths": ["/pk"]}})),
        ("/dbs/d/users", json!({"id": "u"})),
        ("/dbs/d/colls/c/docs", json!({"id": "1", "pk": "a"})),
    ] {
        assert_eq!(send(&emulator, &format!("POST {feed}"), &[], &body).await.code(), 201, "{feed}");
    }
    let token = grant(&emulator, &permission("p", "Read", "dbs/d/colls/c/docs/1", Some("a"))).await;
    emulator.shutdown().await;
    let emulator = start().await.unwrap();
    let docs = "GET /dbs/d/colls/c/docs/1";
    assert_eq!(ask(&emulator, &token, docs, &[A], &Value::Null).await.code(), 200);
    assert_eq!(ask(&emulator, &token, docs, &[B], &Value::Null).await.code(), 403);
    emulator.shutdown().await;
    let other = Emulator::builder().data(&directory).key("c2VjcmV0IHNlY3JldA==").start().await.unwrap();
    assert_eq!(ask(&other, &token, docs, &[A], &Value::Null).await.code(), 401);
    other.shutdown().await;
    std::fs::remove_dir_all(&directory).unwrap();
}

#[tokio::test]
async fn permissions_are_checked_when_they_are_made() {
    let (emulator, _) = account().await;
    let keyed = |key: Value| json!({"id": "x", "permissionMode": "All", "resource": "dbs/d/colls/c", "resourcePartitionKey": key});
    let somewhere = "dbs/AQAAAA==/colls/AQAAAJ0fgTc=";
    for (body, code) in [
        (permission("x", "All", "dbs/d/colls/none", None), 404),
        (permission("x", "All", "dbs/none/colls/c", None), 404),
        (permission("x", "All", "dbs/d/colls/c/docs/none", Some("a")), 404),
        (permission("x", "All", "dbs/d/colls/c/docs/1", None), 400),
        (permission("x", "All", "dbs/d/colls/c/sprocs/none", None), 404),
        (permission("x", "All", "dbs/d/colls/c/pkranges/0", None), 400),
        (permission("x", "All", "dbs/d/users/u", None), 400),
        (keyed(json!("a")), 400),
        (keyed(json!([[1]])), 400),
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
