//! What an operation did: every attempt, where it went, what came of it, and why another followed.
//!
//! Recording keeps numbers and shared pointers only; words are made when somebody looks. Keys and tokens are
//! never recorded.

mod attempt;
mod render;
#[cfg(test)]
mod tests;

use std::time::Duration;

use cosmonaut_policy::{Moment, OperationType};
use cosmonaut_wire::ResourceType;

use crate::activity_id::ActivityId;

pub use attempt::{AttemptDiagnostics, AttemptOutcome, NextStep};

/// What an operation did. Displays as one line; [`DiagnosticsContext::to_json`] has all of it.
#[derive(Clone, Debug)]
pub struct DiagnosticsContext {
    pub(crate) operation: OperationType,
    pub(crate) resource: ResourceType,
    pub(crate) activity_id: ActivityId,
    pub(crate) started: Moment,
    pub(crate) elapsed: Duration,
    pub(crate) attempts: Vec<AttemptDiagnostics>,
}

impl DiagnosticsContext {
    /// What was done.
    pub fn operation(&self) -> OperationType {
        self.operation
    }

    /// What it was done to.
    pub fn resource(&self) -> ResourceType {
        self.resource
    }

    /// The name that the driver gave the operation, as it was sent to the service.
    pub fn activity_id(&self) -> &str {
        self.activity_id.as_str()
    }

    /// How long the operation took, waits included.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Every attempt, in the order in which they were begun.
    pub fn attempts(&self) -> &[AttemptDiagnostics] {
        &self.attempts
    }

    /// What all attempts cost together, in request units, as far as that is known.
    pub fn request_charge(&self) -> f64 {
        // Not `sum`, which is -0 for no attempts.
        self.attempts.iter().filter_map(|attempt| attempt.request_charge).fold(0.0, |sum, one| sum + one)
    }

    /// Whether an attempt may have cost something that nobody knows: it was sent, and no answer came or was waited
    /// for.
    pub fn has_unknown_charge(&self) -> bool {
        self.attempts.iter().any(|attempt| match attempt.outcome {
            AttemptOutcome::Answered(_) => false,
            AttemptOutcome::Failed { sent, .. } => sent.may_have_arrived(),
            AttemptOutcome::DeadlineExceeded | AttemptOutcome::Cancelled | AttemptOutcome::LeftRunning => {
                true
            }
        })
    }

    /// Notes why what followed the last attempt did.
    pub(crate) fn conclude_last(&mut self, next: NextStep) {
        if let Some(last) = self.attempts.last_mut() {
            last.next = next;
        }
    }
}
