//! What came of one attempt, as the transport reports it.
//!
//! Only the report: what to do about it is decided in `throttle` and `evaluate`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_wire::CosmosStatus;
use http::{HeaderMap, StatusCode};

/// Whether the server may have seen a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestSentStatus {
    /// Not a byte left: sending it again cannot apply it twice.
    NotSent,
    /// All of it left.
    Sent,
    /// Nobody can tell. Treated as sent.
    Unknown,
}

impl RequestSentStatus {
    /// Whether the server may have acted on it.
    pub const fn may_have_arrived(self) -> bool {
        match self {
            Self::NotSent => false,
            Self::Sent | Self::Unknown => true,
        }
    }
}

/// The error below HTTP that ended an attempt, as its source gave it.
pub type SharedError = Arc<dyn std::error::Error + Send + Sync>;

/// How an attempt ended.
#[derive(Clone, Debug)]
pub enum TransportOutcome {
    /// The answer that was asked for: 2xx or 304.
    Success {
        /// Its status.
        status: CosmosStatus,
        /// Its headers.
        headers: HeaderMap,
        /// Its body.
        body: Bytes,
    },
    /// An answer that says no.
    HttpError {
        /// Its status.
        status: CosmosStatus,
        /// Its headers.
        headers: HeaderMap,
        /// Its body.
        body: Bytes,
    },
    /// No answer: the connection failed, or the time for one attempt was up.
    TransportError {
        /// What happened.
        error: SharedError,
        /// Whether the server may have seen the request.
        request_sent: RequestSentStatus,
    },
    /// This side failed: no credential, an answer over the client's own limit, a certificate that it does not
    /// trust. No endpoint is to blame, and no repeat would end otherwise.
    LocalFailure {
        /// What happened.
        error: SharedError,
        /// Whether the server may have seen the request.
        request_sent: RequestSentStatus,
    },
    /// The operation's deadline passed.
    DeadlineExceeded {
        /// Whether the server may have seen the request.
        request_sent: RequestSentStatus,
    },
}

/// What came of one attempt, transport retries included.
#[derive(Clone, Debug)]
pub struct TransportResult {
    /// How its last try ended.
    pub outcome: TransportOutcome,
    /// How long its last try took.
    pub latency: Duration,
    /// Whether an earlier try, or the other leg of a hedged request, may have been applied. Take it from
    /// [`ThrottleRetryState::may_have_applied`](crate::ThrottleRetryState::may_have_applied).
    pub may_have_applied_before: bool,
}

impl TransportResult {
    /// The result of a single try.
    pub fn new(outcome: TransportOutcome, latency: Duration) -> Self {
        Self { outcome, latency, may_have_applied_before: false }
    }

    /// The result of a single try that was answered.
    pub fn from_response(code: StatusCode, headers: HeaderMap, body: Bytes, latency: Duration) -> Self {
        let status = CosmosStatus::from_response(code, &headers);
        let outcome = if status.is_success() {
            TransportOutcome::Success { status, headers, body }
        } else {
            TransportOutcome::HttpError { status, headers, body }
        };
        Self::new(outcome, latency)
    }

    /// Whether it is the answer that was asked for.
    pub fn is_success(&self) -> bool {
        matches!(self.outcome, TransportOutcome::Success { .. })
    }

    /// The status and headers, if there was an answer.
    pub fn answer(&self) -> Option<(CosmosStatus, &HeaderMap)> {
        match &self.outcome {
            TransportOutcome::Success { status, headers, .. }
            | TransportOutcome::HttpError { status, headers, .. } => Some((*status, headers)),
            TransportOutcome::TransportError { .. }
            | TransportOutcome::LocalFailure { .. }
            | TransportOutcome::DeadlineExceeded { .. } => None,
        }
    }
}
