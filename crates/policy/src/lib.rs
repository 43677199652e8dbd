//! Every decision of the driver, as pure functions: where to send, what to do next, which connection.
//!
//! Nothing here knows a socket, a lock, a clock or a source of chance. A decision is a function of what it is
//! about, of the time, passed in as `now`, and of a number drawn by the caller, and it returns a value. What
//! changes is an immutable state: a transition returns a new one, and the driver swaps it in.
//!
//! In the order in which a request meets them:
//!
//! | question | answered by |
//! | --- | --- |
//! | what does the caller want? | [`CosmosOperation`], [`OperationType`] |
//! | how much time is left? | [`Moment`], [`Deadline`], [`attempt_timeout`] |
//! | in which order are regions tried? | [`order_endpoints`] |
//! | which endpoints are in service? | [`AccountEndpointState`] |
//! | which partitions are served from elsewhere? | [`PartitionEndpointState`] |
//! | where does this attempt go? | [`resolve_endpoint`] |
//! | which session does it continue? | [`resolve_read_consistency`], [`resolve_session`], [`SessionContainer`] |
//! | what is sent? | [`build_transport_request`] |
//! | is a second region asked? | [`plan_hedge`], [`LatencyWindow`] |
//! | over which connection? | [`select_shard`], [`plan_sweep`] |
//! | is the try repeated on the spot? | [`evaluate_transport_retry`] |
//! | what does the operation do next? | [`evaluate_transport_result`] |
//! | what has been learnt? | [`LocationSnapshot::after`] |

mod account_state;
mod backoff;
mod deadline;
mod endpoint;
mod evaluate;
mod hedging;
mod latency;
mod location;
mod moment;
mod operation;
mod partition_state;
mod region_order;
mod retry_state;
mod routing;
mod session;
mod sharding;
#[cfg(test)]
mod testing;
mod throttle;
mod transport_request;
mod transport_result;

pub use account_state::{
    Access, AccountConfig, AccountEndpointState, DEFAULT_ENDPOINT_UNAVAILABILITY, Unavailability,
    UnavailableReason, apply_endpoint_probe, build_account_endpoint_state, expire_unavailable_endpoints,
    mark_endpoint_unavailable, refresh_account_endpoint_state,
};
pub use deadline::{Deadline, MIN_ATTEMPT_TIMEOUT, attempt_timeout};
pub use endpoint::{CosmosEndpoint, EndpointError, EndpointKind};
pub use evaluate::{
    AbortKind, Attempt, OperationAction, RetryLimits, StaleCache, StatusClass, evaluate_transport_result,
};
pub use hedging::{
    HEDGING_CEILING, HEDGING_FLOOR, HedgeContext, HedgeLeg, HedgePlan, INITIAL_HEDGING_THRESHOLD,
    MIN_HEDGING_SAMPLES, hedge_win_effects, hedging_threshold, pick_hedge_result, plan_hedge, settles_hedge,
};
pub use latency::{LATENCY_BUCKETS, LatencyWindow, ObservedLatency, latency_bucket, latency_quantile};
pub use location::{Effects, LocationEffect, LocationSnapshot};
pub use moment::Moment;
pub use operation::{
    CosmosOperation, LatencyKind, OperationType, PartitionId, PartitionTarget, Precondition,
};
pub use partition_state::{
    FailoverMechanism, MAX_TRACKED_PARTITIONS, PROBE_LIFETIME, PartitionEndpointState,
    PartitionFailoverConfig, PartitionFailoverEntry, PartitionHealth, ProbeTicket, TOLERATED_HEDGE_WINS,
    UNASKED_CANDIDATE_LIFETIME, UnavailablePartition, abandon_probe, begin_probe, expire_partition_overrides,
    fail_probe, is_eligible_for_ppaf, is_eligible_for_ppcb, mark_partition_unavailable, mechanism_for,
    record_hedge_win, reset_hedge_wins, succeed_probe,
};
pub use region_order::{RegionPreferences, order_endpoints};
pub use retry_state::{FailedEndpoint, FailureCause, OperationRetryState, SessionRetryProgress};
pub use routing::{PartitionOverride, Probe, RoutingDecision, resolve_endpoint, resolve_hedge_endpoint};
pub use session::{
    ConsistencyError, ReadConsistency, SessionContainer, SessionSource, SessionState,
    resolve_read_consistency, resolve_session, teaches_session,
};
pub use sharding::{
    CPU_GUARD, EvictionReason, LoadSpread, ShardHealthStatus, ShardSelection, ShardStats, ShardingConfig,
    SweepPlan, check_shard_health, counts_as_silence, endpoint_is_unused, plan_sweep, select_shard,
    should_scale_up,
};
pub use throttle::{
    MAX_SHARD_RETRIES, ThrottleAction, ThrottleRetryState, TransportTry, evaluate_transport_retry,
    retry_after,
};
pub use transport_request::{AttemptSettings, ExecutionContext, TransportRequest, build_transport_request};
pub use transport_result::{RequestSentStatus, SharedError, TransportOutcome, TransportResult};
