//! A request that cannot be done: the status, what to say, and what else the answer carries.

use std::fmt;

use cosmonaut_wire::CosmosStatus;

/// Why a request failed, as the client will see it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The status and sub-status.
    pub status: CosmosStatus,
    /// What went wrong, on what, and what to try.
    pub message: String,
    /// What the request cost all the same, in request units.
    pub charge: f64,
    /// How long to wait, with a 429.
    pub retry_after_ms: Option<u64>,
    /// `additionalErrorInfo` of the body: the query plan, with 400/1004.
    pub additional_info: Option<String>,
}

impl Failure {
    /// A failure with a status and a message.
    pub fn new(status: CosmosStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), charge: 0.0, retry_after_ms: None, additional_info: None }
    }

    /// 400
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(CosmosStatus::BAD_REQUEST, message)
    }

    /// 404
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(CosmosStatus::NOT_FOUND, message)
    }

    /// 409
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(CosmosStatus::CONFLICT, message)
    }

    /// 412
    pub fn precondition_failed(message: impl Into<String>) -> Self {
        Self::new(CosmosStatus::PRECONDITION_FAILED, message)
    }

    /// 501, for what is not there yet.
    pub fn not_implemented(what: impl fmt::Display) -> Self {
        Self::new(CosmosStatus::NOT_IMPLEMENTED, format!("{what} is not available in this emulator"))
    }

    /// The same failure with its cost.
    pub fn with_charge(mut self, charge: f64) -> Self {
        self.charge = charge;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.message)
    }
}

impl std::error::Error for Failure {}
