//! Histories that this process has committed or read lately, so that the next turn need not read them.
//!
//! One belongs to a version of the instance's head: if anybody has changed that since, it does not count.
//!
//! There is one exception. Before each activity the runtime asks for the history of its instance, and takes from it
//! what the orchestration is called, which no turn changes. So each work item that is handed out is good for one read
//! that does not ask the container. Whoever else reads at that moment sees the instance as this process last saw it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide::Event;
use tokio::time::Instant;

use crate::clock;
use crate::lease::{Slots, slot_of};

/// The histories, of which the least recently used make room for others.
pub(crate) struct Histories {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<String, Entry>,
    by_use: BTreeMap<u64, String>,
    bytes: usize,
    uses: u64,
}

struct Entry {
    etag: String,
    events: Arc<Vec<Event>>,
    bytes: usize,
    used: u64,
    /// How many reads are expected before activities, and until when.
    expected: Option<(usize, Instant)>,
}

impl Histories {
    /// At most this many bytes, as JSON counts them.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    /// The history that belongs to this version of the head.
    pub(super) fn get(&self, instance: &str, etag: &str) -> Option<Arc<Vec<Event>>> {
        let mut state = self.state();
        let entry = state.take(instance).filter(|entry| entry.etag == etag)?;
        let events = Arc::clone(&entry.events);
        state.put(instance, entry);
        Some(events)
    }

    pub(super) fn put(&self, instance: &str, etag: String, events: Arc<Vec<Event>>, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut state = self.state();
        let expected = state.take(instance).and_then(|entry| entry.expected);
        if bytes > self.capacity / 4 {
            return;
        }
        state.put(instance, Entry { etag, events, bytes, used: 0, expected });
        while state.bytes > self.capacity {
            let Some((_, oldest)) = state.by_use.pop_first() else { return };
            state.take(&oldest);
        }
    }

    /// An activity of the instance is about to be run: the runtime will ask for the history.
    pub(crate) fn expect_read(&self, instance: &str) {
        /// How soon the runtime asks.
        const SOON: Duration = Duration::from_secs(1);
        let now = clock::instant();
        if let Some(entry) = self.state().known.get_mut(instance) {
            let pending = entry.expected.filter(|(_, until)| *until > now).map_or(0, |(count, _)| count);
            entry.expected = Some((pending + 1, now + SOON));
        }
    }

    /// The history for a read that is expected.
    pub(super) fn expected(&self, instance: &str) -> Option<Arc<Vec<Event>>> {
        let mut state = self.state();
        let entry = state.known.get_mut(instance)?;
        let (count, until) = entry.expected.filter(|(_, until)| *until > clock::instant())?;
        entry.expected = (count > 1).then_some((count - 1, until));
        Some(Arc::clone(&entry.events))
    }

    /// The instance has changed in a way that this process does not know, or is gone.
    pub(crate) fn forget(&self, instance: &str) {
        self.state().take(instance);
    }

    /// Forgets instances of slots that are another process's business now.
    pub(super) fn keep_only(&self, slots: &Slots) {
        let mut state = self.state();
        let gone: Vec<_> =
            state.known.keys().filter(|instance| !slots.contains(slot_of(instance))).cloned().collect();
        gone.iter().for_each(|instance| drop(state.take(instance)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is in it is only ever a copy; a panic elsewhere does not make it wrong.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, instance: &str) -> Option<Entry> {
        let entry = self.known.remove(instance)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry)
    }

    fn put(&mut self, instance: &str, entry: Entry) {
        self.uses += 1;
        self.bytes += entry.bytes;
        self.by_use.insert(self.uses, instance.to_owned());
        self.known.insert(instance.to_owned(), Entry { used: self.uses, ..entry });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(histories: &Histories, instance: &str, bytes: u64) {
        histories.put(instance, "1".into(), Arc::default(), bytes);
    }

    #[test]
    fn a_history_counts_for_its_version_only() {
        let histories = Histories::new(100);
        put(&histories, "a", 10);
        assert!(histories.get("a", "1").is_some());
        assert!(histories.get("a", "2").is_none());
        assert!(histories.get("a", "1").is_none(), "it is out of date, so it is gone");
    }

    #[test]
    fn each_activity_is_good_for_one_read_of_what_is_known() {
        let histories = Histories::new(100);
        histories.expect_read("a");
        assert!(histories.expected("a").is_none(), "nothing is known of it");
        put(&histories, "a", 10);
        assert!(histories.expected("a").is_none(), "no activity is about to be run");
        histories.expect_read("a");
        histories.expect_read("a");
        // A turn in between does not matter.
        put(&histories, "a", 10);
        for _ in 0..2 {
            assert!(histories.expected("a").is_some());
        }
        assert!(histories.expected("a").is_none());
    }

    #[test]
    fn histories_of_lost_slots_are_forgotten() {
        let histories = Histories::new(100);
        put(&histories, "a", 10);
        histories.keep_only(&[slot_of("a")].into_iter().collect());
        histories.expect_read("a");
        assert!(histories.expected("a").is_some());
        histories.keep_only(&Slots::none());
        histories.expect_read("a");
        assert!(histories.expected("a").is_none() && histories.get("a", "1").is_none());
        assert_eq!(histories.state().bytes, 0);
    }

    #[test]
    fn the_least_recently_used_make_room() {
        let histories = Histories::new(100);
        for instance in ["a", "b", "c", "d"] {
            put(&histories, instance, 25);
        }
        assert!(histories.get("a", "1").is_some());
        put(&histories, "e", 25);
        assert!(histories.get("b", "1").is_none());
        assert!(["a", "c", "d", "e"].iter().all(|name| histories.get(name, "1").is_some()));
        put(&histories, "large", 26);
        assert!(histories.get("large", "1").is_none());
        assert_eq!(histories.state().bytes, 100);
    }
}
