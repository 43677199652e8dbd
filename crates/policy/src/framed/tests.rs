//! Frames as the worked example of the protocol has them, and answers with and without one.

use bytes::Bytes;
use cosmonaut_options::{RequestOptions, RequestOptionsView};
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::rntbd::{FrameWriter, Guid, RequestFrame, Value, request, response};
use cosmonaut_wire::{
    ConsistencyLevel, EpkRange, PartitionKey, ReadConsistencyStrategy, ResourceId, ResourcePath, headers,
};
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::*;
use crate::testing::endpoint;
use crate::{
    AttemptSettings, CosmosOperation, ExecutionContext, OperationType, PartitionTarget, Precondition, Probe,
    ReadConsistency, RoutingDecision, SessionState, build_transport_request,
};

const RID: &str = "2nw3AKbS3Qk=";
const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

fn framed(operation: &CosmosOperation, aim: &FrameAim) -> Vec<u8> {
    let none = RequestOptions::default();
    let routing = RoutingDecision {
        endpoint: endpoint(0),
        framed: Some(endpoint(1)),
        partition_override: None,
        probe: Probe::No,
    };
    let session = SessionState {
        session_token: Some(HeaderValue::from_static("0:-1#9")),
        consistency: ReadConsistency {
            uses_session: true,
            level: Some(ConsistencyLevel::Session),
            strategy: ReadConsistencyStrategy::Default,
        },
    };
    let settings = AttemptSettings {
        options: RequestOptionsView::new(&none, &none, &none, &none),
        multiple_write_locations: false,
        deadline: None,
        execution_context: ExecutionContext::Initial,
    };
    let (rid, rid_header) = (RID.parse::<ResourceId>().unwrap(), HeaderValue::from_static(RID));
    let signature = HeaderValue::from_static("SIG");
    let parts = FrameParts {
        activity: "00112233-4455-6677-8899-aabbccddeeff".parse::<Guid>().unwrap(),
        account: "acct",
        container: FramedContainer { rid, rid_header: &rid_header },
        aim,
        date: DATE,
        signature: Some(&signature),
    };
    build_transport_request(operation, &routing, &session, settings).frame(&parts).unwrap()
}

fn key() -> (PartitionTarget, FrameAim) {
    let key = PartitionKey::from("abc");
    let aim = FrameAim::Key(key.effective(&PartitionKeyDefinition::new(["/pk"])).unwrap());
    (PartitionTarget::from(key), aim)
}

#[test]
fn a_read_is_the_worked_example() {
    let path = ResourcePath::parse("/dbs/db1/colls/c1/docs/item1").unwrap();
    let (target, aim) = key();
    let found = framed(&CosmosOperation::new(OperationType::Read, path).with_target(target), &aim);
    let route = bytes_of(
        "BC000000 0300 0300 33221100 5544 7766 8899AABBCCDDEEFF
         5A00 0B 1000 2424691CC38A7EEF2A65ADE404E1F528
         CE00 08 0400 61636374
         1500 08 0300 646231   1600 08 0200 6331
         3500 08 0C00 326E7733414B625333516B3D
         0000 0B 0800 DA7C3700A6D2DD09
         0200 00 00
         1700 08 0500 6974656D31
         0100 08 0300 534947
         0300 07 1D 5765642C203231204F637420323031352030373A32383A303020474D54",
    );
    assert_eq!(found[..route.len()], route[..]);
    // The rest comes in any order. One bit more is set: partitions that merge are followed.
    let mut rest: Vec<&[u8]> = Vec::new();
    let (partition_key, level, capabilities, session) = (
        bytes_of("2B00 08 0700 5B22616263225D"),
        bytes_of("1000 00 02"),
        bytes_of("A200 02 09000000"),
        bytes_of("0500 08 0600 303A2D312339"),
    );
    for token in [&partition_key, &level, &capabilities, &session] {
        let is_there = found[route.len()..].windows(token.len()).any(|window| window == &token[..]);
        assert!(is_there, "{token:x?} in {found:x?}");
        rest.push(token);
    }
    assert_eq!(found.len(), 188);
    assert_eq!(found.len(), route.len() + rest.iter().map(|token| token.len()).sum::<usize>());
}

#[test]
fn a_page_of_a_stretch_names_it_to_the_gateway_and_to_the_filter() {
    let path = ResourcePath::parse("/dbs/db1/colls/c1/docs").unwrap();
    let range = EpkRange { min: "10".parse().unwrap(), max: "FF".parse().unwrap() };
    let target = PartitionTarget::Epk { range: range.clone(), partition: Some("3".into()) };
    let operation = CosmosOperation::new(OperationType::ChangeFeed, path)
        .with_target(target)
        .with_precondition(Precondition::IfNoneMatch(HeaderValue::from_static("\"7\"")))
        .with_header(headers::MAX_ITEM_COUNT, HeaderValue::from_static("-1"))
        .with_header(HeaderName::from_static("prefer"), HeaderValue::from_static("return=minimal"));
    let found = framed(&operation, &FrameAim::Range(range));
    let frame = RequestFrame::parse(&found).unwrap();
    for (token, expected) in [
        (&request::START_EPK_HASH, Value::Bytes(&[0x10])),
        (&request::END_EPK_HASH, Value::Bytes(&[0xFF])),
        (&request::START_EPK, Value::Bytes(b"10")),
        (&request::END_EPK, Value::Bytes(b"FF")),
        (&request::READ_KEY_TYPE, Value::Unsigned(3)),
        (&request::PARTITION_KEY_RANGE_ID, Value::Text("3")),
        (&request::MATCH, Value::Text("\"7\"")),
        (&request::PAGE_SIZE, Value::Unsigned(0xFFFF_FFFF)),
        (&request::RETURN_PREFERENCE, Value::Unsigned(1)),
        (&request::A_IM, Value::Text("Incremental Feed")),
    ] {
        assert_eq!(frame.tokens().find(token), Some(expected), "{}", token.name);
    }
    assert_eq!(frame.tokens().find(&request::DOCUMENT_NAME), None);
}

fn answer(status: u16, body: Vec<u8>) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}

#[test]
fn the_worked_examples_answer_is_read_as_one_by_rest() {
    let body = bytes_of(
        "99000000 C8000000 33221100 5544 7766 8899AABBCCDDEEFF
         0000 00 01   0400 08 0400 22653122
         1300 05 0A00000000000000   1500 0E 000000000000F03F
         1700 08 1000 6462732F6462312F636F6C6C732F6331
         1800 08 0C00 326E7733414B625333516B3D   2100 08 0100 30
         2900 05 0900000000000000   3200 05 0700000000000000
         3500 02 01000000   3E00 08 0500 2D31233130
         5100 0E 000000000000E03F
         19000000 7B226964223A226974656D31222C22706B223A22616263227D",
    );
    // The status outside does not count where there is one inside.
    let FramedAnswer::Answer(found) = read_framed_answer(answer(500, body)) else { panic!("no answer") };
    assert_eq!((found.status(), &found.body()[..]), (StatusCode::OK, &br#"{"id":"item1","pk":"abc"}"#[..]));
    for (name, expected) in [
        ("etag", "\"e1\""),
        ("x-ms-session-token", "0:-1#10"),
        ("x-ms-request-charge", "1"),
        ("lsn", "10"),
        ("x-ms-item-lsn", "7"),
        ("x-ms-documentdb-partitionkeyrangeid", "0"),
        ("x-ms-alt-content-path", "dbs/db1/colls/c1"),
    ] {
        assert_eq!(found.headers()[name], expected, "{name}");
    }
    let throttled = bytes_of(
        "31000000 AD010000 33221100 5544 7766 8899AABBCCDDEEFF
         0000 00 00  0C00 02 19000000  1C00 02 800C0000  3500 02 02000000",
    );
    let FramedAnswer::Answer(found) = read_framed_answer(answer(429, throttled)) else { panic!("no answer") };
    assert_eq!(found.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(found.headers()["x-ms-retry-after-ms"], "25");
    assert_eq!(found.headers()["x-ms-substatus"], "3200");
}

#[test]
fn without_a_frame_nothing_is_believed() {
    for status in [200, 204, 304, 400, 401, 404, 408, 409, 429, 500, 503, 524] {
        for body in [b"".to_vec(), b"<html>".to_vec(), vec![0; 30]] {
            let FramedAnswer::NoFrame(found) = read_framed_answer(answer(status, body)) else {
                panic!("{status} is believed");
            };
            assert_eq!(found.as_u16(), status);
        }
    }
}

#[test]
fn a_session_of_several_partitions_is_left_as_it_is() {
    let mut body = Vec::new();
    let mut frame = FrameWriter::response(&mut body, 200, Guid::default(), None);
    frame.text(&response::PARTITION_KEY_RANGE_ID, "3").unwrap();
    frame.text(&response::SESSION_TOKEN, "3:-1#4,5:-1#6").unwrap();
    frame.finish().unwrap();
    let FramedAnswer::Answer(found) = read_framed_answer(answer(200, body)) else { panic!("no answer") };
    assert_eq!(found.headers()["x-ms-session-token"], "3:-1#4,5:-1#6");
}
