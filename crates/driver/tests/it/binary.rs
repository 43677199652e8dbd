//! Binary JSON on the wire: what is sent, and what becomes of answers in it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cosmonaut_driver::transport::TransportErrorKind;
use cosmonaut_driver::{CosmosDriver, ErrorKind, OperationType};
use cosmonaut_options::{CosmosClientOptions, RequestOptions};
use cosmonaut_wire::{PartitionKey, headers};
use http::{HeaderValue, Request};

use crate::harness::{operation, read};
use crate::scripted::{Answer, Network, run};

const FORMATS: &str = "x-ms-cosmos-supported-serialization-formats";
/// `{"id":"a"}`
const ITEM: &[u8] = &[0x80, 0xE9, 0x2C, 0x81, b'a'];

fn options(is_enabled: bool) -> CosmosClientOptions {
    let request = RequestOptions::default().with_binary_encoding_enabled(is_enabled);
    CosmosClientOptions { request, ..Default::default() }
}

/// A driver whose every request is answered in one way.
fn answered(answer: Answer) -> CosmosDriver {
    Network::new(&["east"], false, move |_, _| answer.clone()).driver(options(true))
}

#[tokio::test(start_paused = true)]
async fn items_are_sent_as_binary_json_if_that_is_wanted() {
    let sent: Arc<Mutex<Option<Request<Bytes>>>> = Arc::default();
    let write = operation(OperationType::Create, "/dbs/d/colls/c/docs").with_target(PartitionKey::from("a"));
    let write = write.with_body(r#"{"id": "a"}"#);
    let trigger = (headers::PRE_TRIGGER_INCLUDE, HeaderValue::from_static("stamp"));
    let triggered = write.clone().with_header(trigger.0, trigger.1);
    let text = Bytes::from_static(br#"{"id": "a"}"#);
    for (operation, is_enabled, body, asks) in [
        (&write, true, Bytes::from_static(ITEM), true),
        (&write, false, text.clone(), false),
        (&triggered, true, text, true),
        (&write.clone().with_body("no JSON"), true, Bytes::from_static(b"no JSON"), true),
        (&read("1", "a"), true, Bytes::new(), true),
        (&read("1", "a"), false, Bytes::new(), false),
    ] {
        let log = Arc::clone(&sent);
        let network = Network::new(&["east"], false, move |_, request| {
            *log.lock().unwrap() = Some(request.clone());
            Answer::Status(200, 0)
        });
        run(&network.driver(options(is_enabled)), operation).await.unwrap();
        let sent = sent.lock().unwrap().take().unwrap();
        let expected = asks.then_some("CosmosBinary");
        assert_eq!(
            sent.headers().get(FORMATS).map(|format| format.to_str().unwrap()),
            expected,
            "{operation:?}"
        );
        assert_eq!(sent.body(), &body, "{operation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_text_whatever_came_and_count_as_they_came() {
    let response = run(&answered(Answer::Body(200, ITEM.to_vec())), &read("1", "a")).await.unwrap();
    assert_eq!(response.body(), &br#"{"id":"a"}"#[..]);
    assert_eq!(response.diagnostics().attempts()[0].response_bytes, ITEM.len());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_binary_json_is_understood() {
    let text = br#"{"code":"BadRequest","message":"the item has no id"}"#;
    let body = cosmonaut_wire::binary::from_text(text, Default::default()).unwrap();
    let error = run(&answered(Answer::Body(400, body)), &read("1", "a")).await.unwrap_err();
    assert!(error.to_string().contains("the item has no id"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_an_error_and_not_asked_for_again() {
    let mut endless = vec![0x80, 0xE4, 0, 0, 0, 0, 0xC1, 0xFF, 0x7F];
    endless.extend([b'a'; 0x7FFF]);
    endless.extend([0xC3, 6].repeat(5_000));
    let length = (endless.len() - 6) as u32;
    endless[2..6].copy_from_slice(&length.to_le_bytes());
    for (body, kind) in [
        (b"\x80".to_vec(), TransportErrorKind::Protocol),
        (ITEM[..4].to_vec(), TransportErrorKind::Protocol),
        (endless, TransportErrorKind::TooLarge),
    ] {
        let error = run(&answered(Answer::Body(200, body)), &read("1", "a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport(kind), "{error}");
        assert!(error.to_string().contains("binary JSON"), "{error}");
        assert_eq!(error.diagnostics().unwrap().attempts().len(), 1, "{error}");
    }
}
