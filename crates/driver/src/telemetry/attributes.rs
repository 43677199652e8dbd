//! What spans and metrics say about an operation: the one place where the values come from.

use std::borrow::Cow;
use std::time::Duration;

use cosmonaut_policy::{CosmosEndpoint, OperationType};
use cosmonaut_wire::{ConsistencyLevel, CosmosStatus, ResourceType, headers};
use http::StatusCode;

use super::Observed;
use crate::diagnostics::{AttemptDiagnostics, DiagnosticsContext};
use crate::error::{Error, ErrorKind};
use crate::response::CosmosResponse;

/// The system that is spoken to.
pub(super) const SYSTEM: &str = "azure.cosmosdb";
/// The port that goes without saying.
const USUAL_PORT: u16 = 443;

/// What is known before an operation runs.
pub(super) struct Subject<'a> {
    /// What is done.
    pub(super) name: &'static str,
    /// The database.
    pub(super) namespace: Option<Cow<'a, str>>,
    /// The container.
    pub(super) collection: Option<Cow<'a, str>>,
    /// The stored procedure, if one is run.
    pub(super) stored_procedure: Option<Cow<'a, str>>,
    /// The account's host.
    pub(super) address: &'a str,
    /// The account's port, if it is another than 443.
    pub(super) port: Option<u16>,
}

impl<'a> Subject<'a> {
    pub(super) fn of(observed: &Observed<'a>) -> Self {
        let (address, port) = server_of(observed.core.location.default_endpoint());
        let mut subject = Self {
            name: observed.name(),
            namespace: None,
            collection: None,
            stored_procedure: None,
            address,
            port,
        };
        let is_execution = observed.operation.operation_type() == OperationType::Execute;
        for (kind, id) in observed.operation.path().segments() {
            match kind {
                ResourceType::Database => subject.namespace = id,
                ResourceType::Container => subject.collection = id,
                ResourceType::StoredProcedure if is_execution => subject.stored_procedure = id,
                // Other names are the application's data.
                _ => {}
            }
        }
        subject
    }

    /// Such as `read_item orders`.
    pub(super) fn span_name(&self) -> Cow<'static, str> {
        match &self.collection {
            Some(collection) => Cow::Owned(format!("{} {collection}", self.name)),
            None => Cow::Borrowed(self.name),
        }
    }
}

/// The host of an account, and its port if it is another than 443.
pub(super) fn server_of(endpoint: &CosmosEndpoint) -> (&str, Option<u16>) {
    (endpoint.authority().host(), Some(endpoint.port()).filter(|port| *port != USUAL_PORT))
}

/// What is known once an operation has ended.
pub(super) struct Ending<'a> {
    /// What the service answered last, if it did.
    pub(super) status: Option<CosmosStatus>,
    /// The status or the kind of error, if there is no result.
    pub(super) error_type: Option<Cow<'static, str>>,
    #[cfg_attr(
        not(feature = "opentelemetry"),
        expect(dead_code, reason = "only metrics say how long it took")
    )]
    pub(super) elapsed: Duration,
    pub(super) request_charge: f64,
    /// How many rows a query or a feed returned.
    pub(super) rows: Option<u64>,
    /// The consistency that was asked for, or the account's.
    pub(super) consistency: Option<ConsistencyLevel>,
    pub(super) diagnostics: Option<&'a DiagnosticsContext>,
}

impl<'a> Ending<'a> {
    pub(super) fn of(observed: &Observed<'_>, result: &'a Result<CosmosResponse, Error>) -> Self {
        let (status, error_type, rows, diagnostics) = match result {
            Ok(response) => (
                Some(response.status()),
                None,
                rows_of(observed.operation.operation_type(), response),
                Some(response.diagnostics()),
            ),
            Err(error) => (error.status(), Some(error_type(error)), None, error.diagnostics()),
        };
        let core = observed.core;
        let asked_for = core.options.request(observed.options).consistency_level();
        let of_account = || core.location.load().map(|location| location.account.default_consistency);
        Self {
            status,
            error_type,
            elapsed: core.platform.now().since(observed.started),
            request_charge: diagnostics.map_or(0.0, DiagnosticsContext::request_charge),
            rows,
            consistency: asked_for.or_else(of_account),
            diagnostics,
        }
    }

    /// Every attempt, in the order in which they were begun.
    pub(super) fn attempts(&self) -> &'a [AttemptDiagnostics] {
        self.diagnostics.map_or(&[], DiagnosticsContext::attempts)
    }

    /// Each region once, in the order in which they were first asked.
    pub(super) fn regions(&self) -> Vec<&'a str> {
        let mut regions: Vec<&str> = Vec::new();
        for region in self.attempts().iter().filter_map(|attempt| attempt.endpoint.region()) {
            if !regions.contains(&region.as_str()) {
                regions.push(region.as_str());
            }
        }
        regions
    }
}

/// The status as text: the convention has it so, as not all systems have numbers.
pub(super) fn status_text(status: CosmosStatus) -> Cow<'static, str> {
    Cow::Owned(status.code().as_str().to_owned())
}

fn error_type(error: &Error) -> Cow<'static, str> {
    match error.status() {
        Some(status) => status_text(status),
        None => Cow::Borrowed(kind_name(error.kind())),
    }
}

/// Such as `deadline_exceeded`.
pub(super) const fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Configuration => "configuration",
        ErrorKind::Credential => "credential",
        ErrorKind::Unauthorized => "unauthorized",
        ErrorKind::Forbidden => "forbidden",
        ErrorKind::BadRequest => "bad_request",
        ErrorKind::NotFound => "not_found",
        ErrorKind::SessionNotAvailable => "session_not_available",
        ErrorKind::Conflict => "conflict",
        ErrorKind::PreconditionFailed => "precondition_failed",
        ErrorKind::TooLarge => "too_large",
        ErrorKind::Throttled => "throttled",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Status => "status",
        ErrorKind::DeadlineExceeded => "deadline_exceeded",
        ErrorKind::OutcomeUnknown => "outcome_unknown",
        ErrorKind::Transport(kind) => kind.name(),
        ErrorKind::InvalidResponse => "invalid_response",
    }
}

/// The rows of a page: the service counts them, so no body is read here.
fn rows_of(operation: OperationType, response: &CosmosResponse) -> Option<u64> {
    match operation {
        OperationType::Query | OperationType::ReadFeed | OperationType::ChangeFeed => {}
        OperationType::Create
        | OperationType::Read
        | OperationType::Head
        | OperationType::Replace
        | OperationType::Upsert
        | OperationType::Delete
        | OperationType::Patch
        | OperationType::Batch
        | OperationType::Bulk
        | OperationType::QueryPlan
        | OperationType::Execute
        | OperationType::DeleteByPartitionKey => return None,
    }
    if response.status().code() == StatusCode::NOT_MODIFIED {
        return Some(0);
    }
    response.headers().get(headers::ITEM_COUNT)?.to_str().ok()?.parse().ok()
}
