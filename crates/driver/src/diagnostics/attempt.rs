//! One attempt, as it is recorded.

use std::time::Duration;

use cosmonaut_policy::{CosmosEndpoint, ExecutionContext, Moment, RequestSentStatus};
use cosmonaut_wire::CosmosStatus;
use http::HeaderValue;

use crate::transport::{HttpVersion, Timeline, TransportErrorKind};

/// One attempt.
#[derive(Clone, Debug)]
pub struct AttemptDiagnostics {
    /// Why it was made.
    pub context: ExecutionContext,
    /// Where it went.
    pub endpoint: CosmosEndpoint,
    /// Whether that is a region's Gateway 2.0, and it went there as a frame.
    pub framed: bool,
    /// Whether its partition was served from elsewhere than its account.
    pub partition_override: bool,
    /// What it was sent over; `None` if it came to no connection.
    pub protocol: Option<HttpVersion>,
    /// Which connection, for HTTP/2.
    pub shard: Option<u64>,
    /// When it began.
    pub started: Moment,
    /// How long it took.
    pub latency: Duration,
    /// When its parts were over.
    pub timeline: Timeline,
    /// What came of it.
    pub outcome: AttemptOutcome,
    /// What it cost, in request units; `None` if that is not known, because no answer came or nobody waited for it.
    pub request_charge: Option<f64>,
    /// How many bytes the body of the answer had.
    pub response_bytes: usize,
    /// How long the service says it took.
    pub service_latency: Option<HeaderValue>,
    /// What the driver did next, and so why.
    pub next: NextStep,
}

impl AttemptDiagnostics {
    /// An attempt that was left before it was answered.
    pub(crate) fn without_answer(
        context: ExecutionContext,
        (endpoint, framed): (CosmosEndpoint, bool),
        (started, latency): (Moment, Duration),
        outcome: AttemptOutcome,
    ) -> Self {
        Self {
            context,
            endpoint,
            framed,
            partition_override: false,
            protocol: None,
            shard: None,
            started,
            latency,
            timeline: Timeline::default(),
            outcome,
            request_charge: None,
            response_bytes: 0,
            service_latency: None,
            next: NextStep::Done,
        }
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// An answer.
    Answered(CosmosStatus),
    /// None.
    Failed {
        /// What went wrong; `None` if it was not the transport.
        kind: Option<TransportErrorKind>,
        /// Whether the service may have seen it.
        sent: RequestSentStatus,
    },
    /// The operation's time was up.
    DeadlineExceeded,
    /// Another leg of a hedged attempt answered first, and this one was given up.
    Cancelled,
    /// Another leg of a hedged write answered first. This one may still be applied; the driver's next write with the
    /// same partition key waits until it is over.
    LeftRunning,
}

/// What followed an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing: the operation ended with it.
    Done,
    /// A repeat after a wait, as the service throttled it.
    RetryThrottled(Duration),
    /// A repeat at once over another connection.
    RetryOnAnotherShard,
    /// A repeat with a new token, as the service has revoked the old one.
    RetryWithNewToken,
    /// A repeat elsewhere.
    Failover(Duration),
    /// A repeat because the region had not yet seen what the session has.
    RetryForSession(Duration),
    /// A repeat in the same place.
    RetryInPlace(Duration),
    /// A repeat after what was out of date had been fetched anew.
    RetryAfterRefresh(Duration),
    /// Another region was asked beside it, and that one's answer was taken.
    HedgeTaken,
    /// It was asked beside another, or the first one's answer was taken.
    HedgeDropped,
}
