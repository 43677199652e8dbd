//! How long a token holds.

use cosmonaut_emulator::{AccountKey, Emulator};
use serde_json::{Value, json};

use super::{A, B, account, ask, grant, permission, read_token, token_of};
use crate::client::send;

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
