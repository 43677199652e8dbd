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
//! | whom to ask for the account? | [`account_endpoints`] |
//! | in which order are regions tried? | [`order_endpoints`] |
//! | which endpoints are in service? | [`AccountEndpointState`] |
//! | which partitions are served from elsewhere? | [`PartitionEndpointState`] |
//! | where does this attempt go? | [`resolve_endpoint`] |
//! | which session does it continue? | [`resolve_read_consistency`], [`resolve_session`], [`Seen`] |
//! | what is sent? | [`build_transport_request`], [`frame_aim`] |
//! | is a second region asked? | [`plan_hedge`], [`HedgeBudget`], [`LatencyWindow`] |
//! | through a proxy? | [`ProxyExceptions`], [`read_tunnel_answer`] |
//! | over which connection? | [`select_shard`], [`plan_sweep`] |
//! | is there a token to sign with? | [`token_use`], [`next_token_fetch`] |
//! | is the try repeated on the spot? | [`evaluate_transport_retry`] |
//! | what does the operation do next? | [`evaluate_transport_result`] |
//! | when is a background task that panicked restarted? | [`RestartState`] |
//! | what has been learnt? | [`LocationSnapshot::after`] |
//! | is the account read anew? | [`AccountReads`] |
//! | is it worth a report? | [`diagnostics_reason`], [`DiagnosticsRate::admit`] |

mod account_read;
mod account_state;
mod backoff;
mod deadline;
mod diagnostics;
mod endpoint;
mod evaluate;
mod framed;
mod hedging;
mod item_format;
mod latency;
mod learned_partition;
mod location;
mod moment;
mod operation;
mod partition_state;
mod proximity;
mod proxy;
mod refresh;
mod region_order;
mod restart;
mod retry_state;
mod routing;
mod session;
mod sharding;
#[cfg(test)]
mod testing;
mod throttle;
mod token;
mod transport_request;
mod transport_result;

pub use account_read::account_endpoints;
pub use account_state::{
    Access, AccountConfig, AccountEndpointState, DEFAULT_ENDPOINT_UNAVAILABILITY, ENDPOINT_PROBE_INTERVAL,
    ENDPOINT_PROBE_TIMEOUT, Unavailability, UnavailableReason, apply_endpoint_probe,
    build_account_endpoint_state, expire_unavailable_endpoints, mark_endpoint_unavailable,
    refresh_account_endpoint_state,
};
pub use deadline::{AttemptLimits, Deadline, MIN_ATTEMPT_TIMEOUT, attempt_timeout};
pub use diagnostics::{
    DiagnosticsAdmission, DiagnosticsRate, DiagnosticsReason, DiagnosticsThresholds, OperationEnding,
    OperationSummary, diagnostics_reason,
};
pub use endpoint::{ClearTextRule, CosmosEndpoint, EndpointError, EndpointKind, is_local_host};
pub use evaluate::{
    AbortKind, Attempt, OperationAction, RetryLimits, StaleCache, StatusClass, evaluate_transport_result,
};
pub use framed::{FrameAim, FrameParts, FramedAnswer, FramedContainer, frame_aim, read_framed_answer};
pub use hedging::{
    HEDGING_CEILING, HEDGING_FLOOR, HedgeBudget, HedgeContext, HedgePick, HedgePlan, HedgeSettings,
    INITIAL_HEDGING_THRESHOLD, LOSING_WRITE_LIMIT, MAX_HEDGE_LEGS, MIN_HEDGING_SAMPLES, hedge_win_effects,
    hedging_threshold, is_nearly_settled, pick_hedge_result, plan_hedge, settles_hedge,
};
pub use item_format::sends_binary_item;
pub use latency::{LatencyCell, LatencyWindow, ObservedLatency};
pub use learned_partition::{answering_container, answering_partition};
pub use location::{Effects, LocationEffect, LocationSnapshot, SilentGateway};
pub use moment::Moment;
pub use operation::{
    CosmosOperation, LatencyKind, OperationType, PartitionId, PartitionTarget, Precondition, operation_name,
};
pub use partition_state::{
    FailoverMechanism, MAX_TRACKED_PARTITIONS, PROBE_LIFETIME, PartitionEndpointState,
    PartitionFailoverConfig, PartitionFailoverEntry, PartitionHealth, PartitionMove, ProbeTicket,
    TOLERATED_HEDGE_WINS, UNASKED_CANDIDATE_LIFETIME, UnavailablePartition, abandon_probe, begin_probe,
    expire_partition_overrides, fail_probe, is_eligible_for_ppaf, is_eligible_for_ppcb,
    mark_partition_unavailable, mechanism_for, move_partition, record_hedge_win, reset_hedge_wins,
    succeed_probe, suspect_partition,
};
pub use proxy::{ProxyExceptions, TunnelAnswer, read_tunnel_answer};
pub use refresh::{
    ACCOUNT_READ_STEP, ACCOUNT_READ_TIMEOUT, ACCOUNT_REFRESH_INTERVAL, AccountReads, AccountRefresh,
    LONGEST_ACCOUNT_WAIT,
};
pub use region_order::{RegionPreferences, order_endpoints};
pub use restart::RestartState;
pub use retry_state::{FailedEndpoint, FailureCause, OperationRetryState, SessionRetryProgress};
pub use routing::{PartitionOverride, Probe, RoutingDecision, resolve_endpoint, resolve_hedge_endpoint};
pub use session::{
    ConsistencyError, ReadConsistency, Seen, SessionSource, SessionState, SessionView,
    resolve_read_consistency, resolve_session, response_progress, response_token, teaches_session,
};
pub use sharding::{
    CPU_GUARD, EvictionReason, LoadSpread, ShardHealthStatus, ShardSelection, ShardStats, ShardingConfig,
    SweepPlan, check_shard_health, counts_as_silence, endpoint_is_unused, plan_sweep, select_shard,
    should_scale_up, silence_since,
};
pub use throttle::{
    MAX_SHARD_RETRIES, ThrottleAction, ThrottleRetryState, TransportTry, evaluate_transport_retry,
    retry_after,
};
pub use token::{
    TOKEN_CLOCK_ALLOWANCE, TOKEN_FETCH_LIMIT, TOKEN_FETCH_STEP, TOKEN_FETCHES_ABREAST, TokenFailure,
    TokenFetch, TokenLife, TokenState, TokenUse, next_token_fetch, token_use,
};
pub use transport_request::{AttemptSettings, ExecutionContext, TransportRequest, build_transport_request};
pub use transport_result::{RequestSentStatus, SharedError, TransportOutcome, TransportResult};

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
