//! Which process works on which instances: 256 dispatch slots, and who has each of them.
//!
//! A slot is given to a process, not to one of its dispatchers: they share all that the process has, so that a
//! dispatcher that restarts, or a number of them that does not divide 256, strands nothing. Leases only keep
//! processes out of each other's way; that a message is processed once is for the locks in the container.
//!
//! Activities are not bound to slots: a process has precedence for those of its instances, and what it does not take,
//! because of a tag, a session or for want of workers, others do. A process without orchestration dispatchers has no
//! slots.

mod container;
mod memory;
mod plan;
mod slots;

use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::ProviderError;

pub use container::CosmosLeaseProvider;
pub use memory::InMemoryLeaseProvider;
pub use slots::{SLOT_COUNT, Slots, slot_of};

/// Gives slots to this process.
///
/// The provider asks [`owned`](Self::owned) before each item that it hands to a dispatcher, and calls
/// [`renew`](Self::renew) in the background once there are dispatchers of orchestrations.
#[async_trait]
pub trait LeaseProvider: Send + Sync + 'static {
    /// The slots that this process may work on at this moment: never one whose lease another process may have
    /// taken already. Asked often, so it must not wait.
    fn owned(&self) -> Slots;

    /// Shows that this process lives, takes the slots that it should have and gives up those that it should
    /// not. Gives how long to wait before the next call.
    ///
    /// # Errors
    /// If the slots are kept elsewhere and that cannot be reached; it is called again soon.
    async fn renew(&self) -> Result<Duration, ProviderError>;

    /// Gives up all slots, so that other processes need not wait for the leases to end.
    ///
    /// # Errors
    /// As for [`renew`](Self::renew); the leases then end by themselves.
    async fn release(&self) -> Result<(), ProviderError>;
}
