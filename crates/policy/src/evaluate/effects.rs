//! What an attempt has shown about endpoints and partitions.

use std::time::Duration;

use cosmonaut_wire::CosmosStatus;

use super::{Attempt, Evaluation};
use crate::partition_state::mechanism_for;
use crate::{
    Access, CosmosEndpoint, Effects, FailoverMechanism, LocationEffect, PartitionMove, Probe, ProbeTicket,
    SilentGateway, UnavailablePartition, UnavailableReason,
};

/// A deadline that passes after this long without an answer counts against the partition, or against the Gateway 2.0
/// that was asked.
const SUSPICIOUS_SILENCE: Duration = Duration::from_secs(1);

impl Evaluation<'_> {
    pub(super) fn mark_both(&self, reason: UnavailableReason) -> Effects {
        let mut effects = Effects::NONE;
        self.push_partition(&mut effects);
        self.push_endpoint(reason, &mut effects);
        effects
    }

    pub(super) fn push_endpoint(&self, reason: UnavailableReason, effects: &mut Effects) {
        let Attempt { operation, routing, retry_state, .. } = self.attempt;
        let is_its_answer = reason.is_answer() && operation.is_partitioned();
        let partition = retry_state.partition.clone().filter(|_| is_its_answer);
        let endpoint = routing.endpoint.clone();
        effects.push(LocationEffect::MarkEndpointUnavailable { endpoint, reason, partition });
    }

    pub(super) fn push_check(&self, effects: &mut Effects) {
        effects.push(LocationEffect::CheckEndpoint(self.attempt.routing.endpoint.clone()));
    }

    /// Whether the service moves the operation's partition by itself. What a failed attempt says about such a
    /// partition counts only once another region has proved to have it.
    pub(super) fn is_moved_by_the_service(&self) -> bool {
        let Attempt { operation, retry_state, location, .. } = self.attempt;
        retry_state.partition.is_some()
            && mechanism_for(&location.partitions, &location.account, operation)
                == Some(FailoverMechanism::AutomaticFailover)
    }

    /// The partition has failed where it was sent. If that was a probe, the probe has failed; if the
    /// partition is not known, nothing is said about it.
    pub(super) fn push_partition(&self, effects: &mut Effects) {
        let Attempt { operation, routing, retry_state, .. } = self.attempt;
        if let Probe::UnderWay(ticket) = &routing.probe {
            return effects.push(LocationEffect::ProbeFailed(ticket.clone()));
        }
        if self.is_moved_by_the_service() {
            return;
        }
        if let Some(partition) = retry_state.partition.clone().filter(|_| operation.is_partitioned()) {
            let (endpoint, access) = (routing.endpoint.clone(), Access::of(operation));
            let failed = UnavailablePartition { partition, endpoint, access };
            effects.push(LocationEffect::MarkPartitionUnavailable(failed));
        }
    }

    /// A partition or region that swallows requests must not go unnoticed just because callers give up before the
    /// transport does. Callers with little patience prove nothing.
    pub(super) fn deadline_effects(&self, sent: bool) -> Effects {
        let Attempt { operation, routing, location, .. } = self.attempt;
        if !sent {
            return self.probe_abandoned();
        }
        if let Some(gateway) = &routing.framed {
            let mut effects = self.probe_abandoned();
            if self.is_suspicious() {
                effects.push(self.gateway_hung(gateway));
            }
            return effects;
        }
        if routing.is_probe() {
            return self.probe_failed();
        }
        let mut effects = Effects::NONE;
        if !self.is_suspicious() {
            return effects;
        }
        match mechanism_for(&location.partitions, &location.account, operation) {
            Some(FailoverMechanism::CircuitBreaker) => self.push_partition(&mut effects),
            Some(FailoverMechanism::AutomaticFailover) => {
                self.push_check(&mut effects);
                self.push_suspicion(&mut effects);
            }
            None => self.push_check(&mut effects),
        }
        effects
    }

    /// Whether there has been no answer for so long that it says something.
    pub(super) fn is_suspicious(&self) -> bool {
        self.result.latency >= SUSPICIOUS_SILENCE
    }

    pub(super) fn gateway_hung(&self, gateway: &CosmosEndpoint) -> LocationEffect {
        let Attempt { operation, routing, retry_state, .. } = self.attempt;
        let asked = self.now - self.result.latency;
        let partition = retry_state.partition.clone();
        let partition = partition.filter(|_| operation.is_partitioned() && !routing.is_probe());
        let (endpoint, access) = (routing.endpoint.clone(), Access::of(operation));
        let partition = partition.map(|partition| UnavailablePartition { partition, endpoint, access });
        LocationEffect::GatewayHung(SilentGateway { gateway: gateway.clone(), asked, partition })
    }

    /// An answer of the service refutes what speaks against the gateway that has passed it on.
    pub(super) fn push_gateway_answered(&self, effects: &mut Effects) {
        let Attempt { routing, location, .. } = self.attempt;
        if let (Some(gateway), Some(framed)) = (&routing.framed, &location.account.framed)
            && framed.is_doubted(gateway)
            && self.is_the_services()
        {
            effects.push(LocationEffect::GatewayAnswered(gateway.clone()));
        }
    }

    pub(super) fn success_effects(&self) -> Effects {
        let mut effects = self.probe_succeeded();
        self.push_move(&mut effects);
        let Attempt { routing, retry_state, location, .. } = self.attempt;
        let Some(partition) = &retry_state.partition else { return effects };
        let entry = location.partitions.entry(FailoverMechanism::CircuitBreaker, partition);
        // The other leg of a hedged request says nothing about the slow one.
        if entry.is_some_and(|entry| entry.hedge_wins > 0 && entry.first_failed_endpoint == routing.endpoint)
        {
            effects.push(LocationEffect::ResetHedgeWins(partition.clone()));
        }
        effects
    }

    /// The answer stands. One about the item's own state proves as well as a success that the partition is there.
    pub(super) fn final_effects(&self, status: CosmosStatus) -> Effects {
        let mut effects = self.probe_succeeded();
        if status.is_conflict() || status.is_precondition_failed() {
            self.push_move(&mut effects);
        }
        effects
    }

    /// A write of a partition that the service moves by itself has ended in doubt: nobody can repeat it elsewhere to
    /// find out where the partition is, so the next write is to.
    pub(super) fn push_suspicion(&self, effects: &mut Effects) {
        let Attempt { routing, retry_state, .. } = self.attempt;
        if routing.is_probe() || !self.is_moved_by_the_service() {
            return;
        }
        if let Some(partition) = retry_state.partition.clone() {
            let (endpoint, access) = (routing.endpoint.clone(), Access::Write);
            effects.push(LocationEffect::SuspectPartition(UnavailablePartition {
                partition,
                endpoint,
                access,
            }));
        }
    }

    /// A region has proved to have the partition's writes after others had failed: it is known now that they have
    /// moved, and from where.
    fn push_move(&self, effects: &mut Effects) {
        let Attempt { routing, retry_state, .. } = self.attempt;
        if retry_state.failed_endpoints.is_empty() || !self.is_moved_by_the_service() {
            return;
        }
        let Some(partition) = retry_state.partition.clone() else { return };
        let confirmed = routing.endpoint.clone();
        let blamed = retry_state.failed_endpoints.iter().filter(|failed| failed.cause.blames_partition());
        let failed: Vec<CosmosEndpoint> =
            blamed.map(|failed| failed.endpoint.clone()).filter(|endpoint| *endpoint != confirmed).collect();
        if !failed.is_empty() {
            effects.push(LocationEffect::MovePartition(PartitionMove { partition, failed, confirmed }));
        }
    }

    /// The partition answered, even if with a no.
    pub(super) fn probe_succeeded(&self) -> Effects {
        self.probe_effect(LocationEffect::ProbeSucceeded)
    }

    pub(super) fn probe_failed(&self) -> Effects {
        self.probe_effect(LocationEffect::ProbeFailed)
    }

    /// It was not the partition that answered.
    pub(super) fn probe_abandoned(&self) -> Effects {
        self.probe_effect(LocationEffect::ProbeAbandoned)
    }

    fn probe_effect(&self, effect: impl FnOnce(ProbeTicket) -> LocationEffect) -> Effects {
        let mut effects = Effects::NONE;
        if let Probe::UnderWay(ticket) = &self.attempt.routing.probe {
            effects.push(effect(ticket.clone()));
        }
        effects
    }
}
