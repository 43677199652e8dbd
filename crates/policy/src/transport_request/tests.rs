use cosmonaut_options::RequestOptions;
use cosmonaut_wire::{
    EffectivePartitionKey, EpkRange, PartitionKey, PartitionKeyRangeId, ReadConsistencyStrategy,
};
use http::HeaderName;

use super::*;
use crate::testing::{endpoint, operation};
use crate::{Probe, ReadConsistency};

const QUIET: SessionState = SessionState {
    session_token: None,
    consistency: ReadConsistency {
        uses_session: false,
        level: None,
        strategy: ReadConsistencyStrategy::Default,
    },
};

fn sent_with(
    operation: &CosmosOperation,
    session: &SessionState,
    options: &RequestOptions,
    multiple_write_locations: bool,
) -> Vec<String> {
    let none = RequestOptions::default();
    let routing =
        RoutingDecision { endpoint: endpoint(0), framed: None, partition_override: None, probe: Probe::No };
    let settings = AttemptSettings {
        options: RequestOptionsView::new(&none, &none, &none, options),
        multiple_write_locations,
        deadline: None,
        execution_context: ExecutionContext::Initial,
    };
    let mut map = HeaderMap::new();
    build_transport_request(operation, &routing, session, settings).write_headers(&mut map);
    let mut lines: Vec<String> =
        map.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort();
    lines
}

fn sent(operation: &CosmosOperation) -> Vec<String> {
    sent_with(operation, &QUIET, &RequestOptions::default(), false)
}

#[test]
fn each_operation_says_what_it_is() {
    use OperationType::*;
    let json = "content-type: application/json";
    let query = "content-type: application/query+json";
    for (kind, expected) in [
        (Read, vec![]),
        (Head, vec![]),
        (ReadFeed, vec![]),
        (Delete, vec![]),
        (DeleteByPartitionKey, vec![]),
        (Create, vec![json]),
        (Replace, vec![json]),
        (Execute, vec![json]),
        (Upsert, vec![json, "x-ms-documentdb-is-upsert: True"]),
        (Patch, vec!["content-type: application/json_patch+json"]),
        (
            Batch,
            vec![
                json,
                "x-ms-cosmos-batch-atomic: True",
                "x-ms-cosmos-batch-continue-on-error: False",
                "x-ms-cosmos-is-batch-request: True",
            ],
        ),
        (
            Bulk,
            vec![
                json,
                "x-ms-cosmos-batch-atomic: False",
                "x-ms-cosmos-batch-continue-on-error: True",
                "x-ms-cosmos-is-batch-request: True",
            ],
        ),
        (
            Query,
            vec![query, "x-ms-documentdb-isquery: True", "x-ms-documentdb-query-enablecrosspartition: True"],
        ),
        (QueryPlan, vec![query, "x-ms-cosmos-is-query-plan-request: True"]),
        (ChangeFeed, vec!["a-im: Incremental Feed"]),
    ] {
        assert_eq!(sent(&operation(kind)), expected, "{kind:?}");
    }
}

#[test]
fn the_part_of_the_container_is_named() {
    let epk = |text: &str| text.parse::<EffectivePartitionKey>().unwrap();
    let range = EpkRange { min: epk("05"), max: epk("0A") };
    let id = PartitionKeyRangeId::from("3");
    for (target, expected) in [
        (PartitionTarget::None, vec![]),
        (PartitionTarget::from(PartitionKey::from("a")), vec!["x-ms-documentdb-partitionkey: [\"a\"]"]),
        (PartitionTarget::Range(id.clone()), vec!["x-ms-documentdb-partitionkeyrangeid: 3"]),
        (
            PartitionTarget::Epk { range, partition: Some(id) },
            vec![
                "x-ms-documentdb-partitionkeyrangeid: 3",
                "x-ms-end-epk: 0A",
                "x-ms-read-key-type: EffectivePartitionKeyRange",
                "x-ms-start-epk: 05",
            ],
        ),
    ] {
        assert_eq!(
            sent(&operation(OperationType::ReadFeed).with_target(target.clone())),
            expected,
            "{target:?}"
        );
    }
}

#[test]
fn a_query_within_one_key_does_not_cross_partitions() {
    let query = operation(OperationType::Query).with_target(PartitionKey::from("a"));
    assert!(!sent(&query).iter().any(|line| line.contains("crosspartition")));
}

#[test]
fn session_conditions_and_options_are_sent() {
    let session = SessionState {
        session_token: Some(HeaderValue::from_static("0:-1#5")),
        consistency: ReadConsistency {
            uses_session: true,
            level: Some(cosmonaut_wire::ConsistencyLevel::Session),
            strategy: ReadConsistencyStrategy::Session,
        },
    };
    let options = RequestOptions {
        priority: Some(PriorityLevel::Low),
        throughput_bucket: Some(2),
        ..RequestOptions::default()
    };
    let condition = Precondition::IfNoneMatch(HeaderValue::from_static("\"1\""));
    let read = operation(OperationType::Read).with_precondition(condition);
    assert_eq!(
        sent_with(&read, &session, &options, true),
        [
            "if-none-match: \"1\"",
            "x-ms-consistency-level: Session",
            "x-ms-cosmos-priority-level: Low",
            "x-ms-cosmos-read-consistency-strategy: Session",
            "x-ms-cosmos-throughput-bucket: 2",
            "x-ms-session-token: 0:-1#5",
        ]
    );
}

#[test]
fn a_write_where_every_region_takes_writes_says_so() {
    let condition = Precondition::IfMatch(HeaderValue::from_static("\"1\""));
    let delete = operation(OperationType::Delete).with_precondition(condition);
    let lines = sent_with(&delete, &QUIET, &RequestOptions::default(), true);
    assert_eq!(lines, ["if-match: \"1\"", "x-ms-cosmos-allow-tentative-writes: True"]);
}

#[test]
fn the_operations_own_headers_win() {
    let name = HeaderName::from_static("x-mine");
    let options = RequestOptions::default()
        .with_custom_headers([(name.clone(), HeaderValue::from_static("option")), (headers::A_IM, TRUE)]);
    let feed = operation(OperationType::ChangeFeed)
        .with_header(headers::A_IM, HeaderValue::from_static("Full-Fidelity Feed"));
    let lines = sent_with(&feed, &QUIET, &options, false);
    assert_eq!(lines, ["a-im: Full-Fidelity Feed", "x-mine: option"]);
}

#[test]
fn what_belongs_to_the_connection_is_not_the_callers() {
    let value = || HeaderValue::from_static("close");
    let options = RequestOptions::default()
        .with_custom_headers([(http::header::CONNECTION, value()), (http::header::HOST, value())]);
    let read = operation(OperationType::Read)
        .with_header(HeaderName::from_static("keep-alive"), value())
        .with_header(http::header::CONTENT_LENGTH, value());
    assert_eq!(sent_with(&read, &QUIET, &options, false), Vec::<String>::new());
}
