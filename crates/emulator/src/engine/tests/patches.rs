//! Patches that are decided about before they are committed.

use cosmonaut_wire::model::BatchOperation;
use cosmonaut_wire::{CosmosStatus, PartitionKey};
use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;

fn counting(condition: &str) -> Value {
    json!({"condition": condition, "operations": [{"op": "incr", "path": "/n", "value": 1}]})
}

fn n_of(container: &Container, id: &str) -> i64 {
    json_of(&container.read_item(HERE, at("a", id)).unwrap().body)["n"].as_i64().unwrap()
}

/// An item of which a copy is made before it is patched, however simple the patch is.
fn large(id: &str) -> Value {
    json!({"id": id, "pk": "a", "n": 0, "x": "x".repeat(100_000)})
}

#[test]
fn patches_at_the_same_time_all_count() {
    const EACH: i64 = 50;
    let (_, container) = container();
    container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a", "n": 0}))).unwrap();
    container.create_item(HERE, with("a", "", &large("2"))).unwrap();
    let plain = json!([{"op": "incr", "path": "/n", "value": 1}]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    container.patch_item(HERE, with("a", "1", &counting("FROM c WHERE c.n >= 0"))).unwrap();
                    container.patch_item(HERE, with("a", "1", &plain)).unwrap();
                    container.patch_item(HERE, with("a", "2", &plain)).unwrap();
                }
            });
        }
    });
    assert_eq!((n_of(&container, "1"), n_of(&container, "2")), (8 * EACH, 4 * EACH));
}

#[test]
fn a_condition_in_a_batch_is_about_what_the_batch_has_written() {
    let (_, container) = container();
    container.create_item(HERE, with("a", "", &json!({"id": "2", "pk": "a", "n": 5}))).unwrap();
    let patch = |id: &str, condition: &str| {
        let mut operation = BatchOperation::read(id);
        operation.operation_type = cosmonaut_wire::model::BatchOperationType::Patch;
        operation.resource_body = Some(to_raw_value(&counting(condition)).unwrap());
        operation
    };
    let upsert = BatchOperation::upsert(to_raw_value(&json!({"id": "1", "pk": "a", "n": 1})).unwrap());
    for (last, expected, n) in [
        ("FROM c WHERE c.n = 6", vec![201, 200, 200, 200, 200], 3),
        ("FROM c WHERE c.n = 2", vec![424, 424, 424, 424, 412], 3),
    ] {
        let operations = [
            upsert.clone(),
            patch("1", "FROM c WHERE c.n = 1"),
            patch("1", "FROM c WHERE c.n = 2"),
            patch("2", "FROM c WHERE c.n > 4"),
            patch("2", last),
        ];
        let reply = container.batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(&operations)).unwrap();
        let statuses: Vec<u16> = reply.results.iter().map(|result| result.status_code).collect();
        assert_eq!(statuses, expected, "{last}");
        assert_eq!((n_of(&container, "1"), n_of(&container, "2")), (n, 7), "{last}");
    }
    assert_eq!(container.replica_for(&Default::default(), HERE).read(|state| state.lsn()), 2);
}

#[test]
fn many_patches_of_a_large_item_in_a_batch_each_see_what_the_one_before_made() {
    let (_, container) = container();
    container.create_item(HERE, with("a", "", &large("1"))).unwrap();
    container.create_item(HERE, with("a", "", &large("2"))).unwrap();
    let add = json!([{"op": "incr", "path": "/n", "value": 1}]);
    let operations: Vec<_> = (0..100)
        .map(|nth| {
            let mut operation = BatchOperation::read(if nth % 4 == 0 { "2" } else { "1" });
            operation.operation_type = cosmonaut_wire::model::BatchOperationType::Patch;
            operation.resource_body = Some(to_raw_value(&add).unwrap());
            operation
        })
        .collect();
    let reply = container.batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(&operations)).unwrap();
    assert!(reply.results.iter().all(|result| result.status_code == 200));
    assert_eq!((n_of(&container, "1"), n_of(&container, "2")), (75, 25));
    assert_eq!(container.replica_for(&Default::default(), HERE).read(|state| state.lsn()), 3);
}

#[test]
fn a_condition_that_does_not_hold_is_412_and_one_that_nobody_waits_for_is_408() {
    let (world, container) = container();
    container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a", "n": 0}))).unwrap();
    let patch = |condition: &str, pace: Pace| {
        let patch = counting(condition);
        container.patch_item(HERE, ItemRequest { pace, ..with("a", "1", &patch) })
    };
    let refused = patch("FROM c WHERE c.n > 0", Pace::default()).unwrap_err();
    assert_eq!(refused.status, CosmosStatus::PRECONDITION_FAILED);
    let pace = Pace::new(world, std::time::Duration::ZERO, None);
    pace.stop();
    let stopped = patch("FROM c WHERE c.n = 0", pace).unwrap_err();
    assert_eq!(stopped.status, CosmosStatus::REQUEST_TIMEOUT);
    assert_eq!(n_of(&container, "1"), 0);
}
