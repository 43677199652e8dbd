//! Feeds whose pages end before they are full: when their time is over, or when they have as many bytes as they may.

use std::collections::BTreeSet;
use std::time::Duration;

use cosmonaut_wire::model::{ChangeFeedPolicy, ContainerProperties};
use serde_json::json;

use super::*;
use crate::engine::{ChangeRequest, FeedMode, FeedScope, FeedStart};

const ITEMS: usize = 40;

/// A container of three partitions, one of which was split, with some items in each.
fn filled() -> (Arc<StillWorld>, Arc<Container>) {
    let (world, engine) = engine();
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    let container = add_container(&engine, properties, 12_000);
    for n in 0..ITEMS {
        if n == ITEMS / 2 {
            let _ = container.split(&"0".into()).unwrap();
        }
        let (key, id) = (format!("k{n}"), n.to_string());
        container.create_item(HERE, with(&key, "", &json!({"id": id, "pk": key}))).unwrap();
    }
    (world, container)
}

/// A pace by which every page has taken its time as soon as it has begun.
fn hurried(world: &Arc<StillWorld>) -> Pace {
    Pace::new(Arc::<StillWorld>::clone(world), Duration::ZERO, None)
}

#[test]
fn pages_of_items_that_are_late_lose_nothing() {
    let (world, container) = filled();
    // As readers have it who began before the split.
    let unsplit = format!("{}-{}-0", cosmonaut_wire::EpkRange::FULL.min, cosmonaut_wire::EpkRange::FULL.max);
    for begin in [None, Some(unsplit)] {
        let (mut ids, mut pages, mut continuation) = (Vec::new(), 0, begin);
        loop {
            let request = FeedRequest {
                max_items: Some(1000),
                continuation: continuation.as_deref(),
                pace: hurried(&world),
                ..FeedRequest::new(&FeedScope::Container)
            };
            let page = container.read_feed(HERE, &request).unwrap();
            ids.extend(page.items.iter().map(|item| json_of(item)["id"].as_str().unwrap().to_owned()));
            pages += 1;
            continuation = page.continuation;
            if continuation.is_none() {
                break;
            }
        }
        let distinct: BTreeSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), distinct.len()), (ITEMS, ITEMS));
        assert!((4..=ITEMS).contains(&pages), "{pages}");
    }
}

#[test]
fn a_page_of_items_looks_no_further_than_it_is_long() {
    let (_, container) = container();
    for n in 0..12 {
        let item = json!({"id": n.to_string(), "pk": "a", "x": "x".repeat(1_500_000)});
        container.create_item(HERE, with("a", "", &item)).unwrap();
    }
    let request = FeedRequest { max_items: Some(1000), ..FeedRequest::new(&FeedScope::Container) };
    let page = container.read_feed(HERE, &request).unwrap();
    assert_eq!(page.items.len(), 2);
    assert_eq!(page.commits.len(), 1, "one slice has more than a page takes");
}

#[test]
fn pages_of_changes_that_are_late_lose_nothing() {
    for mode in [FeedMode::Incremental, FeedMode::FullFidelity] {
        let (world, container) = filled();
        let read = |start, pace| {
            let (scope, max_items) = (FeedScope::Container, Some(1000));
            container.change_feed(HERE, &ChangeRequest { scope, mode, start, max_items, session: None, pace })
        };
        let begin = read(FeedStart::Now, Pace::default()).unwrap().next;
        for n in 0..ITEMS {
            let (key, id) = (format!("k{n}"), format!("new {n}"));
            container.create_item(HERE, with(&key, "", &json!({"id": id, "pk": key}))).unwrap();
        }
        let (mut found, mut pages, mut start) = (Vec::new(), 0, FeedStart::After(begin));
        loop {
            let page = read(start, hurried(&world)).unwrap();
            found.extend(page.items.iter().map(|item| json_of(item).to_string()));
            pages += 1;
            start = FeedStart::After(page.next.to_string().parse().unwrap());
            if page.items.is_empty() && !page.is_late {
                break;
            }
        }
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!((found.len(), distinct.len()), (ITEMS, ITEMS), "{mode:?}");
        assert!((ITEMS / 3..=2 * ITEMS).contains(&pages), "{mode:?}: {pages}");
    }
}

#[test]
fn feeds_end_when_nobody_waits_for_them() {
    let (world, container) = filled();
    let stopped = || {
        let pace = hurried(&world);
        pace.stop();
        pace
    };
    let request = FeedRequest { pace: stopped(), ..FeedRequest::new(&FeedScope::Container) };
    let failure = container.read_feed(HERE, &request).unwrap_err();
    assert_eq!(failure.status, cosmonaut_wire::CosmosStatus::REQUEST_TIMEOUT);
    for (mode, start) in
        [(FeedMode::Incremental, FeedStart::Beginning), (FeedMode::FullFidelity, FeedStart::Now)]
    {
        let (scope, max_items, pace) = (FeedScope::Container, None, stopped());
        let request = ChangeRequest { scope, mode, start, max_items, session: None, pace };
        let failure = container.change_feed(HERE, &request).unwrap_err();
        assert_eq!(failure.status, cosmonaut_wire::CosmosStatus::REQUEST_TIMEOUT, "{mode:?}");
    }
}
