//! Bringing commits from one region's replicas to the others'.
//!
//! What is on the way, and when it is due, is the group's; what a commit does to a replica is the replica's.

use std::sync::Arc;

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
            let due = group.queues().take_due(self.now(), &network.links(), knows);
            for ((from, to), backlog) in &due {
                match (backlog.shipments(), range.find_replica(*to)) {
                    (Some(shipments), Some(replica)) => replica.write(|state| self.apply(state, shipments)),
                    (None, Some(_)) => self.deliver_all(&mut range.lock_all(), (*from, *to), backlog),
                    (_, None) => {}
                }
            }
            if !due.is_empty() {
                group.forget_agreed(range);
                network.progressed.notify_waiters();
            }
        }
        group.next_due()
    }

    /// Brings a whole backlog to its replica: commit by commit or, if they were skipped, as what the region that they
    /// come from has now.
    pub(super) fn deliver_all(&self, locked: &mut [Locked<'_>], route: Route, backlog: &Backlog) {
        let place = |region: RegionId| locked.iter().position(|state| state.region() == region);
        let (Some(from), Some(to)) = (place(route.0), place(route.1)) else { return };
        match backlog.shipments() {
            Some(shipments) => self.apply(&mut locked[to], shipments),
            None => {
                if let Ok([source, state]) = locked.get_disjoint_mut([from, to]) {
                    if state.phase() != Phase::Deleted {
                        state.catch_up(source, self.now());
                    }
                }
            }
        }
    }

    /// Applies commits of other regions at a replica.
    pub(super) fn apply<'s>(
        &self,
        state: &mut ReplicaState,
        shipments: impl IntoIterator<Item = &'s Shipment>,
    ) {
        if state.phase() == Phase::Deleted {
            return;
        }
        let now = self.now();
        for shipment in shipments {
            state.apply(&shipment.entry, now);
            state.promise(&shipment.commit);
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
        let Some(point) = settled.advance(&least, &most) else { return };
        for versions in replicas.iter_mut().filter_map(|state| state.versions()) {
            versions.forget(&point);
        }
    }
}
