//! Who answers the requests of a port: the account's gateway, or its management.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};

use crate::gateway::Origin;

/// Answers the requests that come in by a port.
pub(crate) trait Handler: Send + Sync + 'static {
    /// What is known of a request once it was let in.
    type Pass: Send;

    /// Lets a request in or refuses it, by its head alone: the body of a refused request is never read.
    fn admit(&self, request: &Parts, origin: Origin<'_>) -> Result<Self::Pass, Box<Response<Bytes>>>;

    /// Whether the body of a request that was let in is to be read. If not, it is answered as if it had none.
    fn wants_body(&self, _pass: &Self::Pass) -> bool {
        true
    }

    /// Answers a request that was let in and whose body was read to its end.
    fn answer(
        self: &Arc<Self>,
        pass: Self::Pass,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
    ) -> impl Future<Output = Answer> + Send;

    /// The answer to a request that never became one.
    fn refuse(
        &self,
        request: &Parts,
        origin: Origin<'_>,
        status: StatusCode,
        message: String,
    ) -> Response<Bytes>;
}

/// What becomes of a request.
pub(crate) enum Answer {
    /// It is answered.
    Send(Response<Bytes>),
    /// It is not: its connection ends, and with it all that is under way on it.
    Cut,
}
