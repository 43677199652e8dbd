//! A token opens what its permission is for: no other key, path or resource of the same name.

use serde_json::{Value, json};

use super::{
    A, ACROSS, ATOMIC, B, BATCH, CHANGES, QUERY, RANGE, UPSERT, account, ask, grant, permission, read_token,
    token_of,
};
use crate::client::{Answer, send};

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

/// A trigger sees all items of its partition key. So it takes a permission for these, as a stored procedure does.
#[tokio::test]
async fn a_permission_for_an_item_runs_no_triggers() {
    let (emulator, _) = account().await;
    let body = "function () { const c = getContext().getCollection(); c.deleteDocument(c.getAltLink() + '/docs/2') }";
    let trigger = json!({"id": "t", "triggerType": "Pre", "triggerOperation": "All", "body": body});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/triggers", &[], &trigger).await.code(), 201);
    let item = grant(&emulator, &permission("i", "All", "dbs/d/colls/c/docs/1", Some("a"))).await;
    let key = grant(&emulator, &permission("k", "All", "dbs/d/colls/c", Some("a"))).await;
    let same = json!({"id": "1", "pk": "a"});
    for name in ["x-ms-documentdb-pre-trigger-include", "x-ms-documentdb-post-trigger-include"] {
        for line in ["PUT /dbs/d/colls/c/docs/1", "DELETE /dbs/d/colls/c/docs/1"] {
            let answer = ask(&emulator, &item, line, &[A, (name, "t")], &same).await;
            assert_eq!(answer.code(), 403, "{name} {line}: {}", answer.body);
        }
        // Reads run none.
        let read = ask(&emulator, &item, "GET /dbs/d/colls/c/docs/1", &[A, (name, "t")], &Value::Null).await;
        assert_eq!(read.code(), 200, "{}", read.body);
    }
    let pre = ("x-ms-documentdb-pre-trigger-include", "t");
    assert_eq!(ask(&emulator, &item, "PUT /dbs/d/colls/c/docs/1", &[A], &same).await.code(), 200);
    assert_eq!(send(&emulator, "GET /dbs/d/colls/c/docs/2", &[A], &Value::Null).await.code(), 200);
    assert_eq!(ask(&emulator, &key, "PUT /dbs/d/colls/c/docs/1", &[A, pre], &same).await.code(), 200);
    assert_eq!(send(&emulator, "GET /dbs/d/colls/c/docs/2", &[A], &Value::Null).await.code(), 404);
}

/// The prefix of a hierarchical key opens all keys that begin with it, and no others.
#[tokio::test]
async fn a_prefix_opens_what_lies_below_it() {
    let (emulator, _) = account().await;
    let paths = json!({"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2});
    let made = send(&emulator, "POST /dbs/d/colls", &[], &json!({"id": "h", "partitionKey": paths})).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    let key = |text: &'static str| ("x-ms-documentdb-partitionkey", text);
    for (id, t, u, text) in [
        ("1", "a", "x", key("[\"a\",\"x\"]")),
        ("2", "a", "y", key("[\"a\",\"y\"]")),
        ("3", "b", "x", key("[\"b\",\"x\"]")),
    ] {
        let item = json!({"id": id, "t": t, "u": u});
        assert_eq!(send(&emulator, "POST /dbs/d/colls/h/docs", &[text], &item).await.code(), 201);
    }
    let body = "function () { __.pluck('id', (e, ids) => __.response.setBody(ids)) }";
    let script = json!({"id": "s", "body": body});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/h/sprocs", &[], &script).await.code(), 201);
    let permission = json!({"id": "h", "permissionMode": "All", "resource": "dbs/d/colls/h", "resourcePartitionKey": ["a"]});
    let token = grant(&emulator, &permission).await;
    let ids = json!({"query": "SELECT VALUE c.id FROM c ORDER BY c.id"});
    for (text, found) in [
        ("[\"a\"]", Some(json!(["1", "2"]))),
        ("[\"a\",\"y\"]", Some(json!(["2"]))),
        ("[\"b\"]", None),
        ("[\"b\",\"x\"]", None),
        ("[\"ab\"]", None),
        ("[]", None),
    ] {
        let docs = "POST /dbs/d/colls/h/docs";
        let answer = ask(&emulator, &token, docs, &[key(text), QUERY, ACROSS], &ids).await;
        assert_eq!(answer.code(), if found.is_some() { 200 } else { 403 }, "{text}: {}", answer.body);
        assert_eq!(answer.body.get("Documents"), found.as_ref(), "{text}: {}", answer.body);
        for mode in ["Incremental Feed", "Full-Fidelity Feed"] {
            let feed =
                ask(&emulator, &token, "GET /dbs/d/colls/h/docs", &[key(text), ("a-im", mode)], &Value::Null)
                    .await;
            assert_eq!(feed.code() == 403, found.is_none(), "{text} {mode}: {}", feed.body);
            assert!(!feed.body.to_string().contains("\"3\""), "{text} {mode}: {}", feed.body);
        }
    }
    for (text, code) in [("[\"a\",\"x\"]", 200), ("[\"b\",\"x\"]", 403), ("[\"x\"]", 403)] {
        let ran = ask(&emulator, &token, "POST /dbs/d/colls/h/sprocs/s", &[key(text)], &json!([])).await;
        assert_eq!(ran.code(), code, "{text}: {}", ran.body);
        assert!(code != 200 || ran.body == json!(["1"]), "{text}: {}", ran.body);
    }
}
