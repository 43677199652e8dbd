//! When the locks on work items end that this process holds, by its own count of time.
//!
//! A token is enough to find a work item again. What is remembered here tells a lock that holds from one whose time
//! is over without comparing the clocks of two machines. And it makes the end of an item cheaper: the version that the
//! item has under the lock says as much as the token in it, without a patch that asks for the token.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{self, End, Reading};

/// The locks on work items, by their tokens.
#[derive(Default)]
pub(crate) struct WorkLocks(Mutex<HashMap<String, WorkLocked>>);

/// A lock on a work item.
#[derive(Clone)]
pub(super) struct WorkLocked {
    pub(super) end: End,
    /// The version of the item as it was last locked or renewed.
    pub(super) version: String,
}

impl WorkLocks {
    pub(super) fn insert(&self, token: &str, locked: WorkLocked) {
        /// How long a lock is remembered beyond its end: a worker may be slow to notice that it is over.
        const GRACE: Duration = Duration::from_secs(600);
        let now = clock::instant();
        let mut locks = self.locks();
        locks.retain(|_, locked| locked.end.get() + GRACE > now);
        locks.insert(token.to_owned(), locked);
    }

    /// A lock; `None` if another process has taken it.
    pub(super) fn get(&self, token: &str) -> Option<WorkLocked> {
        self.locks().get(token).cloned()
    }

    /// A lock lasts for some time from a moment on, and the item has a new version.
    pub(super) fn renewed(&self, token: &str, (began, time): (Reading, Duration), version: &str) {
        if let Some(locked) = self.locks().get_mut(token) {
            locked.end.set(began, time);
            version.clone_into(&mut locked.version);
        }
    }

    pub(super) fn remove(&self, token: &str) {
        self.locks().remove(token);
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<String, WorkLocked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
