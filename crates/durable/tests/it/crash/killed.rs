//! Processes that share a container, of which one is killed again and again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use duroxide::Client;

use super::audit::{audit, settled};
use super::ledger::Ledger;
use super::scenario::{MAIN, input_and_output};
use super::worker::{Part, Worker};
use crate::harness::{Account, Home, Server};

/// The seed of a test's choices; printed, so that they can be made again.
pub(super) fn seed() -> u64 {
    const SEED: &str = "DURABLE_CRASH_SEED";
    let seed = match std::env::var(SEED) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{SEED}: {text:?} is no number (try \"1\")")),
        Err(_) => RandomState::new().build_hasher().finish(),
    };
    println!("{SEED}={seed} makes the same choices");
    seed
}

/// Choices that follow from a seed.
pub(super) struct Choices(pub(super) u64);

impl Choices {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Waits for a moment in the middle of things: after some runs of activities, and some time.
    pub(super) async fn moment(&mut self, ledger: &Ledger) {
        ledger.grows_by(1 + self.below(20)).await;
        // Not for anything, but to be anywhere between two requests.
        crate::waiting::sleep(Duration::from_micros(self.below(10_000))).await;
    }
}

/// Starts instances of the scenario, named by numbers; gives their names and the output that they must have.
pub(super) async fn start_some(home: &Home, numbers: Range<usize>) -> (Vec<String>, String) {
    let client = Client::new(Arc::new(home.provider().await));
    let (input, output) = input_and_output(20);
    let roots: Vec<String> = numbers.map(|n| format!("root {n}")).collect();
    for root in &roots {
        client.start_orchestration(root, MAIN, &*input).await.unwrap();
    }
    (roots, output)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_killed_processes_leave_behind_another_finishes() {
    let (server, ledger) = (Server::shared(Account::OneRegion), Ledger::default());
    let home = server.home();
    let (roots, output) = start_some(&home, 0..5).await;
    let mut choices = Choices(seed());
    let start = |name: &str| Worker::start(Part::Runtime, name, server, &home, &ledger);
    let survivor = start("survivor");
    for n in 0..4 {
        let victim = start(&format!("victim {n}"));
        choices.moment(&ledger).await;
        drop(victim);
    }
    let documents = settled(&home, &roots).await;
    drop(survivor);
    audit(&documents, &ledger, &roots, &output);
}
