//! Handlers that fail, changes that cannot be read, and a service that is throttled or away.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::{Changes, CosmosStatus};
use cosmonaut_driver::OperationType;
use serde_json::json;

use super::harness::{Events, Ledger, Note, Shop, quick, shared};
use crate::harness::faulty_client;
use crate::partitioned::ONE;

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_fails_or_panics_is_given_the_page_again() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let handler = {
        let (ledger, calls) = (ledger.clone(), shared(0));
        move |changes: Changes<Note>| {
            let call = {
                let mut calls = calls.lock().unwrap();
                *calls += 1;
                *calls
            };
            let ledger = ledger.clone();
            async move {
                match call {
                    2 => Err("no luck today".into()),
                    4 => panic!("no nerves either"),
                    _ => {
                        ledger.add("one", changes);
                        Ok(())
                    }
                }
            }
        }
    };
    let one = shop.processor().on_event(events.listener()).start(handler).await.unwrap();
    ledger.until(30).await;
    one.stop().await;
    // Nothing was skipped, and what was handled did not come again.
    ledger.check_once_and_in_order();
    let told = events.all();
    let has = |words: &str| told.iter().any(|event| event.contains(words));
    assert!(has("failed Some(\"0\") the handler failed: no luck today"), "{told:?}");
    assert!(has("it panicked: no nerves either"), "{told:?}");
    assert_eq!(told.iter().filter(|event| *event == "released 0 HandlerFailed").count(), 2, "{told:?}");
    assert_eq!(told.last().unwrap(), "released 0 Shutdown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_cannot_be_read_goes_to_its_own_handler_or_is_reported() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write_one("a", 1).await;
    shop.notes.create_item("b", json!({"id": "odd", "pk": "b"})).await.unwrap();
    shop.write_one("c", 1).await;

    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    events.until("missing field").await;
    one.stop().await;
    assert!(ledger.entries().is_empty(), "no change of the page is passed over");

    let poison = shared(Vec::new());
    let keep = {
        let poison = poison.clone();
        move |change: cosmonaut::Poison| {
            let document: serde_json::Value = change.json.json().unwrap();
            poison.lock().unwrap().push((change.lease, document["id"].clone(), change.error.kind()));
            async { Ok(()) }
        }
    };
    let two = ledger.start("two", shop.processor().on_poison(keep)).await;
    ledger.until(2).await;
    two.stop().await;
    ledger.check_once_and_in_order();
    let poison = poison.lock().unwrap();
    assert_eq!(*poison, [("0".to_owned(), json!("odd"), cosmonaut::ErrorKind::Serialization)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn throttling_and_outages_are_waited_out() {
    let shop = Shop::with(ONE, "/id").await;
    let (client, faults) = faulty_client(&shop.bench);
    let database = client.database("d");
    let (ledger, events) = (Ledger::default(), Events::default());
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let builder = quick(builder).on_event(events.listener());
    let one = ledger.start("one", builder).await;
    shop.write(1).await;
    ledger.until(30).await;
    for (n, name, status, sub_status) in
        [(2, "throttled", 429, 3200), (3, "away", 503, 0), (4, "about to split", 410, 1007)]
    {
        let status = CosmosStatus::new(http::StatusCode::from_u16(status).unwrap(), sub_status);
        let rule = |operation, max_hits| {
            let condition =
                FaultInjectionCondition { operation: Some(operation), max_hits, ..Default::default() };
            let retry_after = Some(Duration::from_millis(1));
            let result = FaultInjectionResult::Status { status, retry_after };
            FaultInjectionRule::new(format!("{name} {operation:?}"), result).when(condition)
        };
        // More often than the driver repeats by itself.
        faults.set(rule(OperationType::ChangeFeed, Some(15)));
        faults.set(rule(OperationType::Replace, Some(15)));
        shop.write(n).await;
        ledger.until(30 * n as usize).await;
    }
    one.stop().await;
    ledger.check_once_and_in_order();
    let told = events.all();
    assert!(told.iter().any(|event| event.starts_with("failed")), "{told:?}");
    assert_eq!(told.iter().filter(|event| event.starts_with("released")).count(), 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_checkpointed_by_the_handler_comes_again() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let (ledger, kept) = (Ledger::default(), shared(Vec::new()));
    let handler = |instance: &'static str| {
        let (ledger, kept) = (ledger.clone(), kept.clone());
        move |changes: Changes<Note>| {
            kept.lock().unwrap().push(changes.context.clone());
            ledger.add(instance, changes);
            async { Ok(()) }
        }
    };
    let one = shop.processor().manual_checkpoints().start(handler("one")).await.unwrap();
    ledger.until(30).await;
    let pages: Vec<_> = kept.lock().unwrap().clone();
    assert_eq!(pages.len(), 10, "three at a time");
    pages[6].checkpoint().await.unwrap();
    pages[3].checkpoint().await.unwrap();
    one.stop().await;
    let late = pages[9].checkpoint().await.unwrap_err();
    assert!(late.is_precondition_failed(), "{late}");

    let before = ledger.entries().len();
    let two = shop.processor().manual_checkpoints().start(handler("two")).await.unwrap();
    let again = |entries: Vec<super::harness::Entry>| entries.len() == before + 9;
    super::harness::patiently(async {
        while !again(ledger.entries()) {
            super::harness::pause().await;
        }
    })
    .await;
    two.stop().await;
    let entries = ledger.entries();
    let (first, second) = entries.split_at(before);
    let notes = |entries: &[super::harness::Entry]| -> Vec<Note> {
        entries.iter().map(|entry| entry.note.clone()).collect()
    };
    assert_eq!(notes(&first[21..]), notes(second), "behind the seventh page");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_panics_when_it_is_read_is_a_failure_of_the_handler() {
    #[derive(Debug)]
    struct Brittle;
    impl<'de> serde::Deserialize<'de> for Brittle {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("it breaks")
        }
    }
    let shop = Shop::with(ONE, "/id").await;
    shop.write_one("a", 1).await;
    let events = Events::default();
    let builder = shop.processor().on_event(events.listener());
    let one = builder.start(|_: Changes<Brittle>| async { Ok(()) }).await.unwrap();
    events.until("released 0 HandlerFailed").await;
    one.stop().await;
    assert!(events.all().iter().any(|event| event.contains("it panicked: it breaks")), "{:?}", events.all());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_somebody_deletes_is_not_read_any_more() {
    let shop = Shop::with(ONE, "/id").await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    events.until("acquired 0").await;
    let id = shop.lease_documents().await["0"]["id"].as_str().unwrap().to_owned();
    shop.leases.delete_item(&*id, &id).await.unwrap();
    events.until("released 0 LeaseGone").await;
    shop.write(1).await;
    one.stop().await;
    assert!(ledger.entries().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_is_ended_where_it_is_when_it_is_dropped() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let entered = std::sync::Arc::new(AtomicUsize::new(0));
    let handler = {
        let entered = entered.clone();
        move |_: Changes<Note>| {
            entered.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        }
    };
    let one = shop.processor().instance_name("one").start(handler).await.unwrap();
    super::harness::patiently(async {
        while entered.load(Ordering::SeqCst) == 0 {
            super::harness::pause().await;
        }
    })
    .await;
    drop(one);
    assert_eq!(shop.lease_documents().await["0"]["Owner"], "one", "as after a kill");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_stops_though_nobody_says_which_leases_there_are() {
    let shop = Shop::with(ONE, "/id").await;
    let (client, faults) = faulty_client(&shop.bench);
    let database = client.database("d");
    let events = Events::default();
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let builder = quick(builder).renew_interval(Duration::from_secs(3600)).on_event(events.listener());
    let one = Ledger::default().start("one", builder).await;
    events.until("acquired 0").await;
    let condition = FaultInjectionCondition { operation: Some(OperationType::Query), ..Default::default() };
    faults.set(FaultInjectionRule::new("silence", FaultInjectionResult::Hang).when(condition));
    super::harness::patiently(async {
        while faults.hits("silence") < Some(1) {
            super::harness::pause().await;
        }
    })
    .await;
    super::harness::patiently(one.stop()).await;
    assert!(shop.lease_documents().await["0"]["Owner"].is_null(), "it was released");
}
