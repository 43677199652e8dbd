//! What the driver has seen of each partition, shared by all its operations.
//!
//! How one partition's progress grows is decided by `cosmonaut-policy`. An answer changes its own partition's
//! entry and nothing else, so remembering costs the same however many partitions and writers there are.

mod ranges;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arc_swap::ArcSwap;
use cosmonaut_policy::{PartitionId, Seen, SessionView, response_token};
use cosmonaut_wire::{PartitionKeyRangeId, ResourceId, SessionToken};
use http::HeaderMap;

use self::ranges::RangeSessions;
use crate::cache::RangeMap;

/// The session of a driver.
#[derive(Default)]
pub(crate) struct SessionStore {
    /// Changes only when a container is first seen or gone.
    containers: ArcSwap<Containers>,
}

/// What was seen of each container, in the order of their resource ids.
#[derive(Clone, Default)]
struct Containers(Vec<(ResourceId, Arc<RangeSessions>)>);

impl Containers {
    fn find(&self, container: ResourceId) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(&container))
    }

    fn get(&self, container: ResourceId) -> Option<&Arc<RangeSessions>> {
        self.find(container).ok().map(|place| &self.0[place].1)
    }
}

impl SessionStore {
    /// Takes in what an answer says. An answer that says nothing new, as most do, changes nothing.
    pub(crate) fn capture(
        &self,
        container: ResourceId,
        partition: Option<&PartitionId>,
        response: &HeaderMap,
    ) {
        let containers = self.containers.load();
        let is_taken_in = match (partition, containers.get(container)) {
            (Some(partition), Some(ranges)) => ranges.capture(partition.range(), response),
            (Some(_), None) | (None, _) => false,
        };
        if !is_taken_in && let Some(token) = response_token(response) {
            self.adopt(container, &token);
        }
    }

    /// Takes in a token from elsewhere.
    pub(crate) fn adopt(&self, container: ResourceId, token: &SessionToken) {
        if token.is_empty() {
            return;
        }
        let ranges = self.container(container);
        for (range, progress) in token.iter() {
            ranges.change(range, |before| Seen::after(before, range, progress));
        }
    }

    /// Takes in a container's partitions: children inherit what was seen of their parents, and parents that
    /// are gone are forgotten.
    pub(crate) fn settle(&self, container: ResourceId, map: &Arc<RangeMap>) {
        if let Some(ranges) = self.containers.load().get(container) {
            ranges.settle(map);
        }
    }

    /// Forgets a container that is gone.
    pub(crate) fn forget(&self, container: ResourceId) {
        self.containers.rcu(|known| {
            let mut next = Containers::clone(known);
            next.0.retain(|(known, _)| *known != container);
            next
        });
    }

    fn container(&self, container: ResourceId) -> Arc<RangeSessions> {
        if let Some(known) = self.containers.load().get(container) {
            return Arc::clone(known);
        }
        let new = Arc::new(RangeSessions::default());
        self.containers.rcu(|known| {
            let mut next = Containers::clone(known);
            if let Err(place) = next.find(container) {
                next.0.insert(place, (container, Arc::clone(&new)));
            }
            next
        });
        self.containers.load().get(container).map_or(new, Arc::clone)
    }
}

/// Takes no lock and allocates nothing for a partition; for a container, the token.
impl SessionView for SessionStore {
    fn of_range(&self, container: ResourceId, range: &PartitionKeyRangeId) -> Option<Arc<Seen>> {
        self.containers.load().get(container)?.seen(range)
    }

    fn of_container(&self, container: ResourceId) -> SessionToken {
        let containers = self.containers.load();
        let ranges = containers.get(container).map(|ranges| ranges.all()).unwrap_or_default();
        SessionToken::of_ranges(ranges)
    }
}
