//! The engine: databases, containers and items, held in memory and told to the journal.
//!
//! All functions are synchronous and take no longer than what they do in memory. It knows nothing of HTTP; how a
//! query is run is in `query`, what is written to disk in [`storage`](crate::storage).

mod catalog;
pub mod charge;
mod container;
mod document;
mod feed;
mod items;
mod key;
mod layout;
pub(crate) mod locks;
pub mod query;
mod region;
mod replica;
mod ring;
mod scope;
#[cfg(test)]
mod tests;
mod throughput;
mod unique;

use std::sync::{Arc, RwLock};

pub use catalog::{Migration, minimum_throughput};
pub use container::{Container, Usage, Written};
pub use document::Document;
pub use feed::{ChangePage, ChangeRequest, FeedMode, FeedPage, FeedPosition, FeedStart};
pub use items::{BatchReply, Conditions, ItemReply, ItemRequest, KeyDeleted, MAX_ITEM_BYTES};
pub use layout::{Layout, PartitionRange};
pub use region::RegionId;
pub use replica::{Change, LogEntry, Replica, ReplicaState};
pub use scope::FeedScope;

use crate::storage::{Journal, StorageError};
use crate::{Timestamp, World};
use catalog::Catalog;

/// How an engine behaves.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// Whether provisioned throughput is enforced with 429.
    pub enforce_throughput: bool,
}

/// An account's data.
pub struct Engine {
    config: EngineConfig,
    world: Arc<dyn World>,
    journal: Journal,
    catalog: RwLock<Catalog>,
}

impl Engine {
    /// An engine with what the journal holds from earlier runs.
    pub fn new(
        config: EngineConfig,
        world: Arc<dyn World>,
        journal: Journal,
    ) -> Result<Arc<Self>, StorageError> {
        let saved = journal.load()?;
        let engine = Self { config, world, journal, catalog: RwLock::default() };
        engine.restore(saved)?;
        Ok(Arc::new(engine))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// Time and chance, as this engine sees them.
    pub fn world(&self) -> &Arc<dyn World> {
        &self.world
    }

    /// Deletes items whose time has ended and forgets what need not be kept. To be called every few seconds;
    /// expired items are invisible before.
    pub fn sweep(&self) {
        for container in self.containers() {
            // Nobody is told about a sweep, so nobody waits for it.
            drop(container.sweep());
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("config", &self.config)
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}
