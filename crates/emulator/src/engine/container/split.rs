//! Splitting a physical partition in two.
//!
//! The children take over documents, log and LSN as they are, so that continuations and session tokens of the
//! parent hold for both. The parent keeps what it had for readers that came before, and takes no more writes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cosmonaut_wire::{EpkRange, PartitionKeyRangeId};

use super::{Container, Written};
use crate::Failure;
use crate::engine::layout::PartitionRange;
use crate::engine::replica::{Phase, Replica};
use crate::engine::ring::Ring;
use crate::engine::throughput::PARTITION_MOST;
use crate::engine::{RegionId, locks};
use crate::index::Index;
use crate::storage::{Commit, Record};

impl Container {
    /// Splits a partition in two and returns the children's ids; 410/1002 if there is no such partition.
    pub fn split(&self, id: &PartitionKeyRangeId) -> Result<Written<[PartitionKeyRangeId; 2]>, Failure> {
        let _admin = locks::lock(&self.admin);
        self.check_not_deleted()?;
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
        let policy = self.properties().indexing_policy.clone().unwrap_or_default();
        // Checked before anything changes; the policy was accepted once already.
        Index::new(&policy)?;
        let first = self.next_range.fetch_add(2, Ordering::Relaxed);
        let mut parents = parent.parents.clone();
        parents.push(parent.id.clone());
        let replica = parent.replica(RegionId::default());
        replica.write(|state| {
            let child = |number: u32, keys: &EpkRange| -> Result<Arc<PartitionRange>, Failure> {
                let replicas = parent.replicas().iter().map(|of| {
                    let state = state.child(keys, Index::new(&policy)?);
                    Ok(Arc::new(Replica::new(of.region, number, self.new_bucket(), state)))
                });
                let replicas = replicas.collect::<Result<Vec<_>, Failure>>()?;
                Ok(Arc::new(PartitionRange::new(number, keys.clone(), parents.clone(), replicas)))
            };
            let children = [child(first, &halves[0])?, child(first + 1, &halves[1])?];
            state.retire(Phase::Split);
            let layout = self.layout().with_split(parent, children.clone());
            *locks::write(&self.layout) = Arc::new(layout);
            let begin = |range: u32| Record::Range { container: self.rid, range, lsn: state.lsn() };
            let commit = self.journal.append([self.record(), begin(first), begin(first + 1)]);
            Ok((children, commit))
        })
    }
}
