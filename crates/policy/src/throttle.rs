//! What the transport does by itself about a try that failed: wait and repeat a throttled one, or repeat a
//! lost one over another connection.
//!
//! It never changes the region; that is decided in `evaluate`.

#[cfg(test)]
mod tests;

use std::time::Duration;

use cosmonaut_options::{RetryLimitOptionsView, ThrottlingRetryOptionsView};
use cosmonaut_wire::{headers, mutation};
use http::HeaderMap;

use crate::backoff::backoff;
use crate::framed::{GatewayVerdict, gateway_verdict};
use crate::{Deadline, Moment, RequestSentStatus, TransportOutcome};

/// The first wait when the service does not say how long, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A lost try is repeated over another connection this often. Gateways have several nodes, so a second path
/// often works; if it does not, another region is the better choice.
pub const MAX_SHARD_RETRIES: u32 = 1;

/// What an operation remembers of its tries. The budget for throttling is the operation's, however many attempts it
/// makes; each leg of a hedged attempt continues from what was left before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThrottleRetryState {
    /// Repeats after throttling so far.
    pub attempt_count: u32,
    /// How many there may be.
    pub max_attempts: u32,
    /// Waits so far.
    pub cumulative_delay: Duration,
    /// How long they may be together.
    pub max_wait_time: Duration,
    /// By how much waits grow when the service does not say how long.
    pub backoff_factor: f64,
    /// Tries of the operation at this endpoint that got no answer.
    pub lost_tries: u32,
    /// Repeats over another connection in this attempt.
    pub shard_retry_count: u32,
    /// Whether an earlier try of this attempt may have been applied.
    pub may_have_applied: bool,
}

impl ThrottleRetryState {
    /// The state before the first try.
    pub fn from_options(
        options: &ThrottlingRetryOptionsView<'_>,
        limits: &RetryLimitOptionsView<'_>,
    ) -> Self {
        Self {
            attempt_count: 0,
            max_attempts: limits.max_throttling_retries().unwrap_or_else(|| options.max_attempts()),
            cumulative_delay: Duration::ZERO,
            max_wait_time: limits.max_throttling_wait().unwrap_or_else(|| options.max_cumulative_wait()),
            backoff_factor: options.backoff_factor(),
            lost_tries: 0,
            shard_retry_count: 0,
            may_have_applied: false,
        }
    }

    /// The state after a try that ended like this.
    #[must_use]
    pub fn after_try(&self, outcome: &TransportOutcome) -> Self {
        let is_lost = matches!(outcome, TransportOutcome::TransportError { .. });
        Self { lost_tries: self.lost_tries.saturating_add(u32::from(is_lost)), ..*self }
    }

    /// The state before the operation's next attempt: what was spent on throttling stays spent. `lost_tries` of the
    /// operation got no answer where the attempt goes.
    #[must_use]
    pub fn for_attempt(&self, lost_tries: u32) -> Self {
        Self { lost_tries, shard_retry_count: 0, may_have_applied: false, ..*self }
    }

    /// The state after an attempt of two legs: what either has spent.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        Self {
            attempt_count: self.attempt_count.max(other.attempt_count),
            cumulative_delay: self.cumulative_delay.max(other.cumulative_delay),
            ..*self
        }
    }
}

/// What the transport does after a try.
#[derive(Clone, Debug, PartialEq)]
pub enum ThrottleAction {
    /// Waits, and tries again over any connection.
    Retry {
        /// How long to wait.
        delay: Duration,
        /// The state for the next try.
        new_state: ThrottleRetryState,
    },
    /// Tries again at once, over another connection.
    RetryOnAnotherShard {
        /// The state for the next try.
        new_state: ThrottleRetryState,
    },
    /// Leaves it to the operation.
    Propagate,
}

/// A try at sending a request, with all that bears on what comes after it.
#[derive(Clone, Copy, Debug)]
pub struct TransportTry<'a> {
    /// How it ended.
    pub outcome: &'a TransportOutcome,
    /// What was known before it.
    pub state: &'a ThrottleRetryState,
    /// Whether the operation may be sent again after it may have been applied.
    pub is_idempotent: bool,
    /// Whether it went to a Gateway 2.0.
    pub is_framed: bool,
    /// When the operation must be over.
    pub deadline: Option<Deadline>,
}

/// What the transport does after a try. `chance`, from 0 to 1, spreads the waits of clients that failed
/// together.
///
/// Throttling (429, but not 429/3092, which is an outage) is waited out within the limits on number and time,
/// and within the deadline: a wait that would end after it is not begun. What a Gateway 2.0 throttles by itself is not
/// waited out, as there is REST. A lost try is repeated if it was not sent, or if the operation is idempotent.
pub fn evaluate_transport_retry(attempted: &TransportTry<'_>, now: Moment, chance: f64) -> ThrottleAction {
    match attempted.outcome {
        TransportOutcome::HttpError { status, headers, .. } if status.is_throttled() => {
            match attempted.is_framed && gateway_verdict(*status) != GatewayVerdict::Passed {
                true => ThrottleAction::Propagate,
                false => attempted.wait_out(headers, now, chance),
            }
        }
        TransportOutcome::TransportError { request_sent, .. } => {
            attempted.try_another_shard(*request_sent, now)
        }
        TransportOutcome::Success { .. }
        | TransportOutcome::HttpError { .. }
        | TransportOutcome::LocalFailure { .. }
        | TransportOutcome::DeadlineExceeded { .. } => ThrottleAction::Propagate,
    }
}

impl TransportTry<'_> {
    fn wait_out(&self, response: &HeaderMap, now: Moment, chance: f64) -> ThrottleAction {
        let state = self.state;
        let delay = retry_after(response).unwrap_or_else(|| {
            backoff(FIRST_WAIT, state.backoff_factor, LONGEST_WAIT, state.attempt_count, chance)
        });
        let cumulative_delay = state.cumulative_delay.saturating_add(delay);
        let fits = state.attempt_count < state.max_attempts
            && cumulative_delay <= state.max_wait_time
            && self.leaves_room_after(delay, now);
        if !fits {
            return ThrottleAction::Propagate;
        }
        let attempt_count = state.attempt_count + 1;
        let new_state = ThrottleRetryState { attempt_count, cumulative_delay, ..*state };
        ThrottleAction::Retry { delay, new_state }
    }

    fn try_another_shard(&self, request_sent: RequestSentStatus, now: Moment) -> ThrottleAction {
        let state = self.state;
        let is_safe = self.is_idempotent || !request_sent.may_have_arrived();
        let is_safe = is_safe || mutation!("lost-write-goes-over-another-connection");
        let fits = state.shard_retry_count < MAX_SHARD_RETRIES && self.leaves_room_after(Duration::ZERO, now);
        if !is_safe || !fits {
            return ThrottleAction::Propagate;
        }
        let new_state = ThrottleRetryState {
            shard_retry_count: state.shard_retry_count + 1,
            may_have_applied: state.may_have_applied || request_sent.may_have_arrived(),
            ..*state
        };
        ThrottleAction::RetryOnAnotherShard { new_state }
    }

    fn leaves_room_after(&self, delay: Duration, now: Moment) -> bool {
        self.deadline.is_none_or(|deadline| deadline.leaves_room_after(delay, now))
    }
}

/// How long the service asks to wait, in milliseconds with or without a fraction. What is no time reads as
/// not said; what is too long to count is as long as can be.
pub fn retry_after(response: &HeaderMap) -> Option<Duration> {
    let millis: f64 = response.get(headers::RETRY_AFTER_MS)?.to_str().ok()?.trim().parse().ok()?;
    (millis >= 0.0).then(|| Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(Duration::MAX))
}
