//! What an operation remembers from attempt to attempt.
//!
//! Replaced, never changed, between attempts; what to put into the next one is decided in `evaluate`.

use cosmonaut_wire::{CosmosStatus, RegionName};

use crate::evaluate::StatusClass;
use crate::throttle::MAX_SHARD_RETRIES;
use crate::{CosmosEndpoint, Moment, PartitionId, RequestSentStatus};

/// What made an operation leave an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// An answer.
    Status(CosmosStatus),
    /// The lack of one.
    Transport(RequestSentStatus),
}

impl FailureCause {
    /// Whether the region said that it is not the one to ask. The account may be moving its writes.
    pub(crate) fn is_refusal(self) -> bool {
        match self {
            Self::Status(status) => {
                matches!(StatusClass::of(status), StatusClass::WriteForbidden | StatusClass::AccountNotFound)
            }
            Self::Transport(_) => false,
        }
    }

    /// Whether the request never left.
    pub(crate) fn is_unsent(self) -> bool {
        self == Self::Transport(RequestSentStatus::NotSent)
    }

    /// Whether it speaks against the partition there, rather than against the way to it.
    pub(crate) fn blames_partition(self) -> bool {
        match self {
            Self::Status(status) => match StatusClass::of(status) {
                StatusClass::WriteForbidden
                | StatusClass::RequestTimeout
                | StatusClass::Unavailable
                | StatusClass::UnavailablePerhapsApplied => true,
                StatusClass::AccountNotFound
                | StatusClass::SessionNotAvailable
                | StatusClass::ContainerStale
                | StatusClass::PartitionMapStale
                | StatusClass::Throttled
                | StatusClass::RetryWith
                | StatusClass::InternalServerError
                | StatusClass::Final => false,
            },
            Self::Transport(_) => false,
        }
    }
}

/// An endpoint that an operation has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedEndpoint {
    /// The endpoint.
    pub endpoint: CosmosEndpoint,
    /// Why it was left.
    pub cause: FailureCause,
}

/// How far the retries for a session's sake have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionRetryProgress {
    /// All of them.
    pub count: u32,
    /// Repeats in the present region.
    pub in_region: u32,
    /// Moves to another region.
    pub moves: u32,
}

/// What an operation remembers from attempt to attempt. Making the first one allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationRetryState {
    /// The physical partition, once it is known. The driver resolves it before the first attempt where it
    /// can.
    pub partition: Option<PartitionId>,
    /// Regions that the operation must not use.
    pub excluded_regions: Vec<RegionName>,
    /// Endpoints that were left, in that order.
    pub failed_endpoints: Vec<FailedEndpoint>,
    /// Where the next attempt goes, for repeats in place.
    pub pinned: Option<CosmosEndpoint>,
    /// Whether the next attempt goes to the write region, which has everything that a session has seen.
    pub prefer_write_region: bool,
    /// Attempts that were failovers.
    pub failover_retry_count: u32,
    /// Attempts after no region took the operation.
    pub patient_retry_count: u32,
    /// Since when no region has taken the operation.
    pub homeless_since: Option<Moment>,
    /// Attempts for the session's sake.
    pub session_retry: SessionRetryProgress,
    /// Attempts after a cache was refreshed.
    pub stale_cache_retry_count: u32,
    /// Attempts after a 449.
    pub retry_with_count: u32,
    /// Whether a Gateway 2.0 has failed this operation, which goes by REST then.
    pub by_rest: bool,
    /// Whether an earlier attempt at a write may have been applied.
    pub may_have_applied: bool,
}

impl OperationRetryState {
    /// The state before the first attempt.
    pub fn initial(partition: Option<PartitionId>, excluded_regions: &[RegionName]) -> Self {
        Self { partition, excluded_regions: excluded_regions.to_vec(), ..Self::default() }
    }

    /// Whether no attempt has been made.
    pub fn is_initial(&self) -> bool {
        self.attempts() == 0
    }

    /// How many attempts have been made.
    pub fn attempts(&self) -> u32 {
        self.failover_retry_count
            + self.patient_retry_count
            + self.session_retry.count
            + self.stale_cache_retry_count
            + self.retry_with_count
    }

    /// When an endpoint was last left, counted in endpoints left; `None` if it was not.
    pub(crate) fn left_at(&self, endpoint: &CosmosEndpoint) -> Option<usize> {
        self.failed_endpoints.iter().rposition(|failed| failed.endpoint == *endpoint)
    }

    /// How many tries got no answer at an endpoint, in attempts before this one. The limits of its tries grow with
    /// them, and begin anew elsewhere.
    pub fn tries_lost_at(&self, endpoint: &CosmosEndpoint) -> u32 {
        let lost = |failed: &&FailedEndpoint| {
            failed.endpoint == *endpoint && matches!(failed.cause, FailureCause::Transport(_))
        };
        let attempts = u32::try_from(self.failed_endpoints.iter().filter(lost).count()).unwrap_or(u32::MAX);
        attempts.saturating_mul(1 + MAX_SHARD_RETRIES)
    }

    /// This state after leaving an endpoint for good reason.
    pub(crate) fn leaving(&self, endpoint: &CosmosEndpoint, cause: FailureCause) -> Self {
        let mut next = self.clone();
        next.pinned = None;
        next.prefer_write_region = false;
        next.failed_endpoints.push(FailedEndpoint { endpoint: endpoint.clone(), cause });
        next
    }

    /// This state with the next attempt at the same endpoint.
    pub(crate) fn staying_at(&self, endpoint: &CosmosEndpoint) -> Self {
        Self { pinned: Some(endpoint.clone()), ..self.clone() }
    }
}
