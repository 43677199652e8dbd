//! Instances share the leases, and each change goes to one of them.

use std::time::Duration;

use cosmonaut::{Changes, ContainerProperties};

use super::harness::{Gate, Ledger, NEVER, Note, Shop, another_client, patiently, quick};
use crate::harness::on_every_wire;

#[tokio::test]
async fn a_processor_reads_everything_on_every_wire() {
    on_every_wire(async |bench, notes| {
        let leases = bench.container_as(ContainerProperties::new("leases", "/id")).await;
        let shop = Shop { bench, notes, leases };
        shop.write(1).await;
        let ledger = Ledger::default();
        let processor = ledger.start("one", shop.processor()).await;
        ledger.until(30).await;
        shop.write(2).await;
        ledger.until(60).await;
        processor.stop().await;
        ledger.check_once_and_in_order();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_instances_share_the_leases_and_each_change_comes_once() {
    let shop = Shop::open().await;
    let ledger = Ledger::default();
    let mut processors = Vec::new();
    for name in ["one", "two", "three"] {
        processors.push(ledger.start(name, shop.processor()).await);
    }
    let counts =
        shop.owners_when(|counts| counts.len() == 3 && counts.values().all(|count| *count <= 2)).await;
    assert_eq!(counts.values().sum::<usize>(), 5);
    for n in 1..=4 {
        shop.write(n).await;
    }
    ledger.until(120).await;
    ledger.check_once_and_in_order();
    let instances: std::collections::BTreeSet<_> =
        ledger.entries().into_iter().map(|entry| entry.instance).collect();
    assert_eq!(instances.len(), 3, "everybody has done something");

    // One that stops releases its leases: the others have them at once, though they would never expire.
    processors.pop().unwrap().stop().await;
    let counts = shop.owners_when(|counts| counts.len() == 2).await;
    assert!(!counts.contains_key("three"));
    shop.write(5).await;
    ledger.until(150).await;
    for processor in processors {
        processor.stop().await;
    }
    ledger.check_once_and_in_order();
    assert!(shop.lease_documents().await.values().all(|lease| lease["Owner"].is_null()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leases_of_an_instance_that_was_killed_are_taken_when_they_expire() {
    let shop = Shop::open().await;
    let ledger = Ledger::default();
    let short = || shop.processor().lease_expiry(Duration::from_secs(2));
    let one = ledger.start("one", short()).await;
    let two = ledger.start("two", short()).await;
    shop.owners_when(|counts| counts.len() == 2).await;
    shop.write(1).await;
    ledger.until(30).await;
    drop(one);
    shop.write(2).await;
    let counts = shop.owners_when(|counts| counts.len() == 1).await;
    assert_eq!(counts.get("two"), Some(&5));
    ledger.until(60).await;
    two.stop().await;
    ledger.check_order();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_comes_back_under_its_name_takes_its_leases_up_at_once() {
    let shop = Shop::open().await;
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    shop.owners_when(|counts| counts.get("one") == Some(&5)).await;
    drop(one);
    shop.write(1).await;
    let again = ledger.start("one", shop.processor().lease_expiry(NEVER)).await;
    ledger.until(30).await;
    again.stop().await;
    ledger.check_once_and_in_order();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_slow_lease_delays_only_itself_and_a_stop_waits_for_its_page() {
    let shop = Shop::open().await;
    shop.write(1).await;
    let (ledger, gate) = (Ledger::default(), Gate::closed());
    let slow = {
        let (ledger, gate) = (ledger.clone(), gate.clone());
        move |changes: Changes<Note>| {
            let (ledger, gate) = (ledger.clone(), gate.clone());
            async move {
                if changes.context.lease() == "0" {
                    gate.pass().await;
                }
                ledger.add("one", changes);
                Ok(())
            }
        }
    };
    let processor = shop.processor().start(slow).await.unwrap();
    let of_others = |n: u32| {
        let ledger = ledger.clone();
        async move {
            loop {
                let entries = ledger.entries();
                let others: std::collections::BTreeSet<_> = entries
                    .iter()
                    .filter(|entry| entry.note.n == n)
                    .map(|entry| entry.lease.clone())
                    .collect();
                if others.len() == 4 {
                    return;
                }
                super::harness::pause().await;
            }
        }
    };
    patiently(of_others(1)).await;
    shop.write(2).await;
    patiently(of_others(2)).await;
    assert!(ledger.entries().iter().all(|entry| entry.lease != "0"));
    let stopping = processor.stop();
    gate.open();
    patiently(stopping).await;
    let documents = shop.lease_documents().await;
    assert!(
        documents["0"]["Owner"].is_null() && documents["0"]["ContinuationToken"].is_string(),
        "{documents:?}"
    );
    assert!(ledger.entries().iter().any(|entry| entry.lease == "0"), "the page in hand was handled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_takes_no_more_than_it_is_allowed() {
    let shop = Shop::open().await;
    shop.write(1).await;
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor().max_leases(2)).await;
    let client = another_client(&shop.bench);
    let database = client.database("d");
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let two = ledger.start("two", quick(builder)).await;
    let counts = shop.owners_when(|counts| counts.len() == 2).await;
    assert_eq!((counts["one"], counts["two"]), (2, 3));
    assert_eq!((one.leases().len(), two.leases().len()), (2, 3));
    ledger.until(30).await;
    one.stop().await;
    two.stop().await;
}
