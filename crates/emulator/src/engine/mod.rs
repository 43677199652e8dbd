//! The engine: databases, containers and items, held in memory and told to the journal.
//!
//! All functions are synchronous and take no longer than what they do in memory. It knows nothing of HTTP; how a
//! query is run is in `query`, what is written to disk in [`storage`](crate::storage).

mod catalog;
pub mod charge;
mod conflicts;
mod container;
mod document;
mod feed;
mod items;
mod key;
mod layout;
pub(crate) mod locks;
mod progress;
pub mod query;
mod region;
mod replica;
mod replication;
mod resolution;
mod ring;
mod scope;
#[cfg(test)]
mod tests;
pub(crate) mod throughput;
mod topology;
mod unique;
mod version_tag;

use std::sync::{Arc, RwLock};

pub(crate) use catalog::{Members, Opened};
pub use catalog::{Migration, Permission, PermissionMode, Resource, Upserted, minimum_throughput};
pub use conflicts::Conflict;
pub(crate) use container::owner_gone;
pub use container::{Container, Usage, Written};
pub use document::Document;
pub(crate) use document::{DocumentParts, SystemMembers};
pub use feed::{ChangePage, ChangeRequest, FeedMode, FeedPage, FeedPosition, FeedRequest, FeedStart};
pub use items::{BatchReply, BatchRequest, Conditions, ItemReply, ItemRequest, KeyDeleted, MAX_ITEM_BYTES};
#[cfg(feature = "scripts")]
pub(crate) use items::{Committed, Draft, Outcome, PutMode};
pub use layout::{Layout, PartitionRange, Standing};
pub use progress::{NoProgress, Progress};
pub use region::RegionId;
pub(crate) use replica::Causes;
pub use replica::{Change, LogEntry, Replica, ReplicaState};
pub use replication::{Failover, Fork, Hold, Lag, Link, Moved};
pub use scope::FeedScope;
pub use topology::{AccountConfig, Consistency, Region, Topology};
pub use version_tag::{NoVersionTag, VersionTag};

use crate::storage::{Journal, StorageError};
use crate::{Failure, Timestamp, World};
use catalog::Catalog;
use replication::Account;
pub(crate) use replication::Lineage;

/// How an engine behaves.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// Whether provisioned throughput is enforced with 429.
    pub enforce_throughput: bool,
    /// The account and its regions.
    pub account: AccountConfig,
    /// In which order an ordered query gives documents that sort alike.
    pub ties: query::TieOrder,
    /// Whether no work is divided among threads.
    pub one_thread: bool,
}

/// An account's data.
pub struct Engine {
    config: EngineConfig,
    world: Arc<dyn World>,
    journal: Journal,
    account: Arc<Account>,
    catalog: RwLock<Catalog>,
}

impl Engine {
    /// In which order an ordered query gives documents that sort alike.
    pub fn ties(&self) -> query::TieOrder {
        self.config.ties
    }

    /// An engine with what the journal holds from earlier runs.
    pub fn new(
        config: EngineConfig,
        world: Arc<dyn World>,
        journal: Journal,
    ) -> Result<Arc<Self>, StorageError> {
        config.account.validate().map_err(StorageError::other)?;
        let saved = journal.load()?;
        let account = Account::new(&config.account, Arc::clone(&world));
        let engine = Self { config, world, journal, account, catalog: RwLock::default() };
        engine.restore(saved).map_err(|error| engine.journal.located(error))?;
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

    /// The account's regions as they are now.
    pub fn topology(&self) -> Arc<Topology> {
        self.account.topology()
    }

    /// 403/3 unless databases, containers and offers may be changed in a region. All regions see them at once.
    pub fn check_catalog_write(&self, region: RegionId) -> Result<(), Failure> {
        let topology = self.topology();
        topology.check_present(region)?;
        if topology.takes_writes(region) {
            return Ok(());
        }
        let writer = topology.write_region().name.as_str();
        Err(topology::write_forbidden("the account", &topology.called(region), writer))
    }

    /// Resolves once nothing can be written to disk any more, and says why. Never if everything is in memory.
    pub async fn failed(&self) -> Failure {
        self.journal.failed().await
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
