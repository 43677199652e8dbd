//! What an operation does after an attempt, and what the attempt has shown about endpoints and partitions.
//!
//! | answer | effects | action |
//! | --- | --- | --- |
//! | 403/3 write forbidden | refresh account, mark endpoint (writes) and partition | failover, for as long as the patience lasts |
//! | 403/1008 account not in region | refresh account, mark endpoint | failover, likewise |
//! | 404/1002 session not available | | session retry |
//! | 408 | mark partition and endpoint | failover; writes that are not idempotent: abort, outcome unknown |
//! | 410/1000, 400/1024 | | refresh the container, repeat in place; after 400/1024 what is bound to one container: once |
//! | 410/1002, 410/1007, 410/1008 | | refresh the partition map, repeat in place |
//! | 410 otherwise | mark partition and endpoint | failover |
//! | 429/3092 | mark partition and endpoint | failover |
//! | 429 otherwise | | abort: the transport has waited as long as it may |
//! | 449 | | repeat in place |
//! | 500 | reads: mark partition and endpoint | reads: failover; writes: abort, outcome unknown |
//! | 503 that says that nothing was done | mark partition and endpoint | failover |
//! | other 503, 502, 504 | mark partition and endpoint | failover; writes that are not idempotent: abort, outcome unknown |
//! | this side failed | | abort; write sent: outcome unknown |
//! | no answer, not sent | check endpoint | failover |
//! | no answer, sent or unknown | idempotent: mark endpoint; else check it | idempotent: failover; else abort, outcome unknown |
//! | the deadline passes | after a second of silence: mark partition, or check endpoint without a breaker | abort; write sent: outcome unknown |
//! | anything else | | abort |
//!
//! What a Gateway 2.0 fails at says nothing of its region, see `framed`.
//!
//! A failover that has tried every endpoint refreshes the account too, before it goes round again. So does a write
//! that ends without knowing its outcome where there is one endpoint alone.
//!
//! Where the service moves single partitions by itself (automatic failover), a failed write says nothing yet about
//! its partition: the operation goes from region to region, and only when one of them has taken the write, or has
//! said why it does not, is the partition known to be there ([`LocationEffect::MovePartition`]).
//!
//! Every retry has a limit, and none is begun whose wait would end after the deadline. An operation that ends
//! without success after a write that may have been applied ends with an unknown outcome, whatever came last.

mod action;
mod effects;
mod limits;
mod status_class;
#[cfg(test)]
mod tests;

use std::time::Duration;

use cosmonaut_wire::{CosmosStatus, mutation};

use crate::backoff::backoff;
use crate::framed::{GatewayVerdict, gateway_verdict};
use crate::routing::endpoint_count;
use crate::{
    CosmosOperation, Deadline, Effects, FailureCause, LocationEffect, LocationSnapshot, Moment,
    OperationRetryState, RequestSentStatus, RoutingDecision, TransportOutcome, TransportResult,
    UnavailableReason,
};

pub use action::{AbortKind, OperationAction, StaleCache};
pub use limits::RetryLimits;
pub use status_class::StatusClass;

/// An attempt, with all that bears on what comes after it.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// What the caller wants.
    pub operation: &'a CosmosOperation,
    /// Where the attempt went.
    pub routing: &'a RoutingDecision,
    /// What the operation knew before it.
    pub retry_state: &'a OperationRetryState,
    /// The endpoints and partitions that it was routed by.
    pub location: &'a LocationSnapshot,
    /// How often what is retried.
    pub limits: &'a RetryLimits,
    /// When the operation must be over.
    pub deadline: Option<Deadline>,
}

/// What an operation does after an attempt. `chance`, from 0 to 1, spreads the waits of clients that failed
/// together.
///
/// Apply the effects first: the next attempt is to be routed by what this one has shown.
pub fn evaluate_transport_result(
    attempt: &Attempt<'_>,
    result: &TransportResult,
    now: Moment,
    chance: f64,
) -> (OperationAction, Effects) {
    let evaluation = Evaluation { attempt: *attempt, result, now, chance };
    let (action, mut effects) = match &result.outcome {
        TransportOutcome::Success { .. } => (OperationAction::Complete, evaluation.success_effects()),
        TransportOutcome::HttpError { status, .. } => evaluation.status(*status),
        TransportOutcome::TransportError { request_sent, .. } => evaluation.transport_error(*request_sent),
        TransportOutcome::LocalFailure { request_sent, .. } => {
            let uncertain = request_sent.may_have_arrived();
            (evaluation.abort(AbortKind::FinalStatus, uncertain), evaluation.probe_abandoned())
        }
        TransportOutcome::DeadlineExceeded { request_sent } => {
            let uncertain = request_sent.may_have_arrived();
            (evaluation.abort(AbortKind::DeadlineExceeded, uncertain), evaluation.deadline_effects(uncertain))
        }
    };
    evaluation.push_gateway_answered(&mut effects);
    if evaluation.has_tried_all(&action, &effects)
        && effects.iter().all(|effect| *effect != LocationEffect::RefreshAccountProperties)
    {
        effects.push(LocationEffect::RefreshAccountProperties);
    }
    (action, effects)
}

struct Evaluation<'a> {
    attempt: Attempt<'a>,
    result: &'a TransportResult,
    now: Moment,
    chance: f64,
}

impl Evaluation<'_> {
    fn status(&self, status: CosmosStatus) -> (OperationAction, Effects) {
        let cause = FailureCause::Status(status);
        if let Some(gateway) = &self.attempt.routing.framed {
            match gateway_verdict(status) {
                GatewayVerdict::Passed => {}
                GatewayVerdict::Refused => {
                    return self.by_rest(LocationEffect::GatewayRefused(gateway.clone()));
                }
                GatewayVerdict::Closed => {
                    return self.by_rest(LocationEffect::GatewayClosed(gateway.clone()));
                }
                GatewayVerdict::Failed => {
                    return self.after_lost_gateway(LocationEffect::GatewayLost(gateway.clone()));
                }
            }
        }
        match StatusClass::of(status) {
            StatusClass::WriteForbidden => {
                let mut effects = Effects::NONE;
                effects.push(LocationEffect::RefreshAccountProperties);
                // Where single partitions move, a refusal is about the partition alone.
                // Metadata is written in one region alone: others refuse it, and take items all the same.
                let is_about_items = self.attempt.operation.is_partitioned()
                    || !self.attempt.location.account.multiple_write_locations_enabled;
                if is_about_items && !self.is_moved_by_the_service() {
                    self.push_endpoint(UnavailableReason::WriteForbidden, &mut effects);
                }
                self.push_partition(&mut effects);
                (self.failover(cause, false), effects)
            }
            StatusClass::AccountNotFound => {
                let mut effects = self.probe_failed();
                effects.push(LocationEffect::RefreshAccountProperties);
                self.push_endpoint(UnavailableReason::AccountNotFound, &mut effects);
                (self.failover(cause, false), effects)
            }
            StatusClass::SessionNotAvailable => (self.session_retry(cause), self.probe_failed()),
            StatusClass::RequestTimeout => {
                self.in_doubt(cause, self.mark_both(UnavailableReason::RequestTimeout))
            }
            StatusClass::UnavailablePerhapsApplied => {
                self.in_doubt(cause, self.mark_both(UnavailableReason::ServiceUnavailable))
            }
            StatusClass::ContainerStale => (self.refresh(StaleCache::Container), self.probe_abandoned()),
            StatusClass::PartitionMapStale => {
                (self.refresh(StaleCache::PartitionKeyRanges), self.probe_abandoned())
            }
            StatusClass::Unavailable => {
                (self.failover(cause, false), self.mark_both(UnavailableReason::ServiceUnavailable))
            }
            StatusClass::InternalServerError if self.attempt.operation.is_read_only() => {
                (self.failover(cause, false), self.mark_both(UnavailableReason::InternalServerError))
            }
            StatusClass::InternalServerError => {
                (self.abort(AbortKind::OutcomeUnknown, true), self.probe_failed())
            }
            StatusClass::RetryWith => (self.retry_with(), self.probe_succeeded()),
            StatusClass::Throttled => {
                (self.abort(AbortKind::RetriesExhausted, false), self.probe_succeeded())
            }
            StatusClass::Final => (self.abort(AbortKind::FinalStatus, false), self.final_effects(status)),
        }
    }

    fn transport_error(&self, request_sent: RequestSentStatus) -> (OperationAction, Effects) {
        let cause = FailureCause::Transport(request_sent);
        if let Some(gateway) = &self.attempt.routing.framed {
            let lost = || LocationEffect::GatewayLost(gateway.clone());
            return match request_sent {
                RequestSentStatus::NotSent => self.by_rest(lost()),
                // A request may be slow by itself.
                RequestSentStatus::Sent | RequestSentStatus::Unknown if self.is_suspicious() => {
                    self.after_lost_gateway(self.gateway_hung(gateway))
                }
                RequestSentStatus::Sent | RequestSentStatus::Unknown => self.after_lost_gateway(lost()),
            };
        }
        let mut effects = self.probe_failed();
        match request_sent {
            RequestSentStatus::Sent | RequestSentStatus::Unknown
                if mutation!("lost-answer-counts-as-not-sent") =>
            {
                (self.failover(cause, false), effects)
            }
            RequestSentStatus::NotSent => {
                self.push_check(&mut effects);
                (self.failover(cause, false), effects)
            }
            RequestSentStatus::Sent | RequestSentStatus::Unknown => {
                if self.attempt.operation.is_idempotent() {
                    self.push_endpoint(UnavailableReason::TransportError, &mut effects);
                } else {
                    self.push_check(&mut effects);
                }
                self.in_doubt(cause, effects)
            }
        }
    }
}

impl Evaluation<'_> {
    /// Whether no endpoint is left that could do better. Perhaps the account has others by now.
    fn has_tried_all(&self, action: &OperationAction, effects: &Effects) -> bool {
        let Attempt { operation, retry_state, location, .. } = self.attempt;
        match action {
            OperationAction::FailoverRetry { awaits_account, .. } => *awaits_account,
            // The next write would go to the same endpoint and end in the same way.
            OperationAction::Abort(AbortKind::OutcomeUnknown) => {
                effects.iter().any(|effect| matches!(effect, LocationEffect::MarkEndpointUnavailable { .. }))
                    && endpoint_count(operation, retry_state, location) == 1
            }
            OperationAction::Abort(_)
            | OperationAction::Complete
            | OperationAction::SessionRetry { .. }
            | OperationAction::RetryInPlace { .. }
            | OperationAction::RefreshRetry { .. } => false,
        }
    }
}

/// Actions.
impl Evaluation<'_> {
    /// Tries elsewhere after an attempt that may have been applied, if that can do no harm. Otherwise the next write
    /// of the partition is to try elsewhere.
    fn in_doubt(&self, cause: FailureCause, mut effects: Effects) -> (OperationAction, Effects) {
        if self.attempt.operation.is_idempotent() {
            return (self.failover(cause, true), effects);
        }
        self.push_suspicion(&mut effects);
        if mutation!("unknown-outcome-is-said-to-be-certain") {
            return (OperationAction::Abort(AbortKind::FinalStatus), effects);
        }
        (self.abort(AbortKind::OutcomeUnknown, true), effects)
    }

    /// Tries elsewhere; `uncertain` if the attempt may have been applied.
    fn failover(&self, cause: FailureCause, uncertain: bool) -> OperationAction {
        let Attempt { operation, routing, retry_state, location, limits, .. } = self.attempt;
        let others = endpoint_count(operation, retry_state, location) - 1;
        // A write that nobody takes waits for the account to move its writes, which takes minutes.
        let has_regions = location.account.preferred_read_endpoints().len() > 1;
        let is_unsent_write = !operation.is_read_only() && cause.is_unsent() && others == 0 && has_regions;
        let is_patient = cause.is_refusal() || is_unsent_write;
        let homeless_since = retry_state.homeless_since.unwrap_or(self.now);
        let (retries, may_retry) = match is_patient {
            true => {
                (retry_state.patient_retry_count, self.now.since(homeless_since) < limits.refusal_patience)
            }
            false => {
                let retries = retry_state.failover_retry_count;
                (retries, retries < limits.max_failover_retries)
            }
        };
        if !may_retry {
            return self.abort(AbortKind::RetriesExhausted, uncertain);
        }
        // Other endpoints are tried at once; a wait comes only before going round again. The account is read anew
        // after a refusal, so the first one is repeated at once too.
        let at_once = others.max(usize::from(cause.is_refusal()));
        let rounds = retries.checked_sub(u32::try_from(at_once).unwrap_or(u32::MAX));
        let delay = rounds.map(|rounds| self.delay(limits.first_delay, rounds));
        let mut new_state = self.carry(uncertain, retry_state.leaving(&routing.endpoint, cause));
        match is_patient {
            true => {
                new_state.patient_retry_count = retries.saturating_add(1);
                new_state.homeless_since = Some(homeless_since);
            }
            false => new_state.failover_retry_count = retries.saturating_add(1),
        }
        let awaits_account = usize::try_from(retries).is_ok_and(|retries| retries >= others);
        self.after(delay, uncertain, |delay| OperationAction::FailoverRetry {
            new_state: Box::new(new_state),
            delay,
            awaits_account,
        })
    }

    /// Repeats a read that the region cannot answer yet: in place or elsewhere, as the options say.
    fn session_retry(&self, cause: FailureCause) -> OperationAction {
        let Attempt { operation, routing, retry_state, location, limits, .. } = self.attempt;
        let progress = retry_state.session_retry;
        let others = u32::try_from(endpoint_count(operation, retry_state, location) - 1).unwrap_or(u32::MAX);
        let may_move = progress.moves < others;
        let may_stay = progress.in_region < limits.max_in_region_session_retries;
        let (mut new_state, delay) = if may_stay && !(limits.remote_region_preferred && may_move) {
            let mut next = retry_state.staying_at(&routing.endpoint);
            next.session_retry.count += 1;
            next.session_retry.in_region += 1;
            (next, Some(limits.in_region_session_delay(progress.in_region)))
        } else if may_move {
            let mut next = retry_state.leaving(&routing.endpoint, cause);
            next.session_retry.count += 1;
            next.session_retry.moves += 1;
            next.session_retry.in_region = 0;
            next.prefer_write_region = !location.account.multiple_write_locations_enabled;
            (next, None)
        } else {
            return self.abort(AbortKind::RetriesExhausted, false);
        };
        new_state = self.carry(false, new_state);
        self.after(delay, false, |delay| OperationAction::SessionRetry {
            new_state: Box::new(new_state),
            delay,
        })
    }

    /// Repeats in place once what was out of date has been fetched anew.
    fn refresh(&self, stale: StaleCache) -> OperationAction {
        let Attempt { operation, routing, retry_state, limits, .. } = self.attempt;
        let retries = retry_state.stale_cache_retry_count;
        // The refreshed map does not have it either, and ids are not used again: the caller has to ask the children.
        let is_gone = retries > 0 && operation.names_a_partition() && retry_state.partition.is_none();
        // The name is another container's now: the refreshed cache does not change which one is meant.
        let is_another = retries > 0
            && operation.container().is_some()
            && self
                .result
                .answer()
                .is_some_and(|(status, _)| status == CosmosStatus::COLLECTION_RID_MISMATCH);
        if is_gone || is_another || retries >= limits.max_stale_cache_retries {
            return self.abort(AbortKind::RetriesExhausted, false);
        }
        let delay = retries.checked_sub(1).map(|earlier| self.delay(limits.first_delay, earlier));
        let mut new_state = self.carry(false, retry_state.staying_at(&routing.endpoint));
        new_state.stale_cache_retry_count = retries + 1;
        // It may have been split: only the refreshed map knows.
        new_state.partition = None;
        let new_state = Box::new(new_state);
        self.after(delay, false, |delay| OperationAction::RefreshRetry { stale, new_state, delay })
    }

    /// Repeats in place what met another operation on the same item.
    fn retry_with(&self) -> OperationAction {
        let Attempt { routing, retry_state, limits, .. } = self.attempt;
        let retries = retry_state.retry_with_count;
        if retries >= limits.max_retry_with {
            return self.abort(AbortKind::RetriesExhausted, false);
        }
        let delay = Some(self.delay(limits.first_retry_with_delay, retries));
        let mut new_state = self.carry(false, retry_state.staying_at(&routing.endpoint));
        new_state.retry_with_count = retries + 1;
        self.after(delay, false, |delay| OperationAction::RetryInPlace {
            new_state: Box::new(new_state),
            delay,
        })
    }

    /// Repeats by REST in the same region what a Gateway 2.0 has not passed on.
    fn by_rest(&self, effect: LocationEffect) -> (OperationAction, Effects) {
        let Attempt { routing, retry_state, .. } = self.attempt;
        let mut effects = self.probe_abandoned();
        effects.push(effect);
        let staying = retry_state.staying_at(&routing.endpoint);
        let new_state = Box::new(self.carry(false, OperationRetryState { by_rest: true, ..staying }));
        let repeat = |delay| OperationAction::RetryInPlace { new_state, delay };
        (self.after(None, false, repeat), effects)
    }

    /// What follows when a Gateway 2.0 has failed after it may have passed on what it was sent. Of the region and the
    /// partition that says nothing.
    fn after_lost_gateway(&self, effect: LocationEffect) -> (OperationAction, Effects) {
        let mut effects = self.probe_abandoned();
        effects.push(effect);
        // A status of the gateway's own would be taken for one of the partition's.
        let cause = FailureCause::Transport(RequestSentStatus::Unknown);
        let action = match self.attempt.operation.is_idempotent() {
            true => self.failover(cause, true),
            false => self.abort(AbortKind::OutcomeUnknown, true),
        };
        (action, effects)
    }

    /// Ends the operation. Which kind of end it is depends on whether a write may have been applied.
    fn abort(&self, kind: AbortKind, uncertain: bool) -> OperationAction {
        let operation = self.attempt.operation;
        // Who allows repeats can tell by itself what a definite answer to one means.
        let is_answer = self.result.answer().is_some();
        let is_definite = kind == AbortKind::FinalStatus && is_answer && operation.repeats_allowed();
        let unknown = !operation.is_read_only() && (uncertain || self.applied_before() && !is_definite);
        OperationAction::Abort(if unknown { AbortKind::OutcomeUnknown } else { kind })
    }

    /// The action, unless its wait would end after the deadline, or an earlier try may have been applied and this one
    /// would apply it twice.
    fn after(
        &self,
        delay: Option<Duration>,
        uncertain: bool,
        action: impl FnOnce(Option<Duration>) -> OperationAction,
    ) -> OperationAction {
        if self.applied_before() && !self.attempt.operation.is_idempotent() {
            return self.abort(AbortKind::OutcomeUnknown, true);
        }
        let wait = delay.unwrap_or_default();
        match self.attempt.deadline {
            Some(deadline) if !deadline.leaves_room_after(wait, self.now) => {
                self.abort(AbortKind::DeadlineExceeded, uncertain)
            }
            Some(_) | None => action(delay),
        }
    }

    fn delay(&self, first: Duration, retries: u32) -> Duration {
        backoff(first, 2.0, self.attempt.limits.longest_delay, retries, self.chance)
    }

    /// Whether the service has answered, rather than a gateway or nobody.
    fn is_the_services(&self) -> bool {
        self.result.answer().is_some_and(|(status, _)| gateway_verdict(status) == GatewayVerdict::Passed)
    }

    fn applied_before(&self) -> bool {
        !mutation!("repeat-forgets-what-was-sent-before")
            && (self.attempt.retry_state.may_have_applied || self.result.may_have_applied_before)
    }

    fn carry(&self, uncertain: bool, state: OperationRetryState) -> OperationRetryState {
        let is_write = !self.attempt.operation.is_read_only();
        let may_have_applied = is_write && (uncertain || self.applied_before());
        let by_rest = state.by_rest || self.attempt.routing.framed.is_some() && !self.is_the_services();
        OperationRetryState { may_have_applied, by_rest, ..state }
    }
}
