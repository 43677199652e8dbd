//! Reading the account: at first need, again when an answer gives a reason, and from whichever endpoint
//! answers.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmonaut_policy::{
    ACCOUNT_READ_STEP, ACCOUNT_READ_TIMEOUT, AbortKind, AccountReads, AccountRefresh, AttemptSettings,
    CosmosEndpoint, CosmosOperation, Deadline, ExecutionContext, LocationSnapshot, Moment, OperationType,
    Probe, ReadConsistency, RoutingDecision, SessionState, TransportOutcome, TransportResult,
    account_endpoints, build_transport_request,
};
use cosmonaut_wire::model::AccountProperties;
use cosmonaut_wire::{ReadConsistencyStrategy, ResourcePath, headers};
use http::HeaderValue;
use tokio::sync::Notify;

use super::DriverCore;
use crate::diagnostics::DiagnosticsContext;
use crate::error::{Error, ErrorKind};
use crate::out_of_line::OutOfLine;
use crate::pipeline::Leg;
use crate::race::first_success;
use crate::transport::{Authority, BoxFuture, TransportError, TransportErrorKind};

/// Reads the account for all who have a reason, one read at a time.
#[derive(Default)]
pub(crate) struct AccountReader {
    state: Mutex<ReaderState>,
    /// How many reads have ended.
    ended: AtomicU64,
    /// Told whenever one has.
    news: Notify,
}

#[derive(Default)]
struct ReaderState {
    reads: AccountReads,
    /// When the latest attempt began that gave a reason which no read has dealt with.
    wanted_since: Option<Moment>,
    is_reading: bool,
}

/// A read of the account that will come to an end.
#[derive(Clone, Copy)]
pub(crate) struct AccountRead {
    ended_before: u64,
}

impl AccountReader {
    fn lock(&self) -> MutexGuard<'_, ReaderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `is_over` holds, looking again after each read.
    async fn wait_until(&self, is_over: impl Fn() -> bool) {
        loop {
            let mut news = pin!(self.news.notified());
            news.as_mut().enable();
            if is_over() {
                return;
            }
            news.await;
        }
    }

    fn read_ended(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
        self.news.notify_waiters();
    }
}

/// Lets the next one read if this one is stopped in the middle, or before it has begun.
struct Reading {
    core: Arc<DriverCore>,
    is_over: bool,
}

impl Reading {
    async fn read_while_wanted(mut self) {
        let core = Arc::clone(&self.core);
        let reader = &core.account_reader;
        loop {
            let due = {
                let mut state = reader.lock();
                let Some(wanted_since) = state.wanted_since.take() else {
                    // Under the lock, so that whoever comes next starts a read of its own.
                    state.is_reading = false;
                    self.is_over = true;
                    return;
                };
                state.reads.refresh_for(wanted_since, core.platform.now())
            };
            let AccountRefresh::At(due) = due else { continue };
            let wait = due.since(core.platform.now());
            if !wait.is_zero() {
                core.platform.sleep(wait).await;
            }
            // A failure is no reason to fail anybody: all go on with what is known.
            let _ = core.refresh_account().await;
            reader.read_ended();
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if !self.is_over {
            let reader = &self.core.account_reader;
            reader.lock().is_reading = false;
            reader.read_ended();
        }
    }
}

impl DriverCore {
    /// The account as it last described itself; asks if it has not.
    pub(crate) async fn read_account(&self) -> Result<Arc<AccountProperties>, Error> {
        let core = self.itself()?;
        let fetch = || {
            let core = Arc::clone(&core);
            async move { core.fetch_account().await }
        };
        self.account.get(self.tasks.upgrade().as_deref(), fetch).await
    }

    /// What is known about endpoints and partitions, after asking the account if nothing was.
    pub(crate) fn read_location(&self) -> BoxFuture<'_, Result<Arc<LocationSnapshot>, Error>> {
        Box::pin(async {
            self.read_account().await?;
            Ok(self.location.load().expect("what the account says was taken in before it was kept"))
        })
    }

    /// Has the account read in the background for a reason that an attempt gave which began at this moment. `None`
    /// if it has been read since, or cannot be read any more.
    pub(crate) fn read_account_for(&self, attempt_began: Moment) -> Option<AccountRead> {
        let reader = &self.account_reader;
        let read = AccountRead { ended_before: reader.ended.load(Ordering::Acquire) };
        let (core, tasks) = (self.this.upgrade()?, self.tasks.upgrade()?);
        {
            let mut state = reader.lock();
            if state.reads.refresh_for(attempt_began, self.platform.now()) == AccountRefresh::NotNeeded {
                return None;
            }
            state.wanted_since = state.wanted_since.max(Some(attempt_began));
            if std::mem::replace(&mut state.is_reading, true) {
                return Some(read);
            }
        }
        let reading = Reading { core, is_over: false };
        match tasks.try_spawn("account read", Box::pin(reading.read_while_wanted())) {
            None => Some(read),
            // Dropped: nobody reads any more.
            Some(_) => None,
        }
    }

    /// Waits for the end of a read.
    pub(crate) async fn account_read(&self, read: AccountRead) {
        let reader = &self.account_reader;
        reader.wait_until(|| reader.ended.load(Ordering::Acquire) != read.ended_before).await;
    }

    /// Waits until the account names other regions than these.
    pub(crate) async fn account_changed(&self, known: &LocationSnapshot) {
        let has_changed = || {
            let current = self.location.load();
            current.is_some_and(|current| !current.account.has_same_regions(&known.account))
        };
        self.account_reader.wait_until(has_changed).await;
    }

    /// Reads the account anew, unless another has done so since.
    pub(crate) async fn refresh_account(&self) -> Result<Arc<AccountProperties>, Error> {
        let core = self.itself()?;
        let known = self.account.current();
        let fetch = || {
            let core = Arc::clone(&core);
            async move { core.fetch_account().await }
        };
        self.account.refresh(self.tasks.upgrade().as_deref(), known.as_ref(), fetch).await
    }

    async fn fetch_account(&self) -> Result<AccountProperties, Error> {
        let began = self.platform.now();
        let before = self.location.load();
        let fetched = self.ask_for_account().await.and_then(|properties| {
            self.location.set_account(&properties, began)?;
            self.probe_gateways(false);
            Ok(properties)
        });
        let after = self.location.load();
        if let Some(after) = &after {
            self.latencies.retain(&after.account);
        }
        let changed = match (before, after) {
            (Some(before), Some(after)) => !before.account.has_same_regions(&after.account),
            (None, after) => after.is_some(),
            (Some(_), None) => false,
        };
        let mut state = self.account_reader.lock();
        state.reads = state.reads.after_read(began, self.platform.now(), changed);
        drop(state);
        self.account_reader.news.notify_waiters();
        fetched
    }

    /// Asks each endpoint that may know: the next one when those before have failed, or have not answered in a
    /// second.
    async fn ask_for_account(&self) -> Result<AccountProperties, Error> {
        // Ahead of the first endpoint: none is to blame for an identity service that does not answer.
        self.transport.signer.ready().await?;
        let candidates = account_endpoints(
            self.location.default_endpoint(),
            self.location.load().as_deref(),
            &self.custom_endpoints,
            self.location.regions(),
            self.platform.now(),
        );
        let attempts = candidates.into_iter().map(|endpoint| async move {
            match self.read_account_at(endpoint).await {
                // A key that is wrong here is wrong everywhere.
                Err(error) if error.kind() == ErrorKind::Unauthorized => Ok(Err(error)),
                result => result.map(Ok),
            }
        });
        match first_success(attempts, || self.platform.sleep(ACCOUNT_READ_STEP)).await {
            Ok(answer) => answer,
            Err(failure) => Err(failure
                .unwrap_or_else(|| Error::new(ErrorKind::Configuration, "the account has no endpoint"))),
        }
    }

    async fn read_account_at(&self, endpoint: CosmosEndpoint) -> Result<AccountProperties, Error> {
        let deadline = Deadline::after(self.platform.now(), ACCOUNT_READ_TIMEOUT);
        let (result, diagnostics) = self.ask(&endpoint, Some(deadline), true).await;
        let body = match result.outcome {
            TransportOutcome::Success { body, .. } => body,
            // The time is this question's, not the caller's.
            TransportOutcome::DeadlineExceeded { request_sent } => {
                let server = Authority::of_endpoint(&endpoint).to_string();
                let late = TransportError::new(TransportErrorKind::Timeout, request_sent, server);
                return Err(Error::from(late).with_diagnostics(diagnostics));
            }
            TransportOutcome::HttpError { .. }
            | TransportOutcome::TransportError { .. }
            | TransportOutcome::LocalFailure { .. } => {
                return Err(Error::aborted(AbortKind::FinalStatus, result, diagnostics));
            }
        };
        AccountProperties::parse(&body).map_err(|error| {
            let message = format!(
                "{endpoint} did not answer as a Cosmos DB account does (check the endpoint): {error}"
            );
            Error::new(ErrorKind::InvalidResponse, message)
        })
    }

    /// Reads the account at one endpoint, whatever is known about it. Without `needs_signature` the request is sent
    /// unsigned if no token is at hand: enough for a caller that takes any answer.
    pub(super) async fn ask(
        &self,
        endpoint: &CosmosEndpoint,
        deadline: Option<Deadline>,
        needs_signature: bool,
    ) -> (TransportResult, DiagnosticsContext) {
        let mut operation = CosmosOperation::new(OperationType::Read, ResourcePath::account());
        if self.location.wants_gateways() {
            operation = operation.with_header(headers::USE_THIN_CLIENT, HeaderValue::from_static("true"));
        }
        let routing = RoutingDecision {
            endpoint: endpoint.clone(),
            framed: None,
            partition_override: None,
            probe: Probe::No,
        };
        let strategy = ReadConsistencyStrategy::Default;
        let consistency = ReadConsistency { uses_session: false, level: None, strategy };
        let session = SessionState { session_token: None, consistency };
        let settings = AttemptSettings {
            options: self.options.request(&self.metadata_options),
            multiple_write_locations: false,
            deadline,
            execution_context: ExecutionContext::Initial,
        };
        let activity_id = self.new_activity_id();
        let started = self.platform.now();
        let leg = Leg {
            request: build_transport_request(&operation, &routing, &session, settings),
            activity_id,
            container_rid: None,
            partition: None,
            is_overridden: false,
            needs_signature,
            frame: None,
            is_left: None,
        };
        let mut attempts = Vec::with_capacity(1);
        let throttling = self.throttling;
        let mut sending = Box::pin(self.transport.execute(leg, started, throttling, &mut attempts));
        let (result, ..) = OutOfLine(sending.as_mut()).await;
        drop(sending);
        let diagnostics = DiagnosticsContext {
            operation: operation.operation_type(),
            resource: operation.resource_type(),
            activity_id,
            started,
            elapsed: self.platform.now().since(started),
            attempts,
        };
        (result, diagnostics)
    }
}
