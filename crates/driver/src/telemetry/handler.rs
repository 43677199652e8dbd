//! Reports about operations that failed, were slow, expensive or large, to a handler of the application.
//!
//! Which operations those are, and how many reports are let through, is decided in `cosmonaut-policy`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmonaut_policy::{
    DiagnosticsAdmission, DiagnosticsRate, DiagnosticsReason, DiagnosticsThresholds, OperationEnding,
    OperationSummary, diagnostics_reason,
};

use super::Observed;
use crate::diagnostics::DiagnosticsContext;
use crate::error::{Error, ErrorKind};
use crate::response::CosmosResponse;

/// Hears of operations that failed, were slow, expensive or large.
///
/// It is called on the task that ran the operation, which waits for it: a handler hands on what takes time. A
/// handler that panics changes nothing for the operation. At most 100 events a minute come through, and 10
/// failures beyond those.
/// [`CosmosDriverRuntimeBuilder::diagnostics_handler`](crate::CosmosDriverRuntimeBuilder::diagnostics_handler)
/// has an example.
pub trait DiagnosticsHandler: Send + Sync + 'static {
    /// Takes note of an operation that has ended.
    fn handle(&self, event: &DiagnosticsEvent<'_>);
}

/// An operation that is worth a look.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DiagnosticsEvent<'a> {
    /// Why it is.
    pub reason: DiagnosticsReason,
    /// What was done, such as `read_item`.
    pub operation_name: &'static str,
    /// How long it took, retries and waits included.
    pub elapsed: Duration,
    /// What all attempts cost together, in request units.
    pub request_charge: f64,
    /// The size of the request's body or of the answer's, whichever is larger, in bytes.
    pub payload_bytes: u64,
    /// Every attempt.
    pub diagnostics: &'a DiagnosticsContext,
    /// What it ended in, if it has no result.
    pub error: Option<&'a Error>,
    /// How many events were dropped since the last one, because there were too many.
    pub dropped_before: u64,
}

/// Passes on to the handler what is worth it.
pub(crate) struct DiagnosticsReporter {
    handler: Arc<dyn DiagnosticsHandler>,
    /// Taken only for an operation that is worth a report.
    rate: Mutex<DiagnosticsRate>,
}

impl DiagnosticsReporter {
    pub(crate) fn new(handler: Arc<dyn DiagnosticsHandler>) -> Self {
        Self { handler, rate: Mutex::default() }
    }

    /// Reports an operation that has ended, if that is called for.
    pub(crate) fn report(&self, observed: &Observed<'_>, result: &Result<CosmosResponse, Error>) {
        let (diagnostics, error, answer) = match result {
            Ok(response) => (Some(response.diagnostics()), None, response.body()),
            Err(error) => (error.diagnostics(), Some(error), error.body()),
        };
        // An operation that was run has diagnostics, however it ended.
        let Some(diagnostics) = diagnostics else { return };
        let now = observed.core.platform.now();
        let summary = OperationSummary {
            operation: observed.operation.operation_type(),
            ending: error.map_or(OperationEnding::Completed, ending_of),
            elapsed: now.since(observed.started),
            request_charge: diagnostics.request_charge(),
            payload: observed.operation.body().len().max(answer.len()) as u64,
        };
        let options = observed.core.options.diagnostics(observed.options);
        let thresholds = DiagnosticsThresholds::from_options(&options);
        let Some(reason) = diagnostics_reason(&summary, &thresholds) else { return };
        let admission = {
            let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
            let (after, admission) = rate.admit(reason, now);
            *rate = after;
            admission
        };
        let dropped_before = match admission {
            DiagnosticsAdmission::Report { dropped_before } => dropped_before,
            DiagnosticsAdmission::Drop => return,
        };
        let event = DiagnosticsEvent {
            reason,
            operation_name: observed.name(),
            elapsed: summary.elapsed,
            request_charge: summary.request_charge,
            payload_bytes: summary.payload,
            diagnostics,
            error,
            dropped_before,
        };
        // The operation has ended: its result is not the handler's to lose.
        drop(catch_unwind(AssertUnwindSafe(|| self.handler.handle(&event))));
    }
}

/// A refused write of which it is not known whether it was applied has failed, whatever the last answer was.
fn ending_of(error: &Error) -> OperationEnding {
    match (error.kind(), error.status()) {
        (ErrorKind::OutcomeUnknown, _) | (_, None) => OperationEnding::Failed,
        (_, Some(status)) => OperationEnding::Refused(status),
    }
}
