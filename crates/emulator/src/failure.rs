//! A request that cannot be done: the status, what to say, and what else the answer carries.

use std::fmt;

use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, SessionToken};

use crate::engine::{PartitionRange, ReplicaState, Standing};
use crate::storage::Commit;

/// Where the service explains a 404.
pub(crate) const NOT_FOUND_HELP: &str = "https://aka.ms/cosmosdb-tsg-not-found";

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
    /// What was looked at: that something is there, or is not, was seen.
    pub(crate) seen: Option<Box<Seen>>,
}

/// How far a partition was when it was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) range: PartitionKeyRangeId,
    pub(crate) standing: Standing,
    /// Resolves once it is safe.
    pub(crate) commit: Commit,
}

impl Failure {
    /// A failure with a status and a message.
    pub fn new(status: CosmosStatus, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            charge: 0.0,
            retry_after_ms: None,
            additional_info: None,
            seen: None,
        }
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

    /// 413, in the words that clients look for, and why.
    pub(crate) fn too_large(why: impl fmt::Display) -> Self {
        let message = format!("Message: {{\"Errors\":[\"Request size is too large\"]}}\r\n{why}");
        Self::new(CosmosStatus::REQUEST_ENTITY_TOO_LARGE, message)
    }

    /// 400 for the id of a new resource, which has fewer than `limit` bytes, and why.
    pub(crate) fn invalid_id(id: &str, limit: usize, why: impl fmt::Display) -> Self {
        let shown: String = id.chars().take(200).collect();
        Self::bad_request(format!(
            "The input name '{shown}' is invalid. Ensure to provide a unique non-empty string less than '{limit}' \
             characters. ({why})"
        ))
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

    /// The same failure with how far the partition was that was looked at.
    pub(crate) fn seen_in(mut self, range: &PartitionRange, state: &ReplicaState) -> Self {
        let (range, standing) = (range.id.clone(), range.standing(state));
        self.seen = Some(Box::new(Seen { range, standing, commit: state.commit() }));
        self
    }

    /// What a session has seen after it.
    pub fn session(&self) -> Option<SessionToken> {
        self.seen.as_ref().map(|seen| SessionToken::of(seen.range.clone(), seen.standing.seen.clone()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.message)
    }
}

impl std::error::Error for Failure {}
