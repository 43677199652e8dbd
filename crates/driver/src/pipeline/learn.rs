//! What an attempt teaches: about the session, about partitions, about endpoints. Stages 6 and 7.
//!
//! Nothing here waits, so that none of it is lost if the caller gives up.

use cosmonaut_policy::{
    Attempt, Effects, LocationEffect, Moment, OperationAction, RoutingDecision, TransportResult,
    answering_container, answering_partition, evaluate_transport_result, hedge_win_effects, teaches_session,
};
use cosmonaut_wire::headers;
use http::HeaderMap;

use super::attempt::Learned;
use super::operation::{OperationPipeline, OperationState};
use crate::cache::container_path;
use crate::driver::DriverCore;
use crate::platform::chance;

impl OperationPipeline<'_> {
    /// What follows from a result. Its effects are applied; also says whether one of them is to read the account
    /// anew.
    pub(super) fn evaluate(
        &self,
        state: &OperationState,
        routing: &RoutingDecision,
        result: &TransportResult,
        now: Moment,
    ) -> (OperationAction, bool) {
        let core = self.core;
        // What a call sets for itself matters to failures alone.
        let own_limits = (!result.is_success()).then(|| core.limits_of(self.options));
        let attempt = Attempt {
            operation: self.operation,
            routing,
            retry_state: &state.retry_state,
            location: &state.location,
            limits: own_limits.as_ref().unwrap_or(&core.limits),
            deadline: self.deadline,
        };
        let chance = if result.is_success() { 0.0 } else { chance(&*core.platform) };
        let (action, effects) = evaluate_transport_result(&attempt, result, now, chance);
        (action, core.apply(effects))
    }

    /// Takes in what the legs have shown of endpoints and partitions whose results do not count: what each was answered,
    /// and that the first was silent while another answered. Their session tokens are left alone: the caller was given
    /// the answer of the leg that counts, and a session that had to see more would keep reads from regions that are
    /// good enough.
    pub(super) fn learn_from_others(&self, state: &OperationState, learned: Learned, now: Moment) -> bool {
        let mut wants_account = false;
        for (routing, result) in &learned.answered {
            wants_account |= self.evaluate(state, routing, result, now).1;
        }
        if let Some(first) = &learned.silent_first {
            let effects = hedge_win_effects(self.operation, &state.retry_state, first, state.begins);
            wants_account |= self.core.apply(effects);
        }
        wants_account
    }

    /// What an answer teaches besides itself: the session's progress, and whether the partition was where it
    /// should be.
    pub(super) fn learn(&self, state: &mut OperationState, result: &TransportResult) {
        let Some((status, headers)) = result.answer() else { return };
        if state.target.container.is_none() {
            self.learn_container(state, headers);
        }
        let target = &state.target;
        if let Some(rid) = target.rid.filter(|_| teaches_session(self.operation, state.consistency, status)) {
            self.core.sessions.capture(rid, target.partition.as_ref(), headers);
        }
        let (Some(container), Some(known), Some(answered_by)) =
            (&target.container, &target.partition, headers.get(headers::PARTITION_KEY_RANGE_ID))
        else {
            return;
        };
        if answered_by.as_bytes() != known.range().as_bytes() {
            container.note_heir(known.range(), answered_by);
            if result.is_success() {
                container.doubt_ranges(answered_by);
            }
        }
    }

    /// What an answer says of a container and a partition that could not be looked up.
    fn learn_container(&self, state: &mut OperationState, headers: &HeaderMap) {
        let partition = &mut state.retry_state.partition;
        *partition = partition.take().or_else(|| answering_partition(self.operation, headers));
        let path = container_path(self.operation.path()).filter(|_| self.operation.is_partitioned());
        if let (Some(path), Some(rid)) = (path, answering_container(headers)) {
            if state.target.rid != Some(rid) {
                state.target.note_rid(Some(rid));
                state.target.bind(self.operation);
            }
            if let Some(before) = self.core.containers.note_rid(path, rid) {
                self.core.sessions.forget(before);
            }
        }
    }
}

impl DriverCore {
    /// Stage 7. Says whether the account is to be read anew, which takes time: the rest is done before any
    /// await, so that none of it is lost if the caller gives up.
    pub(super) fn apply(&self, effects: Effects) -> bool {
        let mut wants_account = false;
        for effect in effects {
            match effect {
                LocationEffect::RefreshAccountProperties => {
                    wants_account = true;
                }
                LocationEffect::CheckEndpoint(endpoint) => self.check_endpoint(endpoint),
                LocationEffect::MarkEndpointUnavailable { .. }
                | LocationEffect::MarkPartitionUnavailable(_)
                | LocationEffect::SuspectPartition(_)
                | LocationEffect::MovePartition(_)
                | LocationEffect::RecordHedgeWin(_)
                | LocationEffect::ResetHedgeWins(_)
                | LocationEffect::ProbeSucceeded(_)
                | LocationEffect::ProbeFailed(_)
                | LocationEffect::ProbeAbandoned(_)
                | LocationEffect::GatewayLost(_)
                | LocationEffect::GatewayRefused(_)
                | LocationEffect::GatewayClosed(_)
                | LocationEffect::GatewayAnswered(_) => {
                    self.location.apply(&effect, self.platform.now());
                }
                LocationEffect::GatewayHung(ref silent) | LocationEffect::GatewaySlow(ref silent) => {
                    self.location.apply(&effect, self.platform.now());
                    self.probe_silent_gateway(&silent.gateway);
                }
            }
        }
        wants_account
    }
}
