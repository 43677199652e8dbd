//! Which process works on which instances: 256 dispatch slots, and who has each of them.
//!
//! A slot is given to a process, not to one of its dispatchers: they share all that the process has, so that a
//! dispatcher that restarts, or a number of them that does not divide 256, strands nothing. Leases only keep
//! processes out of each other's way; that a message is processed once is for the locks in the container.
//!
//! A process reads what is in its slots and nothing else. It has precedence for the activities of its instances; what
//! it does not take, because of a tag, a session or for want of workers, it offers to others. A process without
//! orchestration dispatchers has no slots unless there is no other process.

mod container;
mod memory;
#[cfg(test)]
mod model;
mod name;
mod plan;
mod sign;
mod slots;

use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::ProviderError;

pub use container::CosmosLeaseProvider;
pub use memory::InMemoryLeaseProvider;
pub(crate) use name::automatic_name;
pub use slots::{SLOT_COUNT, Slots, slot_of};

/// What a process wants slots for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// It only works on activities, and needs no slots unless there is no leader.
    Worker,
    /// It dispatches orchestrations.
    Leader,
}

/// Gives slots to this process.
///
/// The provider asks [`owned`](Self::owned) before each item that it hands to a dispatcher, and calls
/// [`renew`](Self::renew) in the background as long as something is fetched.
#[async_trait]
pub trait LeaseProvider: Send + Sync + 'static {
    /// The slots that this process may work on at this moment: never one whose lease another process may have
    /// taken already. Asked often, so it must not wait.
    fn owned(&self) -> Slots;

    /// Whether other processes may have slots.
    fn is_shared(&self) -> bool {
        true
    }

    /// The task hub whose instances are shared; `None` for the hub without a name. Two hubs must not share slots: each would
    /// leave instances to processes of the other, which do not run them. So a provider does not connect with shared leases
    /// of another hub than its own.
    fn hub(&self) -> Option<&str> {
        None
    }

    /// How long after its last fetch this process lets its slots go.
    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Whether all processes that share the container leave a trace of whatever they take that may be delivered again, as
    /// this version does and earlier ones do not. While some do not, nothing that is not at its target is delivered again.
    fn all_leave_traces(&self) -> bool {
        true
    }

    /// Shows that this process lives, takes the slots that it should have and gives up those that it should
    /// not. Gives how long to wait before the next call.
    ///
    /// # Errors
    /// If the slots are kept elsewhere and that cannot be reached; it is called again soon.
    async fn renew(&self, role: Role) -> Result<Duration, ProviderError>;

    /// Gives up all slots, so that other processes need not wait for the leases to end.
    ///
    /// # Errors
    /// As for [`renew`](Self::renew); the leases then end by themselves.
    async fn release(&self) -> Result<(), ProviderError>;
}
