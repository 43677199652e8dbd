//! How long a token holds.

use cosmonaut_emulator::{AccountKey, Emulator};
use cosmonaut_wire::{MasterKey, ResourcePath, headers};
use http::{Method, header};
use serde_json::{Value, json};

use super::{A, B, NEVER, UPSERT, account, ask, grant, permission, read_token, token_of};
use crate::client::{Answer, request, send};

/// What may happen to the permission of a token, or to whoever has it.
#[derive(Clone, Copy, Debug)]
enum Event {
    PermissionDeleted,
    PermissionReplaced,
    UserDeleted,
    PrimaryKeyAnew,
    BothKeysAnew,
}

impl Event {
    async fn happen(self, emulator: &Emulator) {
        let (line, body, code) = match self {
            Self::PermissionDeleted => ("DELETE /dbs/d/users/u/permissions/p", Value::Null, 204),
            Self::PermissionReplaced => {
                ("PUT /dbs/d/users/u/permissions/p", permission("p", "Read", "dbs/d/colls/n", None), 200)
            }
            Self::UserDeleted => ("DELETE /dbs/d/users/u", Value::Null, 204),
            Self::PrimaryKeyAnew | Self::BothKeysAnew => {
                let _ = emulator.control().regenerate_key(AccountKey::Primary).unwrap();
                if matches!(self, Self::BothKeysAnew) {
                    let _ = emulator.control().regenerate_key(AccountKey::Secondary).unwrap();
                }
                // The old key opens nothing from here on.
                ("GET /dbs/d", Value::Null, 401)
            }
        };
        assert_eq!(send(emulator, line, &[], &body).await.code(), code, "{self:?}");
    }
}

#[tokio::test]
async fn nothing_ends_a_token_before_its_time() {
    for event in [
        Event::PermissionDeleted,
        Event::PermissionReplaced,
        Event::UserDeleted,
        Event::PrimaryKeyAnew,
        Event::BothKeysAnew,
    ] {
        for (resource, key) in [
            ("dbs/d/colls/c", None),
            ("dbs/d/colls/c", Some("a")),
            ("dbs/d/colls/c/docs/1", Some("a")),
            ("dbs/d/colls/c/sprocs/s", None),
        ] {
            let (emulator, world) = account().await;
            grant(&emulator, &permission("p", "All", resource, key)).await;
            let token = token_of(&read_token(&emulator, "p", "1000").await);
            let what = if resource.ends_with("colls/c") { "dbs/d/colls/c/docs/1" } else { resource };
            // What is open is read and written as before, what is closed stays closed.
            let codes = async || {
                let body = json!({"id": "1", "pk": "a"});
                let mut codes = Vec::new();
                for (line, extra, body) in [
                    ("GET /".to_owned(), vec![], &Value::Null),
                    (format!("GET /{what}"), vec![A], &Value::Null),
                    (format!("DELETE /{what}"), vec![A, NEVER], &Value::Null),
                    ("GET /dbs/d/colls/n".to_owned(), vec![], &Value::Null),
                    ("POST /dbs/d/colls/n/docs".to_owned(), vec![A, UPSERT], &body),
                    ("GET /dbs/d/users/u/permissions/p".to_owned(), vec![], &Value::Null),
                ] {
                    codes.push(ask(&emulator, &token, &line, &extra, body).await.code());
                }
                codes
            };
            let cell = format!("{event:?}, {resource} {key:?}");
            assert_eq!(codes().await, [200, 200, 412, 403, 403, 403], "before {cell}");
            event.happen(&emulator).await;
            assert_eq!(codes().await, [200, 200, 412, 403, 403, 403], "after {cell}");
            // Five minutes are left to clocks that differ. The machine may take its time in between.
            world.pass(1000);
            assert_eq!(codes().await, [200, 200, 412, 403, 403, 403], "at the end, {cell}");
            world.pass(301);
            assert_eq!(codes().await, [403; 6], "past the end, {cell}");
        }
    }
}

#[tokio::test]
async fn every_read_and_change_of_a_permission_gives_another_token() {
    let (emulator, _) = account().await;
    let read = async |token: &str, container: &str| {
        ask(&emulator, token, &format!("GET /dbs/d/colls/{container}"), &[], &Value::Null).await.code()
    };
    let first = grant(&emulator, &permission("p", "Read", "dbs/d/colls/c", None)).await;
    let again = token_of(&read_token(&emulator, "p", "100").await);
    let elsewhere = permission("p", "Read", "dbs/d/colls/n", None);
    let replaced = token_of(&send(&emulator, "PUT /dbs/d/users/u/permissions/p", &[], &elsewhere).await);
    assert!(first != again && again != replaced);
    for (token, codes) in [(&first, (200, 403)), (&again, (200, 403)), (&replaced, (403, 200))] {
        assert_eq!((read(token, "c").await, read(token, "n").await), codes);
    }
}

#[tokio::test]
async fn tokens_are_given_out_and_hold_after_the_keys_were_made_anew() {
    let (emulator, _) = account().await;
    let key = emulator.control().regenerate_key(AccountKey::Primary).unwrap();
    let feed = "/dbs/d/users/u/permissions";
    let body = permission("p", "Read", "dbs/d/colls/c", None);
    let mut signed = request(&format!("POST {feed}"), &[], &body.to_string());
    let path = ResourcePath::parse(feed).unwrap();
    let date = signed.headers()[headers::DATE].to_str().unwrap();
    let signature = MasterKey::from_base64(&key).unwrap().sign(&Method::POST, path.signed_by_name(), date);
    signed.headers_mut().insert(header::AUTHORIZATION, signature);
    let made = Answer::of(emulator.handle(signed).await);
    assert_eq!(made.code(), 201, "{}", made.body);
    let read = ask(&emulator, &token_of(&made), "GET /dbs/d/colls/c", &[], &Value::Null).await;
    assert_eq!(read.code(), 200, "{}", read.body);
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
    let _ = emulator.control().regenerate_key(AccountKey::Primary).unwrap();
    emulator.shutdown().await;
    let emulator = start().await.unwrap();
    let docs = "GET /dbs/d/colls/c/docs/1";
    assert_eq!(ask(&emulator, &token, docs, &[A], &Value::Null).await.code(), 200);
    assert_eq!(ask(&emulator, &token, docs, &[B], &Value::Null).await.code(), 403);
    // An item that is made anew is another, also after a restart.
    assert_eq!(send(&emulator, "DELETE /dbs/d/colls/c/docs/1", &[A], &Value::Null).await.code(), 204);
    emulator.shutdown().await;
    let emulator = start().await.unwrap();
    let item = json!({"id": "1", "pk": "a"});
    assert_eq!(send(&emulator, "POST /dbs/d/colls/c/docs", &[A], &item).await.code(), 201);
    assert_eq!(ask(&emulator, &token, docs, &[A], &Value::Null).await.code(), 403);
    emulator.shutdown().await;
    let other = Emulator::builder().data(&directory).key("c2VjcmV0IHNlY3JldA==").start().await.unwrap();
    assert_eq!(ask(&other, &token, docs, &[A], &Value::Null).await.code(), 401);
    other.shutdown().await;
    std::fs::remove_dir_all(&directory).unwrap();
}
