//! What an operation may do after an attempt.

use std::time::Duration;

use crate::OperationRetryState;

/// What an operation does after an attempt. The result itself stays with the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationAction {
    /// Returns the answer.
    Complete,
    /// Tries elsewhere.
    FailoverRetry {
        /// The state for the next attempt.
        new_state: Box<OperationRetryState>,
        /// How long to wait first.
        delay: Option<Duration>,
        /// Whether no known endpoint is left untried, so that only a newer description of the account can help.
        /// The wait ends when there is one; without a delay, the next read of the account is waited for.
        awaits_account: bool,
    },
    /// Tries again because the region has not yet seen what the session has.
    SessionRetry {
        /// The state for the next attempt.
        new_state: Box<OperationRetryState>,
        /// How long to wait first.
        delay: Option<Duration>,
    },
    /// Tries again in the same place.
    RetryInPlace {
        /// The state for the next attempt.
        new_state: Box<OperationRetryState>,
        /// How long to wait first.
        delay: Option<Duration>,
    },
    /// Fetches anew what is out of date, resolves the partition again, and tries again in the same place.
    RefreshRetry {
        /// What is out of date.
        stale: StaleCache,
        /// The state for the next attempt, without a partition: the driver sets it from the new map.
        new_state: Box<OperationRetryState>,
        /// How long to wait first.
        delay: Option<Duration>,
    },
    /// Ends without the answer that was asked for.
    Abort(AbortKind),
}

/// What a client keeps that can be out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaleCache {
    /// The container: it was deleted and made again under its name. Its partition map is out of date too.
    Container,
    /// The map of its partitions: one was split or moved.
    PartitionKeyRanges,
}

/// Why an operation ends without the answer that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AbortKind {
    /// The service's answer is final. Never retried.
    FinalStatus,
    /// The last failure was worth a retry, but there have been enough.
    RetriesExhausted,
    /// The deadline has passed, or would before a retry.
    DeadlineExceeded,
    /// A write may or may not have been applied, and repeating it might apply it twice. Never retried: read
    /// the item to find out.
    OutcomeUnknown,
}
