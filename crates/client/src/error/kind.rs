//! The kinds of errors: what a caller may want to tell apart.

use cosmonaut_driver::ErrorKind as DriverKind;
use cosmonaut_wire::CosmosStatus;

/// What happened to a call.
///
/// ```
/// # fn handle(result: Result<(), cosmonaut::Error>) -> Result<(), cosmonaut::Error> {
/// use cosmonaut::ErrorKind;
///
/// match result {
///     Err(error) if error.kind() == ErrorKind::Conflict => Ok(()), // somebody was faster
///     other => other,
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option, endpoint, key or name cannot be used. Nothing was sent.
    Configuration,
    /// No token could be had for the account. Nothing was sent.
    Credential,
    /// A value cannot be written as JSON, or what was read is not of the type that was asked for.
    Serialization,
    /// A query, or the token that continues one, makes no sense. The message names the place.
    Query,
    /// 304: the item is still of the version that `if_none_match` names.
    NotModified,
    /// 401: the key or token was refused. Not retried.
    Unauthorized,
    /// 403: not allowed. Write-forbidden answers were retried in other regions first.
    Forbidden,
    /// 400: the service cannot make sense of the request. Not retried.
    BadRequest,
    /// 404: it is not there. Not retried.
    NotFound,
    /// 409: there is one already. Not retried.
    Conflict,
    /// 412: it is not of the version that `if_match` names, or a patch's condition does not hold. Not retried.
    PreconditionFailed,
    /// 413: the item or the batch is too large. Not retried.
    TooLarge,
    /// 429: too many requests. Retried as the options allow.
    Throttled,
    /// 404/1002: no region has what the session has seen, yet or, after a forced failover, any more. Retried in place
    /// and in other regions. Nothing is said about the item.
    SessionNotAvailable,
    /// 408, 410, 449, 500, 503: the service could not answer. Retried as far as that is safe.
    Unavailable,
    /// Another answer that is no success. Not retried.
    Status,
    /// The end-to-end timeout passed.
    DeadlineExceeded,
    /// A write may or may not have been applied, and repeating it might apply it twice. Read to find out.
    OutcomeUnknown,
    /// There was no answer. Retried as far as that is safe.
    Transport,
    /// The answer is not what a Cosmos DB account answers. Not retried.
    InvalidResponse,
}

impl ErrorKind {
    pub(super) fn of_driver(error: &cosmonaut_driver::Error) -> Self {
        match error.kind() {
            DriverKind::Configuration => Self::Configuration,
            DriverKind::Credential => Self::Credential,
            DriverKind::Unauthorized => Self::Unauthorized,
            DriverKind::Forbidden => Self::Forbidden,
            DriverKind::BadRequest => Self::BadRequest,
            DriverKind::NotFound => Self::NotFound,
            DriverKind::Conflict => Self::Conflict,
            DriverKind::PreconditionFailed => Self::PreconditionFailed,
            DriverKind::TooLarge => Self::TooLarge,
            DriverKind::Throttled => Self::Throttled,
            DriverKind::SessionNotAvailable => Self::SessionNotAvailable,
            DriverKind::Unavailable => Self::Unavailable,
            DriverKind::DeadlineExceeded => Self::DeadlineExceeded,
            DriverKind::OutcomeUnknown => Self::OutcomeUnknown,
            DriverKind::Transport(_) => Self::Transport,
            DriverKind::InvalidResponse => Self::InvalidResponse,
            // The driver's kinds may grow; what this does not know is an answer that is no success.
            DriverKind::Status | _ => Self::Status,
        }
    }

    /// The kind of a status that came inside an answer, as those of a batch do.
    pub(crate) fn of_status(status: CosmosStatus) -> Self {
        if status.is_read_session_not_available() {
            return Self::SessionNotAvailable;
        }
        match status.code().as_u16() {
            304 => Self::NotModified,
            400 => Self::BadRequest,
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            409 => Self::Conflict,
            412 => Self::PreconditionFailed,
            413 => Self::TooLarge,
            429 => Self::Throttled,
            408 | 410 | 449 | 500 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Status,
        }
    }
}
