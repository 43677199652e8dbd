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

/// Two rounds of notes, and a failover that loses the second with all that was written to leases since. The first is lost
/// too if replication is paused already.
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
async fn a_processor_goes_on_after_a_failover_that_has_lost_its_leases_and_not_their_marker() {
    let shop = open().await;
    let (ledger, events) = (Ledger::default(), Events::default());
    ledger.start("one", shop.processor()).await.stop().await;
    for lease in shop.lease_documents().await.values() {
        let id = lease["id"].as_str().unwrap();
        shop.leases.delete_item(id, id).await.unwrap();
    }
    // The next region has the marker, and never gets the leases that are made now.
    let control = shop.bench.emulator.control();
    control.pause(Some(REGIONS[0]), None).unwrap();
    let two = ledger.start("two", shop.processor().on_event(events.listener())).await;
    let shop = lose_second_round(shop, &ledger).await;
    shop.write(3).await;
    ledger.until(90).await;
    assert_eq!(shop.lease_documents().await.len(), 5);
    two.stop().await;
    let restored = events.all().iter().filter(|event| event.contains("LeaseRestored")).count();
    assert_eq!(restored, 10, "once before the failover, and once behind it");
}
