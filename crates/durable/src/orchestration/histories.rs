//! Histories that this process has committed or read lately, so that the next turn need not read them.
//!
//! One belongs to a version of the instance's head: if anybody has changed that since, it does not count.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide::Event;

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
        state.take(instance);
        if bytes > self.capacity / 4 {
            return;
        }
        state.put(instance, Entry { etag, events, bytes, used: 0 });
        while state.bytes > self.capacity {
            let Some((_, oldest)) = state.by_use.pop_first() else { return };
            state.take(&oldest);
        }
    }

    pub(super) fn forget(&self, instance: &str) {
        self.state().take(instance);
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
