//! The account's own endpoint, which belongs to no region: it describes the account, and hands everything else to the
//! region that takes the writes.
//!
//! So whatever happens to a region, clients find out what is left of the account.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::CosmosStatus;
use http::request::Parts;
use http::{Response, StatusCode};

use super::{Gateway, Origin, Pass};
use crate::server::{Answer, Handler};

/// Finds the gateway of the region that takes the writes; none while it is being removed.
pub(crate) type FindWriter = Box<dyn Fn() -> Option<Arc<Gateway>> + Send + Sync>;

/// The account's own endpoint.
pub(crate) struct Global {
    /// Describes the account. No fault strikes it.
    pub(crate) account: Arc<Gateway>,
    pub(crate) writer: FindWriter,
}

impl Handler for Global {
    /// Who answers.
    type Pass = (Arc<Gateway>, Pass);

    fn admit(&self, request: &Parts, origin: Origin<'_>) -> Result<Self::Pass, Box<Response<Bytes>>> {
        let gateway = match request.uri.path() {
            "/" => Arc::clone(&self.account),
            _ => (self.writer)().unwrap_or_else(|| Arc::clone(&self.account)),
        };
        let pass = gateway.admit(request, origin)?;
        Ok((gateway, pass))
    }

    fn wants_body(&self, (gateway, pass): &Self::Pass) -> bool {
        gateway.wants_body(pass)
    }

    async fn answer(
        self: &Arc<Self>,
        (gateway, pass): Self::Pass,
        request: &Parts,
        body: Bytes,
        origin: Origin<'_>,
    ) -> Answer {
        match gateway.answer(pass, request, body, origin).await {
            Answer::Send(response) => Answer::Send(response),
            // The region is not there; this endpoint is.
            Answer::Cut => Answer::Send(self.account.refusal(
                &request.headers,
                CosmosStatus::SERVICE_UNAVAILABLE,
                "the region that takes the account's writes does not answer (read the account for the others)".to_owned(),
            )),
        }
    }

    fn refuse(
        &self,
        request: &Parts,
        origin: Origin<'_>,
        status: StatusCode,
        message: String,
    ) -> Response<Bytes> {
        self.account.refuse(request, origin, status, message)
    }
}
