//! The change feed, shared between processes: each reads some of the partitions, and leases in a container say which.
//!
//! Decisions are pure: `lease` and `timestamp` (the document, and every change to one), `naming`, `balance` (who takes
//! which lease), `expiry`, `split_plan`, `coverage` (which keys have no lease), `after_failure`, `lag`. The rest does what
//! they say: `store` keeps leases, `bootstrap` creates the first, `restore` those that were lost, `balancer` takes some,
//! and for each of those a `worker` has a `hold` on the lease, a `lease_reader` and a renewer. `identity` tells a
//! container from another that has its name later. `delivery` is the way to the handler.

mod after_failure;
mod balance;
mod balancer;
mod bootstrap;
mod builder;
mod changes;
mod coverage;
mod delivery;
mod engine;
mod estimator;
mod events;
mod expiry;
mod hold;
mod identity;
mod lag;
mod lease;
mod lease_reader;
mod naming;
mod restore;
mod running;
mod settings;
mod split_plan;
mod store;
mod timestamp;
mod worker;
mod workers;

use crate::container::ContainerHandle;
use crate::{ContainerClient, Result};

pub use builder::ProcessorBuilder;
pub use changes::{Changes, ChangesContext, Poison};
pub use delivery::HandlerError;
pub use estimator::{ChangeFeedEstimator, LeaseLag, ProcessorLag};
pub use events::{CloseReason, ProcessorError, ProcessorEvent};
pub use running::ChangeFeedProcessor;

use naming::Names;

impl ContainerClient {
    /// A processor of this container's changes: every change is handled at least once by one of its instances, which
    /// may run in any number of processes. They share the partitions between them by leases in another container, take
    /// over the leases of an instance that is gone, and follow partitions that split or merge.
    ///
    /// `name` is the processor's: instances with one name share the work, processors with different names each see all
    /// changes. The lease container has the partition key `/id` or `/partitionKey`. Leases have the format of .NET's
    /// change feed processor, so that instances of both can share them if they are given the same endpoint.
    ///
    /// Leases are changed on condition of their version. In an account with several write regions, conditions hold within
    /// a region only: let all instances write to the same one.
    ///
    /// While nothing fails and no lease changes hands, each change is handed over once. The changes of one partition
    /// key come in the order in which they were made, one page after the other.
    ///
    /// A container that is deleted and made anew under its name is another one: it is read from where the processor is
    /// set to start, with leases of its own, and [`ProcessorEvent::ContainerReplaced`] says so.
    ///
    /// A part of the container whose lease is gone, since somebody has deleted it or a forced failover has lost it, gets
    /// another after two rounds of sharing, and [`ProcessorEvent::LeaseRestored`] says so. That part is read from the
    /// start again: from the beginning or a time if the processor is set to that, and else from when the processor was
    /// first started, as far as the lease container still says when that was. So changes come again, and none is left
    /// out. All versions, and accounts with several write regions that are read from now on, know no such time: of those,
    /// changes are left out that were made between the last page and the new lease.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> Result<(), Box<dyn std::error::Error>> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use cosmonaut::{ChangeFeedStart, Changes, ContainerProperties};
    ///
    /// shop.create_container_if_not_exists(ContainerProperties::new("leases", "/id")).await?;
    /// let (orders, leases) = (shop.container("orders"), shop.container("leases"));
    /// let processor = orders
    ///     .change_feed_processor("billing", &leases)
    ///     .start_from(ChangeFeedStart::Beginning)
    ///     .on_event(|event| eprintln!("{event:?}"))
    ///     .start(|changes: Changes<Order>| async move {
    ///         for order in &changes.items {
    ///             println!("{}", order.id);
    ///         }
    ///         Ok(()) // an error: the page comes again, here or elsewhere
    ///     })
    ///     .await?;
    /// // Until it is time to go:
    /// processor.stop().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn change_feed_processor(&self, name: &str, leases: &ContainerClient) -> ProcessorBuilder {
        ProcessorBuilder::new(self, name, leases)
    }
}

/// The names of the documents of a processor of a container, as that is now.
async fn names(container: &ContainerHandle, processor: &str) -> Result<Names> {
    let rid = identity::current(container).await?;
    let host = container.driver.endpoint().authority().host().to_ascii_lowercase();
    Ok(Names::new(processor, &host, rid))
}
