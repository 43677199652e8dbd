//! What an error of hyper means: which kind it is, and whether the server may have seen the request.

use std::error::Error as _;
use std::sync::Arc;

use http::Request;
use hyper::client::conn::TrySendError;

use super::body::Whole;
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};

/// hyper hands a request back if it never reached the connection; otherwise the server may have seen it.
pub(super) fn not_answered(server: &Authority, mut error: TrySendError<Request<Whole>>) -> TransportError {
    let handed_back = error.take_message().is_some();
    let error = error.into_error();
    let sent = if handed_back || was_refused(&error) {
        RequestSentStatus::NotSent
    } else {
        RequestSentStatus::Unknown
    };
    failed(server, sent, error)
}

/// Whether the server says that it has not looked at the request (RFC 9113, section 8.7): it refused the stream, or
/// said goodbye and named an earlier one as its last. What it does answer after a goodbye is not failed by it.
fn was_refused(error: &hyper::Error) -> bool {
    http2_error(error).is_some_and(|error| {
        error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
    })
}

fn http2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

pub(super) fn not_sent(server: &Authority, kind: TransportErrorKind) -> TransportError {
    TransportError::new(kind, RequestSentStatus::NotSent, Arc::clone(server.shown()))
}

pub(super) fn failed(server: &Authority, sent: RequestSentStatus, error: hyper::Error) -> TransportError {
    TransportError::new(kind_of(&error), sent, Arc::clone(server.shown())).caused_by(error)
}

/// A body that was not complete. Its head had come, so whatever our own end gives up now, no head is too large.
pub(super) fn cut_short(server: &Authority, error: hyper::Error) -> TransportError {
    let kind = match kind_of(&error) {
        TransportErrorKind::TooLarge => TransportErrorKind::Disconnected,
        kind => kind,
    };
    TransportError::new(kind, RequestSentStatus::Sent, Arc::clone(server.shown())).caused_by(error)
}

fn kind_of(error: &hyper::Error) -> TransportErrorKind {
    if error.is_parse_too_large() {
        return TransportErrorKind::TooLarge;
    }
    match http2_error(error) {
        _ if error.is_parse() => TransportErrorKind::Protocol,
        // hyper keeps one time limit here: that of a PING. The connection was closed for it.
        _ if error.is_timeout() => TransportErrorKind::Disconnected,
        None => TransportErrorKind::Disconnected,
        // Our own end gives up one stream if its head is too large, and the whole connection if the peer
        // errs.
        Some(error) if error.is_library() && error.is_reset() => TransportErrorKind::TooLarge,
        Some(error) if error.is_library() => TransportErrorKind::Protocol,
        Some(error) if error.is_io() || error.is_reset() || error.is_go_away() => {
            TransportErrorKind::Disconnected
        }
        Some(_) => TransportErrorKind::Protocol,
    }
}
