//! Which instances have a message to be processed, and from when on.
//!
//! A table and a schedule, without a clock: who waits for it, and what the container says, is elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::recent::Recent;
use crate::lease::{Slots, slot_of};

/// The instances that are known to have, or to get, something to do.
pub(super) struct Instances {
    known: HashMap<Arc<str>, Entry>,
    /// Each entry that is not claimed, at the time from which on it is worth a look.
    schedule: BTreeSet<(u64, u64, Arc<str>)>,
    messages: Recent,
    next_turn: u64,
    /// How many are handed out and not taken back.
    claimed: usize,
}

struct Entry {
    /// From when on a message is visible that no lock covers.
    due: Option<u64>,
    /// Until when the instance is locked, here or elsewhere.
    locked_until: Option<u64>,
    /// Handed out; messages that arrive meanwhile wait here, because the holder may have read them already.
    claimed: Option<Vec<(String, u64)>>,
    /// Where the entry stands in the schedule.
    scheduled: Option<(u64, u64)>,
}

impl Entry {
    fn wake(&self) -> Option<u64> {
        self.locked_until.or(self.due)
    }

    fn add(&mut self, at: u64) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

/// What a holder found at an instance that it was handed.
pub(super) enum Found<'a> {
    /// Locked by this fetch until then, with these messages; the next one beyond them is visible at `later`.
    Locked { until: u64, messages: &'a [&'a str], later: Option<u64> },
    /// Locked by somebody else until then.
    Held { until: u64 },
    /// Nothing to do before `later`.
    Idle { messages: &'a [&'a str], later: Option<u64> },
    /// Nothing is known: as before.
    Unknown,
}

impl Instances {
    pub(super) fn new() -> Self {
        Self {
            known: HashMap::new(),
            schedule: BTreeSet::new(),
            messages: Recent::new(),
            next_turn: 0,
            claimed: 0,
        }
    }

    /// A message of an instance is visible from `at` on; false if that was known already.
    pub(super) fn message(&mut self, instance: &str, id: &str, at: u64) -> bool {
        if !self.messages.insert((instance, id)) {
            return false;
        }
        let entry = self.entry(instance);
        match &mut entry.claimed {
            Some(arrived) => arrived.push((id.to_owned(), at)),
            None => entry.add(at),
        }
        self.reschedule(instance);
        true
    }

    /// The instance is worth a look from `at` on, whatever was known of its messages.
    pub(super) fn look(&mut self, instance: &str, at: u64) {
        let entry = self.entry(instance);
        if entry.claimed.is_none() {
            entry.add(at);
            self.reschedule(instance);
        }
    }

    /// The instance is locked until then; or free again, and the messages of its lock are gone.
    pub(super) fn lock(&mut self, instance: &str, until: Option<u64>) {
        if until.is_none() && !self.known.contains_key(instance) {
            return;
        }
        self.entry(instance).locked_until = until;
        self.reschedule(instance);
    }

    /// Hands out the instance that has waited longest among those in `slots` that were not tried yet.
    pub(super) fn claim(&mut self, now: u64, slots: &Slots, tried: &HashSet<Arc<str>>) -> Option<Arc<str>> {
        let due = self.schedule.iter().take_while(|(at, ..)| *at <= now);
        let mut fit = due.filter(|(.., name)| slots.contains(slot_of(name)) && !tried.contains(name));
        let instance = fit.next()?.2.clone();
        let entry = self.entry(&instance);
        entry.claimed = Some(Vec::new());
        self.claimed += 1;
        self.reschedule(&instance);
        Some(instance)
    }

    /// Takes back what was handed out.
    pub(super) fn settle(&mut self, instance: &str, found: Found<'_>) {
        let Some(entry) = self.known.get_mut(instance) else { return };
        let Some(mut arrived) = entry.claimed.take() else { return };
        self.claimed -= 1;
        match found {
            Found::Locked { until, messages, later } => {
                entry.locked_until = Some(until);
                entry.due = later;
                arrived.retain(|(id, _)| !messages.contains(&id.as_str()));
                self.remember(instance, messages);
            }
            Found::Idle { messages, later } => {
                entry.locked_until = None;
                entry.due = later;
                arrived.retain(|(id, _)| !messages.contains(&id.as_str()));
                self.remember(instance, messages);
            }
            Found::Held { until } => entry.locked_until = Some(until),
            Found::Unknown => {}
        }
        let entry = self.entry(instance);
        arrived.iter().for_each(|(_, at)| entry.add(*at));
        self.reschedule(instance);
    }

    fn remember(&mut self, instance: &str, messages: &[&str]) {
        for id in messages {
            self.messages.insert((instance, *id));
        }
    }

    /// Forgets instances of slots that are another process's business now.
    pub(super) fn keep_only(&mut self, slots: &Slots) {
        let gone: Vec<_> = self
            .known
            .iter()
            .filter(|(name, entry)| entry.claimed.is_none() && !slots.contains(slot_of(name)))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        for name in gone {
            if let Some(Entry { scheduled: Some((at, turn)), .. }) = self.known.remove(&name) {
                self.schedule.remove(&(at, turn, name));
            }
        }
    }

    /// Whether some dispatcher is just finding out about an instance.
    pub(super) fn has_claims(&self) -> bool {
        self.claimed > 0
    }

    /// When the next instance after `now` is worth a look.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        self.schedule.iter().map(|(at, ..)| *at).find(|at| *at > now)
    }

    fn entry(&mut self, instance: &str) -> &mut Entry {
        self.known.entry(Arc::from(instance)).or_insert(Entry {
            due: None,
            locked_until: None,
            claimed: None,
            scheduled: None,
        })
    }

    /// Puts an entry where its state says, or out of the table if there is nothing to do.
    fn reschedule(&mut self, instance: &str) {
        let Some((name, _)) = self.known.get_key_value(instance) else { return };
        let name = Arc::clone(name);
        let Some(entry) = self.known.get_mut(instance) else { return };
        let wake = entry.wake().filter(|_| entry.claimed.is_none());
        // An entry that stays where it is keeps its turn.
        if wake.is_some() && wake == entry.scheduled.map(|(at, _)| at) {
            return;
        }
        if let Some((at, turn)) = entry.scheduled.take() {
            self.schedule.remove(&(at, turn, Arc::clone(&name)));
        }
        match wake {
            Some(at) => {
                self.next_turn += 1;
                entry.scheduled = Some((at, self.next_turn));
                self.schedule.insert((at, self.next_turn, name));
            }
            None if entry.claimed.is_none() => {
                self.known.remove(instance);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(queue: &mut Instances, now: u64) -> Option<Arc<str>> {
        queue.claim(now, &Slots::all(), &HashSet::new())
    }

    #[test]
    fn an_instance_is_handed_out_once_and_from_its_time_on() {
        let mut queue = Instances::new();
        queue.message("a", "1", 10);
        queue.message("b", "1", 5);
        assert_eq!(claim(&mut queue, 4), None);
        assert_eq!(queue.next_after(4), Some(5));
        assert_eq!(claim(&mut queue, 10).as_deref(), Some("b"));
        assert_eq!(claim(&mut queue, 10).as_deref(), Some("a"));
        assert_eq!(claim(&mut queue, 10), None);
        assert!(queue.has_claims());
        queue.settle("b", Found::Unknown);
        assert_eq!(claim(&mut queue, 10).as_deref(), Some("b"));
    }

    #[test]
    fn locked_instances_do_not_hide_a_free_one_and_come_back_at_expiry() {
        let mut queue = Instances::new();
        for n in 0..20 {
            queue.message(&format!("locked {n}"), "1", 1);
            let name = claim(&mut queue, 1).unwrap();
            queue.settle(&name, Found::Held { until: 50 });
        }
        queue.message("free", "1", 2);
        assert_eq!(claim(&mut queue, 2).as_deref(), Some("free"));
        assert_eq!(claim(&mut queue, 49), None);
        assert!(claim(&mut queue, 50).unwrap().starts_with("locked"));
    }

    #[test]
    fn a_message_that_the_fetch_has_read_is_not_looked_for_again() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1);
        claim(&mut queue, 1).unwrap();
        queue.message("a", "2", 1);
        queue.settle("a", Found::Locked { until: 50, messages: &["1", "2", "3"], later: None });
        assert!(!queue.message("a", "3", 1), "an echo");
        queue.lock("a", None);
        assert_eq!(claim(&mut queue, 100), None);
        assert!(!queue.has_claims());
        assert!(queue.known.is_empty() && queue.schedule.is_empty());
    }

    #[test]
    fn a_message_that_arrives_during_a_lock_is_looked_for_after_it() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1);
        claim(&mut queue, 1).unwrap();
        queue.message("a", "2", 1);
        queue.settle("a", Found::Locked { until: 50, messages: &["1"], later: None });
        queue.message("a", "3", 2);
        assert_eq!(claim(&mut queue, 10), None, "it is locked");
        queue.lock("a", None);
        assert_eq!(claim(&mut queue, 10).as_deref(), Some("a"));
    }

    #[test]
    fn a_lock_that_ends_by_itself_brings_its_messages_back() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1);
        claim(&mut queue, 1).unwrap();
        queue.settle("a", Found::Locked { until: 50, messages: &["1"], later: None });
        queue.lock("a", Some(70));
        assert_eq!(claim(&mut queue, 69), None);
        assert_eq!(claim(&mut queue, 70).as_deref(), Some("a"));
    }

    #[test]
    fn instances_of_lost_slots_are_forgotten() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1);
        queue.keep_only(&Slots::none());
        assert!(queue.known.is_empty() && queue.schedule.is_empty());
    }
}
