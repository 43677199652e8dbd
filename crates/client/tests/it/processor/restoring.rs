//! Leases that are gone while the marker says that they were made: somebody has deleted them, or a forced failover has
//! lost them.

use std::time::Duration;

use cosmonaut::{ChangeFeedStart, FeedScope};
use serde_json::{Value, json};

use super::harness::{Events, Ledger, Shop, patiently, pause};
use crate::harness::pass;
use crate::partitioned::{FIVE, ONE, split};

/// Deletes the leases with these tokens, as a failover loses them: whoever reads them is not asked.
async fn lose(shop: &Shop, tokens: &[&str]) {
    let leases = shop.lease_documents().await;
    for token in tokens {
        let lease = &leases[*token];
        let id = lease["id"].as_str().unwrap();
        let key = lease["partitionKey"].as_str().unwrap_or(id);
        shop.leases.delete_item(key, id).await.unwrap();
    }
}

/// The tokens of all leases that there are, in order; one that is there twice comes twice.
async fn tokens(shop: &Shop) -> Vec<String> {
    let query = "SELECT VALUE c.LeaseToken FROM c WHERE IS_DEFINED(c.timestamp)";
    let mut tokens = shop.leases.query_items::<String>(query, FeedScope::Container).collect().await.unwrap();
    tokens.sort();
    tokens
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_that_are_gone_are_made_again_once_and_nothing_is_left_out() {
    for lost in [&["0", "1", "2", "3", "4"][..], &["2"], &["0", "1", "4"]] {
        for key in ["/id", "/partitionKey"] {
            let shop = Shop::with(FIVE, key).await;
            let (ledger, events) = (Ledger::default(), Events::default());
            let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
            let two = ledger.start("two", shop.processor().on_event(events.listener())).await;
            shop.write(1).await;
            ledger.until(30).await;
            lose(&shop, lost).await;
            shop.write(2).await;
            ledger.until(60).await;
            for token in lost {
                events.until(&format!("LeaseRestored {{ lease: {token:?} }}")).await;
            }
            shop.owners_when(|counts| counts.values().sum::<usize>() == 5).await;
            assert_eq!(tokens(&shop).await, ["0", "1", "2", "3", "4"], "{lost:?} {key}");
            one.stop().await;
            two.stop().await;
            let restored = events.all().iter().filter(|event| event.contains("LeaseRestored")).count();
            assert_eq!(restored, lost.len(), "each is told of once");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_that_are_gone_start_where_the_processor_was_started_first() {
    for lost in [&["0", "1", "2", "3", "4"][..], &["1", "2"]] {
        let shop = Shop::open().await;
        shop.write(1).await;
        pass(Duration::from_secs(3)).await;
        let ledger = Ledger::default();
        let builder = || shop.processor().start_from(ChangeFeedStart::Now);
        let one = ledger.start("one", builder()).await;
        shop.write(2).await;
        ledger.until(30).await;
        one.stop().await;
        lose(&shop, lost).await;
        // Nobody is there to see this, and whoever comes is started later.
        shop.write(3).await;
        pass(Duration::from_secs(3)).await;
        let two = ledger.start("two", builder()).await;
        ledger.until(60).await;
        two.stop().await;
        assert!(ledger.entries().iter().all(|entry| entry.note.n > 1), "{lost:?}: it was there before");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_of_a_partition_that_has_split_may_come_back() {
    // With both children, with one, and without any.
    for lost in [&[][..], &["1"], &["1", "2"]] {
        let shop = Shop::with(ONE, "/id").await;
        let ledger = Ledger::default();
        let one = ledger.start("one", shop.processor()).await;
        shop.write(1).await;
        ledger.until(30).await;
        let mut parent = shop.lease_documents().await.remove("0").unwrap();
        split(&shop.bench, "c", 0);
        shop.write(2).await;
        ledger.until(60).await;
        patiently(async {
            while tokens(&shop).await != ["1", "2"] {
                pause().await;
            }
        })
        .await;
        one.stop().await;
        parent["Owner"] = Value::Null;
        shop.leases.create_item(parent["id"].as_str().unwrap(), &parent).await.unwrap();
        lose(&shop, lost).await;
        let two = ledger.start("two", shop.processor()).await;
        shop.write(3).await;
        ledger.until(90).await;
        patiently(async {
            while tokens(&shop).await != ["1", "2"] {
                pause().await;
            }
        })
        .await;
        two.stop().await;
        ledger.check_order();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_beside_leases_of_another_processor_that_cannot_be_placed() {
    let shop = Shop::with(FIVE, "/id").await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor()).await;
    shop.write(1).await;
    ledger.until(30).await;
    one.stop().await;
    // As Java's processor writes it.
    let lease = shop.lease_documents().await.remove("0").unwrap();
    let id = format!("{}-FF", lease["id"].as_str().unwrap().strip_suffix('0').unwrap());
    lose(&shop, &["0", "1", "2", "3", "4"]).await;
    let theirs = json!({
        "id": id, "LeaseToken": "-FF", "Owner": "java", "ContinuationToken": "eyJWIjoxfQ==", "version": 1,
        "feedRange": {"Range": {"min": "", "max": "FF"}}, "timestamp": "2024-05-01T12:34:56.123Z",
    });
    shop.leases.create_item(&*id, &theirs).await.unwrap();
    let two = ledger.start("two", shop.processor().on_event(events.listener())).await;
    events.until("failed None no lease is for the keys [, FF)").await;
    assert_eq!(tokens(&shop).await, ["-FF"]);
    two.stop().await;
}
