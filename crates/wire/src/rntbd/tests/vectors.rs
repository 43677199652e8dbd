//! The worked examples of the reference, read and written.

use super::super::{
    FrameWriter, Guid, Operation, RequestFrame, RequestHead, Resource, ResponseFrame, Token, Value, request,
    response,
};
use super::{FOUND, READ, bytes, throttled};

const ACTIVITY: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn activity() -> Guid {
    ACTIVITY.parse().unwrap()
}

/// Tokens in the order of the frame.
type Fields = Vec<(&'static Token, Value<'static>)>;

fn read_fields() -> Fields {
    const EPK: [u8; 16] = 0x2424691CC38A7EEF2A65ADE404E1F528_u128.to_be_bytes();
    const RID: [u8; 8] = 0xDA7C3700A6D2DD09_u64.to_be_bytes();
    vec![
        (&request::EFFECTIVE_PARTITION_KEY, Value::Bytes(const { &EPK })),
        (&request::ACCOUNT_NAME, Value::Text("acct")),
        (&request::DATABASE_NAME, Value::Text("db1")),
        (&request::COLLECTION_NAME, Value::Text("c1")),
        (&request::COLLECTION_RID, Value::Text("2nw3AKbS3Qk=")),
        (&request::RESOURCE_ID, Value::Bytes(const { &RID })),
        (&request::PAYLOAD_PRESENT, Value::Unsigned(0)),
        (&request::DOCUMENT_NAME, Value::Text("item1")),
        (&request::AUTHORIZATION, Value::Text("SIG")),
        (&request::DATE, Value::Text("Wed, 21 Oct 2015 07:28:00 GMT")),
        (&request::PARTITION_KEY, Value::Text("[\"abc\"]")),
        (&request::CONSISTENCY_LEVEL, Value::Unsigned(2)),
        (&request::SDK_CAPABILITIES, Value::Unsigned(8)),
        (&request::SESSION_TOKEN, Value::Text("0:-1#9")),
    ]
}

fn found_fields() -> Fields {
    vec![
        (&response::PAYLOAD_PRESENT, Value::Unsigned(1)),
        (&response::ETAG, Value::Text("\"e1\"")),
        (&response::LSN, Value::Signed(10)),
        (&response::REQUEST_CHARGE, Value::Float(1.0)),
        (&response::OWNER_FULL_NAME, Value::Text("dbs/db1/colls/c1")),
        (&response::OWNER_ID, Value::Text("2nw3AKbS3Qk=")),
        (&response::PARTITION_KEY_RANGE_ID, Value::Text("0")),
        (&response::GLOBAL_COMMITTED_LSN, Value::Signed(9)),
        (&response::ITEM_LSN, Value::Signed(7)),
        (&response::TRANSPORT_REQUEST_ID, Value::Unsigned(1)),
        (&response::SESSION_TOKEN, Value::Text("-1#10")),
        (&response::BACKEND_DURATION_MS, Value::Float(0.5)),
    ]
}

fn write(mut frame: FrameWriter<'_>, fields: Fields) {
    for (token, value) in fields {
        match token.name {
            "PayloadPresent" => frame.payload_present(),
            _ => frame.push(token, value).unwrap(),
        }
    }
    frame.finish().unwrap();
}

#[test]
fn the_worked_request_is_read_and_written() {
    let bytes = bytes(READ);
    assert_eq!(bytes.len(), 188);
    let frame = RequestFrame::parse(&bytes).unwrap();
    assert_eq!((frame.resource, frame.operation), (Resource::Document, Operation::Read));
    assert_eq!((frame.activity.to_string().as_str(), frame.payload), (ACTIVITY, None));
    assert_eq!(frame.tokens().collect::<Vec<_>>(), read_fields());
    // A signature is in it.
    assert!(!format!("{frame:?}").contains("SIG"), "{frame:?}");

    let mut written = Vec::with_capacity(256);
    let head = RequestHead { resource: Resource::Document, operation: Operation::Read, activity: activity() };
    let fields = read_fields();
    let used = allocation_counter::measure(|| write(FrameWriter::request(&mut written, head, None), fields));
    assert_eq!(written, bytes);
    assert_eq!(used.count_total, 0, "the buffer is all that is written to");
}

#[test]
fn the_worked_answer_is_read_and_written() {
    let bytes = bytes(FOUND);
    assert_eq!(bytes.len(), 182);
    const ITEM: &[u8] = br#"{"id":"item1","pk":"abc"}"#;
    let used = allocation_counter::measure(|| {
        let frame = ResponseFrame::parse(&bytes).unwrap();
        assert_eq!((frame.status, frame.activity, frame.payload), (200, activity(), Some(ITEM)));
        assert_eq!(frame.tokens().find(&response::ETAG), Some(Value::Text("\"e1\"")));
    });
    assert_eq!(used.count_total, 0, "a frame is read where it lies");
    let frame = ResponseFrame::parse(&bytes).unwrap();
    assert_eq!(frame.tokens().collect::<Vec<_>>(), found_fields());

    let mut written = b"before".to_vec();
    write(FrameWriter::response(&mut written, 200, activity(), Some(ITEM)), found_fields());
    assert_eq!(written.split_off(6), bytes);
    // Bytes after an answer are nobody's.
    let longer = [&bytes[..], b"more"].concat();
    assert_eq!(ResponseFrame::parse(&longer).unwrap().payload, Some(ITEM));
}

#[test]
fn a_throttled_answer_is_read() {
    let bytes = throttled();
    assert_eq!(bytes.len(), 93);
    let frame = ResponseFrame::parse(&bytes).unwrap();
    let number = |token| frame.tokens().find(token).and_then(Value::unsigned);
    assert_eq!((frame.status, frame.payload.map(<[u8]>::len)), (429, Some(40)));
    assert_eq!(number(&response::RETRY_AFTER_MS), Some(25));
    assert_eq!(number(&response::SUB_STATUS), Some(3200));
    assert_eq!(number(&response::TRANSPORT_REQUEST_ID), Some(2));
    assert_eq!(frame.tokens().find(&response::ETAG), None);
}

/// What the service was seen to send for a create: these tokens, of these types, in this order.
#[test]
fn the_tokens_of_the_captured_answer_are_known() {
    let captured = "00 02 04 0E 0F 10 13 15 17 18 1A 1E 1F 21 26 29 30 35 3A 3B 3E 51 63 78";
    let ids: Vec<u16> = captured.split(' ').map(|id| u16::from_str_radix(id, 16).unwrap()).collect();
    let mut written = Vec::new();
    let mut frame = FrameWriter::response(&mut written, 201, activity(), None);
    for id in &ids {
        let token = response::find(*id).unwrap();
        use super::super::TokenType::*;
        match token.kind {
            Byte => frame.payload_present(),
            ULong => frame.number(token, 1).unwrap(),
            LongLong => frame.push(token, Value::Signed(-1)).unwrap(),
            Double => frame.push(token, Value::Float(6.29)).unwrap(),
            SmallString => frame.text(token, "Thu, 13 Feb 2025 14:25:28.024 GMT").unwrap(),
            String => frame.text(token, "documentSize=51200;").unwrap(),
            other => panic!("{other:?}"),
        }
    }
    frame.finish().unwrap();
    let frame = ResponseFrame::parse(&written).unwrap();
    let read: Vec<u16> = frame.tokens().map(|(token, _)| token.id).collect();
    assert_eq!((frame.status, read), (201, ids));
}

#[test]
fn guids_are_written_as_microsoft_does() {
    let wire = bytes("33221100 5544 7766 8899AABBCCDDEEFF");
    assert_eq!(activity().to_wire().as_slice(), wire);
    assert_eq!(Guid::from_wire(wire.try_into().unwrap()).to_string(), ACTIVITY);
    for wrong in ["", "00112233-4455-6677-8899-aabbccddeef", "00112233445566778899aabbccddeeff0000", "g"] {
        assert!(wrong.parse::<Guid>().is_err(), "{wrong}");
    }
    assert!("0011223344-55-6677-8899-aabbccddeeff".parse::<Guid>().is_err());
    assert!("00112233-4455-6677-8899-aabbccddeefé".parse::<Guid>().is_err());
}
