//! The change feed: every start, every scope, both modes, and splits.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use cosmonaut::model::ChangeFeedPolicy;
use cosmonaut::options::FeedOptions;
use cosmonaut::{
    ChangeFeed, ChangeFeedStart, ChangeKind, ContainerClient, ContainerProperties, ErrorKind, FeedRange,
    FeedScope, RawItem,
};
use serde::de::DeserializeOwned;
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
async fn drain<C>(feed: &mut ChangeFeed<C>) -> (Vec<C>, String) {
    let mut changes = Vec::new();
    loop {
        let page = feed.next_page().await.unwrap();
        if page.items.is_empty() {
            return (changes, page.continuation);
        }
        changes.extend(page.items);
    }
}

fn feed<T: DeserializeOwned>(container: &ContainerClient, start: ChangeFeedStart) -> ChangeFeed<T> {
    let options = FeedOptions::default().max_item_count(3);
    container.change_feed(start, FeedScope::Container).options(options)
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
        let (later, _) = drain(&mut feed::<Item>(&items, ChangeFeedStart::Token(token))).await;
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
        let start = ChangeFeedStart::Token(token.clone());
        assert_eq!(drain(&mut many.change_feed::<Item>(start, &range)).await.0, []);
    }
    assert_eq!(by_range, 40);
    write(&many, 0..40, 2).await;
    let (low, high) = FeedRange::full().split().unwrap();
    let mut found = 0;
    for half in [low, high] {
        let start = ChangeFeedStart::Token(token.clone());
        found += drain(&mut many.change_feed::<Item>(start, half)).await.0.len();
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
    assert!(changes.next_page().await.unwrap().items.is_empty());
    write(&many, 0..2, 1).await;
    write(&many, 0..1, 2).await;
    many.delete_item("key 0", "1").await.unwrap();
    let (all, _) = drain(&mut changes).await;
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

    let start = ChangeFeedStart::Beginning;
    let error =
        many.all_versions_and_deletes::<Item>(start, FeedScope::Container).next_page().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
}

#[tokio::test]
async fn a_feed_survives_splits_between_pages_and_between_readers() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    write(&many, 0..60, 1).await;
    let mut reader = feed::<Item>(&many, ChangeFeedStart::Beginning);
    let mut seen: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut note =
        |items: Vec<Item>| items.into_iter().for_each(|item| seen.entry(item.pk).or_default().push(item.n));
    let mut splits = 0;
    let token = loop {
        let page = reader.next_page().await.unwrap();
        if page.items.is_empty() {
            break page.continuation;
        }
        note(page.items);
        if splits < 4 {
            split(&bench, "c", splits * 2);
            splits += 1;
        }
    };
    split(&bench, "c", 1);
    write(&many, 0..60, 2).await;
    note(drain(&mut feed::<Item>(&many, ChangeFeedStart::Token(token))).await.0);
    assert_eq!(seen.len(), 60);
    assert!(seen.values().all(|versions| versions == &[1, 2]), "each change once and in order: {seen:?}");
}

#[tokio::test]
async fn a_change_of_another_type_can_be_passed() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    write(&items, 0..1, 1).await;
    items.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    write(&items, 1..2, 1).await;
    let mut changes = items.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
    assert_eq!(changes.next_page().await.unwrap_err().kind(), ErrorKind::Serialization);
    let page = changes.next_results().await.unwrap();
    let read: Vec<_> = page.items.iter().map(|change| change.as_ref().map(|item| &*item.pk).ok()).collect();
    assert_eq!(read, [Some("key 0"), None, Some("key 1")]);
    assert!(changes.next_page().await.unwrap().items.is_empty(), "it is behind them");
}

#[tokio::test]
async fn a_change_of_another_type_is_not_lost() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    items.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    let mut changes = feed::<Item>(&items, ChangeFeedStart::Beginning);
    for _ in 0..2 {
        let error = changes.next_page().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Serialization, "{error}");
        assert!(error.to_string().contains('n'), "{error}");
    }
    let (found, token) = drain(&mut feed::<Value>(&items, ChangeFeedStart::Beginning)).await;
    assert_eq!(found.len(), 1);
    let error = items
        .all_versions_and_deletes::<Item>(ChangeFeedStart::Token(token), FeedScope::Container)
        .next_page()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Query, "{error}");
}

#[tokio::test]
async fn changes_are_given_as_bytes_too() {
    on_every_wire(async |_, items| {
        let item = r#"{"id":"1","pk":"a","n":1.50}"#;
        items.create_item("a", RawItem::from(item)).await.unwrap();
        let mut feed = items.change_feed::<RawItem>(ChangeFeedStart::Beginning, "a");
        let page = feed.next_page().await.unwrap();
        assert_eq!(page.items.len(), 1);
        assert_eq!(page.items[0].json::<Value>().unwrap()["n"], 1.5);
    })
    .await;
}
