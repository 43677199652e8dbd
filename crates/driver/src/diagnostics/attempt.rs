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
    /// What it cost, in request units.
    pub request_charge: f64,
    /// How long the service says it took.
    pub service_latency: Option<HeaderValue>,
    /// What the driver did next, and so why.
    pub next: NextStep,
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
    /// The other leg of a hedged attempt answered first.
    Cancelled,
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
    /// A repeat elsewhere.
    Failover(Duration),
    /// A repeat because the region had not yet seen what the session has.
    RetryForSession(Duration),
    /// A repeat in the same place.
    RetryInPlace(Duration),
    /// A repeat after what was out of date had been fetched anew.
    RetryAfterRefresh(Duration),
    /// A second region was asked, and its answer was taken.
    HedgeTaken,
    /// A second region was asked, and the first one's answer was taken.
    HedgeDropped,
}
