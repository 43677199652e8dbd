//! The turns that this process works on, by their tokens.
//!
//! A token is enough to find an instance again; what is remembered here saves reading it.

use std::collections::HashMap;
use std::mem::Discriminant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide::{Event, EventKind};

use super::plan::Turn;
use crate::clock::{self, End};
use crate::model::{Document, Head, Kv};

/// An instance as it was locked.
pub(crate) struct Held {
    pub(super) head: Document<Head>,
    pub(super) messages: Vec<HeldMessage>,
    pub(super) keys: Vec<Kv>,
    /// The history before the turn, if it could be read.
    pub(super) history: Option<Arc<Vec<Event>>>,
    /// When the lock ends, unless it is prolonged.
    end: End,
    /// For how long the runtime locks.
    span: Duration,
    /// The turn whose commit was tried last, without a certain end.
    tried: Mutex<Option<Outline>>,
}

/// A message of a turn.
pub(super) struct HeldMessage {
    pub(super) id: String,
    pub(super) chunks: u32,
    /// What tells its text from another one, as it is stored, if it may be delivered again.
    pub(super) digest: Option<String>,
}

impl Held {
    pub(super) fn new(
        head: Document<Head>,
        messages: Vec<HeldMessage>,
        keys: Vec<Kv>,
        history: Option<Arc<Vec<Event>>>,
        end: End,
    ) -> Self {
        let span = end.get().saturating_duration_since(clock::instant());
        Self { head, messages, keys, history, end, span, tried: Mutex::default() }
    }

    /// When the lock ends, unless it is prolonged.
    pub(super) fn end(&self) -> &End {
        &self.end
    }

    /// For how long the lock holds from now on if it is prolonged now.
    pub(super) fn prolonged(&self) -> Duration {
        self.end.get().saturating_duration_since(clock::instant()).max(self.span)
    }

    /// Whether the commit of this very turn was tried before, and may have happened.
    pub(super) fn was_tried(&self, turn: &Outline) -> bool {
        self.tried().as_ref() == Some(turn)
    }

    /// Whether the commit of another turn was tried before, and may have happened.
    ///
    /// The runtime hands over a turn that fails the orchestration when it has tried to commit a turn a few times.
    /// An outage that passes must not fail an orchestration.
    pub(super) fn is_about_another(&self, turn: &Outline) -> bool {
        self.tried().as_ref().is_some_and(|tried| tried != turn)
    }

    /// Keeps in mind what came of a commit: whether the turn may have been committed.
    pub(super) fn set_tried(&self, turn: Outline, is_uncertain: bool) {
        *self.tried() = is_uncertain.then_some(turn);
    }

    fn tried(&self) -> MutexGuard<'_, Option<Outline>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells a turn from another one under the same lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outline {
    execution: u64,
    status: Option<String>,
    events: Vec<(u64, Discriminant<EventKind>)>,
    counts: [usize; 3],
}

impl Outline {
    pub(super) fn of(turn: &Turn) -> Self {
        let events = turn.events.iter();
        Self {
            execution: turn.execution,
            status: turn.metadata.status.clone(),
            events: events.map(|event| (event.event_id, std::mem::discriminant(&event.kind))).collect(),
            counts: [turn.work.len(), turn.messages.len(), turn.cancelled.len()],
        }
    }
}

/// The turns under way.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<Held>>>);

impl Turns {
    pub(super) fn insert(&self, token: &str, held: Held) -> Arc<Held> {
        /// How long a turn is remembered beyond its lock, for errors that say what happened.
        const GRACE: Duration = Duration::from_secs(60);
        let (now, held) = (clock::instant(), Arc::new(held));
        let mut turns = self.turns();
        turns.retain(|_, held| held.end.get() + GRACE > now);
        turns.insert(token.to_owned(), Arc::clone(&held));
        held
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
