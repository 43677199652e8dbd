//! Read feeds and change feeds: everything once, nothing lost, wherever a page ends.

use std::collections::BTreeMap;

use cosmonaut_wire::model::{BatchOperation, ChangeFeedPolicy, ContainerProperties, TimeToLive};
use cosmonaut_wire::{CosmosStatus, EpkRange, PartitionKey};
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::engine::{ChangePage, ChangeRequest, FeedMode, FeedScope, FeedStart, Progress};

fn changes(
    container: &Container,
    scope: &FeedScope,
    mode: FeedMode,
    start: FeedStart,
    max: usize,
) -> Result<ChangePage, Failure> {
    let request = ChangeRequest {
        scope: scope.clone(),
        mode,
        start,
        max_items: Some(max),
        session: None,
        pace: Pace::default(),
    };
    container.change_feed(HERE, &request)
}

/// All pages of the incremental feed from a place on.
fn drain(
    container: &Container,
    scope: &FeedScope,
    mut start: FeedStart,
    max: usize,
) -> (Vec<Value>, FeedStart) {
    let mut items = Vec::new();
    loop {
        let page = changes(container, scope, FeedMode::Incremental, start, max).unwrap();
        let is_last = page.items.is_empty();
        items.extend(page.items.iter().map(|item| json_of(item)));
        start = FeedStart::After(page.next.to_string().parse().unwrap());
        if is_last {
            return (items, start);
        }
    }
}

/// All pages of the read feed.
fn read_all(container: &Container, scope: &FeedScope, max: usize) -> Vec<Value> {
    let (mut items, mut continuation) = (Vec::new(), None);
    loop {
        let page = container
            .read_feed(
                HERE,
                &FeedRequest {
                    max_items: Some(max),
                    continuation: continuation.as_deref(),
                    ..FeedRequest::new(scope)
                },
            )
            .unwrap();
        assert!(page.items.len() <= max);
        items.extend(page.items.iter().map(|item| json_of(item)));
        continuation = page.continuation;
        if continuation.is_none() {
            return items;
        }
    }
}

fn put(container: &Container, key: &str, id: &str, n: u64) {
    container.upsert_item(HERE, with(key, "", &json!({"id": id, "pk": key, "n": n}))).unwrap();
}

fn names(items: &[Value]) -> Vec<String> {
    items
        .iter()
        .map(|item| {
            format!("{}/{}={}", item["pk"].as_str().unwrap(), item["id"].as_str().unwrap(), item["n"])
        })
        .collect()
}

#[test]
fn the_incremental_feed_has_each_item_once_where_it_was_last_written() {
    let (_, container) = container();
    for (id, n) in [("1", 1), ("2", 1), ("1", 2), ("3", 1)] {
        put(&container, "a", id, n);
    }
    container.delete_item(HERE, at("a", "3")).unwrap();
    let (items, next) = drain(&container, &FeedScope::Container, FeedStart::Beginning, 10);
    assert_eq!(names(&items), ["a/2=1", "a/1=2"]);
    assert_eq!(items[1]["_lsn"], 3);
    put(&container, "a", "2", 5);
    assert_eq!(names(&drain(&container, &FeedScope::Container, next, 1).0), ["a/2=5"]);
    assert!(drain(&container, &FeedScope::Container, FeedStart::Now, 10).0.is_empty());
}

#[test]
fn a_feed_starts_at_a_time() {
    let (world, container) = container();
    let start = world.now().seconds();
    put(&container, "a", "1", 1);
    world.pass_seconds(10);
    put(&container, "a", "2", 1);
    for (time, expected) in [(start, 2), (start + 1, 1), (start + 10, 1), (start + 11, 0)] {
        let (items, _) = drain(&container, &FeedScope::Container, FeedStart::Time(time), 10);
        assert_eq!(items.len(), expected, "{}", time - start);
    }
}

#[test]
fn the_changes_before_a_time_are_passed_in_slices() {
    let (world, container) = container();
    let start = world.now().seconds();
    for id in 0..20 {
        put(&container, "a", &id.to_string(), 1);
        world.pass_seconds(1);
    }
    let layout = container.layout();
    let replica = layout.ranges()[0].replica(HERE);
    for (time, expected, turns) in [(0, 0, 1), (7, 7, 3), (19, 19, 7), (30, 20, 7)] {
        let (mut point, mut slices) = (Progress::default(), 1);
        while !replica.read(|state| state.pass_before(start + time, &mut point, 3)) {
            slices += 1;
        }
        assert_eq!((point.total(), slices), (expected, turns), "{time}");
    }
    for time in 0..22 {
        let (items, _) = drain(&container, &FeedScope::Container, FeedStart::Time(start + time), 10);
        assert_eq!(items.len(), 20usize.saturating_sub(time as usize), "{time}");
    }
}

#[test]
fn a_commit_is_never_divided_between_pages() {
    let (_, container) = container();
    put(&container, "a", "0", 0);
    let item = |id: u32| {
        BatchOperation::create(to_raw_value(&json!({"id": id.to_string(), "pk": "a", "n": 1})).unwrap())
    };
    let operations: Vec<_> = (1..=5).map(item).collect();
    let _ = container.batch(HERE, &PartitionKey::from("a"), &BatchRequest::new(&operations)).unwrap();
    put(&container, "a", "6", 0);
    for (max, sizes) in [(1, vec![1, 5, 1]), (3, vec![1, 5, 1]), (6, vec![6, 1]), (7, vec![7])] {
        let mut start = FeedStart::Beginning;
        let mut found = Vec::new();
        loop {
            let page = changes(&container, &FeedScope::Container, FeedMode::Incremental, start, max).unwrap();
            if page.items.is_empty() {
                break;
            }
            found.push(page.items.len());
            start = FeedStart::After(page.next);
        }
        assert_eq!(found, sizes, "{max}");
    }
}

#[test]
fn feeds_of_one_key_show_only_that_key() {
    let (_, container) = container();
    for key in ["a", "b"] {
        put(&container, key, "1", 1);
    }
    let scope = FeedScope::Key(PartitionKey::from("b"));
    assert_eq!(names(&drain(&container, &scope, FeedStart::Beginning, 10).0), ["b/1=1"]);
    assert_eq!(names(&read_all(&container, &scope, 10)), ["b/1=1"]);
}

#[test]
fn all_versions_and_deletes_come_from_the_log() {
    let (world, engine) = engine();
    let mut properties = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::NoExpiry);
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(10));
    let container = add_container(&engine, properties, 400);
    let read =
        |start: FeedStart| changes(&container, &FeedScope::Container, FeedMode::FullFidelity, start, 100);
    let start = read(FeedStart::Now).unwrap().next;
    put(&container, "a", "1", 1);
    put(&container, "a", "1", 2);
    container.delete_item(HERE, at("a", "1")).unwrap();
    container.create_item(HERE, with("a", "", &json!({"id": "2", "pk": "a", "ttl": 5}))).unwrap();
    world.pass_seconds(5);
    engine.sweep();
    let page = read(FeedStart::After(start.clone())).unwrap();
    let items: Vec<Value> = page.items.iter().map(|item| json_of(item)).collect();
    let seen: Vec<_> = items
        .iter()
        .map(|item| {
            (item["metadata"]["operationType"].as_str().unwrap(), item["metadata"]["lsn"].as_i64().unwrap())
        })
        .collect();
    assert_eq!(seen, [("create", 1), ("replace", 2), ("delete", 3), ("create", 4), ("delete", 5)]);
    assert_eq!((&items[1]["current"]["n"], items[1].get("previous")), (&json!(2), None));
    assert_eq!(items[2]["previous"]["n"], 2);
    let deleted = &items[2];
    assert_eq!(deleted["current"], json!({}));
    assert_eq!(deleted["metadata"]["partitionKey"], json!({"pk": "a"}));
    assert_eq!(
        (&deleted["metadata"]["id"], &deleted["metadata"]["previousImageLSN"]),
        (&json!("1"), &json!(2))
    );
    assert_eq!(
        (&deleted["metadata"]["timeToLiveExpired"], &items[4]["metadata"]["timeToLiveExpired"]),
        (&json!(false), &json!(true))
    );
    for wrong in [FeedStart::Beginning, FeedStart::Time(5)] {
        assert_eq!(read(wrong).unwrap_err().status, CosmosStatus::BAD_REQUEST);
    }
    world.pass_seconds(10 * 60);
    engine.sweep();
    let failure = read(FeedStart::After(start)).unwrap_err();
    assert!(failure.message.contains("not all kept any more"), "{failure}");
    assert!(read(FeedStart::After(page.next)).is_ok());
}

/// A policy is not needed: whoever reads all versions gets those that are written from then on.
#[test]
fn all_versions_are_kept_once_somebody_reads_them() {
    let (_, container) = container();
    let read = |start| changes(&container, &FeedScope::Container, FeedMode::FullFidelity, start, 100);
    put(&container, "a", "before", 0);
    let first = read(FeedStart::Now).unwrap();
    assert_eq!(first.items.len(), 0);
    // More than the log of a container keeps that nobody follows.
    for n in 0..300 {
        put(&container, "a", "1", n);
    }
    let mut after = FeedStart::After(first.next);
    let mut seen = 0;
    loop {
        let page = read(after).unwrap();
        if page.items.is_empty() {
            break;
        }
        seen += page.items.len();
        after = FeedStart::After(page.next);
    }
    assert_eq!(seen, 300);
}

#[test]
fn a_position_of_partitions_that_a_container_never_had_is_410() {
    let (_, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 12_000);
    let _ = container.split(&"1".into()).unwrap();
    let read = |position: &str| {
        let start = FeedStart::After(position.parse().unwrap());
        changes(&container, &FeedScope::Container, FeedMode::Incremental, start, 10)
    };
    for position in ["\"0:5,1:5\"", "\"0:5,2:5,3:5\"", "\"17\""] {
        assert!(read(position).is_ok(), "{position}");
    }
    for position in ["\"77:5\"", "\"0:5,77:5\""] {
        assert_eq!(read(position).unwrap_err().status, CosmosStatus::PARTITION_KEY_RANGE_GONE, "{position}");
    }
}

#[test]
fn continuations_that_are_none_are_named() {
    let (_, container) = container();
    for text in ["", "x", "00-01", "FF-00-1", "00-FF-x", "00-FF-1-1"] {
        let failure = container
            .read_feed(
                HERE,
                &FeedRequest { continuation: Some(text), ..FeedRequest::new(&FeedScope::Container) },
            )
            .unwrap_err();
        assert!(failure.message.contains(&format!("{text:?}")), "{failure}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Writes, deletes and splits between pages of any size: a reader ends up with exactly what is there, each
    /// change after its predecessor, and over several readers of parts of the key space nothing twice.
    #[test]
    fn a_reader_of_changes_misses_and_repeats_nothing(
        steps in prop::collection::vec((0u8..10, 0u8..6, 0u8..4), 1..60),
        page in 1usize..5,
        cut in any::<u8>(),
    ) {
        let (_, engine) = engine();
        let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
        let cut = cosmonaut_wire::EffectivePartitionKey::from_bytes(&[cut / 4, 1]);
        let parts = [
            FeedScope::Epk(EpkRange { min: EpkRange::FULL.min, max: cut.clone() }),
            FeedScope::Epk(EpkRange { min: cut, max: EpkRange::FULL.max }),
        ];
        let mut readers = [FeedStart::Beginning, FeedStart::Beginning];
        let mut replica: BTreeMap<String, u64> = BTreeMap::new();
        let mut truth: BTreeMap<String, u64> = BTreeMap::new();
        for (n, (action, key, id)) in steps.iter().enumerate() {
            let (key, id, n) = (format!("k{key}"), id.to_string(), n as u64);
            match action {
                0..=5 => {
                    put(&container, &key, &id, n);
                    truth.insert(format!("{key}/{id}"), n);
                }
                6 => {
                    if container.delete_item(HERE, at(&key, &id)).is_ok() {
                        truth.remove(&format!("{key}/{id}"));
                    }
                }
                7 => {
                    let layout = container.layout();
                    let range = &layout.ranges()[usize::from(key.as_bytes()[1]) % layout.ranges().len()];
                    let _ = container.split(&range.id).unwrap();
                }
                _ => {
                    let which = usize::from(id == "0" || id == "1");
                    let changed = changes(&container, &parts[which], FeedMode::Incremental, readers[which].clone(), page).unwrap();
                    for item in &changed.items {
                        let item = json_of(item);
                        let name = format!("{}/{}", item["pk"].as_str().unwrap(), item["id"].as_str().unwrap());
                        let n = item["n"].as_u64().unwrap();
                        let before = replica.insert(name.clone(), n);
                        prop_assert!(before.is_none_or(|before| before < n), "{name} was {before:?}, then {n}");
                    }
                    readers[which] = FeedStart::After(changed.next.to_string().parse().unwrap());
                }
            }
        }
        for (part, start) in parts.iter().zip(readers) {
            for item in drain(&container, part, start, page).0 {
                let name = format!("{}/{}", item["pk"].as_str().unwrap(), item["id"].as_str().unwrap());
                replica.insert(name, item["n"].as_u64().unwrap());
            }
        }
        replica.retain(|name, _| truth.contains_key(name));
        prop_assert_eq!(&replica, &truth);
        let mut listed = names(&read_all(&container, &FeedScope::Container, page));
        listed.sort();
        prop_assert_eq!(listed, truth.iter().map(|(name, n)| format!("{name}={n}")).collect::<Vec<_>>());
    }

    /// Splits between pages neither repeat nor lose an item.
    #[test]
    fn a_read_feed_goes_on_across_splits(items in 1usize..40, page in 1usize..7, splits in prop::collection::vec(any::<u8>(), 0..4)) {
        let (_, container) = container();
        for nth in 0..items {
            put(&container, &format!("k{}", nth % 7), &nth.to_string(), 0);
        }
        let (mut seen, mut continuation, mut splits) = (Vec::new(), None, splits.into_iter());
        loop {
            let got = container.read_feed(HERE, &FeedRequest { max_items: Some(page), continuation: continuation.as_deref(), ..FeedRequest::new(&FeedScope::Container) }).unwrap();
            prop_assert!(got.items.len() <= page);
            seen.extend(got.items.iter().map(|item| json_of(item)["id"].as_str().unwrap().parse::<usize>().unwrap()));
            continuation = got.continuation;
            if continuation.is_none() {
                break;
            }
            if let Some(which) = splits.next() {
                let layout = container.layout();
                let _ = container.split(&layout.ranges()[usize::from(which) % layout.ranges().len()].id).unwrap();
            }
        }
        prop_assert_eq!(seen.len(), items);
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..items).collect::<Vec<_>>());
    }
}
