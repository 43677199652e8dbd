//! Whether and when further regions are asked, and whose answer counts.
//!
//! Racing them is the driver's business; latencies are gathered in `latency`.

mod budget;
#[cfg(test)]
mod tests;

use std::time::Duration;

use cosmonaut_options::HedgingThreshold;
use cosmonaut_wire::mutation;

use crate::evaluate::StatusClass;
use crate::framed::{GatewayVerdict, gateway_verdict};
use crate::{
    Access, CosmosOperation, Deadline, Effects, LocationEffect, LocationSnapshot, Moment, ObservedLatency,
    OperationRetryState, RoutingDecision, SilentGateway, TransportOutcome, TransportResult,
    UnavailablePartition,
};

pub use budget::HedgeBudget;

/// A dynamic threshold stays within these bounds, whatever is configured.
pub const HEDGING_FLOOR: Duration = Duration::from_millis(50);
/// See [`HEDGING_FLOOR`].
pub const HEDGING_CEILING: Duration = Duration::from_millis(4_000);

/// A 99th percentile of fewer requests than this is not to be relied on.
pub const MIN_HEDGING_SAMPLES: u32 = 100;

/// The dynamic threshold while there are too few requests to go by.
pub const INITIAL_HEDGING_THRESHOLD: Duration = Duration::from_secs(1);

/// An attempt has at most this many legs, the first included.
pub const MAX_HEDGE_LEGS: usize = 4;

/// How long a leg of a write is left running after another leg has answered. The driver's next write with the same
/// partition key waits until the leg is over, so that a late application of the leg cannot overwrite that write.
pub const LOSING_WRITE_LIMIT: Duration = Duration::from_secs(2);

/// What the options say about hedging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgeSettings {
    /// Whether hedging is on.
    pub enabled: bool,
    /// Whether it is on for writes.
    pub writes_enabled: bool,
    /// When a second region is asked.
    pub threshold: HedgingThreshold,
    /// How long each further region has before the next is asked.
    pub step: Duration,
    /// How many regions are asked at most, the first included.
    pub max_regions: usize,
}

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
    /// What the options say.
    pub settings: HedgeSettings,
    /// How long such operations have taken of late in the first region.
    pub observed: ObservedLatency,
    /// When the operation must be over.
    pub deadline: Option<Deadline>,
}

/// When further legs are sent, if those before have not answered in time. Where they go is resolved only then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgePlan {
    /// How long the first leg has.
    pub after: Duration,
    /// How long each further leg has.
    pub step: Duration,
    /// How many legs there may be, the first included.
    pub legs: usize,
}

/// Whether and when further regions are asked.
///
/// It is not for retries and probes, not with one region alone, and not if the deadline comes first. Reads may be
/// hedged on every account; writes only where every region takes writes, and only if regions that all apply one end
/// up with the same item.
pub fn plan_hedge(context: &HedgeContext<'_>, now: Moment) -> Option<HedgePlan> {
    let HedgeContext { operation, retry_state, routing, location, settings, .. } = *context;
    // Metadata is written in one region alone.
    let may_be_sent_twice = operation.is_read_only()
        || settings.writes_enabled
            && operation.is_partitioned()
            && location.account.multiple_write_locations_enabled
            && (operation.operation_type().converges() || operation.is_idempotent());
    if !settings.enabled || !may_be_sent_twice || !retry_state.is_initial() || routing.is_probe() {
        return None;
    }
    let regions = location.account.endpoints_for(operation).len();
    let legs = regions.min(settings.max_regions).min(MAX_HEDGE_LEGS);
    if legs < 2 {
        return None;
    }
    let after = hedge_after(settings.threshold, context.observed, context.deadline, now)?;
    Some(HedgePlan { after, step: settings.step, legs })
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

/// Whether a leg's result settles the race, so that the other legs are left. Otherwise the others are waited for.
///
/// A success does, and so does an answer about the request itself, which would be the same everywhere. An answer
/// about the item may be about what another leg did, or about an item that has not come here yet: see
/// [`is_nearly_settled`].
pub fn settles_hedge(
    operation: &CosmosOperation,
    routing: &RoutingDecision,
    result: &TransportResult,
) -> bool {
    if is_a_gateways(routing, result) {
        return false;
    }
    match &result.outcome {
        TransportOutcome::Success { .. } => true,
        TransportOutcome::HttpError { status, .. } if StatusClass::of(*status) == StatusClass::Final => {
            let is_about_the_item = match operation.is_read_only() {
                true => status.is_not_found(),
                false => status.is_not_found() || status.is_conflict() || status.is_precondition_failed(),
            };
            !is_about_the_item || mutation!("hedged-refusal-is-certain")
        }
        TransportOutcome::HttpError { .. }
        | TransportOutcome::TransportError { .. }
        | TransportOutcome::LocalFailure { .. }
        | TransportOutcome::DeadlineExceeded { .. } => false,
    }
}

/// Whether a leg's result is an answer that only another leg could still better. The others then have one step more.
pub fn is_nearly_settled(routing: &RoutingDecision, result: &TransportResult) -> bool {
    !is_a_gateways(routing, result)
        && result.answer().is_some_and(|(status, _)| StatusClass::of(status) == StatusClass::Final)
}

/// Whether a Gateway 2.0 has answered by itself, so that the service may answer otherwise.
fn is_a_gateways(routing: &RoutingDecision, result: &TransportResult) -> bool {
    routing.framed.is_some()
        && result.answer().is_some_and(|(status, _)| gateway_verdict(status) != GatewayVerdict::Passed)
}

/// Which of several results counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgePick {
    /// Its place among the results.
    pub place: usize,
    /// Whether another leg of the write may have been applied.
    pub in_doubt: bool,
}

/// Which of several results counts when none settled the race: the one that says most. Of equals, the first leg's.
/// `None` if there is no result.
pub fn pick_hedge_result(operation: &CosmosOperation, results: &[TransportResult]) -> Option<HedgePick> {
    let ranked = results.iter().enumerate();
    let (place, best) = ranked.max_by_key(|(place, result)| (informative(result), results.len() - place))?;
    let others = results.iter().enumerate().filter(|(other, _)| *other != place);
    let in_doubt = !operation.is_read_only()
        && !best.is_success()
        && others.into_iter().any(|(_, other)| may_have_applied(other));
    Some(HedgePick { place, in_doubt })
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
            | StatusClass::UnavailablePerhapsApplied
            | StatusClass::Throttled
            | StatusClass::RetryWith
            | StatusClass::InternalServerError => 2,
        },
        TransportOutcome::TransportError { .. } | TransportOutcome::LocalFailure { .. } => 1,
        TransportOutcome::DeadlineExceeded { .. } => 0,
    }
}

/// Whether a leg of a write that ended like this may have been applied.
fn may_have_applied(result: &TransportResult) -> bool {
    let last = match &result.outcome {
        TransportOutcome::Success { .. } => true,
        TransportOutcome::HttpError { status, .. } => StatusClass::of(*status).may_have_applied(),
        TransportOutcome::TransportError { request_sent, .. }
        | TransportOutcome::LocalFailure { request_sent, .. }
        | TransportOutcome::DeadlineExceeded { request_sent } => request_sent.may_have_arrived(),
    };
    last || result.may_have_applied_before
}

/// What it says about the first region, asked at this moment, that another has answered for it while it was silent.
/// Apply it beside the effects of the answer.
pub fn hedge_win_effects(
    operation: &CosmosOperation,
    retry_state: &OperationRetryState,
    primary: &RoutingDecision,
    asked: Moment,
) -> Effects {
    let mut effects = Effects::NONE;
    let partition = retry_state.partition.clone().filter(|_| operation.is_partitioned());
    let (endpoint, access) = (primary.endpoint.clone(), Access::of(operation));
    let partition = partition.map(|partition| UnavailablePartition { partition, endpoint, access });
    if let Some(gateway) = primary.framed.clone() {
        // The region may well answer by REST.
        effects.push(LocationEffect::GatewaySlow(SilentGateway { gateway, asked, partition }));
    } else if let Some(slow) = partition {
        effects.push(LocationEffect::RecordHedgeWin(slow));
    }
    effects
}
