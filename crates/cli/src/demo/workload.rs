//! The callers of the shop: some read, some write, some query, each at its own pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cosmonaut::options::QueryOptions;
use cosmonaut::{ContainerClient, FeedScope, ItemResponse, Patch, RawItem};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::account::{COUNTERS, counter};
use super::ledger::{Answer, Ledger};
use super::meter::{Kind, Meter};
use super::outcome::Outcome;
use crate::runtime;

/// How many callers there are of a kind, and how often each calls at most.
const READERS: (u64, Duration) = (40, Duration::from_millis(40));
const WRITERS: (u64, Duration) = (10, Duration::from_millis(50));
const QUERIERS: (u64, Duration) = (4, Duration::from_millis(100));

/// The load, for a report.
pub(crate) fn in_words() -> String {
    let every = |(count, pace): (u64, Duration)| {
        format!("{count} callers, each at most every {} ms", pace.as_millis())
    };
    format!(
        "Items were read by {}; written by {}, in turns a new item and an addition to one that is there; and the latest \
         orders of all partitions queried by {}. Four times a second a durable orchestration was started: activities, a \
         timer, and an orchestration below it.",
        every(READERS),
        every(WRITERS),
        every(QUERIERS)
    )
}

/// What callers share.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) to_read: ContainerClient,
    pub(crate) to_write: ContainerClient,
    pub(crate) meter: Arc<Meter>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Workload {
    /// Starts all callers. They end once they are told to stop and what they have begun is answered.
    pub(crate) fn start(&self) -> Vec<JoinHandle<()>> {
        let mut callers = Vec::new();
        for (kind, (count, pace)) in [(Kind::Read, READERS), (Kind::Write, WRITERS), (Kind::Query, QUERIERS)]
        {
            for caller in 0..count {
                callers.push(runtime::spawn(self.clone().call(kind, pace, caller)));
            }
        }
        callers
    }

    async fn call(self, kind: Kind, pace: Duration, caller: u64) {
        let mut due = tokio::time::interval(pace);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for turn in 0.. {
            due.tick().await;
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let started = self.meter.elapsed();
            let outcome = match kind {
                // Primes, so that callers do not follow each other around.
                Kind::Read => self.read((caller * 31 + turn * 7) % COUNTERS).await,
                Kind::Write => self.write().await,
                Kind::Query => self.query().await,
            };
            self.meter.note(kind, started, outcome);
        }
    }

    async fn read(&self, number: u64) -> Outcome {
        let id = counter(number);
        match self.to_read.read_item::<RawItem>(&*id, &id, None).await {
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
        self.to_write.create_item(&*id, item, None).await
    }

    /// A change that cannot be repeated without harm.
    async fn count(&self, number: u64) -> cosmonaut::Result<ItemResponse> {
        let id = counter(number);
        self.to_write.patch_item(&*id, &id, Patch::new().add("/applied/-", number), None).await
    }

    /// The latest orders, from all partitions.
    async fn query(&self) -> Outcome {
        let text = "SELECT TOP 20 c.id, c.number FROM c WHERE IS_DEFINED(c.number) ORDER BY c.number DESC";
        let options = QueryOptions::default().max_item_count(20);
        let mut pages =
            self.to_read.query_items::<Value>(text, FeedScope::Container, Some(options)).into_pages();
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
