//! The driver's one error: what happened to an operation, what the service said, and every attempt that was
//! made.

mod kind;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_policy::{AbortKind, SharedError, TransportOutcome, TransportResult, retry_after};
use cosmonaut_wire::model::ErrorBody;
use cosmonaut_wire::{CosmosStatus, headers};
use http::HeaderMap;

use crate::credential::CredentialError;
use crate::diagnostics::DiagnosticsContext;
use crate::transport::TransportError;

pub use kind::ErrorKind;

/// Why an operation did not end as asked. Cheap to clone and to pass around; keys and tokens are never in it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    status: Option<CosmosStatus>,
    headers: HeaderMap,
    body: bytes::Bytes,
    source: Option<SharedError>,
    diagnostics: Option<DiagnosticsContext>,
}

impl Error {
    /// An error that no attempt was made for.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            status: None,
            headers: HeaderMap::new(),
            body: bytes::Bytes::new(),
            source: None,
            diagnostics: None,
        }))
    }

    /// An error with its cause, whose words are the message.
    pub(crate) fn caused_by(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = source.to_string();
        Self(Arc::new(Inner { source: Some(Arc::new(source)), ..Self::new(kind, message).into_inner() }))
    }

    /// The end of an operation by what its last attempt came to.
    pub(crate) fn aborted(
        abort: AbortKind,
        result: TransportResult,
        diagnostics: DiagnosticsContext,
    ) -> Self {
        let latency = result.latency;
        match result.outcome {
            TransportOutcome::Success { status, headers, body }
            | TransportOutcome::HttpError { status, headers, body } => {
                let kind = ErrorKind::of_abort(abort).unwrap_or_else(|| ErrorKind::of_status(status));
                let message = describe_status(kind, status, &body);
                let diagnostics = Some(diagnostics);
                let (status, source) = (Some(status), None);
                Self(Arc::new(Inner { kind, message, status, headers, body, source, diagnostics }))
            }
            TransportOutcome::TransportError { error, .. } | TransportOutcome::LocalFailure { error, .. } => {
                let kind = ErrorKind::of_abort(abort).unwrap_or_else(|| ErrorKind::of_source(&*error));
                let message = format!("{}{error}", kind.preface());
                let base = Self::new(kind, message).into_inner();
                Self(Arc::new(Inner { source: Some(error), diagnostics: Some(diagnostics), ..base }))
            }
            TransportOutcome::DeadlineExceeded { .. } => {
                let kind = ErrorKind::of_abort(abort).unwrap_or(ErrorKind::DeadlineExceeded);
                let preface = if kind == ErrorKind::OutcomeUnknown { kind.preface() } else { "" };
                let message = format!(
                    "{preface}the operation's time was up, {latency:?} into its last attempt (see the \
                     diagnostics for what took the time, or raise `end_to_end_timeout`)"
                );
                Self(Arc::new(Inner {
                    diagnostics: Some(diagnostics),
                    ..Self::new(kind, message).into_inner()
                }))
            }
        }
    }

    fn into_inner(self) -> Inner {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner,
            Err(shared) => Inner {
                kind: shared.kind,
                message: shared.message.clone(),
                status: shared.status,
                headers: shared.headers.clone(),
                body: shared.body.clone(),
                source: shared.source.clone(),
                diagnostics: shared.diagnostics.clone(),
            },
        }
    }

    /// This error with the diagnostics of the operation that it ended.
    #[must_use]
    pub(crate) fn with_diagnostics(self, diagnostics: DiagnosticsContext) -> Self {
        let inner = self.into_inner();
        Self(Arc::new(Inner { diagnostics: Some(inner.diagnostics.unwrap_or(diagnostics)), ..inner }))
    }

    /// This error of a write that an earlier attempt may have applied.
    #[must_use]
    pub(crate) fn in_doubt(self) -> Self {
        let inner = self.into_inner();
        let kind = ErrorKind::OutcomeUnknown;
        let message = format!("{}{}", kind.preface(), inner.message);
        Self(Arc::new(Inner { kind, message, ..inner }))
    }

    /// What happened.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the service answered, if it did.
    pub fn status(&self) -> Option<CosmosStatus> {
        self.0.status
    }

    /// The headers of the service's answer; none if it did not answer.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// The body of the service's answer; empty if it did not answer.
    pub fn body(&self) -> &bytes::Bytes {
        &self.0.body
    }

    /// How long the service asks to wait before a repeat.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.0.headers)
    }

    /// What all attempts cost together, in request units.
    pub fn request_charge(&self) -> f64 {
        self.0.diagnostics.as_ref().map_or(0.0, DiagnosticsContext::request_charge)
    }

    /// The service's name for the request, for asking about it.
    pub fn activity_id(&self) -> Option<&str> {
        self.0.headers.get(headers::ACTIVITY_ID)?.to_str().ok()
    }

    /// What was tried, and what came of it; `None` if nothing was.
    pub fn diagnostics(&self) -> Option<&DiagnosticsContext> {
        self.0.diagnostics.as_ref()
    }
}

/// What the service said, in its words where it has any.
fn describe_status(kind: ErrorKind, status: CosmosStatus, body: &[u8]) -> String {
    let remedy = kind.remedy();
    let said = match ErrorBody::parse(body) {
        Ok(body) if !body.message.is_empty() => body.message,
        Ok(body) => body.code,
        Err(_) if body.is_empty() => "no message".to_owned(),
        Err(_) => "a body that is not JSON: check that the endpoint is a Cosmos DB account's".to_owned(),
    };
    let preface = kind.preface();
    if remedy.is_empty() {
        format!("{preface}the service answered {status}: {said}")
    } else {
        format!("{preface}the service answered {status} ({remedy}): {said}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)?;
        match &self.0.diagnostics {
            Some(diagnostics) => write!(f, " [{diagnostics}]"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<CredentialError> for Error {
    fn from(error: CredentialError) -> Self {
        Self::caused_by(ErrorKind::Credential, error)
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::caused_by(ErrorKind::Transport(error.kind()), error)
    }
}

macro_rules! configuration_errors {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::caused_by(ErrorKind::Configuration, error)
            }
        })+
    };
}

configuration_errors!(
    cosmonaut_options::OptionErrors,
    cosmonaut_policy::ConsistencyError,
    cosmonaut_policy::EndpointError,
    cosmonaut_wire::MasterKeyError,
    cosmonaut_wire::PathError,
    crate::transport::InvalidEndpoint,
    crate::transport::InvalidProxyUser,
    crate::transport::InvalidProxyVariable,
);
