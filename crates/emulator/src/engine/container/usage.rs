//! How much a container holds, and how much it may.
//!
//! The quotas are what the service says; nothing here enforces them.

use std::fmt;

use super::Container;
use crate::engine::{MAX_ITEM_BYTES, RegionId};

/// How much a container holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Items.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Partitions.
    pub partitions: u64,
}

/// What one partition may hold, in KB: 50 GB.
const PARTITION_QUOTA_KB: u64 = 50 * 1024 * 1024;

impl Container {
    /// How much the container holds in a region.
    pub fn usage(&self, region: RegionId) -> Usage {
        let mut usage = Usage::default();
        for range in self.layout().ranges() {
            let (documents, bytes) = range.replica(region).read(|state| (state.len() as u64, state.bytes()));
            usage.documents += documents;
            usage.bytes += bytes;
            usage.partitions += 1;
        }
        usage
    }
}

impl Usage {
    /// The value of `x-ms-resource-quota`. Sizes are in KB.
    pub fn quota(&self) -> String {
        let size = PARTITION_QUOTA_KB * self.partitions;
        let largest = MAX_ITEM_BYTES / 1024;
        format!("documentSize={largest};documentsSize={size};documentsCount=-1;collectionSize={size};")
    }
}

/// The value of `x-ms-resource-usage`. Sizes are in KB.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kb = self.bytes.div_ceil(1024);
        write!(f, "documentSize=0;documentsSize={kb};documentsCount={};collectionSize={kb};", self.documents)
    }
}
