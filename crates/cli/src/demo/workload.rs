//! The load on the shop: reads, writes and queries, each due at its time whatever became of those before it.
//!
//! A caller that waits for an answer before it calls again would call less while the account fails, and so hide how
//! many were kept waiting.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, FeedScope, ItemResponse, Patch, RawItem};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle, JoinSet};

use super::account::counter;
use super::ledger::{Answer, Ledger};
use super::meter::{Kind, Meter};
use super::outcome::Outcome;
use crate::runtime;

/// A build without optimization is offered less: it could not carry out more.
const EASE: u32 = if cfg!(debug_assertions) { 5 } else { 1 };

/// How often an operation of a kind is due, and how many of them may be under way.
#[derive(Clone, Copy)]
struct Load {
    pace: Duration,
    most: u32,
}

impl Load {
    fn of(kind: Kind) -> Self {
        let (pace, most) = match kind {
            Kind::Read => (2, 1_024),
            Kind::Write => (10, 256),
            Kind::Query => (50, 64),
        };
        Self { pace: Duration::from_millis(pace) * EASE, most }
    }

    /// When the operation with that number is due if the first one is at `begin`.
    fn due(&self, begin: Duration, number: u32) -> Duration {
        begin + self.pace * number
    }

    fn in_words(&self) -> String {
        format!("every {} ms", self.pace.as_millis())
    }
}

/// The load, for a report.
pub(crate) fn in_words() -> String {
    let [reads, writes, queries] = Kind::ALL.map(Load::of);
    format!(
        "An item was read {}; one was written {}, in turns a new item and an addition to one that is there; and the \
         latest orders of all partitions were queried {}. Each began when it was due, whatever became of those before \
         it, up to {}, {} and {} at once; latency counts from when it was due. Four times a second a durable \
         orchestration was started: activities, a timer, and an orchestration below it.",
        reads.in_words(),
        writes.in_words(),
        queries.in_words(),
        reads.most,
        writes.most,
        queries.most,
    )
}

/// What all operations share.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) to_read: ContainerClient,
    pub(crate) to_write: ContainerClient,
    pub(crate) meter: Arc<Meter>,
    pub(crate) ledger: Arc<Ledger>,
}

impl Workload {
    /// Starts the load. It ends once the run is over and all that was due until then is answered.
    pub(crate) fn start(&self) -> Vec<JoinHandle<Result<(), JoinError>>> {
        Kind::ALL.map(|kind| runtime::spawn(self.clone().offer(kind))).into()
    }

    /// Starts each operation when it is due, or as soon after that as the bound allows.
    async fn offer(self, kind: Kind) -> Result<(), JoinError> {
        let (load, begin) = (Load::of(kind), self.meter.elapsed());
        let room = Arc::new(Semaphore::new(load.most as usize));
        let mut under_way = JoinSet::new();
        for number in 0.. {
            let due = load.due(begin, number);
            let early = due.saturating_sub(self.meter.elapsed());
            // A sleep of no time would still last until the timer's next tick, and nothing late could be caught up.
            if !early.is_zero() {
                runtime::sleep(early).await;
            }
            if self.meter.is_over_at(due) {
                break;
            }
            let place = Arc::clone(&room).acquire_owned().await.expect("nobody closes it");
            while let Some(ended) = under_way.try_join_next() {
                ended?;
            }
            let this = self.clone();
            under_way.spawn(async move {
                let outcome = this.perform(kind, number).await;
                this.meter.note(kind, due, outcome);
                drop(place);
            });
        }
        while let Some(ended) = under_way.join_next().await {
            ended?;
        }
        Ok(())
    }

    async fn perform(&self, kind: Kind, number: u32) -> Outcome {
        match kind {
            // A prime, so that neighbours are of different partitions.
            Kind::Read => self.read(u64::from(number) * 31).await,
            Kind::Write => self.write().await,
            Kind::Query => self.query().await,
        }
    }

    async fn read(&self, number: u64) -> Outcome {
        let id = counter(number);
        match self.to_read.read_item::<RawItem>(&*id, &id).await {
            Ok(read) => Outcome::answered([read.diagnostics()]),
            Err(error) => Outcome::failed(&error),
        }
    }

    async fn write(&self) -> Outcome {
        let number = self.ledger.number();
        let written =
            if number.is_multiple_of(2) { self.order(number).await } else { self.count(number).await };
        match written {
            Ok(written) => {
                self.ledger.note(number, Answer::Acknowledged);
                Outcome::answered([written.diagnostics()])
            }
            Err(error) => {
                self.ledger.note(number, Answer::of_error(&error));
                Outcome::failed(&error)
            }
        }
    }

    /// A new item.
    async fn order(&self, number: u64) -> cosmonaut::Result<ItemResponse> {
        let id = format!("order-{number}");
        let item = json!({"id": id, "key": id, "number": number, "note": "x".repeat(200)});
        self.to_write.create_item(&*id, item).await
    }

    /// A change that cannot be repeated without harm.
    async fn count(&self, number: u64) -> cosmonaut::Result<ItemResponse> {
        let id = counter(number);
        self.to_write.patch_item(&*id, &id, Patch::new().add("/applied/-", number)).await
    }

    /// The latest orders, from all partitions.
    async fn query(&self) -> Outcome {
        let text = "SELECT TOP 20 c.id, c.number FROM c WHERE IS_DEFINED(c.number) ORDER BY c.number DESC";
        let options = FeedOptions::default().max_item_count(20);
        let mut pages =
            self.to_read.query_items::<Value>(text, FeedScope::Container).options(options).into_pages();
        let mut diagnostics = Vec::new();
        while let Some(page) = pages.next().await {
            match page {
                Ok(page) => diagnostics.extend(page.diagnostics),
                Err(error) => return Outcome::failed(&error),
            }
        }
        Outcome::answered(&diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_due_at_a_steady_pace_from_the_beginning() {
        for kind in Kind::ALL {
            let load = Load::of(kind);
            let begin = Duration::from_millis(7);
            assert_eq!([load.due(begin, 0), load.due(begin, 3)], [begin, begin + load.pace * 3], "{kind:?}");
            assert!(load.pace * load.most >= Duration::from_secs(2), "{kind:?}: room for a stall of seconds");
        }
    }
}
