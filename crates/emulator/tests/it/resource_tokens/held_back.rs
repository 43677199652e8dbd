//! A request is let in by its head alone; its body may come much later.

use cosmonaut_wire::Authorization;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{A, account, grant, permission};
use crate::client::send;
use crate::socket::authority;

/// Between the head of a request and its body, what the token is for goes and comes again under its name.
#[tokio::test]
async fn a_body_that_was_held_back_does_not_reach_what_was_made_anew() {
    for (resource, key, feed, line, body, anew) in [
        (
            "dbs/d/colls/c/docs/1",
            Some("a"),
            "/dbs/d/colls/c/docs",
            "PUT /dbs/d/colls/c/docs/1",
            json!({"id": "1", "pk": "a", "by": "holder"}),
            json!({"id": "1", "pk": "a"}),
        ),
        (
            "dbs/d/colls/c/sprocs/s",
            None,
            "/dbs/d/colls/c/sprocs",
            "PUT /dbs/d/colls/c/sprocs/s",
            json!({"id": "s", "body": "holder"}),
            json!({"id": "s", "body": "function () {}"}),
        ),
        (
            "dbs/d/colls/c/sprocs/s",
            None,
            "/dbs/d/colls/c/sprocs",
            "POST /dbs/d/colls/c/sprocs/s",
            json!([]),
            json!({"id": "s", "body": "function () {}"}),
        ),
    ] {
        let (emulator, _) = account().await;
        let token = grant(&emulator, &permission("p", "All", resource, key)).await;
        let target = format!("/{resource}");
        // An item that is not there may be asked for; a script must be there.
        let is_item = key.is_some();
        let delete = async || {
            let deleted = send(&emulator, &format!("DELETE {target}"), &[A], &Value::Null).await;
            assert_eq!(deleted.code(), 204, "{line}");
        };
        if is_item {
            delete().await;
        }
        let header = Authorization::resource_header(&token);
        let (text, host) = (body.to_string(), authority(emulator.url()));
        let mut stream = TcpStream::connect(host).await.unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\nauthorization: {}\r\n{}: {}\r\nexpect: 100-continue\r\ncontent-length: \
             {}\r\nconnection: close\r\n\r\n",
            header.to_str().unwrap(),
            A.0,
            A.1,
            text.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0, "{}", String::from_utf8_lossy(&seen));
        }
        assert!(seen.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&seen));
        if !is_item {
            delete().await;
        }
        assert_eq!(send(&emulator, &format!("POST {feed}"), &[A], &anew).await.code(), 201, "{line}");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 403"), "{line}: {answer}");
        let left = send(&emulator, &format!("GET {target}"), &[A], &Value::Null).await;
        assert!(left.code() == 200 && !left.body.to_string().contains("holder"), "{line}: {}", left.body);
    }
}
