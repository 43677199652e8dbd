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
    /// Ask again after this time, without the session. A forced failover can have lost what the session has seen, and
    /// then no region ever has it again.
    WaitWithoutSession(Duration),
    /// Leave the lease: another instance may have more luck, or somebody has to do something.
    GiveUp,
}

/// How often in a row no region may have what the session has seen. The driver has waited for it each time.
const MOST_UNMET_SESSIONS: u32 = 2;

/// What is done when a request has failed `failures` times in a row, the last time with this error. Where the service
/// does not say how long to wait, it is `pause`.
pub(super) fn after(error: &Error, failures: u32, pause: Duration) -> AfterFailure {
    decide(error.kind(), error.retry_after(), failures, pause)
}

fn decide(kind: ErrorKind, asked: Option<Duration>, failures: u32, pause: Duration) -> AfterFailure {
    match kind {
        // It passes by itself, and another instance would be throttled too.
        ErrorKind::Throttled => AfterFailure::Wait(asked.unwrap_or(pause).max(pause)),
        ErrorKind::SessionNotAvailable if failures >= MOST_UNMET_SESSIONS => {
            AfterFailure::WaitWithoutSession(asked.unwrap_or(pause))
        }
        ErrorKind::SessionNotAvailable => AfterFailure::Wait(asked.unwrap_or(pause)),
        ErrorKind::Unavailable
        | ErrorKind::Transport
        | ErrorKind::DeadlineExceeded
        | ErrorKind::OutcomeUnknown
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
            (ErrorKind::SessionNotAvailable, None, 1, AfterFailure::Wait(pause)),
            (ErrorKind::SessionNotAvailable, None, 2, AfterFailure::WaitWithoutSession(pause)),
            (ErrorKind::NotFound, None, 1, AfterFailure::GiveUp),
            (ErrorKind::BadRequest, None, 1, AfterFailure::GiveUp),
        ] {
            assert_eq!(decide(kind, asked, failures, pause), expected, "{kind:?} {failures}");
        }
    }
}
