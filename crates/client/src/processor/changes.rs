//! What a handler is given: a page of changes of one lease, and how to say that it was handled.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::DiagnosticsContext;

use super::hold::{Hold, HoldState};
use super::store::NotUpdated;
use crate::{Error, ErrorKind, FeedRange, RawItem, Result};

/// A page of changes for a handler.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient, leases: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use cosmonaut::Changes;
///
/// let processor = orders
///     .change_feed_processor("billing", &leases)
///     .start(async |changes: Changes<serde_json::Value>| {
///         println!("{} changes of lease {}", changes.items.len(), changes.context.lease());
///         Ok(())
///     })
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Changes<C> {
    /// The changes, in their order.
    pub items: Vec<C>,
    /// Where they are from.
    pub context: ChangesContext,
}

/// Where a page of changes is from. It can be kept, for checkpoints that are made later: nothing of the page is in it.
///
/// ```no_run
/// # async fn later(context: cosmonaut::ChangesContext) -> cosmonaut::Result<()> {
/// if context.is_leased() {
///     context.checkpoint().await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ChangesContext {
    pub(super) hold: Arc<Hold>,
    pub(super) page: u64,
    pub(super) continuation: String,
    /// How long after it was last written others may take the lease.
    pub(super) expiry: Duration,
    pub(super) request_charge: f64,
    pub(super) diagnostics: DiagnosticsContext,
}

impl ChangesContext {
    /// The token of the lease: the id of a partition, or the bounds of a stretch of the key space.
    pub fn lease(&self) -> &str {
        &self.hold.token
    }

    /// The part of the container that the lease covers.
    pub fn feed_range(&self) -> FeedRange {
        FeedRange::of(self.hold.range.clone())
    }

    /// Where the feed goes on behind this page, as the service said.
    pub fn continuation(&self) -> &str {
        &self.continuation
    }

    /// What the page cost, in request units.
    pub fn request_charge(&self) -> f64 {
        self.request_charge
    }

    /// What was tried for the page, and what came of it.
    pub fn diagnostics(&self) -> &DiagnosticsContext {
        &self.diagnostics
    }

    /// Whether this instance still has the lease, as far as it knows. A handler that takes long can give up if not:
    /// another instance is given the page, or may be, as the lease could not be renewed in time.
    pub fn is_leased(&self) -> bool {
        self.hold.state() == HoldState::Held && self.hold.age() < self.expiry
    }

    /// Says that this page and all before it were handled: whoever reads the lease next goes on behind it. A page
    /// before one that was checkpointed already sets nothing back.
    ///
    /// Once it is begun, the checkpoint is made even if nobody waits for its end.
    ///
    /// # Errors
    /// [`ErrorKind::PreconditionFailed`] if this instance does not have the lease any more, and nothing was written;
    /// and what a write can end in.
    pub async fn checkpoint(&self) -> Result<()> {
        let made = self.hold.checkpoint_though_left(self.page, &self.continuation).await;
        made.map_err(|problem| match problem {
            NotUpdated::Failed(error) => error,
            NotUpdated::Lost | NotUpdated::Gone => {
                let message = format!(
                    "the lease {:?} is not this instance's any more: what was handled of it comes again elsewhere",
                    self.lease()
                );
                Error::new(ErrorKind::PreconditionFailed, message)
            }
        })
    }
}

impl fmt::Debug for ChangesContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangesContext")
            .field("lease", &self.lease())
            .field("page", &self.page)
            .field("continuation", &self.continuation)
            .finish_non_exhaustive()
    }
}

/// A change that is not of the handler's type.
///
/// ```no_run
/// # async fn keep(poison: cosmonaut::Poison, dead: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// eprintln!("a change of lease {} cannot be read: {}", poison.lease, poison.error);
/// let document: serde_json::Value = poison.json.json()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Poison {
    /// The token of the lease that it is from.
    pub lease: String,
    /// The change as the service sent it.
    pub json: RawItem,
    /// Why it cannot be read.
    pub error: Error,
}
