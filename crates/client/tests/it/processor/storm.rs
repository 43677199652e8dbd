//! Instances come, go, are killed and fail while partitions split: in an order that a seed decides.
//!
//! `PROCESSOR_SEED=7 cargo test -p cosmonaut --test it -- processor::storm` runs another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut::{ChangeFeedProcessor, Changes};

use super::harness::{Ledger, Note, Shop, another_client, pause, quick};
use crate::partitioned::split;

/// Random numbers that are the same for the same seed.
#[derive(Clone)]
struct Dice(Arc<AtomicU64>);

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        // SplitMix64.
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % sides
    }
}

/// Starts an instance as a process of its own would: with its own client. One page in eight fails.
async fn start(shop: &Shop, ledger: &Ledger, dice: &Dice, name: String) -> ChangeFeedProcessor {
    let database = another_client(&shop.bench).database("d");
    let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
    let builder =
        quick(builder).lease_expiry(Duration::from_secs(1)).renew_interval(Duration::from_millis(200));
    let (ledger, dice, instance) = (ledger.clone(), dice.clone(), name.clone());
    let handler = move |changes: Changes<Note>| {
        let fails = dice.roll(8) == 0;
        if !fails {
            ledger.add(&instance, changes);
        }
        async move { if fails { Err("bad luck".into()) } else { Ok(()) } }
    };
    builder.instance_name(&name).start(handler).await.unwrap()
}

async fn storm(seed: u64) {
    println!("PROCESSOR_SEED={seed} cargo test -p cosmonaut --test it -- processor::storm");
    let (shop, ledger, dice) = (Shop::open().await, Ledger::default(), Dice(Arc::new(AtomicU64::new(seed))));
    let mut running = Vec::new();
    let (mut written, mut splits) = (0, 0);
    for step in 0..40 {
        match dice.roll(10) {
            0..=2 if running.len() < 4 => {
                running.push(start(&shop, &ledger, &dice, format!("instance {step}")).await);
            }
            0..=3 if !running.is_empty() => {
                running.swap_remove(dice.roll(running.len() as u64) as usize).stop().await;
            }
            4 if !running.is_empty() => drop(running.swap_remove(dice.roll(running.len() as u64) as usize)),
            5 if splits < 6 => {
                split(&shop.bench, "c", dice.roll(20) as usize);
                splits += 1;
            }
            6..=8 => {
                written += 1;
                shop.write(written).await;
            }
            _ => pause().await,
        }
    }
    written += 1;
    shop.write(written).await;
    running.push(start(&shop, &ledger, &dice, "last".to_owned()).await);
    ledger.until(30 * written as usize).await;
    for processor in running {
        processor.stop().await;
    }
    ledger.check_order();
    assert_eq!(ledger.counts().len(), 30 * written as usize);
    assert!(shop.lease_documents().await.len() >= 5 + splits);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_or_overtaken_in_a_storm() {
    match std::env::var("PROCESSOR_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => storm(seed).await,
        None => {
            for seed in [1, 2, 3] {
                storm(seed).await;
            }
        }
    }
}
