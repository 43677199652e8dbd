//! Renewals that fail: a lease outlives some, and its handler hears of it when it does not.

use std::time::Duration;

use cosmonaut::Changes;
use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut_driver::OperationType;

use super::harness::{Events, Gate, Ledger, Note, Shop, patiently, pause, quick};
use crate::harness::faulty_client;
use crate::partitioned::ONE;

/// Long enough for the machine to stall in between.
const EXPIRY: Duration = Duration::from_secs(40);
const RENEWAL: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_outlives_two_renewals_that_are_not_answered() {
    let shop = Shop::with(ONE, "/id").await;
    let (client, faults) = faulty_client(&shop.bench);
    let database = client.database("d");
    let (ledger, events) = (Ledger::default(), Events::default());
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let builder = quick(builder).lease_expiry(EXPIRY).renew_interval(RENEWAL).on_event(events.listener());
    let one = ledger.start("one", builder).await;
    shop.write(1).await;
    ledger.until(30).await;
    let two = ledger.start("two", shop.processor().lease_expiry(EXPIRY).renew_interval(RENEWAL)).await;

    let condition = FaultInjectionCondition {
        operation: Some(OperationType::Replace),
        max_hits: Some(2),
        ..Default::default()
    };
    faults.set(FaultInjectionRule::new("silence", FaultInjectionResult::Hang).when(condition));
    patiently(async {
        while faults.hits("silence") < Some(2) {
            pause().await;
        }
    })
    .await;
    let before = shop.lease_documents().await;
    let after = patiently(async {
        loop {
            let now = shop.lease_documents().await;
            if now["0"]["timestamp"] != before["0"]["timestamp"] {
                return now;
            }
            pause().await;
        }
    })
    .await;
    assert_eq!(after["0"]["Owner"], "one", "{:?}", events.all());
    shop.write(2).await;
    ledger.until(60).await;
    one.stop().await;
    two.stop().await;
    ledger.check_once_and_in_order();
    assert!(ledger.entries().iter().all(|entry| entry.instance == "one"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_hears_that_its_lease_has_expired_though_nobody_answers() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write_one("a", 1).await;
    let (client, faults) = faulty_client(&shop.bench);
    let database = client.database("d");
    let (ledger, entered, gave_up) = (Ledger::default(), Gate::closed(), Gate::closed());
    let handler = {
        let (ledger, entered, gave_up) = (ledger.clone(), entered.clone(), gave_up.clone());
        move |changes: Changes<Note>| {
            let (ledger, entered, gave_up) = (ledger.clone(), entered.clone(), gave_up.clone());
            async move {
                entered.open();
                while changes.context.is_leased() {
                    pause().await;
                }
                gave_up.open();
                ledger.add("one", changes);
                Ok(())
            }
        }
    };
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let builder = quick(builder).lease_expiry(Duration::from_secs(2));
    let one = builder.start(handler).await.unwrap();
    patiently(entered.pass()).await;
    let condition = FaultInjectionCondition { operation: Some(OperationType::Replace), ..Default::default() };
    faults.set(FaultInjectionRule::new("silence", FaultInjectionResult::Hang).when(condition));
    patiently(gave_up.pass()).await;
    // Nobody else has taken it meanwhile, so that it is this instance's when somebody answers.
    faults.clear();
    ledger.until(1).await;
    one.stop().await;
    ledger.check_once_and_in_order();
    assert!(shop.lease_documents().await["0"]["ContinuationToken"].is_string());
}
