//! What was seen of one partition, and how answers and splits add to it.
//!
//! Keeping it for all partitions, shared between requests, is the driver's business.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use cosmonaut_wire::{PartitionKeyRangeId, PartitionToken, ResourceId, SessionToken, headers, mutation};
use http::{HeaderMap, HeaderValue};

use crate::PartitionId;

/// Room for nearly every token of one partition on an account with one write region.
const USUAL_LENGTH: usize = 32;

/// What was seen of one partition, with the header that says so. The header is made by the first request that sends it:
/// whoever only writes needs none.
#[derive(Debug)]
pub struct Seen {
    progress: PartitionToken,
    /// Filled once, with the same whoever fills it: nobody decides anything by it.
    header: OnceLock<HeaderValue>,
}

impl Seen {
    fn new(progress: PartitionToken) -> Self {
        Self { progress, header: OnceLock::new() }
    }

    /// What was seen of a partition, with what a token adds. `None` if the token adds nothing, or if the partition has
    /// an id that fits in no header, as that of no response has.
    ///
    /// Tokens of one version that list different regions contradict one another. The newer one is right.
    #[must_use]
    pub fn after(
        before: Option<&Self>,
        range: &PartitionKeyRangeId,
        progress: &PartitionToken,
    ) -> Option<Self> {
        let Some(before) = before.map(|seen| &seen.progress) else {
            return fits_in_a_header(range).then(|| Self::new(progress.clone()));
        };
        let merged = match mutation!("latest-token-wins") {
            true => progress.clone(),
            false => before.merge(progress).unwrap_or_else(|_| progress.clone()),
        };
        (*before != merged).then(|| Self::new(merged))
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
        let Some(own) = own.map(|seen| &seen.progress) else {
            return fits_in_a_header(range).then(|| Self::new(parent.progress.clone()));
        };
        let merged = own.merge(&parent.progress).ok()?;
        (*own != merged).then(|| Self::new(merged))
    }

    /// How far the session has seen the partition's log.
    pub fn progress(&self) -> &PartitionToken {
        &self.progress
    }

    /// The token that a request for the partition sends; `range` is the partition.
    pub fn header(&self, range: &PartitionKeyRangeId) -> &HeaderValue {
        self.header.get_or_init(|| {
            let mut text = String::with_capacity(USUAL_LENGTH);
            let written = write!(text, "{range}:{}", self.progress);
            written.expect("a text takes any other");
            HeaderValue::try_from(text).expect("the id fits, and the rest is digits and signs")
        })
    }

    /// Whether a response says exactly what requests send, as most reads do. No token is parsed to find out.
    pub fn is_said_by(&self, response: &HeaderMap) -> bool {
        self.header.get().is_some_and(|header| response.get(headers::SESSION_TOKEN) == Some(header))
    }
}

fn fits_in_a_header(range: &PartitionKeyRangeId) -> bool {
    range.as_bytes().iter().all(|byte| *byte >= b' ' && *byte != 0x7F)
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
            return seen.map(|seen| seen.header(range).clone());
        }
    }
}

fn is_same(one: &Option<Arc<Seen>>, other: &Option<Arc<Seen>>) -> bool {
    one.as_ref().map(Arc::as_ptr) == other.as_ref().map(Arc::as_ptr)
}

/// What a response says of the partition that was asked, if it speaks of that one alone, as nearly every response does.
pub fn response_progress(response: &HeaderMap, range: &PartitionKeyRangeId) -> Option<PartitionToken> {
    let token = response.get(headers::SESSION_TOKEN)?.as_bytes();
    let progress = token.strip_prefix(range.as_bytes())?.strip_prefix(b":")?;
    // A list of several does not parse as one.
    str::from_utf8(progress).ok()?.parse().ok()
}

/// The session token of a response. A token that cannot be read is no reason to fail a request that has
/// succeeded, so it counts as none.
pub fn response_token(response: &HeaderMap) -> Option<SessionToken> {
    response.get(headers::SESSION_TOKEN)?.to_str().ok()?.parse().ok()
}
