//! What came of an operation, as the client's diagnostics tell it.

use cosmonaut::{AttemptOutcome, DiagnosticsContext, Error, NextStep};

use super::account::REGIONS;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
    /// The region that answered, as a place in [`REGIONS`].
    pub(crate) region: Option<usize>,
    /// How often a second region was asked while the first had not answered.
    pub(crate) hedges: u64,
    /// How often it went on elsewhere.
    pub(crate) failovers: u64,
    /// How often it was repeated in the same region.
    pub(crate) retries: u64,
}

impl Outcome {
    /// Of one request, or of the several that a query makes.
    pub(crate) fn answered<'a>(diagnostics: impl IntoIterator<Item = &'a DiagnosticsContext>) -> Self {
        let mut outcome = Self::default();
        diagnostics.into_iter().for_each(|diagnostics| outcome.take(diagnostics));
        outcome
    }

    pub(crate) fn failed(error: &Error) -> Self {
        let mut outcome = Self::answered(error.diagnostics());
        let status = error.status().map(|status| format!(" {status}")).unwrap_or_default();
        outcome.failure = Some(format!("{:?}{status}", error.kind()));
        outcome.region = None;
        outcome
    }

    fn take(&mut self, diagnostics: &DiagnosticsContext) {
        for attempt in diagnostics.attempts() {
            self.count(attempt.next);
            if matches!(attempt.outcome, AttemptOutcome::Answered(status) if status.code().is_success()) {
                self.region = attempt.endpoint.region().and_then(|region| place(region.as_str()));
            }
        }
    }

    fn count(&mut self, next: NextStep) {
        match next {
            NextStep::Done => {}
            NextStep::Failover(_) => self.failovers += 1,
            NextStep::HedgeTaken | NextStep::HedgeDropped => self.hedges += 1,
            NextStep::RetryThrottled(_)
            | NextStep::RetryOnAnotherShard
            | NextStep::RetryWithNewToken
            | NextStep::RetryForSession(_)
            | NextStep::RetryInPlace(_)
            | NextStep::RetryAfterRefresh(_) => self.retries += 1,
        }
    }
}

fn place(region: &str) -> Option<usize> {
    REGIONS.iter().position(|known| *known == region)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn going_elsewhere_asking_twice_and_repeating_are_counted_apart() {
        let mut outcome = Outcome::default();
        for next in [
            NextStep::Failover(Duration::ZERO),
            NextStep::HedgeTaken,
            NextStep::HedgeDropped,
            NextStep::RetryThrottled(Duration::ZERO),
            NextStep::RetryForSession(Duration::ZERO),
            NextStep::RetryInPlace(Duration::ZERO),
            NextStep::Done,
        ] {
            outcome.count(next);
        }
        assert_eq!((outcome.failovers, outcome.hedges, outcome.retries), (1, 2, 3));
    }

    #[test]
    fn regions_are_known_by_the_names_that_the_account_has() {
        assert_eq!([place("East US"), place("North Europe"), place("Mars")], [Some(0), Some(2), None]);
    }
}
