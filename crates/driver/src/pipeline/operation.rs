//! An operation from beginning to end: attempt, evaluate, apply, and again until it is over.
//!
//! How one attempt is made is in `attempt`.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_policy::{
    AbortKind, Attempt, CosmosOperation, Deadline, Effects, ExecutionContext, LocationEffect,
    LocationSnapshot, Moment, OperationAction, OperationRetryState, OperationType, Probe, ReadConsistency,
    RoutingDecision, StaleCache, TransportOutcome, TransportResult, evaluate_transport_result,
    resolve_read_consistency, teaches_session,
};
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use http::HeaderMap;

use super::attempt::Attempted;
use super::target::Target;
use super::transport::is_hopeless;
use crate::cache::container_path;
use crate::diagnostics::{DiagnosticsContext, NextStep};
use crate::driver::DriverCore;
use crate::error::{Error, ErrorKind};
use crate::options::OperationOptions;
use crate::platform::chance;
use crate::response::CosmosResponse;
use crate::transport::BoxFuture;

/// One run of an operation.
pub(crate) struct OperationPipeline<'a> {
    pub(super) core: &'a DriverCore,
    pub(super) operation: &'a CosmosOperation,
    pub(super) options: &'a OperationOptions,
    pub(super) deadline: Option<Deadline>,
    pub(super) diagnostics: DiagnosticsContext,
}

/// What is known before an attempt.
pub(super) struct Progress {
    /// What is in service. Each attempt looks anew, as a refresh may have come in between.
    pub(super) location: Arc<LocationSnapshot>,
    pub(super) target: Target,
    pub(super) consistency: ReadConsistency,
    pub(super) retry_state: OperationRetryState,
    /// Why the attempt is made.
    pub(super) context: ExecutionContext,
}

/// The answer that was asked for.
struct Answer {
    status: CosmosStatus,
    headers: HeaderMap,
    body: bytes::Bytes,
}

/// Why there is none.
enum Failure {
    /// Something before the first attempt, or between two.
    Between(Error),
    /// An attempt.
    Aborted(AbortKind, Box<TransportResult>),
}

/// What follows an attempt.
enum Step {
    Return(Answer),
    Again(Box<Retry>),
}

/// Another attempt.
struct Retry {
    state: OperationRetryState,
    delay: Option<Duration>,
    reason: NextStep,
    /// What is to be fetched anew first.
    stale: Option<StaleCache>,
}

impl<'a> OperationPipeline<'a> {
    /// An operation that is about to run, and must be over at the deadline.
    pub(crate) fn new(
        core: &'a DriverCore,
        operation: &'a CosmosOperation,
        options: &'a OperationOptions,
        deadline: Option<Deadline>,
        now: Moment,
    ) -> Self {
        let diagnostics = DiagnosticsContext {
            operation: operation.operation_type(),
            resource: operation.resource_type(),
            activity_id: core.new_activity_id(),
            started: now,
            elapsed: Duration::ZERO,
            attempts: Vec::with_capacity(1),
        };
        Self { core, operation, options, deadline, diagnostics }
    }

    /// Runs it.
    pub(crate) async fn run(mut self) -> Result<CosmosResponse, Error> {
        match self.attempts().await {
            Ok(Answer { status, headers, body }) => {
                Ok(CosmosResponse { status, headers, body, diagnostics: self.finish() })
            }
            Err(Failure::Aborted(abort, result)) => Err(Error::aborted(abort, *result, self.finish())),
            Err(Failure::Between(error)) => Err(error.with_diagnostics(self.finish())),
        }
    }

    fn finish(mut self) -> DiagnosticsContext {
        self.diagnostics.elapsed = self.core.platform.now().since(self.diagnostics.started);
        self.diagnostics
    }

    async fn attempts(&mut self) -> Result<Answer, Failure> {
        let mut progress = self.prepare().await?;
        loop {
            match self.step(&progress).await? {
                Step::Return(answer) => return Ok(answer),
                Step::Again(retry) => self.get_ready(&mut progress, *retry).await?,
            }
        }
    }

    /// What must be known before the first attempt. Usually it all is; what rarely happens, here and below, is
    /// on the heap, so that no operation's future carries room for it.
    async fn prepare(&self) -> Result<Progress, Error> {
        let core = self.core;
        let location = match core.location.load() {
            Some(location) => location,
            None => core.within(self.deadline, core.read_location()).await?,
        };
        let options = core.options.request(self.options);
        let level = location.account.default_consistency;
        let consistency = resolve_read_consistency(self.operation, &options, level)?;
        let target = match core.known_target(self.operation)? {
            Some(target) => target,
            None => {
                let fetched = core.fetched_target(self.operation, self.deadline);
                core.within(self.deadline, fetched).await?
            }
        };
        let excluded = options.excluded_regions().map_or(&[][..], Vec::as_slice);
        let retry_state = OperationRetryState::initial(target.partition.clone(), excluded);
        Ok(Progress { location, target, consistency, retry_state, context: ExecutionContext::Initial })
    }

    /// One attempt, and what it leads to.
    async fn step(&mut self, progress: &Progress) -> Result<Step, Failure> {
        let core = self.core;
        let Attempted { routing, result, hedge_effects } = self.attempt(progress).await;
        self.learn(progress, &result);
        let attempt = Attempt {
            operation: self.operation,
            routing: &routing,
            retry_state: &progress.retry_state,
            location: &progress.location,
            limits: &core.limits,
            deadline: self.deadline,
        };
        let chance = if result.is_success() { 0.0 } else { chance(&*core.platform) };
        let (action, effects) = evaluate_transport_result(&attempt, &result, core.platform.now(), chance);
        // A failure on this side says nothing about endpoints and partitions.
        let effects = if is_hopeless(&result.outcome) { self.abandon_probe(&routing) } else { effects };
        if self.apply(effects) | self.apply(hedge_effects) {
            core.refresh_account_soon(self.deadline).await;
        }
        self.decide(action, result)
    }

    /// The effects of an attempt that has shown nothing.
    fn abandon_probe(&self, routing: &RoutingDecision) -> Effects {
        if let Probe::UnderWay(ticket) = &routing.probe {
            let abandoned = LocationEffect::ProbeAbandoned(ticket.clone());
            self.core.location.apply(&abandoned, self.core.platform.now());
        }
        Effects::NONE
    }

    fn decide(&self, action: OperationAction, result: TransportResult) -> Result<Step, Failure> {
        if is_hopeless(&result.outcome) {
            return Err(Failure::hopeless(self.operation, result));
        }
        let again = |state: Box<OperationRetryState>, delay: Option<Duration>, reason, stale| {
            Ok(Step::Again(Box::new(Retry { state: *state, delay, reason, stale })))
        };
        match action {
            OperationAction::Complete => self.complete(result),
            OperationAction::Abort(abort) => Err(Failure::Aborted(abort, Box::new(result))),
            OperationAction::FailoverRetry { new_state, delay } => {
                again(new_state, delay, NextStep::Failover(delay.unwrap_or_default()), None)
            }
            OperationAction::SessionRetry { new_state, delay } => {
                again(new_state, delay, NextStep::RetryForSession(delay.unwrap_or_default()), None)
            }
            OperationAction::RetryInPlace { new_state, delay } => {
                again(new_state, delay, NextStep::RetryInPlace(delay.unwrap_or_default()), None)
            }
            OperationAction::RefreshRetry { stale, new_state, delay } => {
                again(new_state, delay, NextStep::RetryAfterRefresh(delay.unwrap_or_default()), Some(stale))
            }
        }
    }

    /// Waits and fetches what the next attempt needs.
    async fn get_ready(&mut self, progress: &mut Progress, retry: Retry) -> Result<(), Error> {
        self.diagnostics.conclude_last(retry.reason);
        progress.context = match retry.reason {
            NextStep::Failover(_) => ExecutionContext::Failover,
            NextStep::Done
            | NextStep::RetryThrottled(_)
            | NextStep::RetryOnAnotherShard
            | NextStep::RetryWithNewToken
            | NextStep::RetryForSession(_)
            | NextStep::RetryInPlace(_)
            | NextStep::RetryAfterRefresh(_)
            | NextStep::HedgeTaken
            | NextStep::HedgeDropped => ExecutionContext::Retry,
        };
        if let Some(delay) = retry.delay {
            self.core.platform.sleep(delay).await;
        }
        progress.retry_state = retry.state;
        if let Some(stale) = retry.stale {
            let refreshed = self.refreshed_target(stale, &progress.target);
            progress.target = self.core.within(self.deadline, refreshed).await?;
            progress.retry_state.partition = progress.target.partition.clone();
        }
        if let Some(location) = self.core.location.load() {
            progress.location = location;
        }
        Ok(())
    }

    /// What an answer teaches besides itself: the session's progress, and whether the partition was where it
    /// should be.
    fn learn(&self, progress: &Progress, result: &TransportResult) {
        let target = &progress.target;
        let (Some((status, headers)), Some(container)) = (result.answer(), &target.container) else { return };
        if teaches_session(self.operation, progress.consistency, status) {
            self.core.sessions.capture(container.rid, target.partition.as_ref(), headers);
        }
        let (Some(known), Some(answered_by)) =
            (&target.partition, headers.get(headers::PARTITION_KEY_RANGE_ID))
        else {
            return;
        };
        if result.is_success() && answered_by.as_bytes() != known.range().as_str().as_bytes() {
            container.doubt_ranges();
        }
    }

    /// Stage 7. Says whether the account is to be read anew, which takes time: the rest is done before any
    /// await, so that none of it is lost if the caller gives up.
    fn apply(&self, effects: Effects) -> bool {
        let mut refresh = false;
        for effect in effects {
            match effect {
                LocationEffect::RefreshAccountProperties => refresh = true,
                LocationEffect::CheckEndpoint(endpoint) => self.core.check_endpoint(endpoint),
                LocationEffect::MarkEndpointUnavailable { .. }
                | LocationEffect::MarkPartitionUnavailable(_)
                | LocationEffect::RecordHedgeWin(_)
                | LocationEffect::ResetHedgeWins(_)
                | LocationEffect::ProbeSucceeded(_)
                | LocationEffect::ProbeFailed(_)
                | LocationEffect::ProbeAbandoned(_) => {
                    self.core.location.apply(&effect, self.core.platform.now());
                }
            }
        }
        refresh
    }

    fn refreshed_target<'b>(
        &'b self,
        stale: StaleCache,
        target: &'b Target,
    ) -> BoxFuture<'b, Result<Target, Error>> {
        let core = self.core;
        Box::pin(async move {
            if let (Some(path), Some(container)) = (container_path(self.operation.path()), &target.container)
            {
                match stale {
                    StaleCache::Container => {
                        core.containers.forget(path, container);
                        core.sessions.forget(container.rid);
                    }
                    StaleCache::PartitionKeyRanges => {
                        core.refresh_ranges(path, container, self.deadline).await?;
                    }
                }
            }
            match core.known_target(self.operation)? {
                Some(target) => Ok(target),
                None => core.fetched_target(self.operation, self.deadline).await,
            }
        })
    }

    fn complete(&self, result: TransportResult) -> Result<Step, Failure> {
        self.forget_what_was_deleted();
        match result.outcome {
            TransportOutcome::Success { status, headers, body } => {
                Ok(Step::Return(Answer { status, headers, body }))
            }
            TransportOutcome::HttpError { .. }
            | TransportOutcome::TransportError { .. }
            | TransportOutcome::DeadlineExceeded { .. } => {
                Err(Failure::Aborted(AbortKind::FinalStatus, Box::new(result)))
            }
        }
    }

    fn forget_what_was_deleted(&self) {
        let is_container = self.operation.resource_type() == ResourceType::Container;
        if !is_container || self.operation.operation_type() != OperationType::Delete {
            return;
        }
        let Some(path) = container_path(self.operation.path()) else { return };
        if let Some(container) = self.core.containers.known(path) {
            self.core.containers.forget(path, &container);
            self.core.sessions.forget(container.rid);
        }
    }
}

impl Failure {
    /// The end of an operation that no further attempt would help. A write that arrived may have been
    /// applied.
    fn hopeless(operation: &CosmosOperation, result: TransportResult) -> Self {
        let arrived = match &result.outcome {
            TransportOutcome::TransportError { request_sent, .. } => request_sent.may_have_arrived(),
            TransportOutcome::Success { .. }
            | TransportOutcome::HttpError { .. }
            | TransportOutcome::DeadlineExceeded { .. } => false,
        };
        let is_uncertain = !operation.is_read_only() && (arrived || result.may_have_applied_before);
        let abort = if is_uncertain { AbortKind::OutcomeUnknown } else { AbortKind::FinalStatus };
        Self::Aborted(abort, Box::new(result))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Between(error)
    }
}

/// The error of an operation whose time was up before an attempt.
pub(crate) fn out_of_time() -> Error {
    let message = "no time was left to look up the account or container (raise `end_to_end_timeout`)";
    Error::new(ErrorKind::DeadlineExceeded, message)
}
