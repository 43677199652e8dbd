//! The answer to an operation, as the service gave it, and how it was had.

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, headers};
use http::{HeaderMap, HeaderName, header};

use crate::diagnostics::DiagnosticsContext;

/// The answer to an operation. The body is as it came, shared and not copied.
#[derive(Clone, Debug)]
pub struct CosmosResponse {
    pub(crate) status: CosmosStatus,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) diagnostics: DiagnosticsContext,
}

impl CosmosResponse {
    /// The same answer without its body, which may be large, for keeping what else it says.
    #[must_use]
    pub fn without_body(&self) -> Self {
        let Self { status, headers, diagnostics, .. } = self;
        Self {
            status: *status,
            headers: headers.clone(),
            body: Bytes::new(),
            diagnostics: diagnostics.clone(),
        }
    }

    /// The status; 2xx or 304.
    pub fn status(&self) -> CosmosStatus {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body; empty if there is none.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body, for keeping.
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// What all attempts cost together, in request units.
    pub fn request_charge(&self) -> f64 {
        self.diagnostics.request_charge()
    }

    /// What the session has now seen.
    pub fn session_token(&self) -> Option<&str> {
        self.text(&headers::SESSION_TOKEN)
    }

    /// The version of the resource, or where a change feed goes on.
    pub fn etag(&self) -> Option<&str> {
        self.text(&header::ETAG)
    }

    /// Where a feed or query goes on; `None` at its end.
    pub fn continuation(&self) -> Option<&str> {
        self.text(&headers::CONTINUATION)
    }

    /// The service's name for the request, for asking about it.
    pub fn activity_id(&self) -> Option<&str> {
        self.text(&headers::ACTIVITY_ID)
    }

    /// What was tried, and what came of it.
    pub fn diagnostics(&self) -> &DiagnosticsContext {
        &self.diagnostics
    }

    fn text(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
