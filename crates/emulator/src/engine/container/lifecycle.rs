//! A container's life: made or read from disk, its properties replaced, swept, deleted.
//!
//! Its place in the catalog, and its offer, are the catalog's.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use arc_swap::ArcSwap;
use cosmonaut_wire::model::ContainerProperties;
use cosmonaut_wire::{Etag, ResourceId};

use super::{Container, Rate, Written, complete, properties, retention};
use crate::Failure;
use crate::engine::conflicts::Conflict;
use crate::engine::key::KeyReader;
use crate::engine::layout::{Layout, PartitionRange};
use crate::engine::replica::{Phase, Replica, ReplicaState, Retention, Transaction};
use crate::engine::replication::{Account, Group, Lineage};
use crate::engine::resolution::Resolution;
use crate::engine::ring::Ring;
use crate::engine::throughput::Bucket;
use crate::engine::unique::UniqueKeys;
use crate::engine::{Conditions, Progress, RegionId, locks};
use crate::index::Index;
use crate::storage::{Commit, ContainerRecord, Journal, RangeRecord, Record, SavedContainer};

/// How many items are deleted at once when their time has ended: others wait for that long.
const PURGED_AT_ONCE: usize = 256;

/// What a container is made with besides its properties.
pub(crate) struct Surroundings {
    pub(crate) account: Arc<Account>,
    pub(crate) journal: Journal,
    /// Whether no work is divided among threads.
    pub(crate) one_thread: bool,
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
        first_token_version: i64,
        around: Surroundings,
    ) -> Result<(Self, Box<ContainerRecord>), Failure> {
        let ranges = Ring::of(&properties.partition_key).divide(partitions).into_iter().enumerate();
        let ranges = ranges.map(|(nth, keys)| RangeRecord::new(nth as u32, keys, first_token_version));
        let record = ContainerRecord {
            properties,
            ranges: ranges.collect(),
            next_range: partitions,
            version: 0,
            first_token_version,
            is_followed: false,
        };
        let saved = SavedContainer::empty(rid, record);
        let record = Box::new(saved.record.clone());
        Ok((Self::restore(saved, around)?, record))
    }

    /// A container as it was written to disk.
    pub(crate) fn restore(mut saved: SavedContainer, around: Surroundings) -> Result<Self, Failure> {
        let duplicates = saved.take_duplicates();
        let properties = saved.record.properties.clone();
        let unique_keys = UniqueKeys::new(properties.unique_key_policy.as_ref())?;
        let mut ranges = Vec::with_capacity(saved.record.ranges.len());
        for range in &saved.record.ranges {
            ranges.push(Arc::new(restore_range(&saved, range, &unique_keys, &around)?));
        }
        let next_number = saved.next_number();
        let conflicts = std::mem::take(&mut saved.conflicts).into_iter();
        let conflicts =
            conflicts.map(|conflict| (conflict.number, Arc::new(Conflict::restore(saved.rid, conflict))));
        let conflicts = conflicts.collect();
        let container = Self {
            rid: saved.rid,
            keys: KeyReader::new(&properties.partition_key)?,
            resolution: Resolution::new(properties.conflict_resolution_policy.as_ref())?,
            conflicts: Mutex::new(conflicts),
            account: around.account,
            journal: around.journal,
            one_thread: around.one_thread,
            properties: RwLock::new(Arc::new(properties)),
            layout: ArcSwap::from_pointee(Layout::new(ranges, saved.record.version)),
            next_number: AtomicU64::new(next_number),
            next_range: AtomicU32::new(saved.record.next_range),
            rate: Rate {
                enforced: around.enforced,
                shared: around.shared,
                own: AtomicU32::new(around.throughput),
            },
            first_token_version: saved.record.first_token_version,
            followed: saved.record.is_followed.then(Commit::done).map_or_else(OnceLock::new, OnceLock::from),
            admin: Mutex::new(()),
        };
        container.share_throughput();
        container.tell_of_restart(&saved, duplicates);
        container.settle_unique();
        Ok(container)
    }

    /// Tells the journal what is no longer as it has it.
    fn tell_of_restart(&self, saved: &SavedContainer, duplicates: Vec<u64>) {
        let mut records = Vec::new();
        let layout = self.layout();
        let versions = layout.ranges().iter().map(|range| range.group().lineage().version);
        if saved.was_stored() && !versions.eq(saved.record.ranges.iter().map(|range| range.token_version)) {
            records.push(self.record());
        }
        if !duplicates.is_empty() {
            records.push(Record::Settle { container: self.rid, put: Vec::new(), remove: duplicates });
        }
        if !records.is_empty() {
            // Nobody is told about a restart, so nobody waits for it.
            drop(self.journal.append(records));
        }
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
        new.conflict_resolution_policy = current.conflict_resolution_policy.clone();
        let is_followed = self.followed.get().is_some();
        let (old_retention, new_retention) = (retention(&current, is_followed), retention(&new, is_followed));
        let indexed_alike = current.indexing_policy == new.indexing_policy
            && current.full_text_policy == new.full_text_policy;
        for replica in self.replicas() {
            if !indexed_alike {
                replica.reindex(Index::of(&new)?);
            }
            replica.write(|state| state.follow(new.default_ttl, new_retention));
        }
        let new = Arc::new(new);
        *locks::write(&self.properties) = Arc::clone(&new);
        let mut records = vec![self.record()];
        if old_retention != new_retention {
            records.extend(self.forget_all());
        }
        Ok(Written { value: new, commit: self.journal.append(records) })
    }

    /// Keeps all versions from now on, if no policy does and nobody has read them before. Resolves when that is safe.
    pub(in crate::engine) fn keep_versions(&self) -> Result<Commit, Failure> {
        if retention(&self.properties(), false) != Retention::Tail {
            return Ok(Commit::done());
        }
        if let Some(safe) = self.followed.get() {
            return Ok(safe.clone());
        }
        let _admin = locks::lock(&self.admin);
        self.check_not_deleted()?;
        let follow = || {
            let properties = self.properties();
            let kept = retention(&properties, true);
            for replica in self.replicas() {
                replica.write(|state| state.follow(properties.default_ttl, kept));
            }
            self.journal.append([self.record_as(true)].into_iter().chain(self.forget_all()))
        };
        Ok(self.followed.get_or_init(follow).clone())
    }

    /// Lets nothing more be written, before the container is taken from the catalog.
    pub(crate) fn retire(&self) {
        let _admin = locks::lock(&self.admin);
        self.replicas().iter().for_each(|replica| replica.write(|state| state.retire(Phase::Deleted)));
    }

    /// 404/1003 after [`Container::retire`]: nothing may follow the deletion in the journal. To be called with
    /// `admin` held.
    pub(in crate::engine) fn check_not_deleted(&self) -> Result<(), Failure> {
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
            while let Some(commit) = self.purge(range) {
                last = commit;
            }
            last = self.forget_log(range).unwrap_or(last);
            self.forget_deletes(range);
            range.group().tidy(range);
        }
        last
    }

    /// One commit that deletes some of what has expired: a write, which one region makes and the others follow. None if
    /// nothing has.
    fn purge(&self, range: &PartitionRange) -> Option<Commit> {
        let region = self.sweeping_region(range);
        let commit = range.find_replica(region)?.write(|state| {
            let lineage = range.group().lineage();
            let now = self.now();
            let expired: Vec<u64> = state.expired(now).take(PURGED_AT_ONCE).collect();
            let mut tx = Transaction::new(state, now, self.author(&lineage, region));
            for number in expired {
                tx.delete(number, true);
            }
            let entry = tx.commit()?;
            Some(self.log(range, region, state, entry, Vec::new()))
        })?;
        self.deliver_soon(range);
        Some(commit)
    }

    /// The region that deletes what has expired: the one that writes or, if all do, the first that others hear of.
    fn sweeping_region(&self, range: &PartitionRange) -> RegionId {
        let (topology, links) = (self.account.topology(), self.account.network.links());
        let mut regions = topology.regions.iter().map(|region| region.id);
        let heard = regions.find(|region| !links.is_isolated(*region));
        range.group().lineage().writer.or(heard).unwrap_or(topology.write_region().id)
    }

    /// Forgets commits that need not be kept. What all replicas have forgotten is forgotten on disk.
    fn forget_log(&self, range: &PartitionRange) -> Option<Commit> {
        let now = self.now();
        let mut forgotten = false;
        let mut kept_by_all: Option<Progress> = None;
        for replica in range.replicas() {
            replica.write(|state| {
                if state.retention() != Retention::Tail {
                    forgotten |= state.truncate(now);
                }
                match &mut kept_by_all {
                    Some(point) => point.meet(state.truncated()),
                    None => kept_by_all = Some(state.truncated().clone()),
                }
            });
        }
        forgotten.then(|| self.journal.append(self.forget(range, &kept_by_all.unwrap_or_default())))
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
        self.record_as(self.followed.get().is_some())
    }

    fn record_as(&self, is_followed: bool) -> Record {
        let layout = self.layout();
        let ranges = layout.ranges().iter().map(|range| {
            let lineage = range.group().lineage();
            RangeRecord {
                number: range.number,
                keys: range.range.clone(),
                parents: range.parent_numbers().collect(),
                token_version: lineage.version,
                forks: lineage.forks.clone(),
            }
        });
        let record = ContainerRecord {
            properties: (*self.properties()).clone(),
            ranges: ranges.collect(),
            next_range: self.next_range.load(Ordering::Relaxed),
            version: layout.version(),
            first_token_version: self.first_token_version,
            is_followed,
        };
        Record::Container(self.rid, Box::new(record))
    }

    /// Forgets all commits on disk, after a change of how long they are kept.
    fn forget_all(&self) -> Vec<Record> {
        let of = |range: &Arc<PartitionRange>| {
            let mut all = Progress::default();
            for replica in range.replicas() {
                replica.read(|state| all.join(state.progress()));
            }
            self.forget(range, &all)
        };
        self.layout().ranges().iter().flat_map(of).collect()
    }

    /// Forgets a partition's commits on disk. Those from before a split are kept under its parents' numbers.
    fn forget(&self, range: &PartitionRange, point: &Progress) -> Vec<Record> {
        let numbers: Vec<u32> = range.parent_numbers().chain([range.number]).collect();
        let of = |(origin, lsn): (RegionId, i64)| {
            let container = self.rid;
            numbers.iter().map(move |range| Record::Truncate { container, range: *range, origin, lsn })
        };
        point.sequences().flat_map(of).collect()
    }
}

/// Builds a partition with a replica in every region, all of which have everything.
fn restore_range(
    saved: &SavedContainer,
    range: &RangeRecord,
    unique_keys: &UniqueKeys,
    around: &Surroundings,
) -> Result<PartitionRange, Failure> {
    let properties = &saved.record.properties;
    let topology = around.account.topology();
    let lineage = restore_lineage(saved, range, &around.account);
    let progress = saved.progress(range, &lineage);
    let documents = saved.documents.iter().filter(|document| range.keys.contains(&document.epk));
    let replica = |region: RegionId| {
        let index = Index::of(properties)?.with_one_thread(around.one_thread);
        let mut state = ReplicaState::new(progress.clone(), index, unique_keys.clone());
        let kept = retention(properties, saved.record.is_followed);
        state.follow(properties.default_ttl, kept);
        state.fill(documents.clone().cloned().collect());
        if kept != Retention::Tail {
            state.restore_log(saved.log_of(range, &lineage));
        }
        if topology.multi_write {
            state.compare_versions();
        }
        let bucket = around.shared.clone().unwrap_or_default();
        Ok(Arc::new(Replica::new(region, range.number, bucket, state)))
    };
    let replicas = topology.ids().into_iter().map(replica).collect::<Result<Vec<_>, Failure>>()?;
    let parents = range.parents.iter().map(|parent| parent.to_string().into()).collect();
    let group = Group::new(Arc::clone(&around.account), lineage);
    Ok(PartitionRange::new(range.number, range.keys.clone(), parents, replicas, group))
}

fn restore_lineage(saved: &SavedContainer, range: &RangeRecord, account: &Account) -> Lineage {
    let topology = account.topology();
    let writer = (!topology.multi_write).then(|| topology.write_region().id);
    // Tokens of one version list the same regions, and those may be others than before.
    let lists_others = topology.multi_write || saved.sequences(range.number) > 1;
    let raised = i64::from(lists_others && saved.was_stored());
    Lineage {
        version: range.token_version + raised,
        forks: range.forks.clone(),
        ..Lineage::new(writer, topology.ids())
    }
}
