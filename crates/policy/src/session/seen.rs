//! What was seen of one partition, and how answers and splits add to it.
//!
//! Keeping it for all partitions, shared between requests, is the driver's business.

use std::fmt::Write as _;
use std::sync::Arc;

use cosmonaut_wire::{PartitionKeyRangeId, PartitionToken, ResourceId, SessionToken, headers, mutation};
use http::{HeaderMap, HeaderValue};

use crate::PartitionId;

/// Room for nearly every token of one partition on an account with one write region.
const USUAL_LENGTH: usize = 32;

/// What was seen of one partition, with the header that says so, made once for all requests that send it.
#[derive(Debug)]
pub struct Seen {
    progress: PartitionToken,
    header: HeaderValue,
}

impl Seen {
    /// `None` if the token does not fit in a header, which never happens to a token of a response.
    fn new(range: &PartitionKeyRangeId, progress: PartitionToken) -> Option<Self> {
        let mut text = String::with_capacity(USUAL_LENGTH);
        write!(text, "{range}:{progress}").ok()?;
        Some(Self { progress, header: HeaderValue::try_from(text).ok()? })
    }

    /// What was seen of a partition, with what a token adds. `None` if the token adds nothing.
    ///
    /// Tokens of one version that list different regions contradict one another. The newer one is right.
    #[must_use]
    pub fn after(
        before: Option<&Self>,
        range: &PartitionKeyRangeId,
        progress: &PartitionToken,
    ) -> Option<Self> {
        let before = before.map(|seen| &seen.progress);
        let merged = match before {
            Some(_) if mutation!("latest-token-wins") => progress.clone(),
            Some(before) => before.merge(progress).unwrap_or_else(|_| progress.clone()),
            None => progress.clone(),
        };
        if before == Some(&merged) { None } else { Self::new(range, merged) }
    }

    /// What was seen of a partition, with what was seen of one that it came from. `None` if the parent adds
    /// nothing.
    ///
    /// If the two contradict one another, the partition's own is the newer and stays.
    #[must_use]
    pub fn inheriting(own: Option<&Self>, range: &PartitionKeyRangeId, parent: &Self) -> Option<Self> {
        if mutation!("child-forgets-the-parents-session") {
            return None;
        }
        let own = own.map(|seen| &seen.progress);
        let merged = match own {
            Some(own) => own.merge(&parent.progress).ok()?,
            None => parent.progress.clone(),
        };
        if own == Some(&merged) { None } else { Self::new(range, merged) }
    }

    /// How far the session has seen the partition's log.
    pub fn progress(&self) -> &PartitionToken {
        &self.progress
    }

    /// The token that a request for the partition sends.
    pub fn header(&self) -> &HeaderValue {
        &self.header
    }

    /// Whether a response says exactly this, as most reads do. No token is parsed to find out.
    pub fn is_said_by(&self, response: &HeaderMap) -> bool {
        response.get(headers::SESSION_TOKEN) == Some(&self.header)
    }
}

/// What the client has seen, per container and partition.
///
/// Containers are known by resource id, so one that is deleted and made again starts anew.
pub trait SessionView {
    /// What was seen of one partition.
    fn of_range(&self, container: ResourceId, range: &PartitionKeyRangeId) -> Option<Arc<Seen>>;

    /// All that was seen of a container, for the caller to pass on to another client.
    fn of_container(&self, container: ResourceId) -> SessionToken;
}

/// The token for a partition: what was seen of it and of the partitions that it came from.
pub(super) fn token_for_partition(
    view: &dyn SessionView,
    partition: &PartitionId,
    parents: &[PartitionKeyRangeId],
) -> Option<HeaderValue> {
    let (container, range) = (partition.container(), partition.range());
    loop {
        let own = view.of_range(container, range);
        let mut seen = own.clone();
        for parent in parents.iter().filter_map(|parent| view.of_range(container, parent)) {
            seen = Seen::inheriting(seen.as_deref(), range, &parent).map(Arc::new).or(seen);
        }
        // A partition may have inherited since, and its parents gone, between the two looks.
        if parents.is_empty() || is_same(&own, &view.of_range(container, range)) {
            return seen.map(|seen| seen.header.clone());
        }
    }
}

fn is_same(one: &Option<Arc<Seen>>, other: &Option<Arc<Seen>>) -> bool {
    one.as_ref().map(Arc::as_ptr) == other.as_ref().map(Arc::as_ptr)
}

/// What a response says of the partition that was asked, if it speaks of that one alone, as nearly every response does.
pub fn response_progress(response: &HeaderMap, range: &PartitionKeyRangeId) -> Option<PartitionToken> {
    let text = response.get(headers::SESSION_TOKEN)?.to_str().ok()?;
    let progress = text.strip_prefix(range.as_str())?.strip_prefix(':')?;
    // A list of several does not parse as one.
    progress.parse().ok()
}

/// The session token of a response. A token that cannot be read is no reason to fail a request that has
/// succeeded, so it counts as none.
pub fn response_token(response: &HeaderMap) -> Option<SessionToken> {
    response.get(headers::SESSION_TOKEN)?.to_str().ok()?.parse().ok()
}
