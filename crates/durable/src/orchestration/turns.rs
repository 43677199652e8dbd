//! The turns that this process works on, by their tokens.
//!
//! A token is enough to find an instance again; what is remembered here saves reading it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide::Event;

use crate::clock;
use crate::model::{Document, Head, Kv};

/// An instance as it was locked.
pub(crate) struct Held {
    pub(super) head: Document<Head>,
    pub(super) messages: Vec<HeldMessage>,
    pub(super) keys: Vec<Kv>,
    /// The history before the turn, if it could be read.
    pub(super) history: Option<Arc<Vec<Event>>>,
    until: AtomicU64,
    /// For how long the runtime locks, in milliseconds.
    span: u64,
}

/// A message of a turn.
pub(super) struct HeldMessage {
    pub(super) id: String,
    pub(super) chunks: u32,
}

impl Held {
    pub(super) fn new(
        head: Document<Head>,
        messages: Vec<HeldMessage>,
        keys: Vec<Kv>,
        history: Option<Arc<Vec<Event>>>,
    ) -> Self {
        let until = head.content.lock.as_ref().map_or(0, |lock| lock.until);
        let span = until.saturating_sub(clock::now_ms());
        Self { head, messages, keys, history, until: AtomicU64::new(until), span }
    }

    /// Until when the lock holds if it is prolonged now.
    pub(super) fn prolonged(&self, now: u64) -> u64 {
        self.until().max(now.saturating_add(self.span))
    }

    /// Until when the lock holds.
    pub(super) fn until(&self) -> u64 {
        self.until.load(Ordering::Relaxed)
    }

    pub(super) fn renewed(&self, until: u64) {
        self.until.store(until, Ordering::Relaxed);
    }
}

/// The turns under way.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<Held>>>);

impl Turns {
    pub(super) fn insert(&self, token: &str, held: Held) {
        /// How long a turn is remembered beyond its lock, for errors that say what happened.
        const GRACE_MS: u64 = 60_000;
        let now = clock::now_ms();
        let mut turns = self.turns();
        turns.retain(|_, held| held.until().saturating_add(GRACE_MS) > now);
        turns.insert(token.to_owned(), Arc::new(held));
    }

    pub(super) fn get(&self, token: &str) -> Option<Arc<Held>> {
        self.turns().get(token).cloned()
    }

    pub(super) fn remove(&self, token: &str) {
        self.turns().remove(token);
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<String, Arc<Held>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
