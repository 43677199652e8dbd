//! Why a request ended without success, as the provider tells failures apart.

use cosmonaut::{AttemptOutcome, DiagnosticsContext, Error, ErrorKind};
use duroxide::providers::ProviderError;

use super::Call;

/// What a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// There is no such document.
    NotFound,
    /// There is such a document already.
    Conflict,
    /// The document is not as the condition says.
    Condition,
    /// It may work later, and was tried until the call's time was over.
    Transient,
    /// It will not work.
    Permanent,
}

impl Cause {
    pub(super) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::PreconditionFailed => Self::Condition,
            ErrorKind::Throttled
            | ErrorKind::SessionNotAvailable
            | ErrorKind::Unavailable
            | ErrorKind::DeadlineExceeded
            | ErrorKind::OutcomeUnknown
            | ErrorKind::Transport
            | ErrorKind::Credential
            // The key was made anew, and this process is told later. It is no fault of the turn that is to be committed.
            | ErrorKind::Unauthorized => Self::Transient,
            // The client's kinds may grow; what is not known is not repeated.
            ErrorKind::Configuration
            | ErrorKind::Serialization
            | ErrorKind::Query
            | ErrorKind::NotModified
            | ErrorKind::Forbidden
            | ErrorKind::BadRequest
            | ErrorKind::TooLarge
            | ErrorKind::Status
            | ErrorKind::InvalidResponse
            | _ => Self::Permanent,
        }
    }
}

/// A request that ended without success, after all repeats.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    error: Error,
    /// An earlier attempt may have been applied, and this failure may be its effect.
    maybe_applied: bool,
}

impl Failure {
    pub(super) fn new(error: Error, maybe_applied: bool) -> Self {
        Self { error, maybe_applied }
    }

    pub(crate) fn cause(&self) -> Cause {
        Cause::of(self.error.kind())
    }

    pub(crate) fn maybe_applied(&self) -> bool {
        self.maybe_applied
    }

    /// Which write of a batch failed, from 0.
    pub(crate) fn index(&self) -> Option<usize> {
        self.error.batch_failure().map(cosmonaut::BatchFailure::index)
    }

    /// The failure as the runtime gets it.
    pub(crate) fn into_error(self, call: &Call) -> ProviderError {
        let message = self.error.to_string();
        match self.cause() {
            // Another process was faster: a repeat sees what it has done.
            Cause::Transient | Cause::Conflict | Cause::Condition => {
                ProviderError::retryable(call.operation(), message)
            }
            Cause::NotFound | Cause::Permanent => ProviderError::permanent(call.operation(), message),
        }
    }
}

/// Whether one of the attempts of a request that failed may have been applied.
pub(super) fn maybe_applied(error: &Error) -> bool {
    // Nothing is sent without attempts.
    let attempts = error.diagnostics().map(DiagnosticsContext::attempts).unwrap_or_default();
    matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::DeadlineExceeded)
        || attempts.iter().any(|attempt| is_uncertain(attempt.outcome))
}

/// Whether a write whose attempt ended like this may have been applied, although the write failed.
fn is_uncertain(outcome: AttemptOutcome) -> bool {
    match outcome {
        AttemptOutcome::Answered(status) => match status.code().as_u16() {
            // A transaction that was refused: nothing of it was applied.
            207 => false,
            // Of other successes the answer cannot be read.
            code => matches!(code, 200..=299 | 408 | 500..=599),
        },
        AttemptOutcome::Failed { sent, .. } => sent.may_have_arrived(),
        AttemptOutcome::DeadlineExceeded | AttemptOutcome::Cancelled | AttemptOutcome::LeftRunning => true,
    }
}

#[cfg(test)]
mod tests {
    use cosmonaut::CosmosStatus;
    use http::StatusCode;

    use super::*;

    #[test]
    fn what_is_no_fault_of_the_request_is_repeated() {
        for (kind, cause) in [
            (ErrorKind::Unauthorized, Cause::Transient),
            (ErrorKind::Credential, Cause::Transient),
            (ErrorKind::Throttled, Cause::Transient),
            (ErrorKind::BadRequest, Cause::Permanent),
            (ErrorKind::TooLarge, Cause::Permanent),
        ] {
            assert_eq!(Cause::of(kind), cause, "{kind:?}");
        }
    }

    #[test]
    fn what_was_refused_is_not_applied() {
        for (status, maybe) in [
            (CosmosStatus::WRITE_FORBIDDEN, false),
            (CosmosStatus::READ_SESSION_NOT_AVAILABLE, false),
            (CosmosStatus::TOO_MANY_REQUESTS, false),
            (CosmosStatus::new(StatusCode::UNAUTHORIZED, 0), false),
            (CosmosStatus::new(StatusCode::PRECONDITION_FAILED, 0), false),
            (CosmosStatus::new(StatusCode::GONE, 1002), false),
            (CosmosStatus::new(StatusCode::MULTI_STATUS, 0), false),
            (CosmosStatus::new(StatusCode::CREATED, 0), true),
            (CosmosStatus::new(StatusCode::REQUEST_TIMEOUT, 0), true),
            (CosmosStatus::SERVICE_UNAVAILABLE, true),
        ] {
            assert_eq!(is_uncertain(AttemptOutcome::Answered(status)), maybe, "{status:?}");
        }
        assert!(is_uncertain(AttemptOutcome::DeadlineExceeded));
    }
}
