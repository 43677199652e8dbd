//! What the tables say, beside what the reference says.

use http::{HeaderMap, HeaderValue};

use super::super::{
    FrameWriter, Guid, Operation, REQUEST_HEADERS, RESPONSE_HEADERS, RequestFrame, RequestHead, Resource,
    ResponseFrame, Rule, TokenType, request, response,
};

#[test]
fn codes_are_those_of_the_service() {
    for (code, operation) in [
        (0x01, Operation::Create),
        (0x02, Operation::Patch),
        (0x03, Operation::Read),
        (0x04, Operation::ReadFeed),
        (0x05, Operation::Delete),
        (0x06, Operation::Replace),
        (0x08, Operation::ExecuteJavaScript),
        (0x0F, Operation::Query),
        (0x13, Operation::Upsert),
        (0x25, Operation::Batch),
        (0x42, Operation::QueryPlan),
    ] {
        assert_eq!((operation.code(), Operation::from_code(code)), (code, Some(operation)));
    }
    assert_eq!((Resource::Document.code(), Resource::StoredProcedure.code()), (3, 7));
    assert_eq!((Resource::from_code(0xFFFF), Operation::from_code(0)), (None, None));
    for code in 0..=0xFF {
        if let Some(kind) = TokenType::from_code(code) {
            assert_eq!(kind.code(), code);
        }
    }
    assert_eq!(TokenType::from_code(0xFF), None);
}

#[test]
fn tokens_are_found_by_their_ids() {
    for (all, find) in [
        (request::ALL, request::find as fn(u16) -> Option<&'static super::super::Token>),
        (response::ALL, response::find),
    ] {
        for token in all {
            assert_eq!(find(token.id), Some(token));
            // As many as are kept account of.
            assert!(token.id < 320, "{}", token.name);
        }
        assert_eq!(find(0xFFFF), None);
    }
    let required = |all: &[super::super::Token]| {
        let required = all.iter().filter(|token| token.rule == Rule::Required);
        required.map(|token| token.id).collect::<Vec<_>>()
    };
    assert_eq!((required(request::ALL), required(response::ALL)), (vec![0x02], vec![0x00]));
    // What the proxy reads first comes first.
    let first: Vec<_> = request::ALL.iter().take(13).map(|token| token.id).collect();
    assert_eq!(first, [0x5A, 0xD2, 0xD3, 0xCE, 0xE8, 0x15, 0x16, 0x35, 0x00, 0x02, 0x17, 0x01, 0x03]);
    assert!(response::ALL.is_sorted_by_key(|token| token.id));
    assert!(RESPONSE_HEADERS.is_sorted_by_key(|carried| carried.token.id));
}

#[test]
fn headers_come_back_as_they_went() {
    let head =
        RequestHead { resource: Resource::Document, operation: Operation::Query, activity: Guid::default() };
    let sent = [
        ("x-ms-max-item-count", "-1", "-1"),
        ("x-ms-consistency-level", "eventual", "Eventual"),
        ("x-ms-cosmos-read-consistency-strategy", "LatestCommitted", "LatestCommitted"),
        ("x-ms-session-token", "0:-1#9", "0:-1#9"),
        ("x-ms-cosmos-batch-atomic", "true", "True"),
        ("x-ms-documentdb-populatequerymetrics", "no", "False"),
        ("x-ms-cosmos-sdk-supportedcapabilities", "9", "9"),
        ("x-ms-read-key-type", "EffectivePartitionKeyRange", "EffectivePartitionKeyRange"),
        ("x-ms-cosmos-priority-level", "Low", "Low"),
        (
            "x-ms-cosmos-correlated-activityid",
            "00112233-4455-6677-8899-AABBCCDDEEFF",
            "00112233-4455-6677-8899-aabbccddeeff",
        ),
    ];
    let mut bytes = Vec::new();
    let mut frame = FrameWriter::request(&mut bytes, head, Some(b"{}"));
    for (name, value, _) in sent {
        let carried = REQUEST_HEADERS.iter().find(|carried| carried.header.as_str() == name).unwrap();
        assert!(carried.push(&mut frame, &HeaderValue::from_static(value)).unwrap(), "{name}");
    }
    // What a token cannot say is not said.
    for (name, value) in [
        ("x-ms-max-item-count", "x"),
        ("x-ms-consistency-level", "Best"),
        ("x-ms-cosmos-throughput-bucket", "256"),
    ] {
        let carried = REQUEST_HEADERS.iter().find(|carried| carried.header.as_str() == name).unwrap();
        assert!(!carried.push(&mut frame, &HeaderValue::from_static(value)).unwrap(), "{name}");
    }
    frame.finish().unwrap();
    let frame = RequestFrame::parse(&bytes).unwrap();
    let mut headers = HeaderMap::new();
    for carried in &REQUEST_HEADERS {
        if let Some(value) = frame.tokens().find(carried.token) {
            headers.insert(&carried.header, carried.header_value(value).unwrap());
        }
    }
    assert_eq!(headers.len(), sent.len());
    for (name, _, back) in sent {
        assert_eq!(headers[name], back, "{name}");
    }
}

#[test]
fn headers_of_the_worked_answer_are_those_of_rest() {
    let bytes = super::bytes(super::FOUND);
    let frame = ResponseFrame::parse(&bytes).unwrap();
    let header = |name: &str| {
        let carried = RESPONSE_HEADERS.iter().find(|carried| carried.header.as_str() == name).unwrap();
        carried.header_value(frame.tokens().find(carried.token).unwrap()).unwrap()
    };
    for (name, value) in [
        ("etag", "\"e1\""),
        ("lsn", "10"),
        ("x-ms-request-charge", "1"),
        ("x-ms-alt-content-path", "dbs/db1/colls/c1"),
        ("x-ms-content-path", "2nw3AKbS3Qk="),
        ("x-ms-documentdb-partitionkeyrangeid", "0"),
        ("x-ms-global-committed-lsn", "9"),
        ("x-ms-item-lsn", "7"),
        ("x-ms-request-duration-ms", "0.5"),
    ] {
        assert_eq!(header(name), value, "{name}");
    }
}
