//! What a reader does when a request has failed: wait and ask again, or give its lease up.

use std::time::Duration;

use crate::{Error, ErrorKind};

/// How often in a row a request may fail before the lease is left to another instance.
pub(super) const MOST_FAILURES: u32 = 5;

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailure {
    /// Ask again after this time. The lease is kept.
    Wait(Duration),
    /// Leave the lease: another instance may have more luck, or somebody has to do something.
    GiveUp,
}

/// What is done when a request has failed `failures` times in a row, the last time with this error. Where the service
/// does not say how long to wait, it is `pause`.
pub(super) fn after(error: &Error, failures: u32, pause: Duration) -> AfterFailure {
    decide(error.kind(), error.retry_after(), failures, pause)
}

fn decide(kind: ErrorKind, asked: Option<Duration>, failures: u32, pause: Duration) -> AfterFailure {
    match kind {
        // It passes by itself, and another instance would be throttled too.
        ErrorKind::Throttled => AfterFailure::Wait(asked.unwrap_or(pause).max(pause)),
        ErrorKind::Unavailable
        | ErrorKind::Transport
        | ErrorKind::DeadlineExceeded
        | ErrorKind::OutcomeUnknown
        | ErrorKind::SessionNotAvailable
        | ErrorKind::Credential => {
            if failures < MOST_FAILURES {
                AfterFailure::Wait(asked.unwrap_or(pause))
            } else {
                AfterFailure::GiveUp
            }
        }
        ErrorKind::Configuration
        | ErrorKind::Serialization
        | ErrorKind::Query
        | ErrorKind::NotModified
        | ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::BadRequest
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::PreconditionFailed
        | ErrorKind::TooLarge
        | ErrorKind::Status
        | ErrorKind::InvalidResponse => AfterFailure::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_waited_for_and_the_rest_is_given_up() {
        let (pause, long) = (Duration::from_secs(5), Duration::from_secs(9));
        for (kind, asked, failures, expected) in [
            (ErrorKind::Throttled, None, 1, AfterFailure::Wait(pause)),
            (ErrorKind::Throttled, Some(long), 50, AfterFailure::Wait(long)),
            (ErrorKind::Throttled, Some(Duration::ZERO), 1, AfterFailure::Wait(pause)),
            (ErrorKind::Unavailable, None, 1, AfterFailure::Wait(pause)),
            (ErrorKind::Unavailable, None, 5, AfterFailure::GiveUp),
            (ErrorKind::Transport, None, 4, AfterFailure::Wait(pause)),
            (ErrorKind::NotFound, None, 1, AfterFailure::GiveUp),
            (ErrorKind::BadRequest, None, 1, AfterFailure::GiveUp),
        ] {
            assert_eq!(decide(kind, asked, failures, pause), expected, "{kind:?} {failures}");
        }
    }
}
