//! One leg of a hedged attempt: a read runs in place, a write runs by itself, so that it can outlive the operation.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use cosmonaut_policy::{
    AttemptSettings, CosmosOperation, Deadline, ExecutionContext, Moment, OperationRetryState,
    RequestSentStatus, RoutingDecision, SessionState, ThrottleRetryState, TransportOutcome, TransportResult,
    build_transport_request,
};
use http::HeaderValue;
use tokio::sync::oneshot;

use super::frame::Frame;
use super::transport::Leg;
use crate::activity_id::ActivityId;
use crate::diagnostics::AttemptDiagnostics;
use crate::driver::DriverCore;
use crate::options::OperationOptions;
use crate::out_of_line::OutOfLine;
use crate::platform::Task;
use crate::transport::BoxFuture;

/// What came of a leg.
pub(super) struct LegEnd {
    pub(super) result: TransportResult,
    pub(super) throttling: ThrottleRetryState,
    pub(super) tries: Vec<AttemptDiagnostics>,
}

/// Where a leg goes, and why.
pub(super) struct LegStart {
    pub(super) routing: RoutingDecision,
    pub(super) context: ExecutionContext,
    pub(super) began: Moment,
    /// Where its tries are noted.
    pub(super) tries: Vec<AttemptDiagnostics>,
}

/// What all legs of an attempt share.
#[derive(Clone, Copy)]
pub(super) struct SharedParts<'a> {
    pub(super) operation: &'a CosmosOperation,
    pub(super) options: &'a OperationOptions,
    pub(super) retry_state: &'a OperationRetryState,
    pub(super) session: &'a SessionState,
    pub(super) throttling: ThrottleRetryState,
    pub(super) container_rid: Option<&'a HeaderValue>,
    pub(super) multiple_write_locations: bool,
    pub(super) deadline: Option<Deadline>,
    pub(super) activity_id: ActivityId,
    /// What a Gateway 2.0 is told besides; `None` if no leg goes to one.
    pub(super) frame: Option<&'a Frame>,
    /// Set once another leg has answered.
    pub(super) is_left: Option<&'a AtomicBool>,
}

/// The same, kept by a leg that may outlive its operation.
struct OwnedParts {
    operation: CosmosOperation,
    options: OperationOptions,
    retry_state: OperationRetryState,
    session: SessionState,
    container_rid: Option<HeaderValue>,
    frame: Option<Frame>,
}

impl<'a> SharedParts<'a> {
    /// A leg that ends when it is dropped.
    pub(super) fn run(self, core: &'a DriverCore, start: LegStart) -> BoxFuture<'a, LegEnd> {
        Box::pin(self.execute(core, start))
    }

    /// A leg that runs by itself.
    pub(super) fn spawn(self, core: Arc<DriverCore>, start: LegStart) -> SpawnedLeg {
        let platform = Arc::clone(&core.platform);
        let (done, end) = oneshot::channel();
        let owned = OwnedParts {
            operation: self.operation.clone(),
            options: self.options.clone(),
            retry_state: self.retry_state.clone(),
            session: self.session.clone(),
            container_rid: self.container_rid.cloned(),
            frame: self.frame.cloned(),
        };
        let Self { throttling, multiple_write_locations, deadline, activity_id, .. } = self;
        let is_left = Arc::new(AtomicBool::new(false));
        let leave = Arc::clone(&is_left);
        let task = platform.spawn(Box::pin(async move {
            let parts = SharedParts {
                operation: &owned.operation,
                options: &owned.options,
                retry_state: &owned.retry_state,
                session: &owned.session,
                throttling,
                container_rid: owned.container_rid.as_ref(),
                multiple_write_locations,
                deadline,
                activity_id,
                frame: owned.frame.as_ref(),
                is_left: Some(&is_left),
            };
            // Whoever is gone does not want to know.
            let _ = done.send(parts.execute(&core, start).await);
        }));
        SpawnedLeg { end, throttling, leave, _task: task }
    }

    async fn execute(self, core: &DriverCore, start: LegStart) -> LegEnd {
        let LegStart { routing, context, began, mut tries } = start;
        let leg = self.leg(core, &routing, context);
        let (result, throttling, _) =
            OutOfLine(pin!(core.transport.execute(leg, began, self.throttling, &mut tries))).await;
        LegEnd { result, throttling, tries }
    }

    fn leg<'b>(
        &'b self,
        core: &'b DriverCore,
        routing: &'b RoutingDecision,
        context: ExecutionContext,
    ) -> Leg<'b> {
        let settings = AttemptSettings {
            options: core.options.request(self.options),
            multiple_write_locations: self.multiple_write_locations,
            deadline: self.deadline,
            execution_context: context,
        };
        Leg {
            request: build_transport_request(self.operation, routing, self.session, settings),
            activity_id: self.activity_id,
            container_rid: self.container_rid,
            partition: self.retry_state.partition.as_ref(),
            is_overridden: routing.partition_override.is_some(),
            needs_signature: true,
            frame: self.frame,
            is_left: self.is_left,
        }
    }

    /// Where a leg went that has not ended, so that no try of it says how: what fits in no frame goes by REST.
    pub(super) fn as_under_way(&self, core: &DriverCore, routing: RoutingDecision) -> RoutingDecision {
        let is_framed = core.transport.can_be_framed(&self.leg(core, &routing, ExecutionContext::Initial));
        let framed = routing.framed.filter(|_| is_framed);
        RoutingDecision { framed, ..routing }
    }
}

/// A leg that runs by itself. Dropping it stops it.
pub(super) struct SpawnedLeg {
    end: oneshot::Receiver<LegEnd>,
    throttling: ThrottleRetryState,
    leave: Arc<AtomicBool>,
    _task: Task,
}

impl SpawnedLeg {
    /// Lets the try that is under way be the last.
    pub(super) fn leave(&self) {
        self.leave.store(true, Ordering::Relaxed);
    }
}

impl Future for SpawnedLeg {
    type Output = LegEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LegEnd> {
        let throttling = self.throttling;
        Pin::new(&mut self.end).poll(context).map(|end| {
            end.unwrap_or_else(|_| {
                // The task was stopped from outside, as by a runtime that shuts down.
                let request_sent = RequestSentStatus::Unknown;
                let outcome = TransportOutcome::DeadlineExceeded { request_sent };
                let result = TransportResult::new(outcome, Duration::ZERO);
                LegEnd { result, throttling, tries: Vec::new() }
            })
        })
    }
}
