//! Partitions that split while they are read: nothing is lost, nothing comes twice.

use std::collections::BTreeSet;

use cosmonaut::options::FeedOptions;
use cosmonaut::{ChangeFeedStart, ContainerClient, FeedScope};
use serde_json::{Value, json};

use crate::harness::Bench;
use crate::partitioned::{FIVE, container, split};

async fn filled(bench: &Bench, items: u32) -> ContainerClient {
    filled_with(bench, FIVE, items).await
}

async fn filled_with(bench: &Bench, throughput: u32, items: u32) -> ContainerClient {
    let many = container(bench, "c", throughput).await;
    for n in 0..items {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n % 3, "n": n})).await.unwrap();
    }
    many
}

#[tokio::test]
async fn a_query_goes_on_in_the_children_of_every_partition() {
    for text in [
        "SELECT VALUE c.n FROM c",
        "SELECT VALUE c.n FROM c ORDER BY c.a",
        "SELECT DISTINCT VALUE c.n FROM c",
    ] {
        let bench = Bench::start().await;
        let many = filled(&bench, 60).await;
        let options = FeedOptions::default().max_item_count(2).max_concurrency(3);
        let mut pages = many.query_items::<u32>(text, FeedScope::Container).options(options).into_pages();
        let mut found = Vec::new();
        let mut splits = 0;
        while let Some(page) = pages.next().await {
            found.extend(page.unwrap().items);
            if splits < 5 {
                // The first of each former partition: after each split there is one more before the next.
                split(&bench, "c", 2 * splits);
                splits += 1;
            }
        }
        assert_eq!(found.len(), 60, "{text}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), 60, "{text}");
        assert_eq!(many.feed_ranges().await.unwrap().len(), 10);
    }
}

#[tokio::test]
async fn a_count_is_right_when_a_partition_was_split_unnoticed() {
    let bench = Bench::start().await;
    let many = filled(&bench, 60).await;
    let count = async || {
        let rows = many.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
        rows.collect().await.unwrap()
    };
    assert_eq!(count().await, [60]);
    split(&bench, "c", 0);
    split(&bench, "c", 3);
    assert_eq!(count().await, [60]);
}

/// More throughput splits all partitions of a container at the same time.
#[tokio::test]
async fn all_of_many_partitions_may_split_at_once() {
    const TWELVE: u32 = 72_000;
    let bench = Bench::start().await;
    let many = filled_with(&bench, TWELVE, 120).await;
    let options = || FeedOptions::default().max_concurrency(20);
    let keys: Vec<String> = (0..120).map(|n| format!("key {n}")).collect();
    let everything: BTreeSet<u32> = (0..120).collect();
    let numbers = |items: Vec<Value>| -> Vec<u32> {
        items.iter().map(|item| u32::try_from(item["n"].as_u64().unwrap()).unwrap()).collect()
    };
    for way in ["changes", "items by name", "ordered", "as it comes"] {
        // The partitions are known from here on, and then the first twelve are others.
        many.query_items::<Value>("SELECT * FROM c", FeedScope::Container).collect().await.unwrap();
        for nth in 0..12 {
            split(&bench, "c", 2 * nth);
        }
        let found = match way {
            "changes" => {
                let changes = many.change_feed(ChangeFeedStart::Beginning, FeedScope::Container);
                numbers(changes.options(options()).collect().await.unwrap())
            }
            "items by name" => {
                let wanted = keys.iter().map(|key| (key, "1"));
                numbers(many.read_many(wanted).options(options()).await.unwrap().into_found())
            }
            "ordered" => {
                let query = many.query_items("SELECT * FROM c ORDER BY c.n", FeedScope::Container);
                numbers(query.options(options()).collect().await.unwrap())
            }
            _ => {
                let query = many.query_items("SELECT * FROM c", FeedScope::Container);
                numbers(query.options(options()).collect().await.unwrap())
            }
        };
        assert_eq!(found.len(), 120, "{way}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), everything, "{way}");
    }
}
