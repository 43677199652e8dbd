//! What the engine tells the journal, in the order in which it happened.
//!
//! How a record is laid out in the file is not known here.

use std::sync::Arc;

use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties, Offer};
use cosmonaut_wire::{EpkRange, ResourceId};
use serde::{Deserialize, Serialize};

use crate::engine::LogEntry;

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
    /// A partition begins its log after this commit.
    Range { container: ResourceId, range: u32, lsn: i64 },
    /// A commit.
    Entry {
        container: ResourceId,
        range: u32,
        entry: Arc<LogEntry>,
        /// Whether the commit itself is to be kept, and not only the documents it leaves.
        keep: bool,
    },
    /// Commits up to this one need not be kept any more.
    Truncate { container: ResourceId, range: u32, lsn: i64 },
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
}

/// A physical partition without its documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RangeRecord {
    pub(crate) number: u32,
    pub(crate) keys: EpkRange,
    pub(crate) parents: Vec<u32>,
}
