//! Which instances have a message to be processed, and from when on.
//!
//! The states are the [`Agenda`]'s; here is what makes them change: messages, locks, and what a fetch has found.

use std::sync::Arc;

use super::agenda::{Agenda, Handed, Limits, News, Outcome};
use super::arrival;
use super::recent::Recent;
use crate::lease::{Slots, slot_of};

/// The instances that are known to have, or to get, something to do.
pub(super) struct Instances {
    agenda: Agenda<Arc<str>, Lane>,
    /// The messages that were seen lately: the change feed shows them again.
    messages: Recent,
}

/// Who may have an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    /// Another process offers it.
    pub(super) is_borrowed: bool,
    pub(super) slot: u8,
}

fn own(instance: &str) -> Lane {
    Lane { is_borrowed: false, slot: slot_of(instance) }
}

/// What a fetch has found at an instance that it was handed.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    /// Locked by this fetch until then, with these messages; the next one beyond them is visible at `later`.
    Locked { until: u64, messages: &'a [&'a str], later: Option<u64> },
    /// Locked by somebody else until then.
    Held { until: u64 },
    /// Nothing to do before `later`.
    Idle { messages: &'a [&'a str], later: Option<u64> },
    /// Its messages wait until it comes to be, or goes on: nothing to do before `later`, another message, or a change.
    Waits { messages: &'a [&'a str], later: Option<u64> },
    /// Nothing is known: as before.
    Unknown,
    /// It could not be found out.
    Failed,
}

impl Instances {
    pub(super) fn new() -> Self {
        Self { agenda: Agenda::new(Limits::USUAL), messages: Recent::new() }
    }

    /// A message of an instance is visible from `at` on; false if that was known already.
    pub(super) fn message(&mut self, instance: &str, id: &str, at: u64, now: u64) -> bool {
        let at = arrival(at, now);
        if !self.messages.insert((instance, id)) {
            return false;
        }
        let news = News { at, mark: self.messages.mark((instance, id)) };
        self.agenda.news(Arc::from(instance), own(instance), news, now);
        true
    }

    /// The instance is worth a look from `at` on, unless more is known of it.
    pub(super) fn look(&mut self, instance: &str, at: u64, now: u64) {
        self.agenda.hint(Arc::from(instance), own(instance), at, now);
    }

    /// Another process offers the instance.
    pub(super) fn offered(&mut self, instance: &str, now: u64) {
        let lane = Lane { is_borrowed: true, ..own(instance) };
        self.agenda.hint(Arc::from(instance), lane, now, now);
    }

    /// The instance is certainly worth a look from `at` on.
    pub(super) fn look_again(&mut self, instance: &str, at: u64, now: u64) {
        // No message has this mark, so that nobody has seen it.
        let news = News { at: arrival(at, now), mark: 0 };
        self.agenda.news(Arc::from(instance), own(instance), news, now);
    }

    /// The instance has changed: if messages wait for it, they may be for it now.
    pub(super) fn changed(&mut self, instance: &str, now: u64) {
        self.agenda.wake(&Arc::from(instance), now);
    }

    /// The instance is locked until then; or free again, and the messages of its lock are gone.
    pub(super) fn lock(&mut self, instance: &str, until: Option<u64>, now: u64) {
        match until {
            Some(until) => self.agenda.lock(Arc::from(instance), own(instance), until, now),
            None => self.agenda.unlock(&Arc::from(instance), now),
        }
    }

    /// Hands out the instance that has waited longest among those in wanted lanes that the dispatcher may have.
    pub(super) fn claim(
        &mut self,
        now: u64,
        wants: impl Fn(&Lane) -> bool,
        fits: impl Fn(&str) -> bool,
    ) -> Option<Handed<Arc<str>>> {
        self.agenda.claim(now, wants, |instance| fits(instance))
    }

    /// Takes back what was handed out.
    pub(super) fn settle(&mut self, handed: &Handed<Arc<str>>, found: Found<'_>, now: u64) {
        let seen = match found {
            Found::Locked { messages, .. } | Found::Idle { messages, .. } | Found::Waits { messages, .. } => {
                self.remember(&handed.key, messages)
            }
            Found::Held { .. } | Found::Unknown | Found::Failed => Vec::new(),
        };
        let outcome = match found {
            Found::Locked { until, later, .. } => Outcome::Taken { until, seen: &seen, later },
            Found::Held { until } => Outcome::Held { until },
            Found::Idle { later, .. } => Outcome::Idle { seen: &seen, later },
            Found::Waits { later, .. } => Outcome::Waits { seen: &seen, later },
            Found::Unknown => Outcome::Back,
            Found::Failed => Outcome::Failed,
        };
        self.agenda.settle(handed, outcome, now);
    }

    /// Remembers messages; gives their marks.
    fn remember(&mut self, instance: &str, messages: &[&str]) -> Vec<u64> {
        let marks = messages.iter().map(|id| {
            self.messages.insert((instance, *id));
            self.messages.mark((instance, *id))
        });
        marks.collect()
    }

    /// Forgets instances of slots that are another process's business now, and those that others have offered: they do so
    /// again.
    pub(super) fn keep_only(&mut self, slots: &Slots) {
        self.agenda.retain(|instance| slots.contains(slot_of(instance)));
    }

    pub(super) fn agenda(&mut self) -> &mut Agenda<Arc<str>, Lane> {
        &mut self.agenda
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(queue: &mut Instances, now: u64) -> Option<Handed<Arc<str>>> {
        queue.claim(now, |_| true, |_| true)
    }

    fn name(handed: Option<Handed<Arc<str>>>) -> Option<String> {
        handed.map(|handed| handed.key.to_string())
    }

    #[test]
    fn locked_instances_do_not_hide_a_free_one_and_come_back_at_expiry() {
        let mut queue = Instances::new();
        for n in 0..20 {
            queue.message(&format!("locked {n}"), "1", 1, 1);
            let handed = claim(&mut queue, 1).unwrap();
            queue.settle(&handed, Found::Held { until: 50 }, 1);
        }
        queue.message("free", "1", 2, 2);
        assert_eq!(name(claim(&mut queue, 2)).as_deref(), Some("free"));
        assert_eq!(claim(&mut queue, 49), None);
        assert!(name(claim(&mut queue, 50)).unwrap().starts_with("locked"));
    }

    #[test]
    fn a_message_that_the_fetch_has_read_is_not_looked_for_again() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1, 1);
        let handed = claim(&mut queue, 1).unwrap();
        queue.message("a", "2", 1, 1);
        queue.settle(&handed, Found::Locked { until: 50, messages: &["1", "2", "3"], later: None }, 1);
        assert!(!queue.message("a", "3", 1, 1), "an echo");
        queue.lock("a", None, 2);
        assert_eq!(claim(&mut queue, 100), None);
        assert!(!queue.agenda().has_claims());
    }

    #[test]
    fn a_message_that_arrives_during_a_lock_is_looked_for_after_it() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1, 1);
        let handed = claim(&mut queue, 1).unwrap();
        queue.message("a", "2", 1, 1);
        queue.settle(&handed, Found::Locked { until: 50, messages: &["1"], later: None }, 1);
        queue.message("a", "3", 2, 2);
        assert_eq!(claim(&mut queue, 10), None, "it is locked");
        queue.lock("a", None, 10);
        assert_eq!(name(claim(&mut queue, 10)).as_deref(), Some("a"));
    }

    #[test]
    fn a_lock_that_ends_while_a_fetch_looks_at_it_is_not_waited_for() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1, 1);
        let handed = claim(&mut queue, 1).unwrap();
        queue.lock("a", None, 2);
        queue.settle(&handed, Found::Held { until: 50 }, 3);
        assert_eq!(name(claim(&mut queue, 3)).as_deref(), Some("a"));
    }

    #[test]
    fn a_lock_that_ends_by_itself_brings_its_messages_back() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1, 1);
        let handed = claim(&mut queue, 1).unwrap();
        queue.settle(&handed, Found::Locked { until: 50, messages: &["1"], later: None }, 1);
        queue.lock("a", Some(70), 2);
        assert_eq!(claim(&mut queue, 69), None);
        assert_eq!(name(claim(&mut queue, 70)).as_deref(), Some("a"));
    }

    #[test]
    fn events_to_an_instance_that_does_not_exist_wait_for_another_message_or_for_the_instance() {
        let mut queue = Instances::new();
        let changes = |queue: &mut Instances| queue.changed("a", 9);
        let is_started = |queue: &mut Instances| assert!(queue.message("a", "start", 9, 9));
        for wake in [changes as fn(&mut Instances), is_started] {
            queue.look("a", 1, 1);
            let handed = claim(&mut queue, 1).unwrap();
            queue.settle(&handed, Found::Waits { messages: &["event"], later: None }, 1);
            queue.look("a", 1, 2);
            assert!(!queue.message("a", "event", 1, 2), "an echo");
            assert_eq!(claim(&mut queue, 99), None, "a search that finds the event is no news");
            wake(&mut queue);
            let handed = claim(&mut queue, 99).unwrap();
            queue.settle(&handed, Found::Idle { messages: &[], later: None }, 99);
        }
    }

    #[test]
    fn an_instance_that_changes_while_it_is_looked_at_is_looked_at_again() {
        let mut queue = Instances::new();
        queue.message("a", "answer", 1, 1);
        let handed = claim(&mut queue, 1).unwrap();
        queue.changed("a", 2);
        queue.settle(&handed, Found::Waits { messages: &["answer"], later: None }, 3);
        let handed = claim(&mut queue, 3).expect("the look may have been before the change");
        queue.settle(&handed, Found::Waits { messages: &["answer"], later: None }, 4);
        assert_eq!(claim(&mut queue, 99), None);
    }

    #[test]
    fn after_a_loss_an_instance_is_looked_at_whatever_is_known_of_it() {
        let mut queue = Instances::new();
        queue.message("a", "event", 1, 1);
        let handed = claim(&mut queue, 1).unwrap();
        queue.settle(&handed, Found::Waits { messages: &["event"], later: None }, 1);
        queue.look_again("a", 0, 2);
        let handed = claim(&mut queue, 2).unwrap();
        queue.look_again("a", 0, 3);
        queue.settle(&handed, Found::Waits { messages: &["event"], later: None }, 3);
        let handed = claim(&mut queue, 3).expect("it came while the fetch was under way");
        queue.settle(&handed, Found::Locked { until: 50, messages: &["event"], later: None }, 3);
        queue.look_again("a", 0, 4);
        queue.lock("a", None, 5);
        assert!(claim(&mut queue, 5).is_some());
    }

    #[test]
    fn instances_of_lost_slots_are_forgotten() {
        let mut queue = Instances::new();
        queue.message("a", "1", 1, 1);
        queue.keep_only(&Slots::none());
        assert_eq!(claim(&mut queue, 1), None);
    }
}
