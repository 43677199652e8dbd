//! Transactional batches and bulk requests.

use cosmonaut_wire::model::{BatchOperation, PatchDocument, PatchOperation, PatchPath};
use cosmonaut_wire::{CosmosStatus, PartitionKey};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::*;

fn raw(body: Value) -> Box<RawValue> {
    to_raw_value(&body).unwrap()
}

fn statuses(container: &Container, operations: &[BatchOperation]) -> Vec<u16> {
    let reply = container.batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(operations)).unwrap();
    reply.results.iter().map(|result| result.status_code).collect()
}

fn lsn(container: &Container) -> i64 {
    container.replica_for(&Default::default(), HERE).read(|state| state.lsn())
}

#[test]
fn a_batch_is_one_commit_and_sees_its_own_writes() {
    let (_, container) = container();
    let patch = PatchDocument::new([PatchOperation::increment(PatchPath::new("/n").unwrap(), 1)]);
    let operations = [
        BatchOperation::create(raw(json!({"id": "1", "pk": "a", "n": 1}))),
        BatchOperation::read("1"),
        BatchOperation::patch("1", &patch),
        BatchOperation::upsert(raw(json!({"id": "2", "pk": "a"}))),
        BatchOperation::replace("2", raw(json!({"id": "2", "pk": "a", "x": 1}))),
        BatchOperation::delete("2"),
    ];
    let reply = container.batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(&operations)).unwrap();
    let statuses: Vec<u16> = reply.results.iter().map(|result| result.status_code).collect();
    assert_eq!((reply.status, statuses), (CosmosStatus::OK, vec![201, 200, 200, 201, 200, 204]));
    assert_eq!((reply.standing.lsn, lsn(&container)), (1, 1));
    assert_eq!(json_of(&container.read_item(HERE, at("a", "1")).unwrap().body)["n"], 2);
    let tags: std::collections::HashSet<_> =
        reply.results.iter().filter_map(|result| result.e_tag.clone()).collect();
    assert_eq!(tags.len(), 4, "a version each, and the read repeats one: {tags:?}");
}

#[test]
fn a_failure_undoes_everything_and_names_itself() {
    let (_, container) = container();
    container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a", "n": 1}))).unwrap();
    let before = container.read_item(HERE, at("a", "1")).unwrap().body;
    let keep = || {
        [
            BatchOperation::create(raw(json!({"id": "2", "pk": "a"}))),
            BatchOperation::replace("1", raw(json!({"id": "1", "pk": "a", "n": 9}))),
            BatchOperation::delete("1"),
        ]
    };
    for (last, status) in [
        (BatchOperation::create(raw(json!({"id": "2", "pk": "a"}))), 409),
        (BatchOperation::read("nowhere"), 404),
        (BatchOperation::create(raw(json!({"id": "3", "pk": "other"}))), 400),
        (BatchOperation::create(raw(json!({"pk": "a"}))), 400),
        (BatchOperation::delete("2").with_if_match("\"other\""), 412),
    ] {
        let operations: Vec<_> = keep().into_iter().chain([last]).collect();
        assert_eq!(statuses(&container, &operations), [424, 424, 424, status]);
        assert_eq!(container.read_item(HERE, at("a", "1")).unwrap().body, before);
        assert_eq!((lsn(&container), container.usage(HERE).documents), (1, 1));
    }
    let reply = container
        .batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(&[BatchOperation::read("nowhere")]))
        .unwrap();
    assert_eq!(reply.status, CosmosStatus::MULTI_STATUS);
}

#[test]
fn a_batch_that_only_reads_commits_nothing() {
    let (_, container) = container();
    container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a"}))).unwrap();
    assert_eq!(statuses(&container, &[BatchOperation::read("1")]), [200]);
    assert_eq!(lsn(&container), 1);
}

#[test]
fn a_batch_has_one_to_a_hundred_operations() {
    let (_, container) = container();
    for (count, fits) in [(0, false), (1, true), (100, true), (101, false)] {
        let operations: Vec<_> = (0..count)
            .map(|nth| BatchOperation::upsert(raw(json!({"id": nth.to_string(), "pk": "a"}))))
            .collect();
        assert_eq!(
            container.batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(&operations)).is_ok(),
            fits,
            "{count}"
        );
    }
}

#[test]
fn bulk_operations_stand_by_themselves() {
    let (_, container) = container();
    let keyed = |mut operation: BatchOperation, key: &str| {
        operation.partition_key = Some(format!("[\"{key}\"]"));
        operation
    };
    let operations = [
        keyed(BatchOperation::create(raw(json!({"id": "1", "pk": "a"}))), "a"),
        keyed(BatchOperation::create(raw(json!({"id": "1", "pk": "a"}))), "a"),
        keyed(BatchOperation::create(raw(json!({"id": "1", "pk": "b"}))), "b"),
        keyed(BatchOperation::read("1"), "b"),
        BatchOperation::read("1"),
    ];
    let run = |continue_on_error| {
        let reply =
            container.bulk(HERE, &"0".into(), &BatchRequest::new(&operations), continue_on_error).unwrap();
        reply.results.iter().map(|result| result.status_code).collect::<Vec<_>>()
    };
    assert_eq!(run(true), [201, 409, 201, 200, 400]);
    assert_eq!(run(false), [409, 424, 424, 424, 424]);
    assert_eq!(lsn(&container), 2);
    let gone = container.bulk(HERE, &"7".into(), &BatchRequest::new(&operations), true).unwrap_err();
    assert_eq!(gone.status, CosmosStatus::PARTITION_KEY_RANGE_GONE);
}
