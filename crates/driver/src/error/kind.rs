//! The kinds of errors: what a caller may want to tell apart.

use cosmonaut_policy::AbortKind;
use cosmonaut_wire::CosmosStatus;

use crate::credential::CredentialError;
use crate::transport::{TransportError, TransportErrorKind};

/// What happened to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option, endpoint, key or path cannot be used. Nothing was sent.
    Configuration,
    /// No token could be had for the account. Nothing was sent.
    Credential,
    /// 401: the key or token was refused. Not retried.
    Unauthorized,
    /// 403: not allowed. Write-forbidden answers were retried in other regions first.
    Forbidden,
    /// 400: the service cannot make sense of the request. Not retried.
    BadRequest,
    /// 404: it is not there. Not retried.
    NotFound,
    /// 404/1002: no region has what the session has seen, yet or any more. Retried in place and in other regions.
    /// Nothing is said about the item.
    SessionNotAvailable,
    /// 409: there is one already. Not retried.
    Conflict,
    /// 412: the resource is not of the version that was asked for. Not retried.
    PreconditionFailed,
    /// 413: the request is too large. Not retried.
    TooLarge,
    /// 429: too many requests. Retried as the options allow.
    Throttled,
    /// 408, 410, 449, 500, 503: the service could not answer. Retried as far as that is safe.
    Unavailable,
    /// Another answer that is no success. Not retried.
    Status,
    /// The end-to-end deadline passed.
    DeadlineExceeded,
    /// A write may or may not have been applied, and repeating it might apply it twice. Read to find out.
    OutcomeUnknown,
    /// There was no answer. Retried as far as that is safe.
    Transport(TransportErrorKind),
    /// The answer is not what a Cosmos DB account answers. Not retried.
    InvalidResponse,
}

impl ErrorKind {
    pub(super) fn of_status(status: CosmosStatus) -> Self {
        if status.is_read_session_not_available() {
            return Self::SessionNotAvailable;
        }
        match status.code().as_u16() {
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

    /// What the way in which an operation ended says by itself.
    pub(super) fn of_abort(abort: AbortKind) -> Option<Self> {
        match abort {
            AbortKind::FinalStatus | AbortKind::RetriesExhausted => None,
            AbortKind::DeadlineExceeded => Some(Self::DeadlineExceeded),
            AbortKind::OutcomeUnknown => Some(Self::OutcomeUnknown),
        }
    }

    pub(super) fn of_source(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Self {
        if let Some(error) = error.downcast_ref::<TransportError>() {
            return Self::Transport(error.kind());
        }
        if error.is::<CredentialError>() {
            Self::Credential
        } else {
            Self::Transport(TransportErrorKind::Protocol)
        }
    }

    pub(super) const fn preface(self) -> &'static str {
        match self {
            Self::OutcomeUnknown => {
                "the write may or may not have been applied (read the item to find out): "
            }
            Self::DeadlineExceeded => "no time was left for another attempt: ",
            Self::Configuration
            | Self::Credential
            | Self::Unauthorized
            | Self::Forbidden
            | Self::BadRequest
            | Self::NotFound
            | Self::SessionNotAvailable
            | Self::Conflict
            | Self::PreconditionFailed
            | Self::TooLarge
            | Self::Throttled
            | Self::Unavailable
            | Self::Status
            | Self::Transport(_)
            | Self::InvalidResponse => "",
        }
    }

    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::Unauthorized => "check the account key or token, and this machine's clock",
            Self::Forbidden => "check the role of the identity and the account's firewall",
            Self::Throttled => "lower the load, or raise the throughput",
            Self::Unavailable => "try again later",
            Self::SessionNotAvailable => {
                "try again later, or begin a new session if what it has seen was lost"
            }
            Self::Configuration
            | Self::Credential
            | Self::BadRequest
            | Self::NotFound
            | Self::Conflict
            | Self::PreconditionFailed
            | Self::TooLarge
            | Self::Status
            | Self::DeadlineExceeded
            | Self::OutcomeUnknown
            | Self::Transport(_)
            | Self::InvalidResponse => "",
        }
    }
}
