//! One attempt of an operation, stages 2 to 5: where to, what to send, over which connection, and perhaps again
//! elsewhere while the first has not answered.

use std::pin::pin;

use cosmonaut_policy::{
    AttemptSettings, ExecutionContext, HedgeContext, HedgePlan, HedgeSettings, LocationSnapshot, Moment,
    OperationRetryState, Probe, RoutingDecision, SessionSource, SessionState, ThrottleRetryState,
    TransportResult, build_transport_request, plan_hedge, resolve_endpoint, resolve_session,
};

use cosmonaut_wire::mutation;

use super::frame::{as_sent, by_frame_or_rest};
use super::operation::{OperationPipeline, OperationState};
use super::transport::Leg;
use crate::location::ProbeGuard;
use crate::out_of_line::OutOfLine;

/// What an attempt came to, and where it went in the end.
pub(super) struct Attempted {
    /// When it was over.
    pub(super) ended: Moment,
    pub(super) routing: RoutingDecision,
    pub(super) result: TransportResult,
    /// What the operation has spent by now.
    pub(super) throttling: ThrottleRetryState,
    /// What other legs have shown; `None` if there were none.
    pub(super) learned: Option<Box<Learned>>,
}

/// What the legs of an attempt have shown whose results did not count.
pub(super) struct Learned {
    /// The legs that ended.
    pub(super) answered: Vec<(RoutingDecision, TransportResult)>,
    /// Where the first leg went, if another has answered while it was silent.
    pub(super) silent_first: Option<RoutingDecision>,
}

impl OperationPipeline<'_> {
    /// Makes an attempt.
    pub(super) async fn attempt(&mut self, state: &OperationState) -> Attempted {
        let core = self.core;
        let OperationState { location, target, retry_state, begins: began, .. } = state;
        let began = *began;
        let routing = self.route(location, retry_state, began);
        if let Some(plan) = self.hedge_plan(state, &routing, began) {
            return self.hedged_attempt(state, routing, plan, began).await;
        }
        let frame = routing.framed.as_ref().and_then(|_| self.frame(state));
        let routing = by_frame_or_rest(routing, frame.as_ref());
        let ticket = match &routing.probe {
            Probe::UnderWay(ticket) => Some(ticket.clone()),
            Probe::No | Probe::Proposed { .. } => None,
        };
        let settings = AttemptSettings {
            options: core.options.request(self.options),
            multiple_write_locations: location.account.multiple_write_locations_enabled,
            deadline: self.deadline,
            execution_context: if ticket.is_some() { ExecutionContext::Probe } else { state.context },
        };
        let guard = ProbeGuard::new(&core.location, &*core.platform, ticket);
        let session = self.session(state, settings.multiple_write_locations);
        let leg = Leg {
            request: build_transport_request(self.operation, &routing, &session, settings),
            activity_id: self.diagnostics.activity_id,
            container_rid: target.rid_header(),
            partition: retry_state.partition.as_ref(),
            is_overridden: routing.partition_override.is_some(),
            needs_signature: true,
            frame: frame.as_ref(),
            is_left: None,
        };
        let attempts = &mut self.diagnostics.attempts;
        let throttling = state.throttling.for_attempt(retry_state.tries_lost_at(&routing.endpoint));
        let (result, throttling, ended) =
            OutOfLine(pin!(core.transport.execute(leg, began, throttling, attempts))).await;
        // From here to where its effects are applied nothing is awaited, so the probe's end cannot be lost.
        guard.conclude();
        let routing = as_sent(routing, &self.diagnostics.attempts);
        Attempted { ended, routing, result, throttling, learned: None }
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

    pub(super) fn session(&self, state: &OperationState, multiple_write_locations: bool) -> SessionState {
        let OperationState { target, retry_state, consistency, .. } = state;
        let partition = retry_state.partition.as_ref();
        let heirs = match (&target.container, partition) {
            (Some(container), Some(partition)) => container.heirs(partition.range()),
            _ => Vec::new(),
        };
        let source = SessionSource {
            seen: &self.core.sessions,
            given: self.options.session_token.as_ref(),
            container: target.rid,
            partition,
            parents: target.parents.as_deref().unwrap_or_default(),
            heirs: &heirs,
        };
        let mut session = resolve_session(self.operation, *consistency, multiple_write_locations, source);
        if mutation!("failover-forgets-the-session") && !retry_state.is_initial() {
            session.session_token = None;
        }
        session
    }

    fn hedge_plan(
        &self,
        state: &OperationState,
        routing: &RoutingDecision,
        now: Moment,
    ) -> Option<HedgePlan> {
        let OperationState { location, retry_state, .. } = state;
        // Nothing is looked up for an account where hedging is no question.
        if location.account.endpoints_for(self.operation).len() < 2 || !retry_state.is_initial() {
            return None;
        }
        let options = self.core.options.hedging(self.options);
        // A losing write is looked after in the background, so there is none once that has been shut down.
        let is_looked_after = || {
            self.operation.is_read_only() || self.core.tasks.upgrade().is_some_and(|tasks| tasks.is_open())
        };
        let settings = HedgeSettings {
            enabled: options.hedging_enabled(),
            writes_enabled: options.write_hedging_enabled() && is_looked_after(),
            threshold: options.hedging_threshold(),
            step: options.hedging_step(),
            max_regions: options.max_hedged_regions() as usize,
        };
        let context = HedgeContext {
            operation: self.operation,
            retry_state,
            routing,
            location,
            settings,
            observed: self.core.latencies.observed(&routing.endpoint, self.operation.latency_kind()),
            deadline: self.deadline,
        };
        plan_hedge(&context, now)
    }
}
