//! Something to do, handed to one dispatcher of this process.
//!
//! A claim that is dropped, as when a fetch is cancelled, is available again at once. One that has failed comes back
//! after a pause.

use std::sync::Arc;
use std::time::Duration;

use super::agenda::Handed;
use super::instances::Found;
use super::work::{Key, WorkEntry};
use super::{Dispatch, State};
use crate::lease::slot_of;

/// An instance that may have messages.
#[must_use = "a dropped claim is handed out again"]
pub(crate) struct InstanceClaim {
    dispatch: Dispatch,
    handed: Handed<Arc<str>>,
    patience: Duration,
    is_settled: bool,
}

impl InstanceClaim {
    pub(super) fn new(dispatch: Dispatch, handed: Handed<Arc<str>>, patience: Duration) -> Self {
        Self { dispatch, handed, patience, is_settled: false }
    }

    pub(crate) fn instance(&self) -> &str {
        &self.handed.key
    }

    /// How long to try to find out about it, at most so long: little at first, so that a partition that does not
    /// answer keeps nobody busy.
    pub(crate) fn patience(&self, most: Duration) -> Duration {
        self.patience.min(most)
    }

    /// It is locked by this fetch until then, together with these messages; the first of the others is visible
    /// at `later_ms`.
    pub(crate) fn locked(self, until_ms: u64, messages: &[&str], later_ms: Option<u64>) {
        self.found(Found::Locked { until: until_ms, messages, later: later_ms });
    }

    /// Somebody else has it until then.
    pub(crate) fn held(self, until_ms: u64) {
        self.found(Found::Held { until: until_ms });
    }

    /// It has nothing to do now; these of its messages are known, and the first becomes visible at `later_ms`.
    pub(crate) fn idle(self, messages: &[&str], later_ms: Option<u64>) {
        self.found(Found::Idle { messages, later: later_ms });
    }

    /// These messages wait until it comes to be, or goes on; the first of the others becomes visible at `later_ms`.
    pub(crate) fn waits(self, messages: &[&str], later_ms: Option<u64>) {
        self.found(Found::Waits { messages, later: later_ms });
    }

    /// It could not be found out about: because its partition does not answer, if `is_place`, or because of itself.
    pub(crate) fn failed(self, is_place: bool) {
        if is_place {
            self.dispatch.0.state().troubles.failed(slot_of(&self.handed.key), self.dispatch.0.now_ms());
        }
        self.settle(Found::Failed);
    }

    /// It is not for this dispatcher, because it is pinned to a version of the runtime: others may have it.
    pub(crate) fn unfit(self, pinned: &str) {
        let shared = &self.dispatch.0;
        shared.answered(&self.handed.key);
        let now = shared.now_ms();
        let noted = {
            let mut state = shared.state();
            let is_own = state.minds(&self.handed.key);
            is_own.then(|| state.misfits.note(Arc::clone(&self.handed.key), pinned, now))
        };
        match noted {
            Some(true) => shared.misfit_found.notify_one(),
            // There are too many: it waits as what fails does, so that it takes nobody's turn.
            Some(false) => self.settle(Found::Failed),
            // It was offered by mistake.
            None => self.settle(Found::Idle { messages: &[], later: None }),
        }
    }

    fn found(self, found: Found<'_>) {
        self.dispatch.0.answered(&self.handed.key);
        self.dispatch.0.state().misfits.forget(&self.handed.key);
        self.settle(found);
    }

    fn settle(mut self, found: Found<'_>) {
        self.is_settled = true;
        self.dispatch.0.state().instances.settle(&self.handed, found, self.dispatch.0.now_ms());
        // One that is due again at once, or comes to be due sooner than others, is news to those who wait.
        self.dispatch.0.instances_changed.notify_waiters();
    }
}

impl Drop for InstanceClaim {
    fn drop(&mut self) {
        if !self.is_settled {
            let (now, State { instances, troubles, .. }) =
                (self.dispatch.0.now_ms(), &mut *self.dispatch.0.state());
            troubles.given_back(slot_of(&self.handed.key), now);
            instances.settle(&self.handed, Found::Unknown, now);
            self.dispatch.0.instances_changed.notify_waiters();
        }
    }
}

/// A work item that may be free. Tell [`Dispatch::work`] or [`Dispatch::work_gone`] what became of it, then drop
/// the claim.
#[must_use = "a dropped claim is handed out again"]
pub(crate) struct WorkClaim {
    dispatch: Dispatch,
    handed: Handed<Key>,
    item: WorkEntry,
    patience: Duration,
    has_failed: bool,
}

impl WorkClaim {
    pub(super) fn new(dispatch: Dispatch, handed: Handed<Key>, item: WorkEntry, patience: Duration) -> Self {
        Self { dispatch, handed, item, patience, has_failed: false }
    }

    /// The item as it was last seen.
    pub(crate) fn item(&self) -> &WorkEntry {
        &self.item
    }

    /// As [`InstanceClaim::patience`].
    pub(crate) fn patience(&self, most: Duration) -> Duration {
        self.patience.min(most)
    }

    /// As [`InstanceClaim::failed`].
    pub(crate) fn failed(mut self, is_place: bool) {
        self.has_failed = true;
        if is_place {
            self.dispatch.0.state().troubles.failed(slot_of(&self.handed.key.0), self.dispatch.0.now_ms());
        }
    }

    /// Its partition has answered.
    pub(crate) fn answered(&self) {
        self.dispatch.0.answered(&self.handed.key.0);
    }
}

impl Drop for WorkClaim {
    fn drop(&mut self) {
        let (now, State { work, troubles, .. }) = (self.dispatch.0.now_ms(), &mut *self.dispatch.0.state());
        if !self.has_failed {
            troubles.given_back(slot_of(&self.handed.key.0), now);
        }
        work.settle(&self.handed, self.has_failed, now);
        self.dispatch.0.work_changed.notify_waiters();
    }
}
