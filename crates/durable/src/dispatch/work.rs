//! Which work items wait for a worker, in the order in which they came to be.
//!
//! A table and a schedule, without a clock. It holds where an item is and who may have it, not its content: the
//! write that locks an item returns that.
//!
//! Items of all slots are here, because a worker elsewhere may be the only one that takes a tag or has a session.
//! Those of other processes' slots come later, so that processes which could all take an item do not race for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cosmonaut::Etag;
use duroxide::providers::{SessionFetchConfig, TagFilter};

use super::recent::Recent;
use crate::lease::{Slots, slot_of};

/// For how long an item is left to the process that has its slot.
const PRECEDENCE_MS: u64 = 500;

/// A work item as it was last seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkEntry {
    pub(crate) instance: String,
    pub(crate) id: String,
    pub(crate) etag: Etag,
    pub(crate) visible_at_ms: u64,
    pub(crate) locked_until_ms: Option<u64>,
    pub(crate) session: Option<String>,
    pub(crate) tag: Option<String>,
}

/// What a worker takes.
#[derive(Clone, Copy)]
pub(crate) struct WorkFilter<'a> {
    pub(crate) session: Option<&'a SessionFetchConfig>,
    pub(crate) tags: &'a TagFilter,
}

/// Instance and id of an item.
pub(super) type Key = (Arc<str>, Arc<str>);

/// The items that are known.
pub(super) struct WorkQueue {
    known: HashMap<Key, Entry>,
    /// What may be taken now, in order of arrival.
    ready: BTreeMap<u64, Key>,
    /// What may be taken later: the time, and the order of arrival.
    waiting: BTreeSet<(u64, u64)>,
    waiting_keys: HashMap<u64, Key>,
    sessions: HashMap<String, Ownership>,
    /// The slots of this process.
    slots: Slots,
    versions: Recent,
    next_turn: u64,
    /// How many are handed out and not taken back.
    claimed: usize,
}

struct Entry {
    turn: u64,
    item: WorkEntry,
    /// When it may be taken here.
    wake: u64,
    claimed: bool,
}

/// Who has a session, until when.
struct Ownership {
    owner: String,
    until: u64,
}

impl WorkQueue {
    pub(super) fn new() -> Self {
        Self {
            known: HashMap::new(),
            ready: BTreeMap::new(),
            waiting: BTreeSet::new(),
            waiting_keys: HashMap::new(),
            sessions: HashMap::new(),
            slots: Slots::none(),
            versions: Recent::new(),
            next_turn: 0,
            claimed: 0,
        }
    }

    /// The item is now so: told by whoever wrote it.
    pub(super) fn put(&mut self, item: WorkEntry, now: u64) {
        self.versions.insert((&*item.instance, &*item.id, &item.etag));
        self.place(item, now);
    }

    /// The item was seen so in the container; false if that is no news here.
    pub(super) fn seen(&mut self, item: WorkEntry, now: u64) -> bool {
        self.versions.insert((&*item.instance, &*item.id, &item.etag)) && self.place(item, now)
    }

    /// The item was found by a search for what was left behind; a claim under way knows better.
    pub(super) fn found(&mut self, item: WorkEntry, now: u64) {
        let known = self.known.get(&key(&item.instance, &item.id));
        if known.is_none_or(|entry| !entry.claimed && entry.item.etag != item.etag) {
            self.put(item, now);
        }
    }

    /// Puts an item where it belongs; false if it does not belong here.
    fn place(&mut self, item: WorkEntry, now: u64) -> bool {
        let key = key(&item.instance, &item.id);
        let before = self.known.remove(&key);
        if let Some(before) = &before {
            self.unschedule(before.turn, before.wake);
        }
        let claimed = before.as_ref().is_some_and(|before| before.claimed);
        let Some(wake) = self.wake(&item, now) else {
            self.claimed -= usize::from(claimed);
            return false;
        };
        let turn = before.map_or_else(|| self.new_turn(), |before| before.turn);
        if !claimed {
            self.schedule(&key, turn, wake, now);
        }
        self.known.insert(key, Entry { turn, item, wake, claimed });
        true
    }

    fn new_turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    /// When an item may be taken here; `None` if it is another process's business altogether: that has its slot, and
    /// with it the duty to see when its lock ends.
    fn wake(&self, item: &WorkEntry, now: u64) -> Option<u64> {
        let locked_until = item.locked_until_ms.unwrap_or(0);
        if self.slots.contains(slot_of(&item.instance)) {
            return Some(item.visible_at_ms.max(locked_until));
        }
        // Who has a session is known to all: nobody has to be waited for.
        let precedence = if item.session.is_some() { 0 } else { PRECEDENCE_MS };
        (locked_until <= now).then(|| item.visible_at_ms.max(locked_until) + precedence)
    }

    /// The item is done, or was cancelled.
    pub(super) fn remove(&mut self, instance: &str, id: &str) {
        if let Some(entry) = self.known.remove(&key(instance, id)) {
            self.unschedule(entry.turn, entry.wake);
            self.claimed -= usize::from(entry.claimed);
        }
    }

    /// Hands out the first item that a worker may have.
    pub(super) fn claim(&mut self, now: u64, slots: &Slots, wanted: WorkFilter<'_>) -> Option<WorkEntry> {
        self.promote(now);
        // A slot that was lost a moment ago is not in `slots` any more, though it still is in `self.slots`.
        let lost = self.slots.without(slots);
        let fits = |(_, key): &(&u64, &Key)| {
            !lost.contains(slot_of(&key.0))
                && self.known.get(*key).is_some_and(|entry| self.may_have(&entry.item, wanted, now))
        };
        let (turn, key) = self.ready.iter().find(fits).map(|(turn, key)| (*turn, key.clone()))?;
        self.ready.remove(&turn);
        let entry = self.known.get_mut(&key)?;
        entry.claimed = true;
        self.claimed += 1;
        Some(entry.item.clone())
    }

    fn may_have(&self, item: &WorkEntry, wanted: WorkFilter<'_>, now: u64) -> bool {
        let session_fits = match (&item.session, wanted.session) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(session), Some(config)) => {
                self.sessions.get(session).is_none_or(|has| has.until <= now || has.owner == config.owner_id)
            }
        };
        session_fits && wanted.tags.matches(item.tag.as_deref())
    }

    /// Takes back what was handed out; what was told of it meanwhile stands.
    pub(super) fn settle(&mut self, instance: &str, id: &str, now: u64) {
        let key = key(instance, id);
        let Some(entry) = self.known.get_mut(&key).filter(|entry| entry.claimed) else { return };
        entry.claimed = false;
        self.claimed -= 1;
        let (turn, wake) = (entry.turn, entry.wake);
        self.schedule(&key, turn, wake, now);
    }

    /// The session has an owner until then: told by whoever wrote it.
    pub(super) fn session(&mut self, session: &str, owner: &str, until: u64) {
        self.sessions.insert(session.to_owned(), Ownership { owner: owner.to_owned(), until });
    }

    /// The session was seen so in the container. Only what reaches further than what is known is news: a feed
    /// may tell of the past.
    pub(super) fn session_seen(&mut self, session: &str, owner: &str, until: u64) {
        if self.sessions.get(session).is_none_or(|has| has.until < until) {
            self.session(session, owner, until);
        }
    }

    /// The session has no owner any more.
    pub(super) fn session_free(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    /// These slots are this process's now. Forgets sessions whose time is over, too.
    pub(super) fn own(&mut self, slots: &Slots, now: u64) {
        self.sessions.retain(|_, has| has.until > now);
        self.slots = *slots;
        let items: Vec<WorkEntry> = self.known.values().map(|entry| entry.item.clone()).collect();
        for item in items {
            self.place(item, now);
        }
    }

    /// Whether some worker is just finding out about an item.
    pub(super) fn has_claims(&self) -> bool {
        self.claimed > 0
    }

    /// When something may change after `now`: an item becomes visible, or a lock or a session ends.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        let item = self.waiting.iter().map(|(at, _)| *at).find(|at| *at > now);
        let session = self.sessions.values().map(|has| has.until).filter(|until| *until > now).min();
        item.into_iter().chain(session).min()
    }

    fn promote(&mut self, now: u64) {
        while let Some(&(at, turn)) = self.waiting.first()
            && at <= now
        {
            self.waiting.pop_first();
            if let Some(key) = self.waiting_keys.remove(&turn) {
                self.ready.insert(turn, key);
            }
        }
    }

    fn schedule(&mut self, key: &Key, turn: u64, wake: u64, now: u64) {
        if wake <= now {
            self.ready.insert(turn, key.clone());
        } else {
            self.waiting.insert((wake, turn));
            self.waiting_keys.insert(turn, key.clone());
        }
    }

    fn unschedule(&mut self, turn: u64, wake: u64) {
        self.ready.remove(&turn);
        self.waiting.remove(&(wake, turn));
        self.waiting_keys.remove(&turn);
    }
}

pub(super) fn key(instance: &str, id: &str) -> Key {
    (Arc::from(instance), Arc::from(id))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ANY: WorkFilter<'static> = WorkFilter { session: None, tags: &TagFilter::Any };

    fn item(id: &str, etag: &str) -> WorkEntry {
        WorkEntry {
            instance: "i".to_owned(),
            id: id.to_owned(),
            etag: Etag::from(etag),
            visible_at_ms: 0,
            locked_until_ms: None,
            session: None,
            tag: None,
        }
    }

    /// Of a process that has all slots.
    fn queue() -> WorkQueue {
        let mut queue = WorkQueue::new();
        queue.own(&Slots::all(), 0);
        queue
    }

    fn claim(queue: &mut WorkQueue, now: u64, wanted: WorkFilter<'_>) -> Option<String> {
        queue.claim(now, &Slots::all(), wanted).map(|item| item.id)
    }

    #[test]
    fn items_come_in_order_of_arrival_and_once() {
        let mut queue = queue();
        for id in ["b", "a", "c"] {
            queue.put(item(id, "1"), 0);
        }
        for id in ["b", "a", "c"] {
            assert_eq!(claim(&mut queue, 0, ANY).as_deref(), Some(id));
        }
        assert_eq!(claim(&mut queue, 0, ANY), None);
        queue.settle("i", "a", 0);
        assert_eq!(claim(&mut queue, 0, ANY).as_deref(), Some("a"));
    }

    #[test]
    fn a_locked_item_comes_back_at_expiry_and_a_removed_one_does_not() {
        let mut queue = queue();
        queue.put(item("a", "1"), 0);
        queue.put(item("b", "1"), 0);
        for id in ["a", "b"] {
            assert_eq!(claim(&mut queue, 0, ANY).as_deref(), Some(id));
            queue.put(WorkEntry { locked_until_ms: Some(30), ..item(id, "2") }, 0);
            queue.settle("i", id, 0);
        }
        queue.remove("i", "b");
        assert_eq!((claim(&mut queue, 29, ANY), queue.next_after(29)), (None, Some(30)));
        assert_eq!(claim(&mut queue, 30, ANY).as_deref(), Some("a"));
        assert_eq!(claim(&mut queue, 30, ANY), None);
    }

    #[test]
    fn an_echo_of_a_known_version_is_no_news_even_when_the_item_is_gone() {
        let mut queue = queue();
        queue.put(item("a", "1"), 0);
        claim(&mut queue, 0, ANY).unwrap();
        queue.put(WorkEntry { locked_until_ms: Some(30), ..item("a", "2") }, 0);
        queue.settle("i", "a", 0);
        queue.remove("i", "a");
        assert!(!queue.seen(item("a", "1"), 0));
        assert!(!queue.seen(item("a", "2"), 0));
        assert_eq!(claim(&mut queue, 99, ANY), None);
        assert!(queue.seen(item("a", "3"), 0));
        assert_eq!(claim(&mut queue, 99, ANY).as_deref(), Some("a"));
    }

    #[test]
    fn sessions_and_tags_combine() {
        let mut queue = queue();
        queue.put(WorkEntry { session: Some("s".into()), tag: Some("gpu".into()), ..item("both", "1") }, 0);
        queue.session("s", "me", 50);
        let owner = |name: &str| SessionFetchConfig {
            owner_id: name.to_owned(),
            lock_timeout: Duration::from_secs(1),
        };
        let (me, you, gpu) = (owner("me"), owner("you"), TagFilter::tags(["gpu"]));
        let plain = TagFilter::DefaultOnly;
        for (session, tags, now, expected) in [
            (None, &gpu, 0, false),
            (Some(&me), &plain, 0, false),
            (Some(&you), &gpu, 0, false),
            (Some(&you), &gpu, 50, true),
            (Some(&me), &gpu, 0, true),
        ] {
            let found = claim(&mut queue, now, WorkFilter { session, tags });
            assert_eq!(found.is_some(), expected, "{session:?} {tags:?} {now}");
            queue.settle("i", "both", now);
        }
    }

    #[test]
    fn an_item_of_another_process_comes_when_that_has_not_taken_it_and_not_while_it_is_locked() {
        let mut queue = WorkQueue::new();
        queue.put(item("plain", "1"), 0);
        queue.put(item("taken", "1"), 0);
        queue.put(WorkEntry { session: Some("s".into()), ..item("session", "1") }, 0);
        let me = SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: Duration::from_secs(1) };
        let wanted = WorkFilter { session: Some(&me), tags: &TagFilter::Any };
        let foreign =
            |queue: &mut WorkQueue, now| queue.claim(now, &Slots::none(), wanted).map(|item| item.id);
        assert_eq!(foreign(&mut queue, 0).as_deref(), Some("session"));
        assert_eq!((foreign(&mut queue, 0), queue.next_after(0)), (None, Some(PRECEDENCE_MS)));
        assert!(!queue.seen(WorkEntry { locked_until_ms: Some(9000), ..item("taken", "2") }, 100));
        assert_eq!(foreign(&mut queue, PRECEDENCE_MS).as_deref(), Some("plain"));
        assert_eq!(foreign(&mut queue, 20_000), None, "its owner sees to it when the lock ends");
        // Taken here: the claim and its lock leave nothing behind.
        queue.put(WorkEntry { locked_until_ms: Some(9000), ..item("plain", "2") }, 600);
        queue.put(WorkEntry { locked_until_ms: Some(9000), ..item("session", "2") }, 600);
        queue.settle("i", "plain", 600);
        queue.settle("i", "session", 600);
        assert!(!queue.has_claims() && queue.known.is_empty());
    }

    #[test]
    fn items_follow_the_slots_that_are_gained_and_lost() {
        let mut queue = WorkQueue::new();
        queue.put(item("a", "1"), 0);
        assert_eq!(claim(&mut queue, 0, ANY), None);
        queue.own(&Slots::all(), 0);
        assert_eq!(queue.claim(0, &Slots::none(), ANY), None, "the lease has ended");
        assert_eq!(claim(&mut queue, 0, ANY).as_deref(), Some("a"));
        queue.settle("i", "a", 0);
        queue.own(&Slots::none(), 0);
        assert_eq!(claim(&mut queue, PRECEDENCE_MS - 1, ANY), None);
        assert_eq!(claim(&mut queue, PRECEDENCE_MS, ANY).as_deref(), Some("a"));
    }
}
