//! A forced failover that loses what the processor has read, and what it has written to its leases.

use cosmonaut::ContainerProperties;
use cosmonaut_emulator::Emulator;
use cosmonaut_emulator::Failover;

use super::harness::{Ledger, Shop, another_client};
use crate::harness::{Bench, REGIONS, speaking};
use crate::partitioned::{FIVE, container};

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_goes_on_after_a_failover_that_has_lost_what_it_has_seen() {
    let emulator = Emulator::builder().regions(REGIONS);
    let bench = Bench::with(emulator, speaking(cosmonaut::options::HttpProtocol::Negotiated)).await;
    let notes = container(&bench, "c", FIVE).await;
    let leases = bench.container_as(ContainerProperties::new("leases", "/id")).await;
    let mut shop = Shop { bench, notes, leases };
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    shop.write(1).await;
    ledger.until(30).await;
    let control = shop.bench.emulator.control();
    control.pause(Some(REGIONS[0]), None).unwrap();
    shop.write(2).await;
    ledger.until(60).await;
    assert!(control.move_writes(REGIONS[1], Failover::Forced).unwrap().lost > 0);
    control.resume(None, None).unwrap();

    // Whoever writes now has not seen what was lost.
    shop.notes = another_client(&shop.bench).database("d").container("c");
    shop.write(3).await;
    ledger.until(90).await;
    shop.write(4).await;
    ledger.until(120).await;
    assert_eq!(one.estimator().lag().await.unwrap().leases.len(), 5);
    one.stop().await;
    ledger.check_order();
}
