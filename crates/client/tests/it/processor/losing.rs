//! A forced failover that loses what the processor has read, and what it has written to its leases.

use cosmonaut::ContainerProperties;
use cosmonaut_emulator::Emulator;
use cosmonaut_emulator::Failover;

use super::harness::{Events, Ledger, Shop, another_client};
use crate::harness::{Bench, REGIONS, speaking};
use crate::partitioned::{FIVE, container};

/// A shop in several regions.
async fn open() -> Shop {
    let emulator = Emulator::builder().regions(REGIONS);
    let bench = Bench::with(emulator, speaking(cosmonaut::options::HttpProtocol::Negotiated)).await;
    let notes = container(&bench, "c", FIVE).await;
    let leases = bench.container_as(ContainerProperties::new("leases", "/id")).await;
    Shop { bench, notes, leases }
}

/// Lets the notes of the first round stay, and loses those of the second with all that was written to leases since.
/// Returns the shop as somebody sees it who has not seen what was lost.
async fn lose_second_round(shop: Shop, ledger: &Ledger) -> Shop {
    shop.write(1).await;
    ledger.until(30).await;
    let control = shop.bench.emulator.control();
    control.pause(Some(REGIONS[0]), None).unwrap();
    shop.write(2).await;
    ledger.until(60).await;
    assert!(control.move_writes(REGIONS[1], Failover::Forced).unwrap().lost > 0);
    control.resume(None, None).unwrap();
    let database = another_client(&shop.bench).database("d");
    Shop { notes: database.container("c"), leases: database.container("leases"), bench: shop.bench }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_goes_on_after_a_failover_that_has_lost_what_it_has_seen() {
    let shop = open().await;
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    let shop = lose_second_round(shop, &ledger).await;
    shop.write(3).await;
    ledger.until(90).await;
    shop.write(4).await;
    ledger.until(120).await;
    assert_eq!(one.estimator().lag().await.unwrap().leases.len(), 5);
    one.stop().await;
    ledger.check_order();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_goes_on_after_a_failover_that_has_lost_its_leases_too() {
    let shop = open().await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    let shop = lose_second_round(shop, &ledger).await;
    // No region has what the processor has seen of its leases, and the leases are gone.
    for lease in shop.lease_documents().await.values() {
        let id = lease["id"].as_str().unwrap();
        shop.leases.delete_item(id, id).await.unwrap();
    }
    shop.write(3).await;
    ledger.until(90).await;
    for token in 0..5 {
        events.until(&format!("LeaseRestored {{ lease: \"{token}\" }}")).await;
    }
    assert_eq!(shop.lease_documents().await.len(), 5);
    one.stop().await;
    ledger.check_order();
}
