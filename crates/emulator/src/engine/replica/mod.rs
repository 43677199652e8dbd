//! One physical partition in one region: its log, and the documents and index that follow from it.
//!
//! The replica's lock is the unit of atomicity for items. It is never held across IO, and together with others' only
//! by [`PartitionRange::lock_all`](super::PartitionRange::lock_all).

mod apply;
mod catch_up;
mod commit;
mod named;
mod offspring;
mod rank;
mod rivals;
mod slices;
mod state;
mod unique_holders;
mod write_place;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use arc_swap::ArcSwap;

pub(crate) use commit::{Author, Causes, Transaction};
pub use commit::{Change, LogEntry};
pub(crate) use rank::{Rank, Versions};
pub use state::ReplicaState;
pub(crate) use state::{Phase, Retention, item_name};

use super::throughput::Bucket;
use super::{Progress, RegionId, locks};
use crate::{Failure, Timestamp};

/// A physical partition in one region.
#[derive(Debug)]
pub struct Replica {
    /// The region it is in.
    pub region: RegionId,
    /// The partition it is of.
    pub range: u32,
    bucket: Arc<Bucket>,
    /// The latest commit, to be read without the lock.
    applied: AtomicI64,
    /// The same by sequence, where several regions write.
    progress: ArcSwap<Progress>,
    state: RwLock<ReplicaState>,
}

impl Replica {
    pub(crate) fn new(region: RegionId, range: u32, bucket: Arc<Bucket>, state: ReplicaState) -> Self {
        let (applied, progress) =
            (AtomicI64::new(state.lsn()), ArcSwap::from_pointee(state.progress().clone()));
        Self { region, range, bucket, applied, progress, state: RwLock::new(state) }
    }

    /// Looks at the replica as it is now. Keep it short: writes wait.
    ///
    /// A replica that was split while the caller held on to it shows what it held at that moment.
    pub fn read<T>(&self, look: impl FnOnce(&ReplicaState) -> T) -> T {
        look(&locks::read(&self.state))
    }

    /// Changes the replica.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut ReplicaState) -> T) -> T {
        change(&mut self.lock())
    }

    /// Locks the replica for writing.
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked { replica: self, state: locks::write(&self.state) }
    }

    /// The latest commit that it has.
    pub(crate) fn applied(&self) -> i64 {
        self.applied.load(Ordering::Acquire)
    }

    /// The same by sequence.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        self.progress.load_full()
    }

    /// Fails with 429 if throughput is enforced and none is left.
    pub fn admit(&self, now: Timestamp) -> Result<(), Failure> {
        self.bucket.admit(now)
    }

    /// Takes what a request cost from the throughput.
    pub fn spend(&self, charge: f64) {
        self.bucket.spend(charge);
    }

    pub(crate) fn bucket(&self) -> &Arc<Bucket> {
        &self.bucket
    }
}

/// A replica that nobody else can look at. When it is let go, everybody can tell how far it is.
pub(crate) struct Locked<'r> {
    replica: &'r Replica,
    state: RwLockWriteGuard<'r, ReplicaState>,
}

impl Locked<'_> {
    pub(crate) fn region(&self) -> RegionId {
        self.replica.region
    }
}

impl std::ops::Deref for Locked<'_> {
    type Target = ReplicaState;

    fn deref(&self) -> &ReplicaState {
        &self.state
    }
}

impl std::ops::DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut ReplicaState {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.replica.applied.store(self.state.lsn(), Ordering::Release);
        if self.state.versions.is_some() {
            self.replica.progress.store(Arc::new(self.state.progress().clone()));
        }
    }
}
