//! Partitions that split and merge while they are processed.

use cosmonaut::{Changes, FeedRange};
use serde_json::{Value, json};

use super::harness::{Events, Ledger, Note, Shop, patiently, pause, shared};
use crate::partitioned::{ONE, inside, split};

/// The ids of the partitions that there are.
fn partitions(shop: &Shop) -> Vec<String> {
    inside(&shop.bench, "c").partition_key_ranges().iter().map(|range| range.id.as_str().to_owned()).collect()
}

async fn tokens_when(shop: &Shop, is_done: impl Fn(&[String]) -> bool) -> Vec<String> {
    patiently(async {
        loop {
            let tokens: Vec<String> = shop.lease_documents().await.into_keys().collect();
            if is_done(&tokens) {
                return tokens;
            }
            pause().await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_makes_leases_of_the_children_which_go_on_where_the_parent_was() {
    // With two instances a lease may change hands, so that a page comes twice.
    for instances in [&["one"][..], &["one", "two"]] {
        let shop = Shop::open().await;
        let (ledger, events) = (Ledger::default(), Events::default());
        let mut processors = Vec::new();
        for name in instances {
            processors.push(ledger.start(name, shop.processor().on_event(events.listener())).await);
        }
        shop.owners_when(|counts| counts.len() == instances.len()).await;
        shop.write(1).await;
        ledger.until(30).await;
        // Some split with changes that were not read yet, some without.
        split(&shop.bench, "c", 0);
        shop.write(2).await;
        split(&shop.bench, "c", 4);
        shop.write(3).await;
        ledger.until(90).await;
        let mut expected = partitions(&shop);
        expected.sort();
        let tokens = tokens_when(&shop, |tokens| tokens == expected).await;
        assert_eq!(tokens.len(), 7);
        let told = events.all();
        assert!(told.iter().any(|event| event == "released 0 PartitionMoved"), "{told:?}");
        for processor in processors {
            processor.stop().await;
        }
        for document in shop.lease_documents().await.values() {
            assert_eq!(document["version"], 0);
            assert!(document["FeedRange"]["Range"]["min"].is_string(), "{document}");
            assert!(document["ContinuationToken"].is_string(), "{document}");
        }
        ledger.check_order();
        if instances.len() == 1 {
            ledger.check_once();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_checkpointed_before_a_split_comes_again_from_the_children() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let (ledger, pages) = (Ledger::default(), shared(Vec::new()));
    let handler = {
        let (ledger, pages) = (ledger.clone(), pages.clone());
        move |changes: Changes<Note>| {
            pages.lock().unwrap().push(changes.context.clone());
            ledger.add("one", changes);
            async { Ok(()) }
        }
    };
    let one = shop.processor().manual_checkpoints().start(handler).await.unwrap();
    ledger.until(30).await;
    let parent = pages.lock().unwrap().clone();
    parent[3].checkpoint().await.unwrap();
    split(&shop.bench, "c", 0);
    // Twelve were checkpointed, and eighteen come again.
    patiently(async {
        while ledger.entries().len() < 48 {
            pause().await;
        }
    })
    .await;
    let late = parent[9].checkpoint().await.unwrap_err();
    assert!(late.is_precondition_failed(), "{late}");
    one.stop().await;
    let entries = ledger.entries();
    let mut again: Vec<_> = entries[30..].iter().map(|entry| &entry.note).collect();
    let mut before: Vec<_> = entries[12..30].iter().map(|entry| &entry.note).collect();
    again.sort();
    before.sort();
    assert_eq!(again, before);
}

/// What a lease in .NET's format looks like.
fn lease(id: &str, version: u32, token: &str, range: &FeedRange) -> Value {
    json!({
        "id": id, "version": version, "LeaseToken": token, "FeedRange": {"Range": range}, "Owner": null,
        "ContinuationToken": null, "timestamp": "2024-05-01T12:34:56.1234567Z", "properties": {"kept": "yes"},
        "Mode": "Incremental Feed",
    })
}

/// The beginning of the ids of the processor's documents, from those that it has made.
async fn prefix(shop: &Shop) -> String {
    let ledger = Ledger::default();
    ledger.start("first", shop.processor()).await.stop().await;
    let documents = shop.lease_documents().await;
    let (token, lease) = documents.first_key_value().unwrap();
    let id = lease["id"].as_str().unwrap();
    for lease in documents.values() {
        let id = lease["id"].as_str().unwrap();
        shop.leases.delete_item(id, id).await.unwrap();
    }
    id.strip_suffix(token.as_str()).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_makes_a_lease_of_the_stretch_and_a_stretch_of_several_is_cut() {
    let shop = Shop::with(ONE, "/id").await;
    let prefix = prefix(&shop).await;
    shop.write(1).await;
    // The container has one partition. One half was a partition of its own, and the other is two stretches of it.
    let (low, high) = FeedRange::full().split().unwrap();
    let merged = lease(&format!("{prefix}77"), 0, "77", &low);
    let token = high.to_string();
    let bounds = serde_json::to_value(&high).unwrap();
    let token_of_high = format!("{}-{}", bounds["min"].as_str().unwrap(), bounds["max"].as_str().unwrap());
    let stretch = lease(&format!("{prefix}{token_of_high}"), 1, &token_of_high, &high);
    for lease in [&merged, &stretch] {
        shop.leases.create_item(lease["id"].as_str().unwrap(), lease).await.unwrap();
    }
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    ledger.until(30).await;
    let bounds = serde_json::to_value(&low).unwrap();
    let token_of_low = format!("{}-{}", bounds["min"].as_str().unwrap(), bounds["max"].as_str().unwrap());
    let tokens = tokens_when(&shop, |tokens| !tokens.contains(&"77".to_owned())).await;
    assert!(tokens.contains(&token_of_low) && tokens.contains(&token_of_high), "{tokens:?} {token}");
    let documents = shop.lease_documents().await;
    assert_eq!(documents[&token_of_low]["version"], 1);
    assert_eq!(documents[&token_of_low]["properties"], json!({"kept": "yes"}));

    // Each stretch now comes to lie in two partitions.
    split(&shop.bench, "c", 0);
    split(&shop.bench, "c", 0);
    split(&shop.bench, "c", 2);
    shop.write(2).await;
    ledger.until(60).await;
    let tokens = tokens_when(&shop, |tokens| tokens.len() == 4).await;
    assert!(!tokens.contains(&token_of_low) && !tokens.contains(&token_of_high), "{tokens:?}");
    one.stop().await;
    ledger.check_once_and_in_order();
}
