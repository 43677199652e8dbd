//! Every mode, kind of permission, operation and time: a table of what is open and what is closed.

use serde_json::{Value, json};

use super::{
    A, ACROSS, ATOMIC, B, BATCH, CHANGES, NEVER, PLAN, QUERY, RANGE, UPSERT, account, ask, grant, permission,
    read_token, token_of,
};

/// Kinds of permissions, in the order of the columns below.
const HOLDINGS: [(&str, &str, Option<&str>); 6] = [
    ("container", "dbs/d/colls/c", None),
    ("key", "dbs/d/colls/c", Some("a")),
    ("item", "dbs/d/colls/c/docs/1", Some("a")),
    ("script", "dbs/d/colls/c/sprocs/s", None),
    ("trigger", "dbs/d/colls/c/triggers/g", None),
    ("function", "dbs/d/colls/c/udfs/f", None),
];

/// A request, whether it writes, and for which of the permissions it is open.
struct Row {
    line: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Value,
    writes: bool,
    open: [bool; 6],
}

/// Without marks for triggers and functions, these open what stored procedures do, but for stored procedures.
fn row(
    line: &'static str,
    headers: &[(&'static str, &'static str)],
    body: Value,
    writes: bool,
    open: &str,
) -> Row {
    let mut open: Vec<_> = open.chars().map(|mark| mark == 'x').collect();
    open.resize(6, open[3] && !line.contains("/sprocs"));
    Row { line, headers: headers.to_vec(), body, writes, open: open.try_into().unwrap() }
}

const READ: bool = false;
const WRITE: bool = true;

/// Every operation there is, for the container of the permissions and beside it. The columns: container, key, item,
/// script, trigger, function.
fn rows() -> Vec<Row> {
    let nothing = || Value::Null;
    let item = |id: &str, pk: &str| json!({"id": id, "pk": pk});
    let query = || json!({"query": "SELECT * FROM c"});
    let script = || json!({"id": "s", "body": "1"});
    let trigger = || json!({"id": "g", "body": "1", "triggerType": "Pre", "triggerOperation": "All"});
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
        row("GET /dbs/d/colls/c/udfs", &[], nothing(), READ, "x....."),
        row("GET /dbs/d/colls/c/udfs/f", &[], nothing(), READ, "x....x"),
        row("POST /dbs/d/colls/c/udfs", &[], json!({"id": "f", "body": "1"}), WRITE, "x....."),
        row("PUT /dbs/d/colls/c/udfs/f", &[NEVER], json!({"id": "f", "body": "1"}), WRITE, "x....x"),
        row("GET /dbs/d/colls/c/triggers", &[], nothing(), READ, "x....."),
        row("GET /dbs/d/colls/c/triggers/g", &[], nothing(), READ, "x...x."),
        row("POST /dbs/d/colls/c/triggers", &[], trigger(), WRITE, "x....."),
        row("PUT /dbs/d/colls/c/triggers/g", &[NEVER], trigger(), WRITE, "x...x."),
        row("DELETE /dbs/d/colls/c/triggers/g", &[NEVER], nothing(), WRITE, "x...x."),
        row("POST /dbs/d/colls/c/sprocs", &[], script(), WRITE, "x..."),
        row("POST /dbs/d/colls/c/sprocs", &[UPSERT], script(), WRITE, "x..."),
        row("PUT /dbs/d/colls/c/sprocs/s", &[NEVER], script(), WRITE, "x..x"),
        row("PUT /dbs/d/colls/c/sprocs/other", &[NEVER], script(), WRITE, "x..."),
        row("DELETE /dbs/d/colls/c/sprocs/s", &[NEVER], nothing(), WRITE, "x..x"),
        row("DELETE /dbs/d/colls/c/udfs/f", &[NEVER], nothing(), WRITE, "x....x"),
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
