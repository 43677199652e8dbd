//! When the locks on work items end that this process holds, by its own count of time.
//!
//! A token is enough to find a work item again. What is remembered here tells a lock that holds from one whose time
//! is over without comparing the clocks of two machines.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{self, End};

/// The locks on work items, by their tokens.
#[derive(Default)]
pub(crate) struct WorkLocks(Mutex<HashMap<String, End>>);

impl WorkLocks {
    pub(super) fn insert(&self, token: &str, end: End) {
        /// How long a lock is remembered beyond its end: a worker may be slow to notice that it is over.
        const GRACE: Duration = Duration::from_secs(600);
        let now = clock::instant();
        let mut locks = self.locks();
        locks.retain(|_, end| end.get() + GRACE > now);
        locks.insert(token.to_owned(), end);
    }

    /// When a lock ends; `None` if another process has taken it.
    pub(super) fn get(&self, token: &str) -> Option<End> {
        self.locks().get(token).cloned()
    }

    pub(super) fn remove(&self, token: &str) {
        self.locks().remove(token);
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<String, End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
