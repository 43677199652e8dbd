//! Binary JSON in requests and answers, as the headers ask for it.

use bytes::Bytes;
use cosmonaut_emulator::Emulator;
use cosmonaut_wire::binary::{Features, from_text, is_binary, to_text};
use http::Response;
use serde_json::{Value, json};

use crate::client::{request, with_container};
use crate::socket::KEY;

const DOCS: &str = "/dbs/d/colls/c/docs";
const A: (&str, &str) = (KEY, "[\"a\"]");
const LIST: &str = "x-ms-cosmos-supported-serialization-formats";
const ONE: &str = "x-ms-documentdb-content-serialization-format";
const BINARY: (&str, &str) = (LIST, "CosmosBinary");

async fn send(emulator: &Emulator, line: &str, extra: &[(&str, &str)], body: &[u8]) -> Response<Bytes> {
    let request = request(line, extra, "").map(|_| Bytes::copy_from_slice(body));
    emulator.handle(request).await
}

fn in_binary(value: &Value) -> Vec<u8> {
    from_text(value.to_string().as_bytes(), Features::default()).unwrap()
}

/// What a body says, and whether it is binary JSON.
fn read(answer: &Response<Bytes>) -> (bool, Value) {
    let body = answer.body();
    assert_eq!(answer.headers()["content-type"], "application/json");
    match is_binary(body) {
        true => (true, serde_json::from_slice(&to_text(body, 1 << 20).unwrap()).unwrap()),
        false => (false, serde_json::from_slice(body).unwrap()),
    }
}

#[tokio::test]
async fn an_item_comes_and_goes_in_either_form() {
    let emulator = with_container().await;
    let item = |id: &str| json!({"id": id, "pk": "a", "n": [1, 300, 0.5], "etag": "x".repeat(30)});
    for (id, body) in [("1", in_binary(&item("1"))), ("2", item("2").to_string().into_bytes())] {
        let made = send(&emulator, &format!("POST {DOCS}"), &[A], &body).await;
        assert_eq!((made.status().as_u16(), read(&made).0), (201, false), "text unless it is asked for");
        for (headers, is_binary) in [
            (vec![], false),
            (vec![BINARY], true),
            (vec![(LIST, "JsonText,CosmosBinary")], true),
            (vec![(LIST, "jsontext, cosmosbinary+uint64")], true),
            (vec![(LIST, "JsonText")], false),
            (vec![(LIST, "HybridRow")], false),
            (vec![(ONE, "CosmosBinary")], true),
            (vec![(ONE, "JsonText"), (LIST, "JsonText,CosmosBinary")], false),
        ] {
            let headers = [&headers[..], &[A]].concat();
            let answer = send(&emulator, &format!("GET {DOCS}/{id}"), &headers, b"").await;
            let (form, found) = read(&answer);
            assert_eq!((form, &found["n"]), (is_binary, &item(id)["n"]), "{headers:?}");
        }
    }
    for wrong in ["", "Json", "CosmosBinary+Zip"] {
        let answer = send(&emulator, &format!("GET {DOCS}/1"), &[A, (LIST, wrong)], b"").await;
        assert_eq!(answer.status(), 400, "{wrong:?}: {}", read(&answer).1);
    }
}

#[tokio::test]
async fn writes_queries_lists_and_changes_answer_as_they_are_asked() {
    let emulator = with_container().await;
    let body = in_binary(&json!({"id": "1", "pk": "a"}));
    let upsert = ("x-ms-documentdb-is-upsert", "true");
    let query = br#"{"query": "SELECT * FROM c"}"#;
    let (is_query, kind) = (("x-ms-documentdb-isquery", "true"), ("content-type", "application/query+json"));
    let changes = ("a-im", "Incremental Feed");
    for (line, headers, body, member) in [
        (format!("POST {DOCS}"), vec![A], &body[..], "id"),
        (format!("POST {DOCS}"), vec![A, upsert], &body[..], "id"),
        (format!("PUT {DOCS}/1"), vec![A], &body[..], "id"),
        (format!("PATCH {DOCS}/1"), vec![A], br#"[{"op": "set", "path": "/x", "value": 1}]"#, "id"),
        (format!("POST {DOCS}"), vec![A, is_query, kind], query, "Documents"),
        (format!("GET {DOCS}"), vec![A], b"", "Documents"),
        (format!("GET {DOCS}"), vec![A, changes], b"", "Documents"),
    ] {
        let answer = send(&emulator, &line, &[&headers[..], &[BINARY]].concat(), body).await;
        let (is_binary, found) = read(&answer);
        assert!(answer.status().is_success() && is_binary && found.get(member).is_some(), "{line}: {found}");
    }
    let deleted = send(&emulator, &format!("DELETE {DOCS}/1"), &[A, BINARY], b"").await;
    assert_eq!((deleted.status().as_u16(), deleted.body().len()), (204, 0));
}

/// Arrays of numbers and integers of 64 bits without a sign, only if they are asked for.
#[tokio::test]
async fn features_of_binary_json_are_used_if_they_are_asked_for() {
    let emulator = with_container().await;
    let item = r#"{"id":"1","pk":"a","v":[1000,2000,3000,4000,5000],"n":18446744073709551615}"#;
    send(&emulator, &format!("POST {DOCS}"), &[A], item.as_bytes()).await;
    let mut sizes = Vec::new();
    for formats in ["CosmosBinary", "CosmosBinary+NumberArrays", "CosmosBinary+UInt64+NumberArrays"] {
        let answer = send(&emulator, &format!("GET {DOCS}/1"), &[A, (LIST, formats)], b"").await;
        let (is_binary, found) = read(&answer);
        assert!(is_binary && found["v"] == json!([1000, 2000, 3000, 4000, 5000]), "{found}");
        sizes.push((answer.body().len(), found["n"] == json!(u64::MAX)));
    }
    assert!(sizes[1].0 < sizes[0].0 && !sizes[1].1 && sizes[2].1, "{sizes:?}");
}

#[tokio::test]
async fn what_is_not_about_items_and_what_is_refused_is_text() {
    let emulator = with_container().await;
    for (line, headers, code) in [
        ("GET /dbs/d/colls/c".to_owned(), vec![BINARY], 200),
        ("GET /dbs".to_owned(), vec![BINARY], 200),
        (format!("GET {DOCS}/missing"), vec![A, BINARY], 404),
    ] {
        let answer = send(&emulator, &line, &headers, b"").await;
        assert_eq!((answer.status().as_u16(), read(&answer).0), (code, false), "{line}");
    }
    // Metadata is accepted in either form, too.
    let made = send(&emulator, "POST /dbs", &[], &in_binary(&json!({"id": "e"}))).await;
    assert_eq!(made.status(), 201);
}

#[tokio::test]
async fn binary_json_that_cannot_be_read_is_refused() {
    let emulator = with_container().await;
    // A string of 32 KB and so many references to it that the text would have gigabytes.
    let mut endless = vec![0x80, 0xE4, 0, 0, 0, 0, 0xC1, 0xFF, 0x7F];
    endless.extend([b'a'; 0x7FFF]);
    endless.extend([0xC3, 6].repeat(50_000));
    let length = (endless.len() - 6) as u32;
    endless[2..6].copy_from_slice(&length.to_le_bytes());
    let mut short = in_binary(&json!({"id": "1", "pk": "a"}));
    short.pop();
    for (body, code, part) in [
        (&b"\x80"[..], 400, "binary JSON"),
        (&b"\x80\xff"[..], 400, "FF"),
        (&b"\x80\xe9\x40\x00"[..], 400, "dictionary"),
        (&short, 400, "binary JSON"),
        (&endless, 413, "bytes"),
    ] {
        let answer = send(&emulator, &format!("POST {DOCS}"), &[A], body).await;
        let (is_binary, found) = read(&answer);
        let message = found["message"].as_str().unwrap_or_default();
        assert_eq!((answer.status().as_u16(), is_binary), (code, false), "{message}");
        assert!(message.contains(part), "{message}");
    }
}
