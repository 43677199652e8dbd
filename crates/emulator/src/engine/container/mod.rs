//! A container: its properties, its layout, and the way into its partitions.
//!
//! Operations on items are in [`items`](super::items), feeds in [`feed`](super::feed); this is what they share.

mod lifecycle;
mod properties;
mod split;
mod usage;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use cosmonaut_wire::model::{ContainerProperties, PartitionKeyDefinition, PartitionKeyRange};
use cosmonaut_wire::{CosmosStatus, EffectivePartitionKey, PartitionKey, ResourceId};

pub(crate) use lifecycle::Surroundings;
pub(crate) use properties::{complete, retention};
pub use usage::Usage;

use super::document::Stamp;
use super::items::{ItemReply, Outcome, Site};
use super::key::KeyReader;
use super::layout::Layout;
use super::replica::{Phase, Replica, ReplicaState, Retention, Transaction};
use super::throughput::Bucket;
use super::{PartitionRange, RegionId, locks};
use crate::storage::{Commit, Journal, Record};
use crate::{Failure, Timestamp, World};

/// A container.
pub struct Container {
    rid: ResourceId,
    world: Arc<dyn World>,
    journal: Journal,
    keys: KeyReader,
    properties: RwLock<Arc<ContainerProperties>>,
    layout: RwLock<Arc<Layout>>,
    next_number: AtomicU64,
    next_range: AtomicU32,
    rate: Rate,
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
    pub(crate) lsn: i64,
    pub(crate) commit: Commit,
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

    /// The partitions as they are now.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&locks::read(&self.layout))
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
        let layout = self.layout();
        let share = 1.0 / layout.ranges().len() as f64;
        layout.ranges().iter().map(|range| range.describe(self.rid, share)).collect()
    }

    pub(crate) fn keys(&self) -> &KeyReader {
        &self.keys
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.now()
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
            Phase::Deleted => Err(owner_gone()),
        }
    }

    /// Runs one operation on the partition that holds a key.
    pub(crate) fn transact_one(
        &self,
        region: RegionId,
        key: &EffectivePartitionKey,
        work: impl FnMut(Site<'_>, &mut Transaction<'_>) -> Result<Outcome, Failure>,
    ) -> Result<ItemReply, Failure> {
        let done = self.transact(region, key, work);
        let charge = done.as_ref().map_or_else(|failure| failure.charge, |done| done.value.charge);
        self.replica_for(key, region).spend(charge);
        done.map(|done| done.value.reply(done.range, done.lsn, done.commit))
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
                // The layout was replaced before the parent's lock was let go: look again.
                Phase::Split => None,
            });
            if let Some(done) = done {
                let (value, lsn, commit) = done?;
                return Ok(Transacted { value, range: Arc::clone(range), lsn, commit });
            }
        }
    }

    fn commit<T>(
        &self,
        site: Site<'_>,
        state: &mut ReplicaState,
        work: &mut impl FnMut(Site<'_>, &mut Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<(T, i64, Commit), Failure> {
        let mut tx = Transaction::new(state, self.now());
        let value = work(site, &mut tx)?;
        let Some(entry) = tx.commit() else { return Ok((value, state.lsn(), state.commit())) };
        let keep = state.retention() != Retention::Tail;
        let commit = self.journal.append([Record::Entry {
            container: self.rid,
            range: site.range.number,
            entry,
            keep,
        }]);
        state.promise(&commit);
        Ok((value, state.lsn(), commit))
    }
}

impl Site<'_> {
    /// What the service adds to the next version that a transaction writes.
    pub(crate) fn stamp(&self, tx: &Transaction<'_>, number: u64) -> Stamp {
        Stamp {
            container: self.container.rid,
            number,
            lsn: tx.lsn(),
            nth: tx.nth(),
            range: self.range.number,
            region: self.region,
            now: tx.now(),
        }
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
