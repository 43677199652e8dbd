//! Sessions: which token a request sends, and what responses teach.
//!
//! [`Seen`] is what was seen of one partition; a response gives a new one. Where all of them are kept is behind
//! [`SessionView`]. Retries for a session's sake are in `evaluate`.

mod consistency;
mod seen;
#[cfg(test)]
mod tests;

use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, ResourceId, SessionToken, headers, mutation};
use http::{HeaderMap, HeaderValue};

use crate::{CosmosOperation, PartitionId};

pub use consistency::{ConsistencyError, ReadConsistency, resolve_read_consistency};
use seen::token_for_partition;
pub use seen::{Seen, SessionView, response_progress, response_token};

/// What one attempt says about consistency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState {
    /// The token it sends, if any.
    pub session_token: Option<HeaderValue>,
    /// The consistency it asks for.
    pub consistency: ReadConsistency,
}

impl SessionState {
    pub(crate) fn write_headers(&self, into: &mut HeaderMap) {
        self.consistency.write_headers(into);
        if let Some(token) = &self.session_token {
            into.insert(headers::SESSION_TOKEN, token.clone());
        }
    }
}

/// Which session an operation continues.
#[derive(Clone, Copy)]
pub struct SessionSource<'a> {
    /// What the client has seen by itself.
    pub seen: &'a dyn SessionView,
    /// The token that the caller passed on, which then counts alone.
    pub given: Option<&'a SessionToken>,
    /// The container, once it is known.
    pub container: Option<ResourceId>,
    /// The partition, once it is known.
    pub partition: Option<&'a PartitionId>,
    /// The partitions that it was split from.
    pub parents: &'a [PartitionKeyRangeId],
    /// The partitions that have answered in its place: it was split, and the map that it is from is out of date.
    pub heirs: &'a [PartitionKeyRangeId],
}

/// What an attempt sends for its session's sake.
///
/// A token is sent if the consistency in force is the session's, for items and running stored procedures: by
/// reads, and by writes where every region takes them. With one write region, that region has seen
/// everything. Of a token for several partitions only what bears on the operation's own is sent, once that is
/// known.
pub fn resolve_session(
    operation: &CosmosOperation,
    consistency: ReadConsistency,
    multiple_write_locations: bool,
    source: SessionSource<'_>,
) -> SessionState {
    let wanted = consistency.uses_session
        && operation.is_partitioned()
        && (operation.is_read_only() || multiple_write_locations);
    let wanted = wanted && !mutation!("session-token-not-sent");
    let session_token = wanted.then(|| token_to_send(source)).flatten();
    SessionState { session_token, consistency }
}

fn token_to_send(source: SessionSource<'_>) -> Option<HeaderValue> {
    match (source.given, source.partition) {
        (None, Some(partition)) => {
            let own = token_for_partition(source.seen, partition, source.parents);
            if source.heirs.is_empty() { own } else { with_heirs(source, partition, own) }
        }
        (None, None) => whole(&source.seen.of_container(source.container?)),
        (Some(given), None) => whole(given),
        (Some(given), Some(partition)) => match given.for_range(partition.range(), source.parents) {
            Ok(progress) => HeaderValue::try_from(format!("{}:{}", partition.range(), progress?)).ok(),
            // The parts contradict one another. That is for the service to judge, not to be dropped here.
            Err(_) => whole(given),
        },
    }
}

/// What was seen of a partition, and of those that it has become.
fn with_heirs(
    source: SessionSource<'_>,
    partition: &PartitionId,
    own: Option<HeaderValue>,
) -> Option<HeaderValue> {
    let of_heir = |heir| Some(source.seen.of_range(partition.container(), heir)?.header(heir).clone());
    let tokens: Vec<HeaderValue> = own.into_iter().chain(source.heirs.iter().filter_map(of_heir)).collect();
    let tokens: Vec<&[u8]> = tokens.iter().map(HeaderValue::as_bytes).collect();
    HeaderValue::from_bytes(&tokens.join(&b',')).ok().filter(|token| !token.is_empty())
}

fn whole(token: &SessionToken) -> Option<HeaderValue> {
    if token.is_empty() { None } else { HeaderValue::try_from(token.to_string()).ok() }
}

/// Whether a response's token is worth keeping.
///
/// Writes always teach: a later read may ask for its session whatever the account's default. Reads only if
/// the session is in force. An answer about the item as it is (404, 409, 412) teaches as well as a success;
/// one that says that the region is behind (404/1002) does not.
pub fn teaches_session(
    operation: &CosmosOperation,
    consistency: ReadConsistency,
    status: CosmosStatus,
) -> bool {
    let definite = status.is_success()
        || status.is_not_found()
        || status.is_conflict()
        || status.is_precondition_failed();
    let is_learned = !mutation!("writes-teach-no-session") || operation.is_read_only();
    definite
        && is_learned
        && operation.is_partitioned()
        && (consistency.uses_session || !operation.is_read_only())
}
