//! The invariants of what is in hand, under any answers.

use std::collections::HashMap;
use std::time::Duration;

use cosmonaut_wire::model::PartitionKeyDefinition;
use proptest::prelude::*;

use super::*;
use crate::even_partitions::partitions;

const BOUNDS: Bounds =
    Bounds { bytes: 400_000, per_partition: 5000, requests: 8, patience: Duration::from_secs(60) };

fn held(index: u64, key: &str, id: &str, bytes: usize) -> Held {
    let key = PartitionKey::from(key);
    let place = key.effective(&PartitionKeyDefinition::from("/pk")).unwrap();
    let mut operation = BatchOperation::delete(id);
    operation.partition_key = Some(key.to_string());
    let (id, refused) = (Some(id.to_owned()), Refused::default());
    Held { index, key, id, place, operation, bytes, tries: 0, strays: 0, collisions: 0, refused }
}

fn backlog(count: u8) -> Backlog {
    let mut backlog = Backlog::new(BOUNDS);
    backlog.divide(partitions(count, ""));
    backlog
}

fn answered(request: &Request, throttled: usize) -> Answered {
    let operations = request.operations.len();
    let (sent, answered, accepted) = (Moment::START, Moment::START, operations - throttled);
    Answered { sent, answered, operations, accepted, throttled, retry_after: Some(Duration::ZERO) }
}

#[test]
fn a_request_is_full_or_the_first_of_its_partition_while_more_may_come() {
    let mut backlog = backlog(1);
    for index in 0..130 {
        assert_eq!(
            backlog.take(held(index, "a", &index.to_string(), 10), Moment::START),
            index >= 99,
            "{index}"
        );
    }
    let first = backlog.next_request(false, Moment::START).unwrap();
    assert_eq!(first.operations.len(), 100);
    // The window is one request, and what is left would not fill another.
    assert!(backlog.next_request(true, Moment::START).is_none());
    backlog.answered(&first.partition, answered(&first, 0));
    assert_eq!(backlog.next_request(false, Moment::START).unwrap().operations.len(), 30);
}

#[test]
fn a_request_is_no_larger_than_the_service_takes_and_one_that_is_goes_alone() {
    let mut backlog = backlog(1);
    for (index, bytes) in [1_000_000, 1_000_000, 1_000_000, 9_000_000, 10].into_iter().enumerate() {
        backlog.take(held(index as u64, "a", &index.to_string(), bytes), Moment::START);
    }
    assert!(!backlog.has_room());
    let mut sizes = Vec::new();
    while let Some(request) = backlog.next_request(true, Moment::START) {
        sizes.push(request.operations.len());
    }
    assert_eq!(sizes, [2, 1, 1, 1]);
}

#[test]
fn what_waits_moves_to_the_partitions_that_there_are_now() {
    let mut backlog = backlog(1);
    for index in 0..40 {
        backlog.take(held(index, &index.to_string(), "x", 10), Moment::START);
    }
    let request = backlog.next_request(true, Moment::START).unwrap();
    backlog.divide(partitions(4, "new"));
    backlog.answered(&request.partition, answered(&request, 0));
    let definition = PartitionKeyDefinition::from("/pk");
    backlog.put_back(request.operations);
    let mut count = 0;
    while let Some(request) = backlog.next_request(true, Moment::START) {
        let info =
            partitions(4, "new").into_iter().find(|info| *info.id.range() == request.partition).unwrap();
        for held in &request.operations {
            assert!(info.range.contains(&held.key.effective(&definition).unwrap()));
        }
        count += request.operations.len();
    }
    assert_eq!(count, 40);
}

#[test]
fn what_waits_finds_its_place_by_another_definition_and_what_has_none_is_over() {
    let mut backlog = backlog(4);
    for index in 0..40 {
        backlog.take(held(index, &(index % 20).to_string(), "x", 10), Moment::START);
    }
    let request = backlog.next_request(true, Moment::START).unwrap();
    let mut old = PartitionKeyDefinition::from("/pk");
    old.version = Some(1);
    assert!(backlog.redefine(&old).is_empty());
    backlog.divide(partitions(4, "new"));
    let mut count = request.operations.len();
    backlog.answered(&request.partition, answered(&request, 0));
    request.operations.iter().for_each(|held| backlog.finish(held));
    while let Some(request) = backlog.next_request(true, Moment::START) {
        let info =
            partitions(4, "new").into_iter().find(|info| *info.id.range() == request.partition).unwrap();
        for held in &request.operations {
            assert!(info.range.contains(&held.key.effective(&old).unwrap()));
            backlog.finish(held);
        }
        count += request.operations.len();
        backlog.answered(&request.partition, answered(&request, 0));
    }
    assert_eq!((count, backlog.is_empty()), (40, true));

    for index in 0..40 {
        backlog.take(held(index, &(index % 20).to_string(), "x", 10), Moment::START);
    }
    let request = backlog.next_request(true, Moment::START).unwrap();
    let over = backlog.redefine(&PartitionKeyDefinition::from(["/pk", "/x"]));
    backlog.divide(partitions(2, "newer"));
    assert!(backlog.next_request(true, Moment::START).is_none() && !backlog.is_empty());
    assert_eq!(over.len() + backlog.put_back(request.operations).len(), 40);
    assert!(backlog.is_empty() && backlog.has_room());
}

#[test]
fn an_item_with_many_operations_does_not_fill_what_is_in_hand() {
    // One operation in 150 is on the same item, and no request has more than one of those.
    const COUNT: u64 = 9000;
    let mut backlog = backlog(1);
    let mut given = 0..COUNT;
    let (mut requests, mut most_behind) = (0, 0);
    loop {
        while backlog.has_room() {
            let Some(index) = given.next() else { break };
            let id = if index % 150 == 0 { "hot".to_owned() } else { index.to_string() };
            backlog.take(held(index, "a", &id, 1000), Moment::START);
        }
        most_behind = most_behind.max(backlog.behind.values().map(VecDeque::len).sum());
        let Some(request) = backlog.next_request(true, Moment::START) else { break };
        requests += 1;
        backlog.answered(&request.partition, answered(&request, 0));
        request.operations.iter().for_each(|held| backlog.finish(held));
    }
    assert!(backlog.is_empty() && given.is_empty());
    assert!(most_behind <= 3, "{most_behind} waited for others on their item");
    assert_eq!(requests, COUNT / MAX_BATCH_OPERATIONS as u64, "each is full");
}

/// What becomes of an operation that was sent.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Done,
    Throttled,
}

proptest! {
    #[test]
    fn every_operation_ends_once_and_those_on_an_item_in_their_order(
        items in prop::collection::vec((0u8..6, 0u8..4), 1..300),
        fates in prop::collection::vec(prop_oneof![3 => Just(Fate::Done), 1 => Just(Fate::Throttled)], 1..50),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..50),
        count in 1u8..5,
        split_after in 0usize..40,
    ) {
        let mut backlog = backlog(count);
        let mut given = items.iter().enumerate().peekable();
        let (mut under_way, mut ended): (Vec<Request>, HashMap<_, Vec<u64>>) = (Vec::new(), HashMap::new());
        // After the last throttling everything is done.
        let mut fates = fates.iter().cycle().take(400).chain(std::iter::repeat(&Fate::Done));
        let mut order = order.iter().cycle();
        let mut rounds = 0;
        loop {
            rounds += 1;
            prop_assert!(rounds < 100_000, "it does not end");
            if rounds == split_after {
                backlog.divide(partitions(count + 1, "new"));
            }
            while backlog.has_room() {
                let Some((index, (key, id))) = given.next() else { break };
                backlog.take(held(index as u64, &key.to_string(), &id.to_string(), 5_000), Moment::START);
            }
            while let Some(request) = backlog.next_request(given.peek().is_none(), Moment::START) {
                prop_assert!(request.operations.len() <= MAX_BATCH_OPERATIONS);
                under_way.push(request);
            }
            let mut items: Vec<_> = under_way.iter().flat_map(|request| &request.operations).map(Held::item).collect();
            let together = items.len();
            items.sort();
            items.dedup();
            prop_assert_eq!(items.len(), together, "two operations on one item are under way");
            prop_assert!(under_way.len() <= BOUNDS.requests);
            if under_way.is_empty() {
                prop_assert!(backlog.is_empty() && given.peek().is_none(), "something waits for nothing");
                break;
            }
            let request = under_way.swap_remove(order.next().unwrap().index(under_way.len()));
            let (mut again, mut over) = (Vec::new(), Vec::new());
            let (partition, operations) = (request.partition, request.operations);
            let total = operations.len();
            for held in operations {
                match fates.next().unwrap() {
                    Fate::Done => over.push(held),
                    Fate::Throttled => again.push(held),
                }
            }
            let answer = Answered {
                sent: Moment::START,
                answered: Moment::START,
                operations: total,
                accepted: total - again.len(),
                throttled: again.len(),
                retry_after: Some(Duration::ZERO),
            };
            backlog.answered(&partition, answer);
            backlog.put_back(again);
            for held in over {
                backlog.finish(&held);
                ended.entry(held.item().unwrap()).or_default().push(held.index);
            }
        }
        let total: usize = ended.values().map(Vec::len).sum();
        prop_assert_eq!(total, items.len());
        for indexes in ended.values() {
            prop_assert!(indexes.is_sorted(), "{indexes:?}");
        }
    }
}
