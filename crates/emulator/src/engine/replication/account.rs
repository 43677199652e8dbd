//! What all containers of an account share: its regions and the links between them.

use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;

use super::network::Network;
use crate::World;
use crate::engine::locks;
use crate::engine::topology::{AccountConfig, Topology};

/// An account, as its partitions see it.
pub(crate) struct Account {
    pub(crate) world: Arc<dyn World>,
    pub(crate) network: Network,
    topology: ArcSwap<Topology>,
    /// The id of the next region. Held by whoever changes the topology or the links, so that these happen one after
    /// another.
    next_region: Mutex<usize>,
}

impl Account {
    pub(crate) fn new(config: &AccountConfig, world: Arc<dyn World>) -> Arc<Self> {
        Arc::new(Self {
            world,
            network: Network::default(),
            topology: ArcSwap::from_pointee(Topology::new(config)),
            next_region: Mutex::new(config.regions.len()),
        })
    }

    pub(crate) fn topology(&self) -> Arc<Topology> {
        self.topology.load_full()
    }

    /// Waits until nobody else changes the account; gives the id of the next region.
    pub(super) fn change(&self) -> MutexGuard<'_, usize> {
        locks::lock(&self.next_region)
    }

    /// To be called with [`Account::change`] held.
    pub(super) fn set_topology(&self, topology: Topology) {
        self.topology.store(Arc::new(topology));
    }
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("topology", &self.topology).finish_non_exhaustive()
    }
}
