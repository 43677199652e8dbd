//! What an application hears of its processor: leases that come and go, and failures.

use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::Error;

/// Something that an application may want to know of.
///
/// ```
/// use cosmonaut::ProcessorEvent;
///
/// fn log(event: &ProcessorEvent) {
///     match event {
///         ProcessorEvent::Acquired { lease } => println!("reading {lease}"),
///         ProcessorEvent::Released { lease, reason } => println!("not reading {lease} any more: {reason:?}"),
///         ProcessorEvent::Failed { lease, error } => println!("{lease:?}: {error}"),
///         _ => {}
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProcessorEvent {
    /// The changes of a lease are read here from now on.
    Acquired {
        /// The token of the lease: the id of a partition, or the bounds of a stretch of the key space.
        lease: String,
    },
    /// The changes of a lease are not read here any more.
    Released {
        /// The token of the lease.
        lease: String,
        /// Why.
        reason: CloseReason,
    },
    /// The container was deleted and made anew under its name. How far the old one was read says nothing of the new one,
    /// which is read from where the processor is set to start.
    ContainerReplaced {
        /// The resource id of the container whose changes were read so far.
        old: String,
        /// The resource id of the container whose changes are read from now on.
        new: String,
    },
    /// A part of the container had no lease any more, and has one again: somebody has deleted the lease, or a forced
    /// failover has lost it. The part is read from where the processor is set to start, so that changes come again.
    /// Each such lease is told of by the instance that has made it.
    LeaseRestored {
        /// The token of the lease.
        lease: String,
    },
    /// Something has failed. What can be tried again will be.
    Failed {
        /// The token of the lease that it is about, if it is about one.
        lease: Option<String>,
        /// What has failed.
        error: ProcessorError,
    },
}

/// Why the changes of a lease are not read any more.
///
/// ```
/// # fn count(reason: cosmonaut::CloseReason) -> u32 {
/// u32::from(reason == cosmonaut::CloseReason::HandlerFailed)
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// The processor was stopped.
    Shutdown,
    /// Another instance has the lease.
    LeaseLost,
    /// Somebody has deleted the lease.
    LeaseGone,
    /// The partition has split or merged: other leases go on.
    PartitionMoved,
    /// The container was deleted and made anew under its name. The new one has leases of its own.
    ContainerReplaced,
    /// The handler has failed, or has panicked. The page comes again, here or elsewhere.
    HandlerFailed,
    /// Changes could not be read, or how far they were read could not be written.
    RequestFailed,
}

/// What has failed in a processor.
///
/// ```
/// # fn is_mine(error: &cosmonaut::ProcessorError) -> bool {
/// matches!(error, cosmonaut::ProcessorError::Handler(_))
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProcessorError {
    /// The handler of changes, or of those that cannot be read.
    Handler(Arc<dyn StdError + Send + Sync>),
    /// A request, or a change that cannot be read while nobody handles those.
    Request(Error),
}

impl fmt::Display for ProcessorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handler(error) => write!(f, "the handler failed: {error}"),
            Self::Request(error) => error.fmt(f),
        }
    }
}

impl StdError for ProcessorError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Handler(error) => Some(&**error),
            Self::Request(error) => error.source(),
        }
    }
}

/// Whom events are told to.
#[derive(Clone, Default)]
pub(super) struct Listener(Option<Arc<Listen>>);

type Listen = dyn Fn(&ProcessorEvent) + Send + Sync;

impl Listener {
    pub(super) fn new(listen: impl Fn(&ProcessorEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listen)))
    }

    /// Tells an event. A listener that panics harms nobody else.
    pub(super) fn tell(&self, event: &ProcessorEvent) {
        if let Some(listen) = &self.0 {
            drop(catch_unwind(AssertUnwindSafe(|| listen(event))));
        }
    }

    /// Tells that a request has failed.
    pub(super) fn failed(&self, lease: Option<&str>, error: Error) {
        let lease = lease.map(str::to_owned);
        self.tell(&ProcessorEvent::Failed { lease, error: ProcessorError::Request(error) });
    }
}
