//! Which regions answered, by what the client says about its requests.

use cosmonaut::{AttemptOutcome, DiagnosticsContext};

/// The region of every attempt that was answered, in order.
pub(crate) fn regions(context: &DiagnosticsContext) -> impl Iterator<Item = &str> {
    let answered =
        context.attempts().iter().filter(|attempt| matches!(attempt.outcome, AttemptOutcome::Answered(_)));
    answered.filter_map(|attempt| attempt.endpoint.region()).map(|region| region.as_str())
}
