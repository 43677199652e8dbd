//! Splitting partitions: everything stays where a client can find it.

use std::sync::atomic::AtomicBool;

use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId};
use serde_json::json;

use super::*;
use crate::engine::FeedScope;

#[test]
fn children_take_over_items_versions_and_progress() {
    let (_, container) = container();
    let keys: Vec<String> = (0..50).map(|key| format!("key {key}")).collect();
    for key in &keys {
        container.create_item(HERE, with(key, "", &json!({"id": "1", "pk": key}))).unwrap();
    }
    let before: Vec<_> =
        keys.iter().map(|key| container.read_item(HERE, at(key, "1")).unwrap().body).collect();
    let children = container.split(&"0".into()).unwrap().value;
    assert_eq!(children, [PartitionKeyRangeId::from("1"), PartitionKeyRangeId::from("2")]);
    let token = "0:-1#50".parse().unwrap();
    for (key, body) in keys.iter().zip(&before) {
        let read = container.read_item(HERE, ItemRequest { session: Some(&token), ..at(key, "1") }).unwrap();
        assert_eq!((&read.body, read.standing.lsn), (body, 50));
    }
    let ahead = "0:-1#51".parse().unwrap();
    let waiting =
        container.read_item(HERE, ItemRequest { session: Some(&ahead), ..at(&keys[0], "1") }).unwrap_err();
    assert_eq!(
        waiting.status,
        CosmosStatus::READ_SESSION_NOT_AVAILABLE,
        "the parent's progress binds its children"
    );
    assert_eq!(
        status(&container.create_item(HERE, with(&keys[0], "", &json!({"id": "1", "pk": keys[0]})))),
        409
    );
    let grandchildren = container.split(&children[0]).unwrap().value;
    let layout = container.layout();
    let parents = &layout.range(&grandchildren[1]).unwrap().parents;
    assert_eq!(parents, &[PartitionKeyRangeId::from("0"), PartitionKeyRangeId::from("1")]);
    assert_eq!((layout.ranges().len(), layout.version()), (3, 2));
    assert_eq!(container.usage(HERE).documents, 50);
}

#[test]
fn requests_for_the_old_partition_are_told_that_it_is_gone() {
    let (_, container) = container();
    let _ = container.split(&"0".into()).unwrap();
    let old = FeedScope::Range("0".into());
    let failures = [
        container.read_feed(HERE, &FeedRequest::new(&old)).unwrap_err(),
        container.split(&"0".into()).unwrap_err(),
        container.layout().range(&"0".into()).unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(failure.status, CosmosStatus::PARTITION_KEY_RANGE_GONE);
    }
}

#[test]
fn writers_under_splits_lose_nothing() {
    let (_, container) = container();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let container = &container;
                scope.spawn(move || {
                    for n in 0..200 {
                        let key = format!("{writer}-{n}");
                        container.create_item(HERE, with(&key, "", &json!({"id": "1", "pk": key}))).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) && container.layout().ranges().len() < 32 {
                let layout = container.layout();
                let widest = layout.ranges().iter().min_by_key(|range| range.number).unwrap();
                let _ = container.split(&widest.id).unwrap();
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(container.usage(HERE).documents, 600);
    for (writer, n) in (0..3).flat_map(|writer| (0..200).map(move |n| (writer, n))) {
        assert!(container.read_item(HERE, at(&format!("{writer}-{n}"), "1")).is_ok());
    }
}
