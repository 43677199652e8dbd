//! One physical partition in one region: its log, and the documents and index that follow from it.
//!
//! The replica's lock is the unit of atomicity for items. It is never held across IO, and never together with
//! another replica's.

mod commit;
mod state;

use std::sync::{Arc, RwLock};

pub(crate) use commit::Transaction;
pub use commit::{Change, LogEntry};
pub use state::ReplicaState;
pub(crate) use state::{Phase, Retention};

use super::throughput::Bucket;
use super::{RegionId, locks};
use crate::{Failure, Timestamp};

/// A physical partition in one region.
#[derive(Debug)]
pub struct Replica {
    /// The region it is in.
    pub region: RegionId,
    /// The partition it is of.
    pub range: u32,
    bucket: Arc<Bucket>,
    state: RwLock<ReplicaState>,
}

impl Replica {
    pub(crate) fn new(region: RegionId, range: u32, bucket: Arc<Bucket>, state: ReplicaState) -> Self {
        Self { region, range, bucket, state: RwLock::new(state) }
    }

    /// Looks at the replica as it is now. Keep it short: writes wait.
    ///
    /// A replica that was split while the caller held on to it shows what it held at that moment.
    pub fn read<T>(&self, look: impl FnOnce(&ReplicaState) -> T) -> T {
        look(&locks::read(&self.state))
    }

    /// Changes the replica.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut ReplicaState) -> T) -> T {
        change(&mut locks::write(&self.state))
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
