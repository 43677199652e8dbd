//! Something to do, handed to one dispatcher of this process.
//!
//! A claim that is dropped, as when a fetch is cancelled, is available again at once.

use std::sync::Arc;

use super::instances::Found;
use super::work_queue::{Key, WorkEntry, key};
use super::{Dispatch, Look};

/// An instance that may have messages.
#[must_use = "a dropped claim is handed out again"]
pub(crate) struct InstanceClaim {
    dispatch: Dispatch,
    instance: Arc<str>,
    settled: bool,
}

impl InstanceClaim {
    pub(super) fn new(dispatch: Dispatch, instance: Arc<str>) -> Self {
        Self { dispatch, instance, settled: false }
    }

    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// It is locked by this fetch until then, together with these messages; the first of the others is visible
    /// at `later_ms`.
    pub(crate) fn locked(self, until_ms: u64, messages: &[&str], later_ms: Option<u64>) {
        self.settle(Found::Locked { until: until_ms, messages, later: later_ms });
    }

    /// Somebody else has it until then.
    pub(crate) fn held(self, until_ms: u64) {
        self.settle(Found::Held { until: until_ms });
    }

    /// It has nothing to do now; these of its messages are known, and the first becomes visible at `later_ms`.
    pub(crate) fn idle(self, messages: &[&str], later_ms: Option<u64>) {
        self.settle(Found::Idle { messages, later: later_ms });
    }

    /// It is not for this dispatcher: others may have it, this look does not see it again.
    pub(crate) fn skip(self, look: &mut Look<'_>) {
        look.skip_instance(Arc::clone(&self.instance));
    }

    fn settle(mut self, found: Found<'_>) {
        self.settled = true;
        self.dispatch.0.state().instances.settle(&self.instance, found);
        // One that is due again at once, or comes to be due sooner than others, is news to those who wait.
        self.dispatch.0.instances_changed.notify_waiters();
    }
}

impl Drop for InstanceClaim {
    fn drop(&mut self) {
        if !self.settled {
            self.dispatch.0.state().instances.settle(&self.instance, Found::Unknown);
            self.dispatch.0.instances_changed.notify_waiters();
        }
    }
}

/// A work item that may be free. Tell [`Dispatch::work`] or [`Dispatch::work_gone`] what became of it, then drop
/// the claim.
#[must_use = "a dropped claim is handed out again"]
pub(crate) struct WorkClaim {
    dispatch: Dispatch,
    key: Key,
    item: WorkEntry,
}

impl WorkClaim {
    pub(super) fn new(dispatch: Dispatch, item: WorkEntry) -> Self {
        Self { dispatch, key: key(&item.instance, &item.id), item }
    }

    /// The item as it was last seen.
    pub(crate) fn item(&self) -> &WorkEntry {
        &self.item
    }
}

impl Drop for WorkClaim {
    fn drop(&mut self) {
        let (instance, id) = &self.key;
        self.dispatch.0.state().work.settle(instance, id, self.dispatch.0.clock.now_ms());
        self.dispatch.0.work_changed.notify_waiters();
    }
}
