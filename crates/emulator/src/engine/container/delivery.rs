//! Bringing commits from one region's replicas to the others'.
//!
//! What is on the way, and when it is due, is the group's; what a commit does to a replica is the replica's.

use std::sync::Arc;

use super::Container;
use crate::Timestamp;
use crate::engine::replica::{Phase, Replica, ReplicaState};
use crate::engine::replication::Shipment;
use crate::engine::{PartitionRange, Progress};

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
            let reaches = |to| range.find_replica(to).is_some();
            let due = group.queues().take_due(self.now(), &network.links(), reaches);
            for ((_, to), shipments) in &due {
                if let Some(replica) = range.find_replica(*to) {
                    replica.write(|state| self.apply(state, shipments));
                }
            }
            if !due.is_empty() {
                group.forget_agreed(range);
                network.progressed.notify_waiters();
            }
        }
        group.next_due()
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
