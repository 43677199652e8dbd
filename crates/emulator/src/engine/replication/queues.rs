//! What is on the way between the replicas of one partition.
//!
//! A queue is first in, first out; when its head may be taken is for the caller to say.

use std::collections::BTreeMap;

use cosmonaut_wire::EpkRange;

use super::backlog::{Backlog, Shipment};
use super::network::Links;
use crate::Timestamp;
use crate::engine::RegionId;

pub(crate) type Route = (RegionId, RegionId);

/// The queues of one partition, by the regions they lead from and to.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    routes: BTreeMap<Route, Backlog>,
}

impl Queues {
    /// Adds a commit.
    pub(crate) fn push(&mut self, from: RegionId, to: RegionId, shipment: Shipment, links: &Links) {
        self.routes.entry((from, to)).or_default().push(shipment, links.is_open(from, to));
    }

    /// Takes all that is due on open links between regions that the caller knows.
    pub(crate) fn take_due(
        &mut self,
        now: Timestamp,
        links: &Links,
        knows: impl Fn(RegionId) -> bool,
    ) -> Vec<(Route, Backlog)> {
        let mut taken = Vec::new();
        for ((from, to), queue) in &mut self.routes {
            let is_due = queue.next_due().is_some_and(|due| due <= now);
            if is_due && links.is_open(*from, *to) && knows(*from) && knows(*to) {
                taken.push(((*from, *to), queue.take_due(now)));
            }
        }
        taken
    }

    /// When the next head of an open link is due.
    pub(crate) fn next_due(&self, links: &Links) -> Option<Timestamp> {
        let open = self.routes.iter().filter(|((from, to), _)| links.is_open(*from, *to));
        open.filter_map(|(_, queue)| queue.next_due()).min()
    }

    /// What is on the way from one region to another.
    pub(crate) fn between(&self, from: RegionId, to: RegionId) -> Option<&Backlog> {
        self.routes.get(&(from, to))
    }

    /// How many commits are on the way from one region to another.
    pub(crate) fn len_between(&self, from: RegionId, to: RegionId) -> u64 {
        self.between(from, to).map_or(0, Backlog::len)
    }

    /// Takes a whole queue.
    pub(crate) fn take(&mut self, from: RegionId, to: RegionId) -> Backlog {
        self.routes.remove(&(from, to)).unwrap_or_default()
    }

    /// Sets a whole queue.
    pub(crate) fn put(&mut self, from: RegionId, to: RegionId, queue: Backlog) {
        self.routes.insert((from, to), queue);
    }

    /// Takes what is on the way to a region from one that leaves or, if it is that one, from all others.
    pub(crate) fn take_around(&mut self, leaving: RegionId, to: RegionId) -> Vec<(Route, Backlog)> {
        let concerned = |route: &&Route| route.1 == to && (route.0 == leaving || to == leaving);
        let routes: Vec<Route> = self.routes.keys().filter(concerned).copied().collect();
        routes.into_iter().map(|(from, to)| ((from, to), self.take(from, to))).collect()
    }

    /// Forgets whatever leads from or to a region.
    pub(crate) fn forget(&mut self, region: RegionId) {
        self.routes.retain(|(from, to), _| *from != region && *to != region);
    }

    /// What a child partition of these keys has on the way.
    pub(crate) fn within(&self, keys: &EpkRange) -> Self {
        let routes = self.routes.iter();
        Self { routes: routes.map(|(route, queue)| (*route, queue.within(keys))).collect() }
    }

    pub(crate) fn clear(&mut self) {
        self.routes.clear();
    }

    /// Whether anything is on the way.
    #[cfg(test)]
    pub(crate) fn any_waits(&self) -> bool {
        self.routes.values().any(|queue| queue.len() > 0)
    }

    /// How many commits are kept in all, and how many bytes their documents have.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let kept = self.routes.values().map(Backlog::kept);
        kept.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }
}
