//! How commits travel between regions, and how writes, regions and partitions move.
//!
//! A commit is queued for each other region under the lock of the replica that made it, and applied there when it is
//! due, in order. The replicas of a partition share a [`Group`]: its queues, its [`Lineage`], and the turn that
//! whoever delivers has to take. Locks are taken in this order: the account's, the catalog's, the container's, the
//! group's turn, replicas (all of a partition in the order of their regions, for splits and moves; else one), queues or
//! the agreement.

mod account;
mod agreement;
mod backlog;
mod group;
mod hold;
mod lineage;
mod moves;
mod network;
mod queues;
mod regions;

pub(crate) use account::Account;
pub(crate) use agreement::{Agreement, CommitId, Loser, Settlement};
#[cfg(test)]
pub(crate) use backlog::MOST_WAITING;
pub(crate) use backlog::{Backlog, Shipment};
pub(crate) use group::Group;
pub use hold::Hold;
pub use lineage::Fork;
pub(crate) use lineage::{Lineage, Unmet};
pub use moves::{Failover, Moved};
pub(crate) use network::Links;
pub use network::{Lag, Link};
pub(crate) use queues::{Queues, Route};
