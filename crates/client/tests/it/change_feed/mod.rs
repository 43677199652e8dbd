//! The change feed: every start, every scope, both modes, and splits.

mod following;
mod passing;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use cosmonaut::model::ChangeFeedPolicy;
use cosmonaut::options::FeedOptions;
use cosmonaut::{
    ChangeFeedStart, ChangeKind, ContainerClient, ContainerProperties, ErrorKind, FeedRange, FeedScope,
    FromItem, Items, RawItem,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};
use crate::partitioned::{FIVE, container, make, split};

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
struct Item {
    id: String,
    pk: String,
    n: u32,
}

async fn write(container: &ContainerClient, keys: std::ops::Range<u32>, n: u32) {
    for key in keys {
        let item = Item { id: "1".into(), pk: format!("key {key}"), n };
        container.upsert_item(&*item.pk, &item).await.unwrap();
    }
}

/// Everything until there is nothing new, and the token from there.
async fn drain<C: FromItem>(feed: &mut Items<C>) -> (Vec<C>, String) {
    let mut changes = Vec::new();
    while let Some(change) = feed.next().await {
        changes.push(change.unwrap());
    }
    (changes, feed.continuation().unwrap().to_owned())
}

fn feed<T: FromItem>(container: &ContainerClient, start: ChangeFeedStart) -> Items<T> {
    let options = FeedOptions::default().max_item_count(3);
    container.change_feed(start, FeedScope::Container).options(options)
}

fn behind<T: FromItem>(container: &ContainerClient, token: String) -> Items<T> {
    feed(container, ChangeFeedStart::Now).continue_from(token)
}

#[tokio::test]
async fn changes_are_read_from_the_beginning_now_a_time_or_a_token() {
    on_every_wire(async |_bench, items| {
        write(&items, 0..10, 1).await;
        let mut now = feed::<Item>(&items, ChangeFeedStart::Now);
        assert_eq!(drain(&mut now).await.0, []);
        let (all, token) = drain(&mut feed::<Item>(&items, ChangeFeedStart::Beginning)).await;
        assert_eq!(all.len(), 10);
        write(&items, 3..5, 2).await;
        let (later, _) = drain(&mut behind::<Item>(&items, token)).await;
        assert_eq!(
            later.iter().map(|item| (&*item.pk, item.n)).collect::<Vec<_>>(),
            [("key 3", 2), ("key 4", 2)]
        );
        assert_eq!(drain(&mut now).await.0, later, "what comes after now");
        let latest = drain(&mut feed::<Item>(&items, ChangeFeedStart::Beginning)).await.0;
        assert_eq!(latest.len(), 10, "each item once");
        let hour = Duration::from_secs(3600);
        let past = ChangeFeedStart::Time(SystemTime::UNIX_EPOCH + hour);
        assert_eq!(drain(&mut feed::<Item>(&items, past)).await.0.len(), 10);
    })
    .await;
}

#[tokio::test]
async fn a_feed_covers_a_key_a_range_or_everything() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    write(&many, 0..40, 1).await;
    let of_key = many.change_feed::<Item>(ChangeFeedStart::Beginning, "key 7");
    assert_eq!(drain(&mut { of_key }).await.0.len(), 1);

    let (whole, token) = drain(&mut feed::<Item>(&many, ChangeFeedStart::Beginning)).await;
    assert_eq!(whole.len(), 40);
    let mut by_range = 0;
    for range in many.feed_ranges().await.unwrap() {
        let start = ChangeFeedStart::Beginning;
        by_range += drain(&mut many.change_feed::<Item>(start, &range)).await.0.len();
        // The token of everything continues each of its parts.
        let part = many.change_feed::<Item>(start, &range).continue_from(token.clone());
        assert_eq!(drain(&mut { part }).await.0, []);
    }
    assert_eq!(by_range, 40);
    write(&many, 0..40, 2).await;
    let (low, high) = FeedRange::full().split().unwrap();
    let mut found = 0;
    for half in [low, high] {
        let half = many.change_feed::<Item>(ChangeFeedStart::Now, half).continue_from(token.clone());
        found += drain(&mut { half }).await.0.len();
    }
    assert_eq!(found, 40, "shared out between two readers");
}

#[tokio::test]
async fn every_version_and_every_delete_is_told() {
    let bench = Bench::start().await;
    let policy = ChangeFeedPolicy::retain_minutes(10);
    let properties = ContainerProperties::new("c", "/pk").with_change_feed_policy(policy);
    let many = make(&bench, properties, FIVE).await;
    let mut changes = many.all_versions_and_deletes::<Item>(ChangeFeedStart::Now, FeedScope::Container);
    assert!(changes.next().await.is_none());
    write(&many, 0..2, 1).await;
    write(&many, 0..1, 2).await;
    many.delete_item("key 0", "1").await.unwrap();
    let (all, token) = drain(&mut changes).await;
    let of_first: Vec<_> = all
        .iter()
        .filter(|change| change.current.as_ref().or(change.previous.as_ref()).unwrap().pk == "key 0")
        .map(|change| {
            (
                change.kind,
                change.current.as_ref().map(|item| item.n),
                change.previous.as_ref().map(|item| item.n),
            )
        })
        .collect();
    use ChangeKind::{Create, Delete, Replace};
    assert_eq!(of_first, [(Create, Some(1), None), (Replace, Some(2), None), (Delete, None, Some(2))]);
    let deleted = all.iter().find(|change| change.kind == Delete).unwrap();
    assert_eq!(deleted.id.as_deref(), Some("1"));
    assert_eq!(deleted.partition_key, Some(json!({"pk": "key 0"})));
    assert!(deleted.lsn > 0 && deleted.time > SystemTime::UNIX_EPOCH && !deleted.expired);

    many.delete_item("key 1", "1").await.unwrap();
    let behind = many.all_versions_and_deletes::<RawItem>(ChangeFeedStart::Now, FeedScope::Container);
    let (later, _) = drain(&mut behind.continue_from(token)).await;
    assert_eq!(later.iter().map(|change| change.kind).collect::<Vec<_>>(), [Delete]);
    assert_eq!(later[0].previous.as_ref().unwrap().json::<Item>().unwrap().n, 1);

    let start = ChangeFeedStart::Beginning;
    let error = many.all_versions_and_deletes::<Item>(start, FeedScope::Container).collect().await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
}

#[tokio::test]
async fn a_feed_survives_splits_between_pages_and_between_readers() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    write(&many, 0..60, 1).await;
    let mut reader = feed::<Item>(&many, ChangeFeedStart::Beginning).into_pages();
    let mut seen: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut note =
        |items: Vec<Item>| items.into_iter().for_each(|item| seen.entry(item.pk).or_default().push(item.n));
    let mut splits = 0;
    let token = loop {
        let page = reader.next().await.unwrap().unwrap();
        if page.items.is_empty() {
            break page.continuation.unwrap();
        }
        note(page.items);
        if splits < 4 {
            split(&bench, "c", splits * 2);
            splits += 1;
        }
    };
    split(&bench, "c", 1);
    write(&many, 0..60, 2).await;
    note(drain(&mut behind::<Item>(&many, token)).await.0);
    assert_eq!(seen.len(), 60);
    assert!(seen.values().all(|versions| versions == &[1, 2]), "each change once and in order: {seen:?}");
}

#[tokio::test]
async fn a_time_includes_the_second_that_it_names() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    write(&items, 0..1, 1).await;
    let written = items.read_item::<Value>("key 0", "1").await.unwrap().into_value();
    let second = Duration::from_secs(written["_ts"].as_u64().unwrap());
    for (start, found) in [(second, 1), (second + Duration::from_secs(1), 0)] {
        let start = ChangeFeedStart::Time(SystemTime::UNIX_EPOCH + start);
        assert_eq!(drain(&mut feed::<Item>(&items, start)).await.0.len(), found, "{start:?}");
    }
}

#[tokio::test]
async fn a_feed_ends_for_now_and_goes_on_when_it_is_asked_again() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let mut changes = feed::<Item>(&many, ChangeFeedStart::Beginning);
    assert!(changes.continuation().is_none(), "nothing was asked yet");
    for round in 1..4 {
        write(&many, 0..20, round).await;
        let (found, token) = drain(&mut changes).await;
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|item| item.n == round));
        assert_eq!(drain(&mut behind::<Item>(&many, token)).await.0, []);
    }
}

#[tokio::test]
async fn pages_after_items_begin_with_what_is_left_and_end_with_one_that_says_so() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    write(&items, 0..5, 1).await;
    let mut changes = feed::<Item>(&items, ChangeFeedStart::Beginning);
    changes.next().await.unwrap().unwrap();
    assert!(changes.continuation().is_none(), "its page is not taken to the end");
    let mut pages = changes.into_pages();
    for (count, left) in [(2, 2), (2, 0), (0, 0)] {
        let page = pages.next().await.unwrap().unwrap();
        assert_eq!(page.items.len(), count);
        // The last page says what it cost to learn that there is nothing.
        assert!(page.request_charge > 0.0 && !page.diagnostics.is_empty());
        let rest = drain(&mut behind::<Item>(&items, page.continuation.unwrap())).await.0;
        assert_eq!(rest.len(), left);
    }
    assert!(pages.next().await.is_none());
    write(&items, 5..6, 1).await;
    assert_eq!(pages.next().await.unwrap().unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_token_of_something_else_is_refused_and_ends_the_feed() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    let (_, token) = drain(&mut feed::<Value>(&items, ChangeFeedStart::Beginning)).await;
    let of_key = items.change_feed::<Value>(ChangeFeedStart::Now, "a").continue_from(token.clone());
    let versions = items.all_versions_and_deletes::<Value>(ChangeFeedStart::Now, FeedScope::Container);
    let (mut of_key, mut versions) = (of_key, versions.continue_from(token));
    for (refused, then) in [
        (of_key.next().await.map(|item| item.map(drop)), of_key.next().await.map(drop)),
        (versions.next().await.map(|item| item.map(drop)), versions.next().await.map(drop)),
    ] {
        assert_eq!(refused.unwrap().unwrap_err().kind(), ErrorKind::Query);
        assert!(then.is_none());
    }
}

#[tokio::test]
async fn changes_are_given_as_bytes_too() {
    on_every_wire(async |_, items| {
        let item = r#"{"id":"1","pk":"a","n":1.50}"#;
        items.create_item("a", RawItem::from(item)).await.unwrap();
        let mut feed = items.change_feed::<RawItem>(ChangeFeedStart::Beginning, "a");
        let changed = drain(&mut feed).await.0;
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].json::<Value>().unwrap()["n"], 1.5);
    })
    .await;
}
