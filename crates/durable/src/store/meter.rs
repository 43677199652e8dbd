//! What calls cost: requests and their charge.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a provider has asked of the container so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Requests that were sent, every attempt counted.
    pub requests: u64,
    /// What they cost, in request units.
    pub charge: f64,
    /// How many of them were sent once more because the service could not answer.
    pub retries: u64,
}

/// Counts; shared by all calls.
#[derive(Debug, Default)]
pub(super) struct Meter {
    requests: AtomicU64,
    /// In thousandths of a request unit.
    charge: AtomicU64,
    retries: AtomicU64,
}

impl Meter {
    /// Requests were sent once more because the service could not answer.
    pub(super) fn add_retries(&self, count: usize) {
        self.retries.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn add(&self, requests: usize, charge: f64) {
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
        self.charge.fetch_add((charge * 1000.0).round() as u64, Ordering::Relaxed);
    }

    pub(super) fn usage(&self) -> Usage {
        Usage {
            requests: self.requests.load(Ordering::Relaxed),
            charge: self.charge.load(Ordering::Relaxed) as f64 / 1000.0,
            retries: self.retries.load(Ordering::Relaxed),
        }
    }
}
