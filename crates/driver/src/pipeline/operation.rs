//! An operation from beginning to end: attempt, evaluate, apply, and again until it is over.
//!
//! How one attempt is made is in `attempt`; what is learned from it, in `learn`.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_policy::{
    AbortKind, CosmosOperation, Deadline, ExecutionContext, LONGEST_ACCOUNT_WAIT, LOSING_WRITE_LIMIT,
    LocationSnapshot, Moment, OperationAction, OperationRetryState, OperationType, ReadConsistency,
    StaleCache, ThrottleRetryState, TransportOutcome, TransportResult, resolve_read_consistency,
};
use cosmonaut_wire::{CosmosStatus, ResourceType, mutation};
use http::HeaderMap;

use super::attempt::Attempted;
use super::target::Target;
use crate::cache::container_path;
use crate::diagnostics::{DiagnosticsContext, NextStep};
use crate::driver::{AccountRead, DriverCore};
use crate::error::{Error, ErrorKind};
use crate::options::OperationOptions;
use crate::race::race;
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
pub(super) struct OperationState {
    /// What is in service. Each attempt looks anew, as a refresh may have come in between.
    pub(super) location: Arc<LocationSnapshot>,
    pub(super) target: Target,
    pub(super) consistency: ReadConsistency,
    pub(super) retry_state: OperationRetryState,
    /// What has been spent on throttling and lost tries.
    pub(super) throttling: ThrottleRetryState,
    /// Why the attempt is made.
    pub(super) context: ExecutionContext,
    /// When it begins.
    pub(super) begins: Moment,
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
    /// Whether only another account can help.
    awaits_account: bool,
    /// The read of the account that was begun for it. There is none if the account has been read meanwhile.
    account_read: Option<AccountRead>,
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
            // Nothing waits between an answer and its return.
            Ok(Answer { status, headers, body }) => {
                Ok(CosmosResponse { status, headers, body, diagnostics: self.diagnostics })
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
        let mut state = self.prepare().await?;
        loop {
            match self.step(&mut state).await? {
                Step::Return(answer) => return Ok(answer),
                Step::Again(retry) => {
                    let in_doubt = retry.state.may_have_applied;
                    let ready = self.get_ready(&mut state, *retry).await;
                    ready.map_err(|error| if in_doubt { error.in_doubt() } else { error })?;
                }
            }
        }
    }

    /// What must be known before the first attempt. Usually it all is; what rarely happens, here and below, is
    /// on the heap, so that no operation's future carries room for it.
    async fn prepare(&self) -> Result<OperationState, Error> {
        let (core, mut has_waited) = (self.core, false);
        if let Some(over) = core.left_writes.before(self.operation) {
            self.wait_for_left_write(Box::pin(over)).await;
            has_waited = true;
        }
        let location = match core.location.load() {
            Some(location) => location,
            None => {
                has_waited = true;
                core.within(self.deadline, core.read_location()).await?
            }
        };
        let options = core.options.request(self.options);
        let level = location.account.default_consistency;
        let consistency = resolve_read_consistency(self.operation, &options, level)?;
        let target = match core.known_target(self.operation)? {
            Some(target) => target,
            None => {
                has_waited = true;
                core.within(self.deadline, core.fetched_target(self.operation)).await?
            }
        };
        let excluded = options.excluded_regions().map_or(&[][..], Vec::as_slice);
        let retry_state = OperationRetryState::initial(target.partition.clone(), excluded);
        let throttling = core.throttling(self.options);
        let context = ExecutionContext::Initial;
        let begins = if has_waited { core.platform.now() } else { self.diagnostics.started };
        Ok(OperationState { location, target, consistency, retry_state, throttling, context, begins })
    }

    /// Waits for a write that may still be applied, within half of the time that is left: whoever has little time does
    /// not lose all of it.
    async fn wait_for_left_write(&self, mut over: BoxFuture<'_, ()>) {
        let most = self.deadline.map(|deadline| deadline.remaining(self.core.platform.now()) / 2);
        let most = most.unwrap_or(LOSING_WRITE_LIMIT).min(LOSING_WRITE_LIMIT);
        race(over.as_mut(), self.core.platform.sleep(most).as_mut()).await;
    }

    /// One attempt, and what it leads to.
    async fn step(&mut self, state: &mut OperationState) -> Result<Step, Failure> {
        let Attempted { ended: now, routing, result, throttling, learned } = self.attempt(state).await;
        self.diagnostics.elapsed = now.since(self.diagnostics.started);
        state.throttling = throttling;
        if !(mutation!("hedge-teaches-no-session") && learned.is_some()) {
            self.learn(state, &result);
        }
        let (action, mut wants_account) = self.evaluate(state, &routing, &result, now);
        if let Some(learned) = learned {
            wants_account |= self.learn_from_others(state, *learned, now);
        }
        let account_read = match wants_account {
            true => self.core.read_account_for(state.begins),
            false => None,
        };
        self.decide(action, result, account_read)
    }

    fn decide(
        &self,
        action: OperationAction,
        result: TransportResult,
        account_read: Option<AccountRead>,
    ) -> Result<Step, Failure> {
        let again = |state: Box<OperationRetryState>, delay: Option<Duration>, reason| Retry {
            state: *state,
            delay,
            reason,
            stale: None,
            awaits_account: false,
            account_read: None,
        };
        let retry = match action {
            OperationAction::Complete => return self.complete(result),
            OperationAction::Abort(abort) => return Err(Failure::Aborted(abort, Box::new(result))),
            OperationAction::FailoverRetry { new_state, delay, awaits_account } => {
                let retry = again(new_state, delay, NextStep::Failover(delay.unwrap_or_default()));
                Retry { awaits_account, account_read, ..retry }
            }
            OperationAction::SessionRetry { new_state, delay } => {
                again(new_state, delay, NextStep::RetryForSession(delay.unwrap_or_default()))
            }
            OperationAction::RetryInPlace { new_state, delay } => {
                again(new_state, delay, NextStep::RetryInPlace(delay.unwrap_or_default()))
            }
            OperationAction::RefreshRetry { stale, new_state, delay } => {
                let reason = NextStep::RetryAfterRefresh(delay.unwrap_or_default());
                Retry { stale: Some(stale), ..again(new_state, delay, reason) }
            }
        };
        Ok(Step::Again(Box::new(retry)))
    }

    /// Waits and fetches what the next attempt needs.
    async fn get_ready(&mut self, state: &mut OperationState, retry: Retry) -> Result<(), Error> {
        self.diagnostics.conclude_last(retry.reason);
        state.context = match retry.reason {
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
        match (retry.awaits_account, retry.account_read, retry.delay) {
            (true, _, Some(delay)) => {
                self.wait_for_account(self.core.account_changed(&state.location), delay).await;
            }
            (true, Some(read), None) => {
                self.wait_for_account(self.core.account_read(read), LONGEST_ACCOUNT_WAIT).await;
            }
            (false, _, Some(delay)) => self.core.platform.sleep(delay).await,
            (true, None, None) | (false, _, None) => {}
        }
        state.retry_state = retry.state;
        if let Some(stale) = retry.stale {
            let refreshed = self.refreshed_target(stale, &state.target);
            state.target = self.core.within(self.deadline, refreshed).await?;
            state.retry_state.partition = state.target.partition.clone();
        } else if state.retry_state.partition.is_some() {
            // It may have been split meanwhile: what the session has seen of it is its children's then.
            let target = match self.core.known_target(self.operation)? {
                Some(target) => Some(target),
                None => self.core.within(self.deadline, self.core.fetched_target(self.operation)).await.ok(),
            };
            if let Some(target) = target.filter(|target| target.partition.is_some()) {
                state.retry_state.partition = target.partition.clone();
                state.target = target;
            }
        }
        if let Some(location) = self.core.location.load() {
            state.location = location;
        }
        state.begins = self.core.platform.now();
        Ok(())
    }

    /// Waits for news of the account, for some time at most.
    async fn wait_for_account(&self, news: impl Future<Output = ()>, most: Duration) {
        let now = self.core.platform.now();
        let most = self.deadline.map_or(most, |deadline| deadline.remaining(now).min(most));
        race(Box::pin(news).as_mut(), self.core.platform.sleep(most).as_mut()).await;
    }

    fn refreshed_target<'b>(
        &'b self,
        stale: StaleCache,
        target: &'b Target,
    ) -> BoxFuture<'b, Result<Target, Error>> {
        let core = self.core;
        Box::pin(async move {
            let path = container_path(self.operation.path());
            // What is known of the container that has the name now is not what was refused.
            let path = path.filter(|_| stale != StaleCache::Container || target.is_of(self.operation));
            match (stale, path, &target.container, target.rid) {
                (StaleCache::Container, Some(path), Some(container), _) => {
                    core.containers.forget(path, container);
                    core.sessions.forget(container.rid);
                }
                (StaleCache::Container, Some(path), None, Some(rid)) => {
                    core.containers.forget_rid(path, rid);
                    core.sessions.forget(rid);
                }
                (StaleCache::PartitionKeyRanges, Some(path), Some(container), _) => {
                    core.refresh_ranges(path, container).await?;
                }
                (StaleCache::Container | StaleCache::PartitionKeyRanges, _, _, _) => {}
            }
            match core.known_target(self.operation)? {
                Some(target) => Ok(target),
                None => core.fetched_target(self.operation).await,
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
            | TransportOutcome::LocalFailure { .. }
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
        let rid = self.core.containers.rid(path);
        if let Some(container) = self.core.containers.known(path) {
            self.core.containers.forget(path, &container);
        }
        if let Some(rid) = rid {
            self.core.containers.forget_rid(path, rid);
            self.core.sessions.forget(rid);
        }
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
