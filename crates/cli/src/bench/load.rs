//! The load: workers that do one operation after the other, as fast as they can or at a given rate.
//!
//! At a rate, each operation has its time. One that starts late, because those before it took long, is measured
//! from when it was due, so that a slow answer counts for everything that had to wait for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::mix::Mix;
use super::tally::Tally;
use super::target::Target;
use crate::runtime;

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// As soon as a worker has nothing else to do.
    Closed,
    /// So many in a second, whether or not those before have ended.
    Open(f64),
}

/// A load that is being put on a target.
pub(super) struct Load {
    target: Arc<Target>,
    mix: Mix,
    pace: Pace,
    began: Instant,
    /// From when on operations count.
    pub(super) counted_from: Instant,
    pub(super) ends: Instant,
    next: AtomicU64,
    started: AtomicU64,
    tally: Mutex<Tally>,
}

impl Load {
    pub(super) fn new(target: Arc<Target>, mix: Mix, pace: Pace, warm_up: Duration, time: Duration) -> Self {
        let began = runtime::now();
        let counted_from = began + warm_up;
        Self {
            target,
            mix,
            pace,
            began,
            counted_from,
            ends: counted_from + time,
            next: AtomicU64::new(0),
            started: AtomicU64::new(0),
            tally: Mutex::new(Tally::new()),
        }
    }

    /// Starts the workers. They end when the time is up, or when they are told to; what is under way is done first,
    /// so that nothing is written behind the back of whoever cleans up.
    pub(super) fn start(
        self: &Arc<Self>,
        workers: usize,
        stopped: &watch::Receiver<bool>,
    ) -> Vec<JoinHandle<()>> {
        let worker = |_| {
            let (load, stopped) = (Arc::clone(self), stopped.clone());
            runtime::spawn(async move { load.work(stopped).await })
        };
        (0..workers).map(worker).collect()
    }

    async fn work(&self, mut stopped: watch::Receiver<bool>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let due = match self.pace {
                Pace::Closed => runtime::now(),
                Pace::Open(rate) => self.due(number, rate),
            };
            // What is left of warming up when that is over would only stand before what is counted.
            if due < self.counted_from && runtime::now() >= self.counted_from {
                self.skip_warm_up();
                continue;
            }
            // What was due in time but comes too late is not started, and counted as that.
            if due >= self.ends || runtime::now() >= self.ends {
                return;
            }
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = runtime::sleep_until(due) => {}
            }
            if due >= self.counted_from {
                self.started.fetch_add(1, Ordering::Relaxed);
            }
            let (kind, choice) = self.mix.choose(number);
            let result = self.target.run(kind, choice).await;
            let latency = runtime::now().saturating_duration_since(due);
            if due >= self.counted_from {
                self.locked().record(kind, latency, result);
            }
        }
    }

    fn skip_warm_up(&self) {
        if let Pace::Open(rate) = self.pace {
            self.next.fetch_max(self.due_before(self.counted_from, rate), Ordering::Relaxed);
        }
    }

    /// How many operations are due before a time, at a rate.
    fn due_before(&self, time: Instant, rate: f64) -> u64 {
        (time.saturating_duration_since(self.began).as_secs_f64() * rate).ceil() as u64
    }

    /// When an operation is to start, at a rate.
    fn due(&self, number: u64, rate: f64) -> Instant {
        let after = Duration::try_from_secs_f64(number as f64 / rate).unwrap_or(Duration::MAX);
        self.began.checked_add(after).unwrap_or(self.ends)
    }

    /// How many operations that count were due until `until` and have not been started.
    pub(super) fn not_started(&self, until: Instant) -> u64 {
        match self.pace {
            Pace::Closed => 0,
            Pace::Open(rate) => {
                let due = self.due_before(until.min(self.ends), rate);
                let counted = due.saturating_sub(self.due_before(self.counted_from, rate));
                counted.saturating_sub(self.started.load(Ordering::Relaxed))
            }
        }
    }

    /// What has come of it so far.
    pub(super) fn tally(&self) -> Tally {
        self.locked().clone()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Tally> {
        // A tally is whole after every record, whoever panicked beside it.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
