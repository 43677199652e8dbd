//! What the driver has seen of each partition, shared by all its operations.
//!
//! How one partition's progress grows is decided by `cosmonaut-policy`. An answer changes its own partition's
//! entry and nothing else, so remembering costs the same however many partitions and writers there are.

mod ranges;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

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
    /// Held while they are changed, so that each change is made once. Looking for room takes the containers' marks of
    /// use away: looked for twice, it would be found among those in use.
    changing: Mutex<()>,
}

/// At most this many containers are kept. Nobody says when a container is gone that others have deleted.
const MOST_CONTAINERS: usize = 10_000;

/// What was seen of each container.
#[derive(Clone, Default)]
struct Containers {
    /// In the order of their resource ids.
    known: Vec<(ResourceId, Arc<RangeSessions>)>,
    /// Where room is looked for next.
    hand: usize,
}

impl Containers {
    fn find(&self, container: ResourceId) -> Result<usize, usize> {
        self.known.binary_search_by(|(known, _)| known.cmp(&container))
    }

    fn get(&self, container: ResourceId) -> Option<&Arc<RangeSessions>> {
        self.find(container).ok().map(|place| &self.known[place].1)
    }

    /// Makes room for another container: one is forgotten that was not in use since the others were passed by.
    fn make_room(&mut self) {
        while self.known.len() >= MOST_CONTAINERS {
            self.hand %= self.known.len();
            if self.known[self.hand].1.take_use() {
                self.hand += 1;
            } else {
                self.known.remove(self.hand);
            }
        }
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
        let ranges = containers.get(container);
        if let Some(ranges) = ranges {
            ranges.note_use();
        }
        let is_taken_in = match (partition, ranges) {
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
        self.change(|containers| containers.known.retain(|(known, _)| *known != container));
    }

    fn container(&self, container: ResourceId) -> Arc<RangeSessions> {
        if let Some(known) = self.containers.load().get(container) {
            known.note_use();
            return Arc::clone(known);
        }
        self.change(|containers| {
            if let Some(known) = containers.get(container) {
                known.note_use();
                return Arc::clone(known);
            }
            containers.make_room();
            let new = Arc::new(RangeSessions::default());
            let (Ok(place) | Err(place)) = containers.find(container);
            containers.known.insert(place, (container, Arc::clone(&new)));
            new
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Containers) -> T) -> T {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Containers::clone(&self.containers.load());
        let outcome = change(&mut next);
        self.containers.store(Arc::new(next));
        outcome
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
