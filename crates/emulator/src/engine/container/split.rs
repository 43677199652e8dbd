//! Splitting a physical partition in two.
//!
//! The children take over documents, log and LSN as they are, so that continuations and session tokens of the parent hold
//! for both; in each region from what its replica had, with what is on the way to it, so that a region which lags goes on
//! lagging. The parent keeps what it had for readers that came before, and takes no more writes. Documents are copied
//! while the parent is read and written; it is held only for what was written last.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cosmonaut_wire::{EpkRange, PartitionKeyRangeId, mutation};

use super::{Container, Written};
use crate::Failure;
use crate::engine::layout::PartitionRange;
use crate::engine::replica::{Phase, Replica};
use crate::engine::ring::Ring;
use crate::engine::throughput::PARTITION_MOST;
use crate::engine::{Progress, locks};
use crate::storage::{Commit, Record};

impl Container {
    /// Splits a partition in two and returns the children's ids; 410/1002 if there is no such partition.
    pub fn split(&self, id: &PartitionKeyRangeId) -> Result<Written<[PartitionKeyRangeId; 2]>, Failure> {
        let _admin = locks::lock(&self.admin);
        self.check_not_deleted()?;
        if self.is_fixed() {
            return Err(Failure::bad_request(
                "the container was made without a partition key and has one partition, which cannot be split (make a \
                 container with a partition key)",
            ));
        }
        let parent = Arc::clone(self.layout().range(id)?);
        let (children, commit) = self.split_range(&parent)?;
        self.share_throughput();
        Ok(Written { value: children.map(|child| child.id.clone()), commit })
    }

    /// Splits until each partition's share of the throughput is one that a partition can deliver.
    pub(crate) fn scale_out(&self, throughput: u32) -> Result<Commit, Failure> {
        let _admin = locks::lock(&self.admin);
        self.check_not_deleted()?;
        let needed = throughput.div_ceil(PARTITION_MOST) as usize;
        let mut last = Commit::done();
        while self.layout().ranges().len() < needed {
            let layout = self.layout();
            // The oldest is the widest: children always have higher numbers.
            let Some(widest) = layout.ranges().iter().min_by_key(|range| range.number) else { break };
            last = self.split_range(widest)?.1;
        }
        Ok(last)
    }

    /// To be called with `admin` held.
    fn split_range(&self, parent: &PartitionRange) -> Result<([Arc<PartitionRange>; 2], Commit), Failure> {
        let halves = Ring::of(self.definition()).halve(&parent.range).ok_or_else(|| {
            Failure::bad_request(format!("partition {} holds a single place and cannot be split", parent.id))
        })?;
        // Whoever writes or reads goes on until all but the last documents are copied.
        let mut copied = Vec::with_capacity(parent.replicas().len());
        for replica in parent.replicas() {
            let indexes = [self.new_index()?, self.new_index()?];
            copied.push(replica.halve([&halves[0], &halves[1]], indexes));
        }
        let first = self.next_range.fetch_add(2, Ordering::Relaxed);
        let mut parents = parent.parents.clone();
        parents.push(parent.id.clone());
        let group = parent.group();
        let _turn = group.turn();
        let mut replicas = parent.lock_all();
        let mut queues = group.queues();
        let states =
            copied.into_iter().zip(&mut replicas).map(|(halves, of)| (of.region(), halves.finish(of)));
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (region, [of_low, of_high]) in states {
            low.push(Arc::new(Replica::new(region, first, self.new_bucket(), of_low)));
            high.push(Arc::new(Replica::new(region, first + 1, self.new_bucket(), of_high)));
        }
        let child = |number: u32, keys: &EpkRange, replicas| {
            let group = group.child(queues.within(keys));
            Arc::new(PartitionRange::new(number, keys.clone(), parents.clone(), replicas, group))
        };
        let children = [child(first, &halves[0], low), child(first + 1, &halves[1], high)];
        queues.clear();
        replicas.iter_mut().for_each(|state| state.retire(Phase::Split));
        group.set_children(children.clone());
        self.layout.store(Arc::new(self.layout().with_split(parent, children.clone())));
        // The journal has what any region has committed.
        let mut latest = Progress::default();
        replicas.iter().for_each(|state| latest.join(state.progress()));
        let begin = |range: u32| {
            let container = self.rid;
            latest.sequences().map(move |(origin, lsn)| Record::Range { container, range, origin, lsn })
        };
        let begins = begin(first).chain(begin(first + 1));
        let begins = begins.filter(|_| !mutation!("child-partition-counts-anew-after-a-restart"));
        let records = [self.record()].into_iter().chain(begins);
        let commit = self.journal.append(records);
        // What comes from a child is safe when the child is.
        for replica in children.iter().flat_map(|child| child.replicas()) {
            replica.write(|state| state.promise(&commit));
        }
        drop((queues, replicas));
        // Whoever waits for the parent now waits for its children.
        self.account.network.wake();
        Ok((children, commit))
    }
}
