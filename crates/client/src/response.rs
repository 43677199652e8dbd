//! What a call returns: the value, and how it was had.

use std::fmt;

use cosmonaut_driver::{AttemptOutcome, CosmosResponse, DiagnosticsContext};
use cosmonaut_wire::{CosmosStatus, Etag, RegionName, SessionToken};
use http::HeaderMap;

use crate::scripts::script_log;

/// The value that a call asked for, and what the service said beside it.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// let read = orders.read_item::<serde_json::Value>("contoso", "7").await?;
/// println!("{:.2} RU from {:?}", read.request_charge(), read.region());
/// let order = read.into_value();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Response<T> {
    value: T,
    response: CosmosResponse,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, response: CosmosResponse) -> Self {
        Self { value, response }
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value alone.
    pub fn into_value(self) -> T {
        self.value
    }

    /// The same answer with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Response<U> {
        Response { value: change(self.value), response: self.response }
    }

    /// The status, such as 200 or 201.
    pub fn status(&self) -> CosmosStatus {
        self.response.status()
    }

    /// The version that was read or written, for [`if_match`](crate::ItemOptions::if_match).
    pub fn etag(&self) -> Option<Etag> {
        self.response.etag().map(Etag::from)
    }

    /// What all attempts cost together, in request units.
    pub fn request_charge(&self) -> f64 {
        self.response.request_charge()
    }

    /// What the session has now seen, for handing it to another client.
    pub fn session_token(&self) -> Option<SessionToken> {
        self.response.session_token()?.parse().ok()
    }

    /// What a stored procedure has written with `console.log`, if
    /// [`enable_logging`](crate::options::ExecuteOptions::enable_logging) asks for it.
    pub fn script_log(&self) -> Option<String> {
        script_log(self.headers())
    }

    /// The region that answered.
    pub fn region(&self) -> Option<&RegionName> {
        let answered = AttemptOutcome::Answered(self.status());
        let attempts = self.diagnostics().attempts().iter();
        attempts.rev().find(|attempt| attempt.outcome == answered)?.endpoint.region()
    }

    /// The service's name for the request, for asking about it.
    pub fn activity_id(&self) -> Option<&str> {
        self.response.activity_id()
    }

    /// What was tried, and what came of it.
    pub fn diagnostics(&self) -> &DiagnosticsContext {
        self.response.diagnostics()
    }

    /// All headers of the answer.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }
}

impl<T: fmt::Debug> fmt::Debug for Response<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("value", &self.value)
            .field("status", &self.status())
            .field("diagnostics", &format_args!("{}", self.diagnostics()))
            .finish_non_exhaustive()
    }
}
