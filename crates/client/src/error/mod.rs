//! The client's one error: what was being done, what came of it, and every attempt that was made.
//!
//! Whether a call is repeated was decided below, in the driver; an error here is the end of it.

mod kind;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::{CosmosOperation, CosmosResponse, DiagnosticsContext, OperationType};
use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::model::{BatchOperationType, JsonError};

use crate::batch::BatchFailure;
use crate::scripts::script_log;

pub use kind::ErrorKind;

/// What most functions here return.
///
/// ```
/// fn parse(text: &str) -> cosmonaut::Result<cosmonaut::Credential> {
///     Ok(cosmonaut::Credential::master_key(text)?)
/// }
/// assert!(parse("no base64!").is_err());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call did not end as asked. Cheap to clone and to pass around; keys and tokens are never in it.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// match orders.read_item::<serde_json::Value>("contoso", "7").await {
///     Ok(order) => println!("{}", order.value()),
///     Err(error) if error.is_not_found() => println!("there is no order 7"),
///     Err(error) => return Err(error),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    origin: Origin,
    source: Option<Source>,
}

type Source = Arc<dyn std::error::Error + Send + Sync>;

/// Where the error was noticed, and so what is known beside its message.
enum Origin {
    /// In the client, before anything was sent.
    Client,
    /// In the driver.
    Driver(cosmonaut_driver::Error),
    /// In an answer that the driver took for a good one.
    Answer(CosmosResponse),
    /// In an answer to a batch.
    Batch(CosmosResponse, BatchFailure),
}

impl Error {
    /// An error that was noticed before anything was sent.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::of(kind, message.into(), Origin::Client, None)
    }

    /// As [`new`](Self::new), with its cause.
    pub(crate) fn caused_by(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::of(kind, message.into(), Origin::Client, Some(Arc::new(source)))
    }

    /// The end of an operation in the driver.
    pub(crate) fn of_operation(error: cosmonaut_driver::Error, operation: &CosmosOperation) -> Self {
        let (verb, path) = (verb(operation.operation_type()), operation.path().as_str());
        let message = format!("{verb} {path}: {error}");
        Self::of(ErrorKind::of_driver(&error), message, Origin::Driver(error), None)
    }

    /// An answer that is not what was asked for.
    pub(crate) fn of_answer(kind: ErrorKind, message: impl Into<String>, response: CosmosResponse) -> Self {
        Self::of(kind, message.into(), Origin::Answer(response), None)
    }

    /// A batch of which one operation failed.
    pub(crate) fn of_batch(failure: BatchFailure, response: CosmosResponse) -> Self {
        let (kind, message) = (ErrorKind::of_status(failure.status()), failure.to_string());
        Self::of(kind, message, Origin::Batch(response, failure), None)
    }

    /// An operation of a bulk request that failed by itself.
    pub(crate) fn of_bulk(failure: BatchFailure, response: CosmosResponse) -> Self {
        let (kind, message) = (Self::kind_of_bulk(&failure), failure.alone());
        Self::of(kind, message, Origin::Batch(response, failure), None)
    }

    /// A write that the service could not end in time, or failed at, may have been applied.
    pub(crate) fn kind_of_bulk(failure: &BatchFailure) -> ErrorKind {
        let is_write = failure.operation() != BatchOperationType::Read;
        match (is_write, failure.status().code().as_u16()) {
            (true, 408 | 500 | 502 | 503 | 504) => ErrorKind::OutcomeUnknown,
            (true | false, _) => ErrorKind::of_status(failure.status()),
        }
    }

    /// JSON that is not a `T`. `what` names the document.
    pub(crate) fn unreadable<T>(what: impl fmt::Display, error: JsonError) -> Self {
        let wanted = std::any::type_name::<T>();
        let cause = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
        let message = match error.member() {
            "." => format!("{what} cannot be read as {wanted}: {cause}"),
            member => format!("{what} cannot be read as {wanted}, at `{member}`: {cause}"),
        };
        Self::caused_by(ErrorKind::Serialization, message, error)
    }

    /// This error with the answer that it was found in, so that its charge and diagnostics are not lost.
    #[must_use]
    pub(crate) fn found_in(self, response: CosmosResponse) -> Self {
        let Inner { kind, message, source, .. } = &*self.0;
        Self::of(*kind, message.clone(), Origin::Answer(response), source.clone())
    }

    /// This error as that of an operation that was to be added to a batch.
    #[must_use]
    pub(crate) fn in_batch_at(self, index: usize) -> Self {
        let Inner { kind, message, source, .. } = &*self.0;
        let message = format!("operation {index} of the batch: {message}");
        Self::of(*kind, message, Origin::Client, source.clone())
    }

    /// This error of another kind and in other words. What the service said stays in the source.
    #[must_use]
    pub(crate) fn in_words(self, kind: ErrorKind, message: &str) -> Self {
        let origin = match &self.0.origin {
            Origin::Driver(error) => Origin::Driver(error.clone()),
            Origin::Answer(response) => Origin::Answer(response.clone()),
            Origin::Client | Origin::Batch(..) => Origin::Client,
        };
        Self::of(kind, message.to_owned(), origin, Some(Arc::new(self)))
    }

    fn of(kind: ErrorKind, message: String, origin: Origin, source: Option<Source>) -> Self {
        Self(Arc::new(Inner { kind, message, origin, source }))
    }

    /// What happened.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether it is not there.
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }

    /// Whether there is one already.
    pub fn is_conflict(&self) -> bool {
        self.kind() == ErrorKind::Conflict
    }

    /// Whether it was of another version than asked for, or a patch's condition did not hold.
    pub fn is_precondition_failed(&self) -> bool {
        self.kind() == ErrorKind::PreconditionFailed
    }

    /// Whether it was still of the version that the caller has.
    pub fn is_not_modified(&self) -> bool {
        self.kind() == ErrorKind::NotModified
    }

    /// Whether the service was asked for more than its throughput, and every retry that the options allow was, too.
    pub fn is_throttled(&self) -> bool {
        self.kind() == ErrorKind::Throttled
    }

    /// Whether the same call may succeed later: it was throttled, or the service or the way to it did not answer. If
    /// it was a write, [`ErrorKind::OutcomeUnknown`] says that it may have been applied, and is not meant here.
    pub fn is_transient(&self) -> bool {
        match self.kind() {
            ErrorKind::Throttled
            | ErrorKind::Unavailable
            | ErrorKind::Transport
            | ErrorKind::DeadlineExceeded
            | ErrorKind::SessionNotAvailable => true,
            ErrorKind::Configuration
            | ErrorKind::Credential
            | ErrorKind::Serialization
            | ErrorKind::Query
            | ErrorKind::NotModified
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::BadRequest
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::PreconditionFailed
            | ErrorKind::TooLarge
            | ErrorKind::Status
            | ErrorKind::OutcomeUnknown
            | ErrorKind::InvalidResponse => false,
        }
    }

    /// What the service answered, if it did: for a batch, to the operation that failed.
    pub fn status(&self) -> Option<CosmosStatus> {
        match &self.0.origin {
            Origin::Client => None,
            Origin::Driver(error) => error.status(),
            Origin::Answer(response) => Some(response.status()),
            Origin::Batch(_, failure) => Some(failure.status()),
        }
    }

    /// How long the service asks to wait before a repeat.
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.0.origin {
            Origin::Client | Origin::Answer(_) => None,
            Origin::Driver(error) => error.retry_after(),
            Origin::Batch(_, failure) => failure.retry_after(),
        }
    }

    /// What all attempts cost together, in request units.
    pub fn request_charge(&self) -> f64 {
        self.diagnostics().map_or(0.0, DiagnosticsContext::request_charge)
    }

    /// The service's name for the request, for asking about it.
    pub fn activity_id(&self) -> Option<&str> {
        match &self.0.origin {
            Origin::Client => None,
            Origin::Driver(error) => error.activity_id(),
            Origin::Answer(response) | Origin::Batch(response, _) => response.activity_id(),
        }
    }

    /// What was tried, and what came of it; `None` if nothing was.
    pub fn diagnostics(&self) -> Option<&DiagnosticsContext> {
        match &self.0.origin {
            Origin::Client => None,
            Origin::Driver(error) => error.diagnostics(),
            Origin::Answer(response) | Origin::Batch(response, _) => Some(response.diagnostics()),
        }
    }

    /// What a stored procedure had written with `console.log` when it failed, if
    /// [`enable_logging`](crate::options::ExecuteOptions::enable_logging) asks for it.
    pub fn script_log(&self) -> Option<String> {
        match &self.0.origin {
            Origin::Client => None,
            Origin::Driver(error) => script_log(error.headers()),
            Origin::Answer(response) | Origin::Batch(response, _) => script_log(response.headers()),
        }
    }

    /// Which operation of a batch failed, and how; `None` if this is not about one.
    pub fn batch_failure(&self) -> Option<&BatchFailure> {
        match &self.0.origin {
            Origin::Batch(_, failure) => Some(failure),
            Origin::Client | Origin::Driver(_) | Origin::Answer(_) => None,
        }
    }
}

/// What an operation does, as a sentence about its failure begins.
fn verb(operation: OperationType) -> &'static str {
    match operation {
        OperationType::Create => "creating in",
        OperationType::Read | OperationType::Head => "reading",
        OperationType::Replace => "replacing",
        OperationType::Upsert => "upserting in",
        OperationType::Delete => "deleting",
        OperationType::Patch => "patching",
        OperationType::Batch => "a batch in",
        OperationType::Bulk => "a bulk request in",
        OperationType::Query => "querying",
        OperationType::QueryPlan => "planning a query of",
        OperationType::ReadFeed => "listing",
        OperationType::ChangeFeed => "reading the changes of",
        OperationType::Execute => "running",
        OperationType::DeleteByPartitionKey => "deleting by partition key in",
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
        match self.diagnostics() {
            Some(diagnostics) => write!(f, " [{diagnostics}]"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match (&self.0.source, &self.0.origin) {
            (Some(source), _) => Some(&**source),
            // The driver's words are in the message already.
            (None, Origin::Driver(error)) => error.source(),
            (None, Origin::Client | Origin::Answer(_) | Origin::Batch(..)) => None,
        }
    }
}

/// An error of the driver that belongs to no operation, such as options that cannot be used.
impl From<cosmonaut_driver::Error> for Error {
    fn from(error: cosmonaut_driver::Error) -> Self {
        let message = error.to_string();
        Self::of(ErrorKind::of_driver(&error), message, Origin::Driver(error), None)
    }
}

macro_rules! configuration_errors {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::caused_by(ErrorKind::Configuration, error.to_string(), error)
            }
        })+
    };
}

configuration_errors!(
    crate::ConnectionStringError,
    cosmonaut_options::OptionErrors,
    cosmonaut_wire::MasterKeyError,
    cosmonaut_wire::PathError,
    cosmonaut_wire::SessionTokenError,
);
