//! A container: its properties, its layout, and the way into its partitions.
//!
//! Operations on items are in [`items`](super::items), feeds in [`feed`](super::feed); this is what they share.

mod delivery;
mod encryption;
mod lifecycle;
mod properties;
mod replicas;
mod search_policies;
mod spatial;
mod split;
mod unique;
mod usage;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

use arc_swap::ArcSwap;
use cosmonaut_wire::model::{ContainerProperties, PartitionKeyDefinition, PartitionKeyRange};
use cosmonaut_wire::{
    CosmosStatus, EffectivePartitionKey, PartitionKey, PartitionToken, ResourceId, SessionToken,
};

pub(crate) use lifecycle::Surroundings;
pub(crate) use properties::{complete, retention};
pub use usage::Usage;

use super::conflicts::Conflicts;
use super::document::Stamp;
use super::items::{ItemReply, Outcome, Site};
use super::key::KeyReader;
use super::layout::Layout;
use super::replica::{Author, LogEntry, Phase, Replica, ReplicaState, Retention, Transaction};
use super::replication::{Account, Lineage, Settlement};
use super::resolution::Resolution;
use super::throughput::Bucket;
use super::topology::{region_left, write_forbidden};
use super::{Hold, PartitionRange, RegionId, Standing, locks};
use crate::storage::{Commit, Journal, Record};
use crate::{Failure, Timestamp};

/// A container.
pub struct Container {
    rid: ResourceId,
    account: Arc<Account>,
    journal: Journal,
    /// Whether no work is divided among threads.
    one_thread: bool,
    keys: KeyReader,
    resolution: Resolution,
    conflicts: Mutex<Conflicts>,
    properties: RwLock<Arc<ContainerProperties>>,
    layout: ArcSwap<Layout>,
    next_number: AtomicU64,
    next_range: AtomicU32,
    rate: Rate,
    first_token_version: i64,
    /// Set once somebody has read the feed of all versions, though no policy keeps them; resolves when that is safe.
    followed: OnceLock<Commit>,
    /// Held by whoever changes properties or layout, so that these happen one after another.
    admin: Mutex<()>,
}

/// Where the throughput of a container comes from.
#[derive(Debug)]
struct Rate {
    /// Whether it is enforced.
    enforced: bool,
    /// The database's bucket, if the container shares its throughput.
    shared: Option<Arc<Bucket>>,
    /// The container's own request units per second.
    own: AtomicU32,
}

/// The value of a change that may be acknowledged once its commit resolves.
#[derive(Debug)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// Resolves when the reply may be sent.
    pub commit: Commit,
}

/// What a transaction on a partition came to.
pub(crate) struct Transacted<T> {
    pub(crate) value: T,
    pub(crate) range: Arc<PartitionRange>,
    pub(crate) standing: Standing,
    pub(crate) commit: Commit,
    pub(crate) hold: Hold,
}

impl Container {
    /// The resource id.
    pub fn rid(&self) -> ResourceId {
        self.rid
    }

    /// The properties as they are now.
    pub fn properties(&self) -> Arc<ContainerProperties> {
        Arc::clone(&locks::read(&self.properties))
    }

    /// The partition key definition, which never changes.
    pub fn definition(&self) -> &PartitionKeyDefinition {
        self.keys.definition()
    }

    /// Whether it was made without a partition key, and so has one partition for ever.
    pub(crate) fn is_fixed(&self) -> bool {
        self.definition().system_key == Some(true)
    }

    /// What a session has seen of this container, if it may have seen one that had the same name before.
    pub fn own_part(&self, mut seen: SessionToken) -> SessionToken {
        seen.retain(|_, progress| match progress {
            PartitionToken::Vector(vector) => vector.version() >= self.first_token_version,
            PartitionToken::Simple(_) => true,
        });
        seen
    }

    /// What a session has seen that knows all of the container as a region has it.
    pub fn session(&self, region: RegionId) -> SessionToken {
        let layout = self.layout();
        let seen = |range: &Arc<PartitionRange>| {
            (range.id.clone(), range.replica(region).read(|state| range.standing(state).seen))
        };
        SessionToken::of_ranges(layout.ranges().iter().map(seen).collect())
    }

    /// The highest version that a session token of this container has had.
    pub(crate) fn last_token_version(&self) -> i64 {
        let versions = self.layout().ranges().iter().map(|range| range.group().lineage().version).max();
        versions.unwrap_or(self.first_token_version)
    }

    /// The partitions as they are now.
    pub fn layout(&self) -> Arc<Layout> {
        self.layout.load_full()
    }

    /// The partition key of a document.
    pub fn key_of(&self, body: &[u8]) -> Result<PartitionKey, Failure> {
        self.keys.key_of(body)
    }

    /// The replica that holds a key in a region.
    pub fn replica_for(&self, key: &EffectivePartitionKey, region: RegionId) -> Arc<Replica> {
        Arc::clone(self.layout().range_of(key).replica(region))
    }

    /// The partitions as `pkranges` lists them.
    pub fn partition_key_ranges(&self) -> Vec<PartitionKeyRange> {
        self.describe(&self.layout())
    }

    /// The partitions of a layout, as clients see them.
    pub fn describe(&self, layout: &Layout) -> Vec<PartitionKeyRange> {
        let share = 1.0 / layout.ranges().len() as f64;
        layout.ranges().iter().map(|range| range.describe(self.rid, share)).collect()
    }

    /// Resolve once all that is in a region's partitions, and the partitions themselves, are safe.
    pub fn commits(&self, region: RegionId) -> Vec<Commit> {
        let commit = |range: &Arc<PartitionRange>| range.replica(region).read(|state| state.commit());
        self.layout().ranges().iter().map(commit).filter(|commit| !commit.is_done()).collect()
    }

    /// Waits until nobody else changes properties or layout.
    pub(super) fn administer(&self) -> MutexGuard<'_, ()> {
        locks::lock(&self.admin)
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn conflict_list(&self) -> &Mutex<Conflicts> {
        &self.conflicts
    }

    pub(crate) fn keys(&self) -> &KeyReader {
        &self.keys
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.account.world.now()
    }

    /// A random number.
    #[cfg(feature = "scripts")]
    pub(crate) fn random(&self) -> u64 {
        self.account.world.random()
    }

    /// The number of an item to be created.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// 404/1003 if the container of this replica was deleted.
    pub(crate) fn check_alive(&self, state: &ReplicaState) -> Result<(), Failure> {
        match state.phase() {
            // What a split partition held at that moment may still be read by whoever came before.
            Phase::Live | Phase::Split => Ok(()),
            Phase::Left => Err(region_left()),
            Phase::Deleted => Err(owner_gone()),
        }
    }

    /// Runs one operation on the partition that holds a key.
    pub(crate) fn transact_one(
        &self,
        region: RegionId,
        key: &EffectivePartitionKey,
        session: Option<&SessionToken>,
        mut work: impl FnMut(Site<'_>, &mut Transaction<'_>) -> Result<Outcome, Failure>,
    ) -> Result<ItemReply, Failure> {
        let done = self.transact(region, key, |site, tx| {
            site.range.check_session(session, tx.state())?;
            work(site, tx)
        });
        let charge = done.as_ref().map_or_else(|failure| failure.charge, |done| done.value.charge);
        self.replica_for(key, region).spend(charge);
        done.map(|done| ItemReply {
            hold: done.hold,
            ..done.value.reply(done.range, done.standing, done.commit)
        })
    }

    /// Runs a transaction on the partition that holds a key. If `work` fails, nothing has happened.
    pub(crate) fn transact<T>(
        &self,
        region: RegionId,
        key: &EffectivePartitionKey,
        mut work: impl FnMut(Site<'_>, &mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<Transacted<T>, Failure> {
        loop {
            let layout = self.layout();
            let range = layout.range_of(key);
            let replica = range.replica(region);
            replica.admit(self.now())?;
            let done = replica.write(|state| match state.phase() {
                Phase::Live => Some(self.commit(Site { container: self, range, region }, state, &mut work)),
                Phase::Deleted => Some(Err(owner_gone())),
                Phase::Left => Some(Err(region_left())),
                // The layout was replaced before the parent's lock was let go: look again.
                Phase::Split => None,
            });
            if let Some(done) = done {
                let (value, mut standing, commit) = done?;
                if range.group().lineage().regions.len() > 1 {
                    self.deliver_soon(range);
                    standing.committed = range.committed().min(standing.lsn);
                }
                let hold = Hold::of_write(range, region, standing.lsn);
                return Ok(Transacted { value, range: Arc::clone(range), standing, commit, hold });
            }
        }
    }

    fn commit<T>(
        &self,
        site: Site<'_>,
        state: &mut ReplicaState,
        work: &mut impl FnMut(Site<'_>, &mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<(T, Standing, Commit), Failure> {
        // Writes move while all replicas are locked, so this holds until the commit is made.
        self.check_writer(site.range, site.region)?;
        let lineage = site.range.group().lineage();
        let mut tx = Transaction::new(state, self.now(), self.author(&lineage, site.region));
        let value = match work(site, &mut tx) {
            Ok(value) => value,
            Err(failure) => {
                drop(tx);
                return Err(failure.seen_in(site.range, state));
            }
        };
        let commit = match tx.commit() {
            Some(entry) => self.log(site.range, site.region, state, entry, Vec::new()),
            None => state.commit(),
        };
        Ok((value, site.range.standing(state), commit))
    }

    /// Tells the journal and the other regions of a commit that was just made, and the journal of conflicts that it
    /// settles.
    fn log(
        &self,
        range: &PartitionRange,
        region: RegionId,
        state: &mut ReplicaState,
        entry: Arc<LogEntry>,
        conflicts: Vec<Record>,
    ) -> Commit {
        let keep = state.retention() != Retention::Tail;
        let record =
            Record::Entry { container: self.rid, range: range.number, entry: Arc::clone(&entry), keep };
        let group = range.group();
        let commit = if group.lineage().is_contested() {
            let told = |settlement| self.settle(record, settlement).into_iter().chain(conflicts);
            group.agree(&entry, |settlement| self.journal.append(told(settlement)))
        } else {
            self.journal.append([record].into_iter().chain(conflicts))
        };
        state.promise(&commit);
        group.send(region, &entry, &commit);
        commit
    }

    /// What the journal is told of a commit where several regions write.
    fn settle(&self, record: Record, settlement: Settlement) -> Vec<Record> {
        let Settlement { put, remove, losers } = settlement;
        let mut records = vec![record];
        if !put.is_empty() || !remove.is_empty() {
            records.push(Record::Settle { container: self.rid, put, remove });
        }
        if self.resolution.lists_losers() {
            records.extend(losers.into_iter().map(|loser| self.add_conflict(loser)));
        }
        records
    }

    /// Who makes a commit in a region.
    fn author(&self, lineage: &Lineage, region: RegionId) -> Author<'_> {
        let origin = lineage.origin(region);
        Author { origin, floor: lineage.floor(origin), resolution: &self.resolution }
    }

    /// 403 unless a partition takes writes in a region.
    pub(crate) fn check_writer(&self, range: &PartitionRange, region: RegionId) -> Result<(), Failure> {
        let lineage = range.group().lineage();
        match lineage.writer {
            Some(writer) if writer != region => {
                let topology = self.account.topology();
                let what = format!("partition {}", range.id);
                Err(write_forbidden(&what, &topology.called(region), &topology.called(writer)))
            }
            None if !lineage.regions.contains(&region) => Err(region_left()),
            Some(_) | None => Ok(()),
        }
    }
}

impl Site<'_> {
    /// What the service adds to the next version that a transaction writes.
    pub(crate) fn stamp(&self, tx: &Transaction<'_>) -> Stamp {
        Stamp { lsn: tx.lsn(), nth: tx.nth(), range: self.range.number, region: self.region, now: tx.now() }
    }
}

/// The failure of a request to a container that is not there any more.
pub(crate) fn owner_gone() -> Failure {
    Failure::new(
        CosmosStatus::OWNER_RESOURCE_NOT_FOUND,
        "Owner resource does not exist: the database or container was deleted, or never was",
    )
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container")
            .field("rid", &self.rid)
            .field("id", &self.properties().id)
            .finish_non_exhaustive()
    }
}
