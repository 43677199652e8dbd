//! Scripts that mean no good: the server answers each, and then the next request.
//!
//! The list of such scripts is tested where they are run; here they are drawn from a seed and sent over the gateway.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{KEY, answer, error, execute, put, read, run, source, with_script_time};
use crate::client::send;
use crate::socket::Connection;

/// What drawn scripts are made of. `%` is another one of them.
const STATEMENTS: &[&str] = &[
    "for (let i = 0; i < 1e9; i++) { % }",
    "while (true) { try { % } catch (e) { % } }",
    "try { % } finally { % }",
    "(function f() { % ; f(); })();",
    "Promise.resolve().then(() => { % });",
    "(async () => { await null; % })();",
    "coll.createDocument(link, {id: '' + Math.random(), pk: 'a', x: []}, (e, d) => { % });",
    "coll.queryDocuments(link, 'SELECT * FROM c', (e, d) => { % });",
    "coll.readDocuments(link, {continuation: 'x'}, (e, d) => { % });",
    "coll.deleteDocument(coll.getAltLink() + '/docs/keep', e => { % });",
    "__.filter(d => { % }, () => { % });",
    "__.chain().map(d => { % }).sortBy(d => d).value();",
    "set({toJSON() { % }});",
    "set(new Proxy([], {get() { % }, ownKeys() { % }}));",
    "Object.defineProperty(Object.prototype, 'id', {get() { % }, configurable: true});",
    "Array.prototype.push = function () { % };",
    "JSON.stringify = JSON.parse = () => { % };",
    "getContext = () => { % };",
    "new Array(2 ** 31).sort(); %",
    "'x'.repeat(2 ** 28); %",
    "let s = 'x'; for (;;) { s += s; }",
    "const a = []; for (;;) a.push(a.slice());",
    "/(a*)*b/.test('a'.repeat(30)); %",
    "getContext().abort({get message() { % }});",
    "console.log({toString() { % }});",
    "throw new Error(Math.random() * 1e6 | 0, 'x');",
    "throw {get message() { % }};",
    "throw null;",
    "return;",
    "",
];

fn drawn(next: &mut impl FnMut() -> u64, depth: u32) -> String {
    let most = if depth == 0 { 3 } else { STATEMENTS.len() as u64 };
    let from = STATEMENTS.len() as u64 - most;
    let statement = STATEMENTS[(from + next() % most) as usize];
    let mut parts = statement.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(&drawn(next, depth.saturating_sub(1)));
        text.push_str(part);
    }
    text
}

/// `HOSTILE_SCRIPTS` says how many, `HOSTILE_SEED` which.
#[tokio::test(flavor = "multi_thread")]
async fn drawn_scripts_are_answered_and_so_is_the_next_request() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (scripts, seed) = (number("HOSTILE_SCRIPTS", 1000), number("HOSTILE_SEED", 1));
    let emulator = with_script_time(Duration::from_millis(20)).await;
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for nth in 0..scripts {
        let body = drawn(&mut next, 3);
        let answered = run(&emulator, &source(&body), &json!([])).await;
        let replay = format!("HOSTILE_SEED={seed} HOSTILE_SCRIPTS={scripts}, number {nth}: {body}");
        assert!(matches!(answered.code(), 200 | 400 | 408), "{replay}: {}", answered.body);
        assert_eq!(read(&emulator, "none").await.code(), 404, "{replay}");
    }
}

/// On one thread for all sockets.
#[tokio::test]
async fn others_are_answered_beside_scripts_that_do_not_end() {
    let emulator = with_script_time(Duration::from_secs(3600)).await;
    put(&emulator, "sprocs", &json!({"id": "p", "body": "function () { for (;;); }"})).await;
    let mut endless = JoinSet::new();
    for _ in 0..4 {
        let mut connection = Connection::open(emulator.url()).await.unwrap();
        endless.spawn(async move {
            connection.send("POST /dbs/d/colls/c/sprocs/p", &[KEY], &json!([])).await.map(drop)
        });
    }
    while emulator.control().long_requests() != 4 {
        tokio::task::yield_now().await;
    }
    let item = json!({"id": "1", "pk": "a"});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[KEY], &item).await.code(), 201);
    // Another script has its turns beside them.
    let echo = send(&emulator, "POST /dbs/d/colls/c/sprocs/__.sys.echo", &[KEY], &json!([1])).await;
    assert_eq!(echo.body, json!(1));
    assert_eq!(emulator.control().long_requests(), 4);
    // Scripts whose clients have left are stopped.
    endless.shutdown().await;
    while emulator.control().long_requests() != 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_script_sees_nothing_of_other_partition_keys() {
    let emulator = super::patient().await;
    let secret = super::create(&emulator, json!({"id": "secret", "pk": "b"})).await;
    let body = format!(
        "const seen = [], see = (e, d) => seen.push(e ? e.number : d); const self = {};
         coll.readDocument(self, see); coll.readDocument(coll.getAltLink() + '/docs/secret', see);
         coll.deleteDocument(self, see); coll.replaceDocument(self, {{id: 'secret', pk: 'b'}}, see);
         coll.queryDocuments(link, \"SELECT * FROM c WHERE c.pk = 'b'\", see);
         coll.readDocuments(link, (e, d) => {{ see(e, d); set(seen) }});",
        secret["_self"]
    );
    assert_eq!(answer(&emulator, &body).await, json!([404, 404, 404, 400, [], []]));
    let _: Value = secret;
}

#[tokio::test]
async fn memory_runs_out_for_the_script_alone() {
    let emulator = super::patient().await;
    let bomb = source("const a = []; for (;;) a.push('x'.repeat(1000) + a.length);");
    let (status, _, text) = error(&run(&emulator, &bomb, &json!([])).await);
    assert_eq!(status, 400, "{text}");
    assert_eq!(execute(&emulator, &json!([]), &[KEY]).await.code(), 400);
    assert_eq!(answer(&emulator, "set(1)").await, 1);
}
