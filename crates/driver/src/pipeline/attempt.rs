//! One attempt of an operation, stages 2 to 5: where to, what to send, over which connection, and perhaps a
//! second time elsewhere.

use cosmonaut_policy::{
    AttemptSettings, Effects, ExecutionContext, HedgeContext, HedgeLeg, HedgePlan, LocationSnapshot, Moment,
    OperationRetryState, Probe, RoutingDecision, SessionSource, SessionState, TransportResult,
    build_transport_request, hedge_win_effects, plan_hedge, resolve_endpoint, resolve_session,
};

use super::hedge::{Hedge, Hedged};
use super::operation::{OperationPipeline, Progress};
use super::transport::Leg;
use crate::location::ProbeGuard;

/// What an attempt came to, and where it went in the end.
pub(super) struct Attempted {
    pub(super) routing: RoutingDecision,
    pub(super) result: TransportResult,
    /// What it says about the first region that the second has answered for it.
    pub(super) hedge_effects: Effects,
}

impl OperationPipeline<'_> {
    /// Makes an attempt.
    pub(super) async fn attempt(&mut self, progress: &Progress) -> Attempted {
        let core = self.core;
        let now = core.platform.now();
        let Progress { location, target, retry_state, .. } = progress;
        let routing = self.route(location, retry_state, now);
        let ticket = match &routing.probe {
            Probe::UnderWay(ticket) => Some(ticket.clone()),
            Probe::No | Probe::Proposed { .. } => None,
        };
        let settings = AttemptSettings {
            options: core.options.request(self.options),
            multiple_write_locations: location.account.multiple_write_locations_enabled,
            deadline: self.deadline,
            execution_context: if ticket.is_some() { ExecutionContext::Probe } else { progress.context },
        };
        let guard = ProbeGuard::new(&core.location, &*core.platform, ticket);
        let session = self.session(progress, settings.multiple_write_locations);
        let primary = Leg {
            request: build_transport_request(self.operation, &routing, &session, settings),
            activity_id: self.diagnostics.activity_id,
            container_rid: target.container.as_ref().map(|container| &container.rid_header),
            partition: retry_state.partition.as_ref(),
            is_overridden: routing.partition_override.is_some(),
            needs_signature: true,
        };
        let attempted = match self.hedge_plan(progress, &routing, now) {
            None => {
                let result = core.transport.execute(primary, now, &mut self.diagnostics.attempts).await;
                Attempted { routing, result, hedge_effects: Effects::NONE }
            }
            Some(plan) => {
                let settings = AttemptSettings { execution_context: ExecutionContext::Hedging, ..settings };
                let request = build_transport_request(self.operation, &plan.routing, &session, settings);
                let is_overridden = plan.routing.partition_override.is_some();
                let secondary = Leg { request, is_overridden, ..primary };
                let hedge = Hedge { primary, secondary, after: plan.after };
                let hedged = core.transport.hedge(hedge, now, &mut self.diagnostics.attempts).await;
                self.settled(retry_state, routing, plan.routing, hedged)
            }
        };
        // From here to where its effects are applied nothing is awaited, so the probe's end cannot be lost.
        guard.conclude();
        self.note_latency(location, &attempted);
        attempted
    }

    /// Where the attempt goes. A probe that another has begun meanwhile is not proposed a second time.
    fn route(
        &self,
        location: &LocationSnapshot,
        retry_state: &OperationRetryState,
        now: Moment,
    ) -> RoutingDecision {
        let core = self.core;
        let mut routing = resolve_endpoint(self.operation, retry_state, location, now);
        let Probe::Proposed { partition, mechanism } = &routing.probe else { return routing };
        if let Some(ticket) = core.location.begin_probe(*mechanism, partition, now) {
            routing.probe = Probe::UnderWay(ticket);
            return routing;
        }
        let newer = core.location.load();
        let newer = newer.as_deref().unwrap_or(location);
        let mut routing = resolve_endpoint(self.operation, retry_state, newer, now);
        if matches!(routing.probe, Probe::Proposed { .. }) {
            // Due again already: the next request may begin it.
            routing.probe = Probe::No;
        }
        routing
    }

    fn session(&self, progress: &Progress, multiple_write_locations: bool) -> SessionState {
        let Progress { target, retry_state, consistency, .. } = progress;
        let source = SessionSource {
            seen: &self.core.sessions.load(),
            given: self.options.session_token.as_ref(),
            container: target.container.as_ref().map(|container| container.rid),
            partition: retry_state.partition.as_ref(),
            parents: target.parents.as_deref().unwrap_or_default(),
        };
        resolve_session(self.operation, *consistency, multiple_write_locations, source)
    }

    fn hedge_plan(&self, progress: &Progress, routing: &RoutingDecision, now: Moment) -> Option<HedgePlan> {
        let Progress { location, retry_state, .. } = progress;
        // Nothing is looked up for an account where hedging is no question.
        if location.account.endpoints_for(self.operation).len() < 2 || !retry_state.is_initial() {
            return None;
        }
        let options = self.core.options.hedging(self.options);
        let kind = self.operation.operation_type().latency_kind();
        let context = HedgeContext {
            operation: self.operation,
            retry_state,
            routing,
            location,
            enabled: options.hedging_enabled(),
            threshold: options.hedging_threshold(),
            observed: self.core.latencies.observed(&routing.endpoint, kind),
            deadline: self.deadline,
        };
        plan_hedge(&context, now)
    }

    fn settled(
        &self,
        retry_state: &OperationRetryState,
        first: RoutingDecision,
        second: RoutingDecision,
        hedged: Hedged,
    ) -> Attempted {
        let Hedged { winner, result } = hedged;
        match winner {
            HedgeLeg::Primary => Attempted { routing: first, result, hedge_effects: Effects::NONE },
            HedgeLeg::Secondary => {
                let hedge_effects = match result.is_success() {
                    true => hedge_win_effects(self.operation, retry_state, &first),
                    false => Effects::NONE,
                };
                Attempted { routing: second, result, hedge_effects }
            }
        }
    }

    /// Latencies count where hedging may ask for them. A leg that was dropped has none: were its wait
    /// counted, a region that turns slow would raise its own threshold.
    fn note_latency(&self, location: &LocationSnapshot, attempted: &Attempted) {
        let Attempted { routing, result, .. } = attempted;
        if result.is_success() && location.account.endpoints_for(self.operation).len() > 1 {
            let kind = self.operation.operation_type().latency_kind();
            self.core.latencies.record(&routing.endpoint, kind, result.latency, self.core.platform.now());
        }
    }
}
