//! Where the things of an agenda stand, and which of them have to make room.

use std::hash::Hash;

use super::Agenda;
use super::entry::{Entry, Place, State, Turn, earlier};

impl<K: Clone + Eq + Hash, L: Clone + Ord, D> Agenda<K, L, D> {
    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Adds a thing if there is room for it, or something that is due later makes room.
    pub(super) fn insert(&mut self, key: K, (lane, data): (L, D), state: State, now: u64) {
        let horizon = now.saturating_add(self.limits.horizon_ms);
        let (wake, is_far) = match state {
            State::Due(at) => (at, at > horizon),
            // A search finds it whenever it looks, so that forgetting it would make one search follow the other.
            State::Locked { until, .. } => (until, false),
            State::Claimed(_) | State::Parked => (now, false),
        };
        if is_far || !self.make_room(wake) {
            return self.forget(wake);
        }
        let entry = Entry { state, place: Place::Nowhere, lane, data, failures: 0, not_before: 0 };
        self.entries.insert(key, entry);
    }

    pub(super) fn make_room(&mut self, wake: u64) -> bool {
        if self.entries.len() - self.claimed < self.limits.things {
            return true;
        }
        if let Some((_, oldest)) = self.parked.pop_first() {
            self.entries.remove(&oldest);
            return true;
        }
        match self.waiting.last_key_value() {
            Some(((last, _), key)) if *last > wake => {
                let key = key.clone();
                let last = *last;
                self.forget(last);
                self.remove(&key);
                true
            }
            Some(_) | None => false,
        }
    }

    pub(super) fn forget(&mut self, due: u64) {
        self.forgotten_from = earlier(self.forgotten_from, Some(due));
    }

    /// Puts an entry that was handed out where its state says, if there is room.
    pub(super) fn come_back(&mut self, key: &K, now: u64) {
        let Some(entry) = self.entries.get(key) else { return };
        // The entry itself does not count as long as it is nowhere.
        let wake = entry.wake().unwrap_or(now);
        if self.entries.len() - self.claimed > self.limits.things && !self.make_room(wake) {
            self.entries.remove(key);
            return self.forget(wake);
        }
        let turn = match self.entries.get(key).map(|entry| entry.place) {
            Some(Place::Ready(turn)) => Some(turn),
            Some(Place::Nowhere | Place::Waiting(..) | Place::Parked(_)) | None => None,
        };
        if let Some(entry) = self.entries.get_mut(key) {
            entry.place = Place::Nowhere;
        }
        self.put(key, turn, now);
    }

    /// Moves an entry whose state has changed. One that stays ready keeps its turn.
    pub(super) fn replace(&mut self, key: &K, now: u64) {
        self.replace_at(key, None, now);
    }

    /// As [`replace`](Self::replace), to a turn that may be earlier.
    pub(super) fn replace_at(&mut self, key: &K, earlier: Option<Turn>, now: u64) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let place = std::mem::replace(&mut entry.place, Place::Nowhere);
        let turn = match place {
            Place::Nowhere => None,
            Place::Ready(turn) => {
                self.ready.remove(&entry.lane, turn);
                Some(turn)
            }
            Place::Waiting(at, number) => {
                self.waiting.remove(&(at, number));
                None
            }
            Place::Parked(number) => {
                self.parked.remove(&number);
                None
            }
        };
        self.put(key, turn.into_iter().chain(earlier).min(), now);
    }

    /// Puts an entry that stands nowhere where its state says.
    pub(super) fn put(&mut self, key: &K, turn: Option<Turn>, now: u64) {
        let number = self.number();
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.place = match (&entry.state, entry.wake()) {
            (_, Some(wake)) if wake <= now => {
                let turn = turn.unwrap_or((now, number));
                self.ready.insert(entry.lane.clone(), turn, key.clone());
                Place::Ready(turn)
            }
            (_, Some(wake)) => {
                self.waiting.insert((wake, number), key.clone());
                Place::Waiting(wake, number)
            }
            (State::Parked, None) => {
                self.parked.insert(number, key.clone());
                Place::Parked(number)
            }
            (State::Claimed(_) | State::Due(_) | State::Locked { .. }, None) => Place::Nowhere,
        };
    }

    pub(super) fn unplace(&mut self, entry: &Entry<L, D>) {
        match entry.place {
            Place::Nowhere => {}
            Place::Ready(turn) => self.ready.remove(&entry.lane, turn),
            Place::Waiting(at, number) => {
                self.waiting.remove(&(at, number));
            }
            Place::Parked(number) => {
                self.parked.remove(&number);
            }
        }
    }

    /// Makes ready what may be handed out by now.
    pub(in crate::dispatch) fn promote(&mut self, now: u64) {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            self.next_number += 1;
            let turn = (now, self.next_number);
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.place = Place::Ready(turn);
                self.ready.insert(entry.lane.clone(), turn, key);
            }
        }
    }
}
