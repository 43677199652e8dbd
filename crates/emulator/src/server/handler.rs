//! Who answers the requests of a port: the account's gateway, or its management.

use std::future::Future;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};

use crate::gateway::Origin;

/// Answers the requests that come in by a port.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers a request whose body was read to its end.
    fn answer(&self, request: &Parts, body: Bytes, origin: Origin<'_>)
    -> impl Future<Output = Answer> + Send;

    /// The answer to a request that never became one.
    fn refuse(&self, status: StatusCode, message: String) -> Response<Bytes>;
}

/// What becomes of a request.
pub(crate) enum Answer {
    /// It is answered.
    Send(Response<Bytes>),
    /// It is not: its connection ends, and with it all that is under way on it.
    Cut,
}
