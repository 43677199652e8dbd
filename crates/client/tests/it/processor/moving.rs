//! Partitions that split and merge while they are processed.

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::{Changes, CosmosStatus, FeedRange, FeedScope};
use cosmonaut_driver::OperationType;
use serde_json::{Value, json};

use super::harness::{Events, Ledger, Note, Shop, patiently, pause, quick, shared};
use crate::harness::faulty_client;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_the_children_of_a_split_do_not_see_is_refused() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let (client, faults) = faulty_client(&shop.bench);
    let database = client.database("d");
    let (ledger, pages) = (Ledger::default(), shared(Vec::new()));
    let handler = {
        let (ledger, pages) = (ledger.clone(), pages.clone());
        move |changes: Changes<Note>| {
            pages.lock().unwrap().push(changes.context.clone());
            ledger.add("one", changes);
            async { Ok(()) }
        }
    };
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let one = quick(builder).manual_checkpoints().start(handler).await.unwrap();
    ledger.until(30).await;
    let last = pages.lock().unwrap()[9].clone();
    // The children are being made, with how far the parent was.
    let condition = FaultInjectionCondition { operation: Some(OperationType::Create), ..Default::default() };
    let slowly = FaultInjectionResult::Delay(std::time::Duration::from_secs(3));
    faults.set(FaultInjectionRule::new("slow", slowly).when(condition));
    split(&shop.bench, "c", 0);
    patiently(async {
        while faults.hits("slow") < Some(1) {
            pause().await;
        }
    })
    .await;
    let late = last.checkpoint().await.unwrap_err();
    assert!(late.is_precondition_failed(), "{late}");
    assert!(!last.is_leased());
    patiently(async {
        while ledger.entries().len() < 60 {
            pause().await;
        }
    })
    .await;
    one.stop().await;
    assert!(ledger.counts().values().all(|count| *count == 2), "all of it comes again from the children");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_that_was_left_half_done_makes_no_lease_twice() {
    for key in ["/id", "/partitionKey"] {
        let shop = Shop::with(ONE, key).await;
        let (client, faults) = faulty_client(&shop.bench);
        let database = client.database("d");
        let (ledger, events) = (Ledger::default(), Events::default());
        let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
        let one = ledger.start("one", quick(builder).on_event(events.listener())).await;
        shop.write(1).await;
        ledger.until(30).await;
        // The children are made, and the parent stays for a while.
        let condition = FaultInjectionCondition {
            operation: Some(OperationType::Delete),
            max_hits: Some(3),
            ..Default::default()
        };
        let status = CosmosStatus::new(http::StatusCode::FORBIDDEN, 0);
        let refused = FaultInjectionResult::Status { status, retry_after: None };
        faults.set(FaultInjectionRule::new("no deletes", refused).when(condition));
        split(&shop.bench, "c", 0);
        shop.write(2).await;
        ledger.until(60).await;
        events.until("released 0 PartitionMoved").await;
        assert_eq!(faults.hits("no deletes"), Some(3));
        let query = "SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.timestamp) ORDER BY c.id";
        let ids = shop.leases.query_items::<String>(query, FeedScope::Container).collect();
        let ids = ids.await.unwrap();
        assert_eq!(ids.len(), 2, "{key}: {ids:?}");
        one.stop().await;
        ledger.check_once_and_in_order();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_that_one_instance_cannot_end_is_ended_by_another() {
    let shop = Shop::with(ONE, "/id").await;
    let (client, faults) = faulty_client(&shop.bench);
    let database = client.database("d");
    let (ledger, events) = (Ledger::default(), Events::default());
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let one = ledger.start("one", quick(builder).on_event(events.listener())).await;
    shop.write(1).await;
    ledger.until(30).await;
    let condition = FaultInjectionCondition { operation: Some(OperationType::Delete), ..Default::default() };
    let status = CosmosStatus::new(http::StatusCode::FORBIDDEN, 0);
    let refused = FaultInjectionResult::Status { status, retry_after: None };
    faults.set(FaultInjectionRule::new("no deletes", refused).when(condition));
    split(&shop.bench, "c", 0);
    events.until("released 0 RequestFailed").await;
    one.stop().await;
    assert!(shop.lease_documents().await["0"]["Owner"].is_null(), "it was released");
    let two = ledger.start("two", shop.processor()).await;
    shop.write(2).await;
    ledger.until(60).await;
    tokens_when(&shop, |tokens| !tokens.contains(&"0".to_owned())).await;
    two.stop().await;
    ledger.check_once_and_in_order();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_that_net_has_left_half_done_makes_no_lease_twice() {
    let shop = Shop::with(ONE, "/partitionKey").await;
    let ledger = Ledger::default();
    shop.write(1).await;
    let one = ledger.start("one", shop.processor()).await;
    ledger.until(30).await;
    one.stop().await;
    split(&shop.bench, "c", 0);
    // .NET makes the children under random keys, and leaves the parent.
    let parent = shop.lease_documents().await.remove("0").unwrap();
    for range in inside(&shop.bench, "c").partition_key_ranges().iter() {
        let mut child = parent.clone();
        let (token, key) = (range.id.as_str(), format!("guid {}", range.id.as_str()));
        child["id"] = format!("{}{token}", parent["id"].as_str().unwrap().strip_suffix('0').unwrap()).into();
        child["LeaseToken"] = token.into();
        child["partitionKey"] = key.clone().into();
        child["FeedRange"] =
            json!({"Range": {"min": range.range().min.to_string(), "max": range.range().max.to_string()}});
        shop.leases.create_item(&*key, &child).await.unwrap();
    }
    shop.write(2).await;
    let events = Events::default();
    let two = ledger.start("two", shop.processor().on_event(events.listener())).await;
    ledger.until(60).await;
    events.until("released 0 PartitionMoved").await;
    two.stop().await;
    ledger.check_once_and_in_order();
    let query = "SELECT VALUE c.partitionKey FROM c WHERE IS_DEFINED(c.timestamp) ORDER BY c.id";
    let keys = shop.leases.query_items::<String>(query, FeedScope::Container).collect();
    assert_eq!(keys.await.unwrap(), ["guid 1", "guid 2"]);
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
