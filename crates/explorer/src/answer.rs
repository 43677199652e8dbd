//! Answers: JSON, a part of the page, or why there is none.

use bytes::Bytes;
use cosmonaut::{Error, ErrorKind};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

pub(crate) type Answer = Response<Full<Bytes>>;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Why something is not answered as it was asked.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: Value,
}

impl Refusal {
    /// `kind` is a word that the page acts on.
    pub(crate) fn new(status: StatusCode, kind: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self { status, error: json!({ "kind": kind, "message": message }) }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "request", message)
    }

    /// The same with something more that the page shows.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.error[name] = value;
        self
    }

    pub(crate) fn message(&self) -> &str {
        self.error["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn into_answer(self) -> Answer {
        json_answer(self.status, &json!({ "error": self.error }))
    }
}

/// What the account said.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        let status = match kind {
            ErrorKind::Configuration
            | ErrorKind::Serialization
            | ErrorKind::Query
            | ErrorKind::BadRequest => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::Throttled => StatusCode::TOO_MANY_REQUESTS,
            // What the account could not do, and kinds that the client may get.
            _ => StatusCode::BAD_GATEWAY,
        };
        let hint = if kind == ErrorKind::Transport { " (is the account running?)" } else { "" };
        let said = error.status();
        Self::new(status, "account", format!("{error}{hint}"))
            .with("what", json!(format!("{kind:?}")))
            .with("status", json!(said.map(|status| status.code().as_u16())))
            .with("subStatus", json!(said.map(|status| status.sub_status())))
            .with("charge", json!(error.request_charge()))
            .with("diagnostics", json!(error.diagnostics().map(|diagnostics| diagnostics.to_json())))
    }
}

pub(crate) fn json_answer(status: StatusCode, body: &Value) -> Answer {
    respond(status, "application/json", Bytes::from(body.to_string()))
}

pub(crate) fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in
        [("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin")]
    {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
