//! What an error of hyper, which speaks HTTP/1.1 here, or of h2 means: which kind it is, and whether the server may
//! have seen the request.

use std::error::Error;
use std::sync::Arc;

use http::Request;
use hyper::client::conn::TrySendError;

use super::body::Whole;
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};

/// An error of a connection.
pub(super) trait Broken: Error + Send + Sync + Sized + 'static {
    /// What went wrong.
    fn kind(&self) -> TransportErrorKind;
}

impl Broken for hyper::Error {
    fn kind(&self) -> TransportErrorKind {
        match self {
            _ if self.is_parse_too_large() => TransportErrorKind::TooLarge,
            _ if self.is_parse() => TransportErrorKind::Protocol,
            _ => TransportErrorKind::Disconnected,
        }
    }
}

impl Broken for h2::Error {
    /// Our own end gives up one stream if its head is too large, and the whole connection if the peer errs.
    fn kind(&self) -> TransportErrorKind {
        match self {
            _ if self.is_library() && self.is_reset() => TransportErrorKind::TooLarge,
            _ if self.is_library() => TransportErrorKind::Protocol,
            _ if self.is_io() || self.is_reset() || self.is_go_away() => TransportErrorKind::Disconnected,
            _ => TransportErrorKind::Protocol,
        }
    }
}

/// hyper hands a request back if it never reached the connection; otherwise the server may have seen it.
pub(super) fn not_answered(server: &Authority, mut error: TrySendError<Request<Whole>>) -> TransportError {
    let handed_back = error.take_message().is_some();
    let sent = if handed_back { RequestSentStatus::NotSent } else { RequestSentStatus::Unknown };
    failed(server, sent, error.into_error())
}

/// A stream that was given to the connection and ended without an answer. The server says that it has not looked at the
/// request (RFC 9113, section 8.7) if it refuses the stream, or says goodbye and names an earlier one as its last. It
/// cannot have looked at one of which nothing has gone out.
pub(super) fn stream_failed(server: &Authority, error: h2::Error, has_gone_out: bool) -> TransportError {
    let is_refused =
        error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM));
    let is_unseen = is_refused || !has_gone_out;
    let sent = if is_unseen { RequestSentStatus::NotSent } else { RequestSentStatus::Unknown };
    failed(server, sent, error)
}

pub(super) fn not_sent(server: &Authority, kind: TransportErrorKind) -> TransportError {
    TransportError::new(kind, RequestSentStatus::NotSent, Arc::clone(server.shown()))
}

pub(super) fn failed(server: &Authority, sent: RequestSentStatus, error: impl Broken) -> TransportError {
    TransportError::new(error.kind(), sent, Arc::clone(server.shown())).caused_by(error)
}

/// A body that was not complete. Its head had come, so whatever our own end gives up now, no head is too large.
pub(super) fn cut_short(server: &Authority, error: impl Broken) -> TransportError {
    let kind = match error.kind() {
        TransportErrorKind::TooLarge => TransportErrorKind::Disconnected,
        kind => kind,
    };
    TransportError::new(kind, RequestSentStatus::Sent, Arc::clone(server.shown())).caused_by(error)
}
