//! What the client has seen of each container's partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmonaut_wire::{PartitionKeyRangeId, PartitionToken, ResourceId, SessionToken, headers};
use http::{HeaderMap, HeaderValue};

use crate::PartitionId;

/// What the client has seen, per container and partition. Immutable: capturing gives a new one.
///
/// Containers are known by resource id, so one that is deleted and made again starts anew.
#[derive(Clone, Debug, Default)]
pub struct SessionContainer {
    containers: BTreeMap<ResourceId, Arc<Ranges>>,
}

type Ranges = BTreeMap<PartitionKeyRangeId, Arc<Seen>>;

/// What was seen of one partition, with the header that says so, made once for all requests that send it.
#[derive(Debug)]
struct Seen {
    progress: PartitionToken,
    header: HeaderValue,
}

impl Seen {
    /// `None` if the token does not fit in a header, which none from a response does.
    fn new(range: &PartitionKeyRangeId, progress: PartitionToken) -> Option<Self> {
        let header = HeaderValue::try_from(format!("{range}:{progress}")).ok()?;
        Some(Self { progress, header })
    }
}

impl SessionContainer {
    /// The token for a partition: what was seen of it and of the partitions that it was split from.
    pub fn for_partition(
        &self,
        partition: &PartitionId,
        parents: &[PartitionKeyRangeId],
    ) -> Option<HeaderValue> {
        let ranges = self.containers.get(&partition.container())?;
        let own = ranges.get(partition.range());
        let mut inherited = parents.iter().filter_map(|parent| ranges.get(parent)).peekable();
        if inherited.peek().is_none() {
            return own.map(|seen| seen.header.clone());
        }
        let mut progress = own.map(|seen| seen.progress.clone());
        for parent in inherited {
            progress = Some(match progress {
                // Tokens that contradict one another: the partition's own is the newer.
                Some(progress) => progress.merge(&parent.progress).unwrap_or(progress),
                None => parent.progress.clone(),
            });
        }
        Seen::new(partition.range(), progress?).map(|seen| seen.header)
    }

    /// All that was seen of a container, for the caller to pass on to another client.
    pub fn for_container(&self, container: ResourceId) -> SessionToken {
        let mut token = SessionToken::default();
        for (range, seen) in self.containers.get(&container).into_iter().flat_map(|ranges| ranges.iter()) {
            let one = SessionToken::of(range.clone(), seen.progress.clone());
            // Each range occurs once, so there is nothing to contradict.
            let _ = token.merge(&one);
        }
        token
    }

    /// What was seen, with what a response adds. `None` if it adds nothing, which is the usual case for
    /// reads.
    ///
    /// A token that cannot be read adds nothing: it is no reason to fail a request that has succeeded.
    #[must_use]
    pub fn after_response(&self, partition: &PartitionId, response: &HeaderMap) -> Option<Self> {
        let header = response.get(headers::SESSION_TOKEN)?;
        if self.has_seen(partition, header) {
            return None;
        }
        let token: SessionToken = header.to_str().ok()?.parse().ok()?;
        self.after_token(partition.container(), &token)
    }

    /// What was seen, with what a token adds. `None` if it adds nothing.
    #[must_use]
    pub fn after_token(&self, container: ResourceId, token: &SessionToken) -> Option<Self> {
        let known = self.containers.get(&container);
        let mut added: Vec<(PartitionKeyRangeId, Seen)> = Vec::new();
        for (range, progress) in token.iter() {
            let before = known.and_then(|ranges| ranges.get(range)).map(|seen| &seen.progress);
            let merged = match before {
                // Tokens of one version that list other regions contradict one another; the newer one is
                // right.
                Some(before) => before.merge(progress).unwrap_or_else(|_| progress.clone()),
                None => progress.clone(),
            };
            if before != Some(&merged) {
                added.extend(Seen::new(range, merged).map(|seen| (range.clone(), seen)));
            }
        }
        if added.is_empty() {
            return None;
        }
        let mut ranges = known.map(|ranges| ranges.as_ref().clone()).unwrap_or_default();
        ranges.extend(added.into_iter().map(|(range, seen)| (range, Arc::new(seen))));
        let mut next = self.clone();
        next.containers.insert(container, Arc::new(ranges));
        Some(next)
    }

    /// What was seen of all containers but this one, for when it is gone.
    #[must_use]
    pub fn without(&self, container: ResourceId) -> Self {
        let mut next = self.clone();
        next.containers.remove(&container);
        next
    }

    /// Whether exactly this token is known, which needs no parsing to find out.
    fn has_seen(&self, partition: &PartitionId, header: &HeaderValue) -> bool {
        let ranges = self.containers.get(&partition.container());
        ranges.and_then(|ranges| ranges.get(partition.range())).is_some_and(|seen| seen.header == header)
    }
}
