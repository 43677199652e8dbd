//! Requests without a socket.

use bytes::Bytes;
use cosmonaut_emulator::Emulator;
use http::{Request, StatusCode};
use serde_json::{Value, json};

pub(super) const DOCS: &str = "/dbs/d/colls/c/docs";
pub(super) const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];

/// The database and the container, and where they are made.
pub(super) fn definitions() -> [(&'static str, Value); 2] {
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    [("/dbs", json!({"id": "d"})), ("/dbs/d/colls", container)]
}

pub(super) fn document(writer: u32, item: u32, number: u64, padding: usize) -> Value {
    json!({"id": item.to_string(), "pk": writer.to_string(), "n": number, "text": "x".repeat(padding)})
}

pub(super) fn key(writer: u32) -> (&'static str, String) {
    ("x-ms-documentdb-partitionkey", format!("[\"{writer}\"]"))
}

/// Sends a request to a region.
pub(super) async fn send(
    (emulator, region): (&Emulator, &str),
    line: &str,
    headers: &[(&str, String)],
    body: &Value,
) -> (StatusCode, Value) {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let answer = emulator.handle_in(region, request.body(Bytes::from(text)).unwrap()).await;
    (answer.status(), serde_json::from_slice(answer.body()).unwrap_or_default())
}
