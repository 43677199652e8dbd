//! Where processors start, what they refuse, and how the first leases are made.

use std::time::Duration;

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::model::ChangeFeedPolicy;
use cosmonaut::{Change, ChangeFeedStart, ChangeKind, Changes, ContainerProperties, CosmosStatus, ErrorKind};
use cosmonaut_driver::OperationType;
use cosmonaut_wire::ResourceType;
use serde_json::{Value, json};

use super::harness::{Events, Ledger, Note, Shop, patiently, pause, quick, shared};
use crate::harness::{Bench, faulty_client};
use crate::partitioned::{FIVE, ONE, make};

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_starts_from_now_the_beginning_or_a_time() {
    let shop = Shop::open().await;
    shop.write(1).await;
    let hour = Duration::from_secs(3600);
    let future = std::time::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    for (name, start, expected) in [
        ("beginning", ChangeFeedStart::Beginning, 30),
        ("past", ChangeFeedStart::Time(std::time::UNIX_EPOCH + hour), 30),
        ("future", ChangeFeedStart::Time(future), 0),
    ] {
        let (ledger, events) = (Ledger::default(), Events::default());
        let builder = super::harness::quick(shop.notes.change_feed_processor(name, &shop.leases));
        let one = ledger.start("one", builder.start_from(start).on_event(events.listener())).await;
        events.until("acquired 4").await;
        ledger.until(expected).await;
        one.stop().await;
        assert_eq!(ledger.entries().len(), expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_without_changes_writes_down_where_it_has_started() {
    let shop = Shop::with(ONE, "/id").await;
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor().start_from(ChangeFeedStart::Now)).await;
    patiently(async {
        while shop.lease_documents().await["0"]["ContinuationToken"].is_null() {
            pause().await;
        }
    })
    .await;
    drop(one);
    // Whatever comes while nobody is there is read by who comes later.
    shop.write(1).await;
    let two = ledger.start("one", shop.processor().start_from(ChangeFeedStart::Now)).await;
    ledger.until(30).await;
    two.stop().await;
    ledger.check_once_and_in_order();
}

#[tokio::test(flavor = "multi_thread")]
async fn all_versions_and_deletes_are_handed_over_and_a_mode_stays() {
    let shop = with_all_versions(FIVE).await;
    let (seen, events) = (shared(Vec::new()), Events::default());
    let handler = {
        let seen = seen.clone();
        move |changes: Changes<Change<Note>>| {
            seen.lock().unwrap().extend(changes.items.into_iter().map(|change| (change.kind, change.id)));
            async { Ok(()) }
        }
    };
    let builder = shop.processor().start_from(ChangeFeedStart::Now).on_event(events.listener());
    let one = builder.start_all_versions_and_deletes(handler).await.unwrap();
    patiently(async {
        while shop.lease_documents().await.values().any(|lease| lease["ContinuationToken"].is_null()) {
            pause().await;
        }
    })
    .await;
    shop.write_one("a", 1).await;
    shop.notes.delete_item("a", "1").await.unwrap();
    patiently(async {
        while seen.lock().unwrap().len() < 2 {
            pause().await;
        }
    })
    .await;
    one.stop().await;
    assert_eq!(*seen.lock().unwrap(), [(ChangeKind::Create, None), (ChangeKind::Delete, Some("1".into()))]);
    assert!(shop.lease_documents().await.values().all(|lease| lease["Mode"] == "Full-Fidelity Feed"));

    let other = shop.processor().start(|_: Changes<Note>| async { Ok(()) }).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Configuration, "{other}");
    assert!(other.to_string().contains("another processor name"), "{other}");
    let handler = |_: Changes<Change<Note>>| async { Ok(()) };
    let from_the_beginning = shop.processor().start_all_versions_and_deletes(handler).await.unwrap_err();
    assert_eq!(from_the_beginning.kind(), ErrorKind::Configuration, "{from_the_beginning}");
}

/// A shop whose container keeps all versions.
async fn with_all_versions(throughput: u32) -> Shop {
    let bench = Bench::start().await;
    let policy = ChangeFeedPolicy::retain_minutes(10);
    let properties = ContainerProperties::new("c", "/pk").with_change_feed_policy(policy);
    let notes = make(&bench, properties, throughput).await;
    let leases = bench.container_as(ContainerProperties::new("leases", "/id")).await;
    Shop { bench, notes, leases }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_instances_of_different_modes_that_start_at_once_one_is_refused() {
    for _ in 0..5 {
        let shop = with_all_versions(ONE).await;
        let (latest, all) = tokio::join!(
            shop.processor().start(|_: Changes<Note>| async { Ok(()) }),
            shop.processor()
                .start_from(ChangeFeedStart::Now)
                .start_all_versions_and_deletes(|_: Changes<Change<Note>>| async { Ok(()) }),
        );
        let mode = shop.lease_documents().await["0"]["Mode"].clone();
        let (started, refused) = match (latest, all) {
            (Ok(started), Err(refused)) if mode == "Incremental Feed" => (started, refused),
            (Err(refused), Ok(started)) if mode == "Full-Fidelity Feed" => (started, refused),
            other => panic!("{mode}: {other:?}"),
        };
        assert_eq!(refused.kind(), ErrorKind::Configuration, "{refused}");
        started.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_another_mode_that_appears_later_is_not_taken() {
    let shop = with_all_versions(ONE).await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    events.until("acquired 0").await;
    let mut lease = shop.lease_documents().await.remove("0").unwrap();
    let id = format!("{}00-01", lease["id"].as_str().unwrap().strip_suffix('0').unwrap());
    lease["id"] = id.clone().into();
    lease["LeaseToken"] = "00-01".into();
    lease["Owner"] = Value::Null;
    lease["Mode"] = "Full-Fidelity Feed".into();
    shop.leases.create_item(&*id, &lease).await.unwrap();
    events.until("failed Some(\"00-01\") the leases of this processor are for \"Full-Fidelity Feed\"").await;
    one.stop().await;
    assert!(shop.lease_documents().await["00-01"]["Owner"].is_null());
    assert!(!events.all().contains(&"acquired 00-01".to_owned()));
}

#[tokio::test]
async fn a_container_does_not_hold_the_leases_of_its_own_changes() {
    let shop = Shop::with(ONE, "/id").await;
    let builder = shop.leases.change_feed_processor("p", &shop.leases);
    let error = builder.start(|_: Changes<Note>| async { Ok(()) }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}

#[tokio::test]
async fn a_lease_container_with_another_key_is_refused() {
    let shop = Shop::with(ONE, "/pk").await;
    let error = shop.processor().start(|_: Changes<Note>| async { Ok(()) }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("/partitionKey"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_leases_are_made_once_by_one_of_many() {
    for key in ["/id", "/partitionKey"] {
        let shop = Shop::with(FIVE, key).await;
        let ledger = Ledger::default();
        let (first, second, third) = tokio::join!(
            ledger.start("one", shop.processor()),
            ledger.start("two", shop.processor()),
            ledger.start("three", shop.processor()),
        );
        shop.write(1).await;
        ledger.until(30).await;
        assert_eq!(shop.lease_documents().await.len(), 5);
        let query = "SELECT * FROM c WHERE ENDSWITH(c.id, '.info') OR ENDSWITH(c.id, '.lock')";
        let scope = cosmonaut::FeedScope::Container;
        let signs = shop.leases.query_items::<Value>(query, scope).collect().await.unwrap();
        let [marker] = &signs[..] else { panic!("{signs:?}") };
        let expected = if key == "/id" { json!(null) } else { marker["id"].clone() };
        assert_eq!(marker["partitionKey"], expected);
        for lease in shop.lease_documents().await.values() {
            assert_eq!(lease["partitionKey"].is_string(), key == "/partitionKey", "{lease}");
        }
        for processor in [first, second, third] {
            processor.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_instance_has_begun_and_not_ended_is_begun_there_by_the_next() {
    let shop = Shop::with(ONE, "/id").await;
    let (seen, ledger) = (shared(0), Ledger::default());
    let failing = {
        let seen = seen.clone();
        move |changes: Changes<Note>| {
            *seen.lock().unwrap() += changes.items.len();
            async { Err("this instance handles nothing".into()) }
        }
    };
    // It reads nothing until something was written, so that its first answer has changes already.
    let (client, faults) = faulty_client(&shop.bench);
    let status = CosmosStatus::TOO_MANY_REQUESTS;
    let result = FaultInjectionResult::Status { status, retry_after: Some(Duration::from_millis(10)) };
    let (operation, resource) = (Some(OperationType::ChangeFeed), Some(ResourceType::Document));
    let condition = FaultInjectionCondition { operation, resource, ..Default::default() };
    faults.set(FaultInjectionRule::new("throttled", result).when(condition));
    let database = client.database("d");
    let builder = quick(database.container("c").change_feed_processor("p", &database.container("leases")));
    let one = builder.start_from(ChangeFeedStart::Now).start(failing).await.unwrap();
    shop.write(1).await;
    faults.clear();
    patiently(async {
        while *seen.lock().unwrap() == 0 {
            pause().await;
        }
    })
    .await;
    drop(one);
    assert!(shop.lease_documents().await["0"]["ContinuationToken"].is_null());
    // The next one starts some seconds later, and not with what changes from then on.
    crate::harness::pass(Duration::from_secs(3)).await;
    let two = ledger.start("two", shop.processor().start_from(ChangeFeedStart::Now)).await;
    ledger.until(30).await;
    two.stop().await;
    ledger.check_once_and_in_order();
}
