//! How a world of each kind goes on from its beginning to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cosmonaut::options::CosmosClientOptions;
use tokio::task::JoinSet;

use super::{BOUND, World};
use crate::faults;
use crate::feeds::Reader;
use crate::history::FeedKind;
use crate::host;
use crate::orchestrations::{LOCK, Starter};
use crate::plan::{ClientPlan, FIRST_PROCESSOR};

impl World {
    pub(super) async fn live_with_items(&self) {
        self.make_container().await;
        let is_over = Arc::<AtomicBool>::default();
        let readers = self.start_readers(&is_over).await;
        self.start_processors();
        for client in self.0.plan.clients.clone() {
            self.start_client(&client, client.calls);
        }
        self.let_faults_happen().await;
        self.wait_for_clients().await;
        self.heal().await;
        self.try_everybody().await;
        self.settle().await;
        is_over.store(true, Ordering::Relaxed);
        for mut reader in readers.join_all().await {
            self.catch_up(&mut reader).await;
            reader.is_drained();
        }
        self.drain_processors().await;
        self.read_all().await;
    }

    pub(super) async fn live_with_orchestrations(&self) {
        let process = self.process(200, 0);
        let client = self.client(&process, CosmosClientOptions::default());
        let (recorder, random) = (&self.0.recorder, self.0.random.fork("starter"));
        let starter = Starter::connect(&client, recorder, &random).await;
        self.settle().await;
        for client in self.0.plan.clients.clone() {
            self.start_client(&client, 0);
        }
        let starting = async {
            for nth in 0..self.0.plan.orchestrations {
                starter.start(nth).await;
                self.sleep(Duration::from_millis(random.between(0, 2000))).await;
            }
        };
        tokio::join!(starting, self.let_faults_happen());
        self.heal().await;
        for client in &self.0.plan.clients {
            self.start_again(client.id);
        }
        let end = host::now() + BOUND.as_micros() as u64;
        while !starter.look().await && host::now() < end {
            self.sleep(Duration::from_millis(500)).await;
        }
        // What came late has come now.
        self.sleep(LOCK).await;
        starter.ask_again().await;
        for entry in &mut recorder.lock().ledger {
            // Nobody here knows who lost a lock; near anything that is wrong, some may have.
            entry.disturbed = self.is_near_trouble(entry.at, 3 * LOCK, 4 * LOCK);
        }
    }

    pub(super) async fn let_faults_happen(&self) {
        let mut tasks = JoinSet::new();
        for fault in self.0.plan.faults.clone() {
            let world = self.clone();
            tasks.spawn(async move { faults::happen(&world, &fault).await });
        }
        // If a fault cannot be done, as when the server does not start again, the world ends with it.
        tasks.join_all().await;
    }

    /// After the last fault every client can do everything again: those that lived through all of it, in the sessions that
    /// they have, and then new ones.
    pub(super) async fn try_everybody(&self) {
        let patient =
            |client: &ClientPlan| ClientPlan { timeout: BOUND.as_millis() as u64, ..client.clone() };
        for client in &self.0.plan.clients {
            self.go_on(&patient(client), 5, false);
        }
        self.wait_for_clients().await;
        for client in &self.0.plan.clients {
            self.start_client(&patient(client), 5);
        }
        self.wait_for_clients().await;
        if self.0.plan.multi_write {
            // A session that has seen what two regions wrote last is answered when each has heard of the other.
            self.settle().await;
            for client in &self.0.plan.clients {
                self.go_on(&patient(client), 3, true);
            }
            self.wait_for_clients().await;
        }
    }

    /// Reads a feed until there is nothing more.
    pub(super) async fn catch_up(&self, reader: &mut Reader) {
        let end = host::now() + BOUND.as_micros() as u64;
        while host::now() < end {
            if reader.catch_up().await {
                return;
            }
            self.renew(reader);
            self.sleep(Duration::from_millis(10)).await;
        }
        panic!("the change feed has no end: {:?}", reader.failed().map(ToString::to_string));
    }

    /// Gives the processor time to come to its end.
    pub(super) async fn drain_processors(&self) {
        if self.0.plan.processors == 0 {
            return;
        }
        for nth in 0..self.0.plan.processors {
            self.start_again(FIRST_PROCESSOR + nth);
        }
        self.sleep(BOUND).await;
        let mut history = self.0.recorder.lock();
        history.feeds.iter_mut().filter(|feed| feed.kind == FeedKind::Processor).for_each(|feed| {
            feed.drained = true;
        });
    }
}
