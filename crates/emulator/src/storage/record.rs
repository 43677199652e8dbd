//! What the engine tells the journal, in the order in which it happened.
//!
//! How a record is laid out in the file is not known here.

use std::sync::Arc;

use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties, Offer};
use cosmonaut_wire::{EpkRange, ResourceId};
use serde::{Deserialize, Serialize};

use crate::engine::{Conflict, Document, Fork, Lineage, LogEntry, Members, Opened, RegionId, Resource};

/// One thing to write.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// A database was made or changed.
    Database(ResourceId, Box<DatabaseProperties>),
    /// A database was deleted; its containers have records of their own.
    DropDatabase(ResourceId),
    /// A container was made, changed or split.
    Container(ResourceId, Box<ContainerRecord>),
    /// A container was deleted with all that it held.
    DropContainer(ResourceId),
    /// A throughput was set.
    Offer(ResourceId, Box<Offer>),
    /// A throughput is no more.
    DropOffer(ResourceId),
    /// A script, user, permission or client encryption key was made or changed.
    Resource(Arc<Resource>),
    /// One of those is no more.
    DropResource(ResourceId),
    /// A partition begins a sequence of its log after this commit.
    Range { container: ResourceId, range: u32, origin: RegionId, lsn: i64 },
    /// A commit.
    Entry {
        container: ResourceId,
        range: u32,
        entry: Arc<LogEntry>,
        /// Whether the commit itself is to be kept, and not only the documents it leaves.
        keep: bool,
    },
    /// What items are in the end, whatever the commits before have said.
    Settle { container: ResourceId, put: Vec<Arc<Document>>, remove: Vec<u64> },
    /// A version has lost against another region's.
    Conflict(ResourceId, Arc<Conflict>),
    /// Somebody has dealt with a conflict.
    DropConflict(ResourceId, u64),
    /// Commits of a sequence up to this one need not be kept any more.
    Truncate { container: ResourceId, range: u32, origin: RegionId, lsn: i64 },
}

/// A script, user, permission or client encryption key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResourceRecord {
    /// All that a client sees of it.
    pub(crate) members: Members,
    /// What a permission opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) opened: Option<Opened>,
}

/// A container without its documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContainerRecord {
    pub(crate) properties: ContainerProperties,
    pub(crate) ranges: Vec<RangeRecord>,
    /// The number of the next partition.
    pub(crate) next_range: u32,
    /// The version of the layout.
    pub(crate) version: u32,
    /// The version of the container's first session tokens; those below are of a container that had its name before.
    #[serde(default = "first_version")]
    pub(crate) first_token_version: i64,
    /// Whether somebody has read the feed of all versions, though no policy keeps them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_followed: bool,
}

/// A physical partition without its documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RangeRecord {
    pub(crate) number: u32,
    pub(crate) keys: EpkRange,
    pub(crate) parents: Vec<u32>,
    /// The version of session tokens.
    #[serde(default = "first_version")]
    pub(crate) token_version: i64,
    /// What forced failovers have cut off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) forks: Vec<Fork>,
}

fn first_version() -> i64 {
    Lineage::FIRST_VERSION
}

impl RangeRecord {
    /// A new partition, not split from any.
    pub(crate) fn new(number: u32, keys: EpkRange, token_version: i64) -> Self {
        Self { number, keys, parents: Vec::new(), token_version, forks: Vec::new() }
    }
}
