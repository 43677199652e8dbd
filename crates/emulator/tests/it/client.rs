//! A small client: signs requests and reads answers, with or without a socket.

use bytes::Bytes;
use cosmonaut_emulator::{EMULATOR_KEY, Emulator};
use cosmonaut_wire::{CosmosStatus, MasterKey, ResourcePath, headers};
use http::{HeaderMap, Method, Request, Response, header};
use serde_json::{Value, json};

/// The time, as requests carry it.
#[expect(clippy::disallowed_methods, reason = "the emulator compares it with the machine's clock")]
pub(crate) fn date() -> String {
    httpdate::fmt_http_date(std::time::SystemTime::now())
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: CosmosStatus,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn of(response: Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        let status = CosmosStatus::from_response(parts.status, &parts.headers);
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
        Self { status, headers: parts.headers, body }
    }

    pub(crate) fn code(&self) -> u16 {
        self.status.code().as_u16()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A signed request.
pub(crate) fn request(line: &str, extra: &[(&str, &str)], body: &str) -> Request<Bytes> {
    let (method, path) = line.split_once(' ').unwrap();
    let method: Method = method.parse().unwrap();
    let date = date();
    let mut builder = Request::builder().uri(path).header(headers::DATE, &date);
    // The id of an item may have a question mark in it; elsewhere what follows one is not part of the path.
    let parsed = ResourcePath::parse(path).or_else(|_| ResourcePath::parse(path.split('?').next().unwrap()));
    if let Ok(parsed) = parsed {
        let key = MasterKey::from_base64(EMULATOR_KEY).unwrap();
        let signature = key.sign(&method, parsed.signed_by_name(), &date);
        builder = builder.header(header::AUTHORIZATION, signature);
    }
    for (name, value) in extra {
        builder = builder.header(*name, *value);
    }
    builder.method(method).body(Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

/// Sends a signed request without a socket.
pub(crate) async fn send(emulator: &Emulator, line: &str, extra: &[(&str, &str)], body: &Value) -> Answer {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    Answer::of(emulator.handle(request(line, extra, &text)).await)
}

/// An emulator with a database `d` and in it a container `c` with the partition key `/pk`.
pub(crate) async fn with_container() -> Emulator {
    let emulator = Emulator::builder().start().await.unwrap();
    let made = send(&emulator, "POST /dbs", &[], &json!({"id": "d"})).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    let made = send(&emulator, "POST /dbs/d/colls", &[], &container).await;
    assert_eq!(made.code(), 201, "{}", made.body);
    emulator
}
