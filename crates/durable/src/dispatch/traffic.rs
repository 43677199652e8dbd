//! What goes on in the background has cost.

use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut::DiagnosticsContext;

/// Counts requests and their charge.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: AtomicU64,
    /// In thousandths of a request unit.
    charge: AtomicU64,
    retries: AtomicU64,
}

impl Traffic {
    /// How many requests were sent.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// How many were sent once more because the service could not answer.
    pub(crate) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// What they cost, in request units.
    pub(crate) fn charge(&self) -> f64 {
        self.charge.load(Ordering::Relaxed) as f64 / 1000.0
    }

    pub(super) fn add<'a>(&self, diagnostics: impl IntoIterator<Item = &'a DiagnosticsContext>, charge: f64) {
        for context in diagnostics {
            let requests = context.attempts().len() as u64;
            self.requests.fetch_add(requests, Ordering::Relaxed);
            self.retries.fetch_add(requests.saturating_sub(1), Ordering::Relaxed);
        }
        self.charge.fetch_add((charge * 1000.0) as u64, Ordering::Relaxed);
    }

    /// What a request has cost that failed.
    pub(super) fn add_failed(&self, error: &cosmonaut::Error) {
        self.add(error.diagnostics(), error.diagnostics().map_or(0.0, DiagnosticsContext::request_charge));
    }
}
