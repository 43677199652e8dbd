//! Whether and when a second region is asked, and whose answer counts.
//!
//! Racing the two is the driver's business; latencies are gathered in `latency`.

#[cfg(test)]
mod tests;

use std::time::Duration;

use cosmonaut_options::HedgingThreshold;

use crate::evaluate::StatusClass;
use crate::routing::resolve_hedge_endpoint;
use crate::{
    Access, CosmosOperation, Deadline, Effects, LocationEffect, LocationSnapshot, Moment, ObservedLatency,
    OperationRetryState, RoutingDecision, TransportOutcome, TransportResult, UnavailablePartition,
};

/// A dynamic threshold stays within these bounds, whatever is configured.
pub const HEDGING_FLOOR: Duration = Duration::from_millis(50);
/// See [`HEDGING_FLOOR`].
pub const HEDGING_CEILING: Duration = Duration::from_millis(4_000);

/// A 99th percentile of fewer requests than this is not to be relied on.
pub const MIN_HEDGING_SAMPLES: u32 = 100;

/// The dynamic threshold while there are too few requests to go by.
pub const INITIAL_HEDGING_THRESHOLD: Duration = Duration::from_secs(1);

/// What bears on hedging an attempt.
#[derive(Clone, Copy, Debug)]
pub struct HedgeContext<'a> {
    /// What the caller wants.
    pub operation: &'a CosmosOperation,
    /// What the operation knows so far.
    pub retry_state: &'a OperationRetryState,
    /// Where the attempt goes.
    pub routing: &'a RoutingDecision,
    /// The endpoints and partitions.
    pub location: &'a LocationSnapshot,
    /// Whether hedging is on.
    pub enabled: bool,
    /// When a second region is asked.
    pub threshold: HedgingThreshold,
    /// How long such operations have taken of late in the first region.
    pub observed: ObservedLatency,
    /// When the operation must be over.
    pub deadline: Option<Deadline>,
}

/// A second leg, to be sent if the first has not answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HedgePlan {
    /// How long the first has.
    pub after: Duration,
    /// Where the second goes.
    pub routing: RoutingDecision,
}

/// Whether, when and where a second region is asked.
///
/// It is not for retries and probes, not without a second region in service, and not if the deadline comes
/// first. Reads may be hedged on every account; writes only where every region takes writes, and only if two
/// regions that both apply one end up with the same item.
pub fn plan_hedge(context: &HedgeContext<'_>, now: Moment) -> Option<HedgePlan> {
    let HedgeContext { operation, retry_state, routing, location, .. } = *context;
    let may_be_sent_twice = operation.is_read_only()
        || location.account.multiple_write_locations_enabled
            && (operation.operation_type().converges() || operation.is_idempotent());
    if !context.enabled || !may_be_sent_twice || !retry_state.is_initial() || routing.is_probe() {
        return None;
    }
    let after = hedge_after(context.threshold, context.observed, context.deadline, now)?;
    let routing = resolve_hedge_endpoint(operation, retry_state, location, routing, now)?;
    Some(HedgePlan { after, routing })
}

/// How long the first region has, with the deadline in mind. `None` if the deadline leaves no time for a
/// second.
fn hedge_after(
    threshold: HedgingThreshold,
    observed: ObservedLatency,
    deadline: Option<Deadline>,
    now: Moment,
) -> Option<Duration> {
    let after = hedging_threshold(threshold, observed);
    let Some(deadline) = deadline else { return Some(after) };
    let after = match threshold {
        HedgingThreshold::Static(_) => after,
        // Half of the time for each leg, if there is not enough for the threshold.
        HedgingThreshold::Dynamic { .. } => after.min(deadline.remaining(now) / 2).max(HEDGING_FLOOR),
    };
    deadline.leaves_room_after(after, now).then_some(after)
}

/// How long the first region has before a second is asked.
///
/// A static threshold is taken as it is. A dynamic one is the 99th percentile of recent requests, within the
/// configured bounds and those of [`HEDGING_FLOOR`] and [`HEDGING_CEILING`]; with fewer than
/// [`MIN_HEDGING_SAMPLES`] requests it is [`INITIAL_HEDGING_THRESHOLD`], within the same bounds.
pub fn hedging_threshold(threshold: HedgingThreshold, observed: ObservedLatency) -> Duration {
    match threshold {
        HedgingThreshold::Static(after) => after,
        HedgingThreshold::Dynamic { min, max } => {
            let min = min.clamp(HEDGING_FLOOR, HEDGING_CEILING);
            let max = max.clamp(min, HEDGING_CEILING);
            let p99 = observed.p99.filter(|_| observed.count >= MIN_HEDGING_SAMPLES);
            p99.unwrap_or(INITIAL_HEDGING_THRESHOLD).clamp(min, max)
        }
    }
}

/// One of the two legs of a hedged attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HedgeLeg {
    /// The first.
    Primary,
    /// The second.
    Secondary,
}

/// Whether a leg's result settles the race, so that the other leg is dropped. Otherwise the other is waited
/// for.
///
/// A success does, and so does an answer that would be the same everywhere, to a read. To a write it may be
/// about what the other leg did: a conflict with one's own item is no answer.
pub fn settles_hedge(operation: &CosmosOperation, result: &TransportResult) -> bool {
    match &result.outcome {
        TransportOutcome::Success { .. } => true,
        TransportOutcome::HttpError { status, .. } => {
            // An item that is not here yet may be there.
            operation.is_read_only()
                && StatusClass::of(*status) == StatusClass::Final
                && !status.is_not_found()
        }
        TransportOutcome::TransportError { .. } | TransportOutcome::DeadlineExceeded { .. } => false,
    }
}

/// Which of two results counts when neither settled the race: the one that says more. Of equals, the first
/// leg's.
///
/// The result that is returned knows whether the other leg may have been applied.
pub fn pick_hedge_result(
    operation: &CosmosOperation,
    primary: TransportResult,
    secondary: TransportResult,
) -> (HedgeLeg, TransportResult) {
    let (leg, mut best, other) = if informative(&secondary) > informative(&primary) {
        (HedgeLeg::Secondary, secondary, primary)
    } else {
        (HedgeLeg::Primary, primary, secondary)
    };
    let other_applied = !operation.is_read_only() && !best.is_success() && may_have_applied(&other);
    best.may_have_applied_before |= other_applied;
    (leg, best)
}

/// How much a result says: a success all, a final answer more than one to be retried, any answer more than
/// none.
fn informative(result: &TransportResult) -> u8 {
    match &result.outcome {
        TransportOutcome::Success { .. } => 4,
        TransportOutcome::HttpError { status, .. } => match StatusClass::of(*status) {
            StatusClass::Final => 3,
            StatusClass::WriteForbidden
            | StatusClass::AccountNotFound
            | StatusClass::SessionNotAvailable
            | StatusClass::RequestTimeout
            | StatusClass::ContainerStale
            | StatusClass::PartitionMapStale
            | StatusClass::Unavailable
            | StatusClass::Throttled
            | StatusClass::RetryWith
            | StatusClass::InternalServerError => 2,
        },
        TransportOutcome::TransportError { .. } => 1,
        TransportOutcome::DeadlineExceeded { .. } => 0,
    }
}

fn may_have_applied(result: &TransportResult) -> bool {
    let last = match &result.outcome {
        TransportOutcome::Success { .. } => true,
        TransportOutcome::HttpError { status, .. } => {
            status.is_request_timeout() || status.is_internal_server_error()
        }
        TransportOutcome::TransportError { request_sent, .. }
        | TransportOutcome::DeadlineExceeded { request_sent } => request_sent.may_have_arrived(),
    };
    last || result.may_have_applied_before
}

/// What it says about the first region that the second has answered for it. Apply it beside the effects of
/// the answer.
pub fn hedge_win_effects(
    operation: &CosmosOperation,
    retry_state: &OperationRetryState,
    primary: &RoutingDecision,
) -> Effects {
    let mut effects = Effects::NONE;
    if let Some(partition) = retry_state.partition.clone().filter(|_| operation.is_partitioned()) {
        let (endpoint, access) = (primary.endpoint.clone(), Access::of(operation));
        effects.push(LocationEffect::RecordHedgeWin(UnavailablePartition { partition, endpoint, access }));
    }
    effects
}
