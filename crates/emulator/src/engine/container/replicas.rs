//! A container's replicas as the account changes: a region more or less, and writes that move between them.
//!
//! What the account itself looks like, and whether a change is allowed at all, is decided in `replication`.

use std::sync::Arc;

use super::Container;
use cosmonaut_wire::mutation;

use crate::engine::layout::PartitionRange;
use crate::engine::replica::{Locked, Phase, Replica, ReplicaState};
use crate::engine::replication::{Backlog, Lineage, Queues, Shipment};
use crate::engine::{RegionId, locks};
use crate::index::Index;
use crate::storage::Record;
use crate::{Consistency, Failure};

impl Container {
    /// Gives every partition a replica in a new region, which has all that its source has.
    pub(crate) fn add_region(&self, region: RegionId) -> Result<(), Failure> {
        let _admin = locks::lock(&self.admin);
        let layout = self.layout();
        let ranges = layout.ranges().iter().map(|range| self.add_replica(range, region));
        let ranges = ranges.collect::<Result<Vec<_>, Failure>>()?;
        self.layout.store(Arc::new(layout.with_ranges(ranges)));
        self.share_throughput();
        self.record_versions();
        self.layout().ranges().iter().for_each(|range| self.deliver_soon(range));
        Ok(())
    }

    fn add_replica(&self, range: &PartitionRange, region: RegionId) -> Result<Arc<PartitionRange>, Failure> {
        let group = range.group();
        let source = self.source(&group.lineage());
        let no_source = || Failure::bad_request(format!("partition {} has no replica to copy", range.id));
        // Whoever writes or reads goes on until all but the last documents are copied.
        let copied = range.find_replica(source).ok_or_else(no_source)?.copy(self.new_index()?);
        let _turn = group.turn();
        let mut locked = range.lock_all();
        let mut lineage = Lineage::clone(&group.lineage());
        let from = locked.iter_mut().find(|state| state.region() == source).ok_or_else(no_source)?;
        let replica = Replica::new(region, range.number, self.new_bucket(), copied.finish(from));
        let mut queues = group.queues();
        // What the source does not have yet is on its way to the new replica as well.
        for from in lineage.regions.clone() {
            let missing = queues.between(from, source).cloned().unwrap_or_default();
            queues.put(from, region, missing);
        }
        lineage.regions.push(region);
        raise_version(&mut lineage);
        group.set_lineage(lineage);
        let replicas = range.replicas().iter().cloned().chain([Arc::new(replica)]).collect();
        Ok(Arc::new(range.with_replicas(replicas)))
    }

    /// The region that a new one is copied from: the writer or, if all write, the first that can be heard.
    fn source(&self, lineage: &Lineage) -> RegionId {
        let (topology, links) = (self.account.topology(), self.account.network.links());
        let heard = topology.regions.iter().find(|region| !links.is_isolated(region.id));
        lineage.writer.unwrap_or(heard.unwrap_or(topology.write_region()).id)
    }

    /// Takes a region's replicas away. Where several regions write, whatever is on the way from or to it is delivered.
    pub(crate) fn remove_region(&self, region: RegionId) {
        let _admin = locks::lock(&self.admin);
        let layout = self.layout();
        let ranges = layout.ranges().iter().map(|range| self.remove_replica(range, region)).collect();
        self.layout.store(Arc::new(layout.with_ranges(ranges)));
        self.record_versions();
    }

    /// Tells the journal that token versions may have changed. Nobody is given a token of a version that a restart
    /// could use again for other regions.
    fn record_versions(&self) {
        let commit = self.journal.append([self.record()]);
        self.replicas().iter().for_each(|replica| replica.write(|state| state.promise(&commit)));
    }

    fn remove_replica(&self, range: &PartitionRange, region: RegionId) -> Arc<PartitionRange> {
        let group = range.group();
        let _turn = group.turn();
        let mut locked = range.lock_all();
        let mut lineage = Lineage::clone(&group.lineage());
        // It hears all the others first, and they what it has to say about that.
        let mut regions: Vec<RegionId> = locked.iter().map(|state| state.region()).collect();
        regions.sort_by_key(|to| *to != region);
        for to in regions.into_iter().filter(|_| lineage.writer.is_none()) {
            let last = group.queues().take_around(region, to);
            for (route, backlog) in last {
                self.deliver_all(range, &mut locked, route, &backlog);
            }
        }
        if let Some(nth) = place(&locked, region) {
            locked[nth].retire(Phase::Left);
        }
        group.queues().forget(region);
        lineage.regions.retain(|other| *other != region);
        raise_version(&mut lineage);
        group.set_lineage(lineage);
        let replicas = range.replicas().iter().filter(|replica| replica.region != region);
        Arc::new(range.with_replicas(replicas.cloned().collect()))
    }

    /// Lets a region continue a partition from what the writer has. Nothing is lost.
    pub(crate) fn hand_over(&self, range: &PartitionRange, to: RegionId) {
        let group = range.group();
        let _turn = group.turn();
        let mut locked = range.lock_all();
        let mut lineage = Lineage::clone(&group.lineage());
        let Some(from) = lineage.writer.filter(|from| *from != to) else { return };
        let missing = group.queues().take(from, to);
        if !mutation!("graceful-failover-loses-the-queue") {
            self.deliver_all(range, &mut locked, (from, to), &missing);
        }
        let mut queues = group.queues();
        for other in lineage.regions.iter().filter(|other| **other != from && **other != to) {
            let rest = queues.take(from, *other);
            queues.put(to, *other, rest);
        }
        lineage.writer = Some(to);
        group.set_lineage(lineage);
    }

    /// Lets a region continue a partition from what it has itself; says how many commits are lost with that.
    pub(crate) fn take_over(&self, range: &PartitionRange, to: RegionId) -> Result<u64, Failure> {
        let group = range.group();
        // Before anything changes: the policy was accepted once already.
        let indexes =
            range.replicas().iter().map(|_| self.new_index()).collect::<Result<Vec<_>, Failure>>()?;
        let _turn = group.turn();
        let mut locked = range.lock_all();
        let mut lineage = Lineage::clone(&group.lineage());
        let Some(from) = lineage.writer.filter(|from| *from != to) else { return Ok(0) };
        let (Some(old), Some(new)) = (place(&locked, from), place(&locked, to)) else { return Ok(0) };
        let mut missing = group.queues().take(from, to);
        // Acknowledged after it was decided to move: on a Strong account it goes along.
        if group.account.topology().consistency == Consistency::Strong {
            let must_have = range.committed_by_most();
            if locked[new].lsn() < must_have {
                self.deliver_all(range, &mut locked, (from, to), &missing.take_through(must_have));
            }
        }
        // A commit from before a split can be one of the other child's, and then nothing is lost with it.
        let has_none = |shipment: &&Shipment| shipment.entry.changes.is_empty();
        let none_of_ours = missing.shipments().into_iter().flatten().take_while(has_none);
        self.apply(range, to, &mut locked[new], none_of_ours);
        let mut queues = group.queues();
        let lost = missing.changing();
        let [until, survives] = [old, new].map(|nth| locked[nth].progress().get(RegionId::default()));
        for other in lineage.regions.iter().filter(|other| **other != from && **other != to) {
            let mut rest = queues.take(from, *other);
            let has = place(&locked, *other).map_or(0, |nth| locked[nth].progress().get(RegionId::default()));
            rest.cut_after(survives, lineage.commits_between(has, survives));
            queues.put(to, *other, rest);
        }
        lineage.writer = Some(to);
        let mut records = Vec::new();
        if lost > 0 {
            // After an earlier fork nothing may have been committed yet.
            lineage.fork(survives, until.max(lineage.floor(RegionId::default())));
            records.push(self.undo(&locked[old], &locked[new]));
            reseed(&mut locked, &mut queues, new, indexes);
        }
        group.set_lineage(lineage);
        if lost > 0 {
            let commit = self.journal.append([self.record()].into_iter().chain(records));
            locked[new].promise(&commit);
        }
        Ok(lost)
    }

    /// What brings the journal from one replica's documents to another's.
    fn undo(&self, had: &ReplicaState, has: &ReplicaState) -> Record {
        let gone = had.documents().filter(|document| has.document(document.number).is_none());
        let differs = |number: u64| {
            let etag = |state: &ReplicaState| state.document(number).map(|document| document.etag);
            etag(had) != etag(has)
        };
        let changed = has.documents().filter(|document| differs(document.number));
        Record::Settle {
            container: self.rid,
            put: changed.filter_map(|document| has.share(document.number).cloned()).collect(),
            remove: gone.map(|document| document.number).collect(),
        }
    }

    pub(super) fn new_index(&self) -> Result<Index, Failure> {
        Ok(Index::of(&self.properties())?.with_one_thread(self.one_thread))
    }
}

/// Makes every replica that is ahead of one a copy of it.
fn reseed(locked: &mut [Locked<'_>], queues: &mut Queues, from: usize, indexes: Vec<Index>) {
    let survives = locked[from].lsn();
    for (nth, index) in indexes.into_iter().enumerate() {
        if nth != from && locked[nth].lsn() > survives {
            let copy = locked[from].copy(index);
            locked[nth].become_copy(copy);
            queues.put(locked[from].region(), locked[nth].region(), Backlog::default());
        }
    }
}

fn place(locked: &[Locked<'_>], region: RegionId) -> Option<usize> {
    locked.iter().position(|state| state.region() == region)
}

/// Where several regions write, tokens list the regions, and those of one version all the same.
fn raise_version(lineage: &mut Lineage) {
    lineage.version += i64::from(lineage.writer.is_none());
}
