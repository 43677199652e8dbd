//! Reading the account: at first need, again when an answer gives a reason, and from whichever endpoint
//! answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cosmonaut_policy::{
    AbortKind, Access, AttemptSettings, CosmosEndpoint, CosmosOperation, Deadline, ExecutionContext,
    LocationSnapshot, Moment, OperationType, Probe, ReadConsistency, RoutingDecision, SessionState,
    TransportOutcome, TransportResult, build_transport_request,
};
use cosmonaut_wire::model::AccountProperties;
use cosmonaut_wire::{ReadConsistencyStrategy, ResourcePath};

use super::DriverCore;
use crate::diagnostics::DiagnosticsContext;
use crate::error::{Error, ErrorKind};
use crate::pipeline::Leg;
use crate::transport::{Authority, BoxFuture, TransportError, TransportErrorKind};

/// How often it is read anew at most, however many answers give a reason.
const LEAST_REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// How long one endpoint may take to answer for the account before the next is asked.
const ACCOUNT_READ_TIMEOUT: Duration = Duration::from_secs(10);

impl DriverCore {
    /// The account as it last described itself; asks if it has not.
    pub(crate) async fn read_account(&self) -> Result<Arc<AccountProperties>, Error> {
        self.account.get(self.fetch_account()).await
    }

    /// What is known about endpoints and partitions, after asking the account if nothing was.
    pub(crate) fn read_location(&self) -> BoxFuture<'_, Result<Arc<LocationSnapshot>, Error>> {
        Box::pin(async {
            self.read_account().await?;
            Ok(self.location.load().expect("what the account says was taken in before it was kept"))
        })
    }

    /// Reads the account anew for a reason, unless that was just done.
    pub(crate) fn refresh_account_soon(&self, deadline: Option<Deadline>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let last = Moment::from_nanos(self.account_read.load(Ordering::Relaxed));
            if self.platform.now().since(last) < LEAST_REFRESH_INTERVAL {
                return;
            }
            // A failure is no reason to fail the operation: it goes on with what is known.
            let _ = self.within(deadline, Box::pin(self.refresh_account())).await;
        })
    }

    /// Reads the account anew, unless another has done so since.
    pub(crate) async fn refresh_account(&self) -> Result<Arc<AccountProperties>, Error> {
        let known = self.account.current();
        self.account.refresh(known.as_ref(), self.fetch_account()).await
    }

    async fn fetch_account(&self) -> Result<AccountProperties, Error> {
        let fetched = self.ask_for_account().await;
        // Only now: whoever comes while it is being read is to wait for it.
        self.account_read.store(self.platform.now().as_nanos(), Ordering::Relaxed);
        fetched
    }

    /// Asks each endpoint that may know, until one does.
    async fn ask_for_account(&self) -> Result<AccountProperties, Error> {
        // Ahead of the first endpoint: none is to blame for an identity service that does not answer.
        self.transport.signer.ready().await?;
        let mut endpoints = vec![self.location.default_endpoint().clone()];
        let known = self.location.load();
        let regional = known.iter().flat_map(|known| known.account.preferred_read_endpoints());
        for endpoint in regional.chain(&self.custom_endpoints) {
            if !endpoints.contains(endpoint) {
                endpoints.push(endpoint.clone());
            }
        }
        // One that is out of service may take long not to answer.
        endpoints.sort_by_key(|endpoint| self.is_out_of_service(endpoint));
        let mut first_failure = None;
        for endpoint in endpoints {
            match self.read_account_at(&endpoint).await {
                Ok(properties) => return Ok(properties),
                Err(error) => first_failure = first_failure.or(Some(error)),
            }
        }
        Err(first_failure
            .unwrap_or_else(|| Error::new(ErrorKind::Configuration, "the account has no endpoint")))
    }

    fn is_out_of_service(&self, endpoint: &CosmosEndpoint) -> bool {
        let now = self.platform.now();
        let known = self.location.load();
        known.is_some_and(|known| known.account.unavailability(endpoint, Access::Read, now).is_some())
    }

    async fn read_account_at(&self, endpoint: &CosmosEndpoint) -> Result<AccountProperties, Error> {
        let deadline = Deadline::after(self.platform.now(), ACCOUNT_READ_TIMEOUT);
        let (result, diagnostics) = self.ask(endpoint, Some(deadline), true).await;
        let body = match result.outcome {
            TransportOutcome::Success { body, .. } => body,
            // The time is this question's, not the caller's.
            TransportOutcome::DeadlineExceeded { request_sent } => {
                let server = Authority::of_endpoint(endpoint).to_string();
                let late = TransportError::new(TransportErrorKind::Timeout, request_sent, server);
                return Err(Error::from(late).with_diagnostics(diagnostics));
            }
            TransportOutcome::HttpError { .. } | TransportOutcome::TransportError { .. } => {
                return Err(Error::aborted(AbortKind::FinalStatus, result, diagnostics));
            }
        };
        let properties = serde_json::from_slice::<AccountProperties>(&body).map_err(|error| {
            let message = format!(
                "{endpoint} did not answer as a Cosmos DB account does (check the endpoint): {error}"
            );
            Error::new(ErrorKind::InvalidResponse, message)
        })?;
        self.location.set_account(&properties)?;
        Ok(properties)
    }

    /// Reads the account at one endpoint, whatever is known about it. Without `needs_signature` the request is sent
    /// unsigned if no token is at hand: enough for a caller that takes any answer.
    pub(super) async fn ask(
        &self,
        endpoint: &CosmosEndpoint,
        deadline: Option<Deadline>,
        needs_signature: bool,
    ) -> (TransportResult, DiagnosticsContext) {
        let operation = CosmosOperation::new(OperationType::Read, ResourcePath::account());
        let routing =
            RoutingDecision { endpoint: endpoint.clone(), partition_override: None, probe: Probe::No };
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
        };
        let mut attempts = Vec::with_capacity(1);
        let result = self.transport.execute_boxed(leg, started, &mut attempts).await;
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
