//! What is on the way between the replicas of one partition.
//!
//! A queue is first in, first out; when its head may be taken is for the caller to say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cosmonaut_wire::EpkRange;

use super::network::Links;
use crate::Timestamp;
use crate::engine::RegionId;
use crate::engine::replica::LogEntry;
use crate::storage::Commit;

/// A commit on its way to another region.
#[derive(Clone, Debug)]
pub(crate) struct Shipment {
    pub(crate) due: Timestamp,
    pub(crate) entry: Arc<LogEntry>,
    /// Resolves when the commit is safe.
    pub(crate) commit: Commit,
}

type Route = (RegionId, RegionId);

/// The queues of one partition, by the regions they lead from and to.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    routes: BTreeMap<Route, VecDeque<Shipment>>,
}

impl Queues {
    /// Adds a commit, due no earlier than what is queued before it.
    pub(crate) fn push(&mut self, from: RegionId, to: RegionId, mut shipment: Shipment) {
        let queue = self.routes.entry((from, to)).or_default();
        shipment.due = shipment.due.max(queue.back().map_or(Timestamp(0), |last| last.due));
        queue.push_back(shipment);
    }

    /// Takes all that is due on open links to regions that `reaches`.
    pub(crate) fn take_due(
        &mut self,
        now: Timestamp,
        links: &Links,
        reaches: impl Fn(RegionId) -> bool,
    ) -> Vec<(Route, Vec<Shipment>)> {
        let mut taken = Vec::new();
        for ((from, to), queue) in &mut self.routes {
            if queue.front().is_some_and(|head| head.due <= now) && links.is_open(*from, *to) && reaches(*to)
            {
                let due = queue.partition_point(|shipment| shipment.due <= now);
                taken.push(((*from, *to), queue.drain(..due).collect()));
            }
        }
        taken
    }

    /// When the next head of an open link is due.
    pub(crate) fn next_due(&self, links: &Links) -> Option<Timestamp> {
        let open = self.routes.iter().filter(|((from, to), _)| links.is_open(*from, *to));
        open.filter_map(|(_, queue)| Some(queue.front()?.due)).min()
    }

    /// What is on the way from one region to another.
    pub(crate) fn between(&self, from: RegionId, to: RegionId) -> impl ExactSizeIterator<Item = &Shipment> {
        static NONE: VecDeque<Shipment> = VecDeque::new();
        self.routes.get(&(from, to)).unwrap_or(&NONE).iter()
    }

    /// Takes a whole queue.
    pub(crate) fn take(&mut self, from: RegionId, to: RegionId) -> VecDeque<Shipment> {
        self.routes.remove(&(from, to)).unwrap_or_default()
    }

    /// Sets a whole queue.
    pub(crate) fn put(&mut self, from: RegionId, to: RegionId, queue: VecDeque<Shipment>) {
        self.routes.insert((from, to), queue);
    }

    /// Takes what is on the way to a region from one that leaves or, if it is that one, from all others.
    pub(crate) fn take_around(&mut self, leaving: RegionId, to: RegionId) -> Vec<Shipment> {
        let concerned = |route: &&Route| route.1 == to && (route.0 == leaving || to == leaving);
        let routes: Vec<Route> = self.routes.keys().filter(concerned).copied().collect();
        routes.into_iter().flat_map(|(from, to)| self.take(from, to)).collect()
    }

    /// Forgets whatever leads from or to a region.
    pub(crate) fn forget(&mut self, region: RegionId) {
        self.routes.retain(|(from, to), _| *from != region && *to != region);
    }

    /// What a child partition of these keys has on the way: every commit, but only the changes to its keys.
    pub(crate) fn within(&self, keys: &EpkRange) -> Self {
        let narrow = |shipment: &Shipment| Shipment {
            entry: Arc::new(shipment.entry.within(keys)),
            ..shipment.clone()
        };
        let routes = self.routes.iter();
        Self { routes: routes.map(|(route, queue)| (*route, queue.iter().map(narrow).collect())).collect() }
    }

    pub(crate) fn clear(&mut self) {
        self.routes.clear();
    }
}
