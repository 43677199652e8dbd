//! A container's life: made or read from disk, its properties replaced, swept, deleted.
//!
//! Its place in the catalog, and its offer, are the catalog's.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use cosmonaut_wire::model::ContainerProperties;
use cosmonaut_wire::{Etag, ResourceId};

use super::{Container, Rate, Written, complete, properties, retention};
use crate::engine::key::KeyReader;
use crate::engine::layout::{Layout, PartitionRange};
use crate::engine::replica::{Phase, Replica, ReplicaState, Retention, Transaction};
use crate::engine::ring::Ring;
use crate::engine::throughput::Bucket;
use crate::engine::unique::UniqueKeys;
use crate::engine::{Conditions, RegionId, locks};
use crate::index::Index;
use crate::storage::{Commit, ContainerRecord, Journal, RangeRecord, Record, SavedContainer};
use crate::{Failure, World};

/// What a container is made with besides its properties.
pub(crate) struct Surroundings {
    pub(crate) world: Arc<dyn World>,
    pub(crate) journal: Journal,
    /// Whether throughput is enforced.
    pub(crate) enforced: bool,
    /// The database's bucket, if the container shares its throughput.
    pub(crate) shared: Option<Arc<Bucket>>,
    /// The container's own request units per second; 0 if it shares.
    pub(crate) throughput: u32,
}

impl Container {
    /// A new container. The properties are complete.
    pub(crate) fn create(
        rid: ResourceId,
        properties: ContainerProperties,
        partitions: u32,
        around: Surroundings,
    ) -> Result<(Self, Box<ContainerRecord>), Failure> {
        let ranges = Ring::of(&properties.partition_key).divide(partitions).into_iter().enumerate();
        let ranges = ranges.map(|(nth, keys)| RangeRecord { number: nth as u32, keys, parents: Vec::new() });
        let record =
            ContainerRecord { properties, ranges: ranges.collect(), next_range: partitions, version: 0 };
        let saved = SavedContainer::empty(rid, record);
        let record = Box::new(saved.record.clone());
        Ok((Self::restore(saved, around)?, record))
    }

    /// A container as it was written to disk.
    pub(crate) fn restore(saved: SavedContainer, around: Surroundings) -> Result<Self, Failure> {
        let properties = saved.record.properties.clone();
        let unique_keys = UniqueKeys::new(properties.unique_key_policy.as_ref())?;
        let mut ranges = Vec::with_capacity(saved.record.ranges.len());
        for range in &saved.record.ranges {
            ranges.push(Arc::new(restore_range(&saved, range, &unique_keys, &around)?));
        }
        let container = Self {
            rid: saved.rid,
            keys: KeyReader::new(&properties.partition_key)?,
            world: around.world,
            journal: around.journal,
            properties: RwLock::new(Arc::new(properties)),
            layout: RwLock::new(Arc::new(Layout::new(ranges, saved.record.version))),
            next_number: AtomicU64::new(saved.next_number()),
            next_range: AtomicU32::new(saved.record.next_range),
            rate: Rate {
                enforced: around.enforced,
                shared: around.shared,
                own: AtomicU32::new(around.throughput),
            },
            admin: Mutex::new(()),
        };
        container.share_throughput();
        Ok(container)
    }

    /// Replaces the properties; 400 if that would change what a container keeps for life.
    pub(crate) fn replace_properties(
        &self,
        properties: ContainerProperties,
        conditions: Conditions<'_>,
        etag: &Etag,
    ) -> Result<Written<Arc<ContainerProperties>>, Failure> {
        let _admin = locks::lock(&self.admin);
        self.check_not_deleted()?;
        let current = self.properties();
        conditions.check_write(current.etag.as_deref().map(Etag::from).as_ref())?;
        properties::check_replacement(&current, &properties)?;
        let mut new = complete(properties, self.rid, etag, self.now())?;
        new.partition_key.version = current.partition_key.version;
        let (old_retention, new_retention) = (retention(&current), retention(&new));
        let policy = new.indexing_policy.clone().unwrap_or_default();
        for replica in self.replicas() {
            let index =
                (current.indexing_policy != new.indexing_policy).then(|| Index::new(&policy)).transpose()?;
            replica.write(|state| {
                state.follow(new.default_ttl, new_retention);
                index.into_iter().for_each(|index| state.reindex(index));
            });
        }
        let new = Arc::new(new);
        *locks::write(&self.properties) = Arc::clone(&new);
        let mut records = vec![self.record()];
        if old_retention != new_retention {
            records.extend(self.forget_all());
        }
        Ok(Written { value: new, commit: self.journal.append(records) })
    }

    /// Lets nothing more be written, before the container is taken from the catalog.
    pub(crate) fn retire(&self) {
        let _admin = locks::lock(&self.admin);
        self.replicas().iter().for_each(|replica| replica.write(|state| state.retire(Phase::Deleted)));
    }

    /// 404/1003 after [`Container::retire`]: nothing may follow the deletion in the journal. To be called with
    /// `admin` held.
    pub(super) fn check_not_deleted(&self) -> Result<(), Failure> {
        self.replicas().iter().try_for_each(|replica| replica.read(|state| self.check_alive(state)))
    }

    /// Deletes items whose time has ended and forgets commits that need not be kept. Called from time to time.
    pub(crate) fn sweep(&self) -> Commit {
        let _admin = locks::lock(&self.admin);
        let mut last = Commit::done();
        if self.check_not_deleted().is_err() {
            return last;
        }
        for range in self.layout().ranges() {
            // Deleting is a write, which one region makes and the others follow.
            let purged = range.replica(RegionId::default()).write(|state| self.purge(range, state));
            last = purged.unwrap_or(last);
            for replica in range.replicas() {
                let truncated = replica.write(|state| match state.retention() {
                    Retention::Tail => None,
                    Retention::Minutes(_) => state.truncate(self.now()),
                });
                if let Some(lsn) = truncated {
                    last = self.journal.append(self.forget(range, lsn));
                }
            }
        }
        last
    }

    /// One commit that deletes all that has expired.
    fn purge(&self, range: &PartitionRange, state: &mut ReplicaState) -> Option<Commit> {
        let expired: Vec<u64> = state.expired(self.now()).collect();
        let mut tx = Transaction::new(state, self.now());
        for number in expired {
            tx.delete(number, true);
        }
        let entry = tx.commit()?;
        let keep = state.retention() != Retention::Tail;
        let commit =
            self.journal.append([Record::Entry { container: self.rid, range: range.number, entry, keep }]);
        state.promise(&commit);
        Some(commit)
    }

    /// Sets the container's own throughput.
    pub(crate) fn set_throughput(&self, throughput: u32) {
        self.rate.own.store(throughput, Ordering::Relaxed);
        self.share_throughput();
    }

    /// Gives each partition its share of the container's own throughput.
    pub(super) fn share_throughput(&self) {
        if self.rate.shared.is_some() {
            return;
        }
        let replicas = self.replicas();
        let own = f64::from(self.rate.own.load(Ordering::Relaxed)) / self.layout().ranges().len() as f64;
        let rate = self.rate.enforced.then_some(own);
        replicas.iter().for_each(|replica| replica.bucket().set_rate(rate));
    }

    /// The bucket of a new partition.
    pub(super) fn new_bucket(&self) -> Arc<Bucket> {
        self.rate.shared.clone().unwrap_or_default()
    }

    pub(super) fn replicas(&self) -> Vec<Arc<Replica>> {
        self.layout().ranges().iter().flat_map(|range| range.replicas()).cloned().collect()
    }

    /// The container as the journal keeps it.
    pub(super) fn record(&self) -> Record {
        let layout = self.layout();
        let ranges = layout.ranges().iter().map(|range| RangeRecord {
            number: range.number,
            keys: range.range.clone(),
            parents: range.parent_numbers().collect(),
        });
        let record = ContainerRecord {
            properties: (*self.properties()).clone(),
            ranges: ranges.collect(),
            next_range: self.next_range.load(Ordering::Relaxed),
            version: layout.version(),
        };
        Record::Container(self.rid, Box::new(record))
    }

    /// Forgets all commits on disk, after a change of how long they are kept.
    fn forget_all(&self) -> Vec<Record> {
        let of = |range: &Arc<PartitionRange>| {
            let lsn = range.replica(RegionId::default()).read(|state| state.lsn());
            self.forget(range, lsn)
        };
        self.layout().ranges().iter().flat_map(of).collect()
    }

    /// Forgets a partition's commits on disk. Those from before a split are kept under its parents' numbers.
    fn forget(&self, range: &PartitionRange, lsn: i64) -> Vec<Record> {
        let numbers = range.parent_numbers().chain([range.number]);
        numbers.map(|range| Record::Truncate { container: self.rid, range, lsn }).collect()
    }
}

fn restore_range(
    saved: &SavedContainer,
    range: &RangeRecord,
    unique_keys: &UniqueKeys,
    around: &Surroundings,
) -> Result<PartitionRange, Failure> {
    let properties = &saved.record.properties;
    let policy = properties.indexing_policy.clone().unwrap_or_default();
    let lsn = saved.lsn(range.number);
    let mut state = ReplicaState::new(lsn, Index::new(&policy)?, unique_keys.clone());
    state.follow(properties.default_ttl, retention(properties));
    for document in saved.documents.iter().filter(|document| range.keys.contains(&document.epk)) {
        state.insert(Arc::clone(document));
    }
    if retention(properties) != Retention::Tail {
        state.restore_log(lsn, saved.log_of(range));
    }
    let bucket = around.shared.clone().unwrap_or_default();
    let replicas = vec![Arc::new(Replica::new(RegionId::default(), range.number, bucket, state))];
    let parents = range.parents.iter().map(|parent| parent.to_string().into()).collect();
    Ok(PartitionRange::new(range.number, range.keys.clone(), parents, replicas))
}
