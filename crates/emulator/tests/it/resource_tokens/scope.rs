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
