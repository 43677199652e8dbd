//! Following a change feed: what comes, what fails on the way, readers that stop waiting, and how far is read ahead.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::{ChangeFeedStart, ContainerClient, CosmosStatus, FeedScope};
use cosmonaut_driver::OperationType;

use super::{Item, feed, write};
use crate::cancellation::dropped_after;
use crate::harness::{Bench, faulty_client};
use crate::partitioned::{FIVE, container};

const INTERVAL: Duration = Duration::from_millis(20);

/// A rule that refuses requests for changes.
fn refusal(condition: FaultInjectionCondition) -> FaultInjectionRule {
    let result = FaultInjectionResult::Status { status: CosmosStatus::FORBIDDEN, retry_after: None };
    let operation = Some(OperationType::ChangeFeed);
    FaultInjectionRule::new("refused", result).when(FaultInjectionCondition { operation, ..condition })
}

#[tokio::test]
async fn whoever_follows_a_feed_is_given_what_comes_and_never_its_end() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let mut pages = feed::<Item>(&many, ChangeFeedStart::Now).poll_interval(INTERVAL).into_pages();
    for round in 0..3 {
        // Each time that there is nothing new is told, with what it cost.
        let idle = pages.next().await.unwrap().unwrap();
        assert!(idle.items.is_empty() && idle.continuation.is_some());
        assert!(round > 0 || idle.diagnostics.len() >= 5, "each partition was asked");
        write(&many, 0..1, round).await;
        let page = loop {
            let page = pages.next().await.unwrap().unwrap();
            if !page.items.is_empty() {
                break page;
            }
        };
        assert_eq!(page.items[0].n, round);
    }
    // Item by item nothing is told until there is something.
    let mut changes = feed::<Item>(&many, ChangeFeedStart::Now).poll_interval(INTERVAL);
    assert!(!dropped_after(50, changes.next()).await);
    while changes.continuation().is_none() {
        assert!(!dropped_after(50, changes.next()).await);
    }
    write(&many, 3..4, 9).await;
    assert_eq!(changes.next().await.unwrap().unwrap().n, 9);
}

#[tokio::test]
async fn a_failure_ends_no_feed_and_loses_nothing() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    write(&items, 0..6, 1).await;
    let (client, faults) = faulty_client(&bench);
    let items = client.database("d").container("c");
    for interval in [None, Some(INTERVAL)] {
        let mut changes = feed::<Item>(&items, ChangeFeedStart::Beginning);
        if let Some(interval) = interval {
            changes = changes.poll_interval(interval);
        }
        let (mut found, mut failures) = (Vec::new(), 0);
        while found.len() < 6 {
            if found.len() % 3 == 0 && failures <= found.len() / 3 {
                faults.set(refusal(FaultInjectionCondition { max_hits: Some(1), ..Default::default() }));
                assert!(changes.next().await.unwrap().is_err());
                failures += 1;
            }
            found.push(changes.next().await.unwrap().unwrap().pk);
        }
        found.sort();
        found.dedup();
        assert_eq!((found.len(), failures), (6, 2));
    }
}

#[tokio::test]
async fn a_partition_that_fails_does_not_hold_up_the_others() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let broken = many.feed_ranges().await.unwrap().swap_remove(0);
    let (client, faults) = faulty_client(&bench);
    let mine = client.database("d").container("c");
    let mut expected = 0;
    for key in 0..30 {
        let range = mine.feed_range_of(format!("key {key}")).await.unwrap();
        expected += usize::from(!broken.contains(&range));
    }
    assert!(expected > 0 && expected < 30, "the keys are in all partitions");
    faults.set(refusal(FaultInjectionCondition { partition: Some("0".into()), ..Default::default() }));
    let mut changes = feed::<Item>(&mine, ChangeFeedStart::Beginning);
    for round in 0..3 {
        write(&many, 0..30, round).await;
        let (mut found, mut failures) = (0, 0);
        while found < expected {
            match changes.next().await.expect("it is not at its end while a partition is not read") {
                Ok(item) => {
                    assert_eq!(item.n, round);
                    found += 1;
                }
                Err(_) => failures += 1,
            }
            assert!(failures < 100, "the others are not read");
        }
        assert!(failures > 0, "whoever reads is told");
    }
    faults.clear();
    let rest = super::drain(&mut changes).await.0;
    assert_eq!(rest.len(), 30 - expected);
}

/// Two keys whose items are in different partitions.
async fn two_keys(many: &ContainerClient) -> [String; 2] {
    let ranges = many.feed_ranges().await.unwrap();
    let mut keys = Vec::new();
    for range in ranges.iter().take(2) {
        for number in 0.. {
            let key = format!("key {number}");
            if range.contains(&many.feed_range_of(&*key).await.unwrap()) {
                keys.push(key);
                break;
            }
        }
    }
    keys.try_into().unwrap()
}

async fn touch(many: &ContainerClient, key: &str, n: u32) {
    many.upsert_item(key, &Item { id: "1".into(), pk: key.to_owned(), n }).await.unwrap();
}

#[tokio::test]
async fn a_feed_ends_though_something_is_written_all_the_time() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let [one, other] = two_keys(&many).await;
    touch(&many, &one, 0).await;
    let mut changes = feed::<Item>(&many, ChangeFeedStart::Beginning);
    let mut found = 0;
    while let Some(change) = changes.next().await {
        found += 1;
        assert!(found < 100, "each change makes another elsewhere, and every partition was at its end");
        touch(&many, if change.unwrap().pk == one { &other } else { &one }, found).await;
    }
    assert!(changes.next().await.is_some(), "what came since comes next");
}

#[tokio::test]
async fn partitions_without_changes_are_not_asked_for_each_page_of_another() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..40 {
        many.create_item("key", &Item { id: format!("{n}"), pk: "key".into(), n }).await.unwrap();
    }
    many.feed_ranges().await.unwrap();
    let before = bench.emulator.requests();
    let changes = many.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
    assert_eq!(changes.max_item_count(1).collect().await.unwrap().len(), 40);
    let asked = bench.emulator.requests() - before;
    assert!(asked < 80, "{asked} requests for 40 pages of one partition and none of four");
}

#[tokio::test]
async fn a_partition_that_never_rests_does_not_keep_others_from_being_followed() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let [busy, quiet] = two_keys(&many).await;
    touch(&many, &busy, 0).await;
    let mut changes = feed::<Item>(&many, ChangeFeedStart::Beginning).poll_interval(INTERVAL);
    for n in 1..5000 {
        let change = changes.next().await.unwrap().unwrap();
        if change.pk == quiet {
            return;
        }
        touch(&many, &busy, n).await;
        if n == 10 {
            touch(&many, &quiet, n).await;
        }
    }
    panic!("nothing of the quiet partition came");
}

#[tokio::test]
async fn a_reader_may_stop_waiting_at_any_time() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    write(&many, 0..60, 1).await;
    let mut changes = feed::<Item>(&many, ChangeFeedStart::Beginning);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for polls in (0..4).cycle() {
        // It polls a few times, and asks anew if nothing has come.
        let mut next = None;
        dropped_after(polls, async { next = Some(changes.next().await) }).await;
        match next {
            Some(Some(change)) => *seen.entry(change.unwrap().pk).or_default() += 1,
            Some(None) => break,
            None => tokio::task::yield_now().await,
        }
    }
    assert_eq!(seen.len(), 60);
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[tokio::test]
async fn no_more_is_read_ahead_than_a_page_of_each_partition_that_is_asked_at_once() {
    for most in [1, 2, 5] {
        let bench = Bench::start().await;
        let many = container(&bench, "c", FIVE).await;
        write(&many, 0..60, 1).await;
        many.feed_ranges().await.unwrap();
        let changes = many.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
        let mut changes = changes.max_item_count(1).max_concurrency(most);
        let before = bench.emulator.requests();
        for taken in 1..8 {
            changes.next().await.unwrap().unwrap();
            let asked = (bench.emulator.requests() - before) as usize;
            assert!(asked < taken + most, "{asked} requests for {taken} items, {most} at once");
        }
    }
}
