//! Bringing commits from one region's replicas to the others'.
//!
//! What is on the way, and when it is due, is the group's; what a commit does to a replica is the replica's.

use std::sync::Arc;

use cosmonaut_wire::mutation;

use super::Container;
use crate::Timestamp;
use crate::engine::replica::{Locked, Phase, Replica, ReplicaState};
use crate::engine::replication::{Backlog, Route, Shipment};
use crate::engine::{PartitionRange, Progress, RegionId};

impl Container {
    /// Applies what is due at every partition; says when the next commit is due.
    pub(crate) fn pump(&self) -> Option<Timestamp> {
        let layout = self.layout();
        layout.ranges().iter().filter_map(|range| self.deliver(range)).min()
    }

    /// Applies what is due, and sees to it that the rest is looked at in time.
    pub(super) fn deliver_soon(&self, range: &PartitionRange) {
        if self.deliver(range).is_some() {
            self.account.network.queued.notify_one();
        }
    }

    /// Applies what is due at the replicas of a partition; says when the next commit is due.
    fn deliver(&self, range: &PartitionRange) -> Option<Timestamp> {
        let (group, network) = (range.group(), &self.account.network);
        {
            let _turn = group.turn();
            let knows = |region| range.find_replica(region).is_some();
            // What arrives may have to be answered by a commit of its own.
            loop {
                let due = group.queues().take_due(self.now(), &network.links(), knows);
                for (route, backlog) in &due {
                    match (backlog.shipments(), range.find_replica(route.1)) {
                        (Some(shipments), Some(to)) => {
                            to.write(|state| self.apply(range, route.1, state, shipments));
                        }
                        (None, Some(_)) => self.deliver_all(range, &mut range.lock_all(), *route, backlog),
                        (_, None) => {}
                    }
                }
                if due.is_empty() {
                    break;
                }
                group.forget_agreed(range);
                network.progressed.notify_waiters();
            }
        }
        group.next_due()
    }

    /// Brings a whole backlog to its replica: commit by commit or, if they were skipped, as what the region that they
    /// come from has now. What is on the way may not be locked.
    pub(super) fn deliver_all(
        &self,
        range: &PartitionRange,
        locked: &mut [Locked<'_>],
        route: Route,
        backlog: &Backlog,
    ) {
        let place = |region: RegionId| locked.iter().position(|state| state.region() == region);
        let (Some(from), Some(to)) = (place(route.0), place(route.1)) else { return };
        if let Some(shipments) = backlog.shipments() {
            self.apply(range, route.1, &mut locked[to], shipments);
        } else if let Ok([source, state]) = locked.get_disjoint_mut([from, to])
            && state.phase() != Phase::Deleted
        {
            state.catch_up(source, self.now());
            if state.has_unique_keys() {
                // What the source knew to be replaced is replaced here, too: who still holds a key was not known to
                // give it up.
                self.give_way(range, route.1, state, source.shared(), &Progress::default());
            }
        }
    }

    /// Applies commits of other regions at the replica in a region. What is on the way may not be locked.
    pub(super) fn apply<'s>(
        &self,
        range: &PartitionRange,
        region: RegionId,
        state: &mut ReplicaState,
        shipments: impl IntoIterator<Item = &'s Shipment>,
    ) {
        if state.phase() == Phase::Deleted {
            return;
        }
        let now = self.now();
        for Shipment { entry, commit, .. } in shipments {
            let is_new = entry.lsn > state.progress().get(entry.origin());
            state.apply(entry, now);
            state.promise(commit);
            if let Some(causes) = entry.causes.as_ref().filter(|_| is_new && state.has_unique_keys()) {
                let arrived = entry.changes.iter().filter_map(|change| change.current());
                self.give_way(range, region, state, arrived, &causes.seen);
            }
        }
    }

    /// Forgets deletes that no commit on the way can contradict any more.
    pub(super) fn forget_deletes(&self, range: &PartitionRange) {
        let has_any = |replica: &Arc<Replica>| replica.read(|state| state.has_tombstones());
        if !range.replicas().iter().any(has_any) {
            return;
        }
        let mut settled = range.group().turn();
        let mut replicas = range.lock_all();
        let mut least = replicas[0].progress().clone();
        let mut most = Progress::default();
        for state in &replicas {
            least.meet(state.progress());
            most.join(state.progress());
        }
        let settled = settled.advance(&least, &most);
        let settled = if mutation!("deletions-are-forgotten-early") { Some(most) } else { settled };
        let Some(point) = settled else { return };
        for versions in replicas.iter_mut().filter_map(|state| state.versions()) {
            versions.forget(&point);
        }
    }
}
