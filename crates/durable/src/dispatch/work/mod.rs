//! Which work items wait for a worker, in the order in which they came to be.
//!
//! The states are the [`Agenda`]'s; here is what makes them change: versions of items, sessions and completions. It
//! holds where an item is and who may have it, not its content: the write that locks an item returns that.
//!
//! Here are the items of this process's slots, and the few that other processes offer. What no worker of this process
//! takes in time is offered to others; see `offers`.

mod offering;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use cosmonaut::Etag;
use duroxide::providers::{SessionFetchConfig, TagFilter};

use super::agenda::{Agenda, Handed, Limits, Outcome, Told};
use super::recent::Recent;
use super::sessions::{Holder, Sessions};
use crate::dispatch::arrival;
use crate::lease::{Slots, slot_of};

pub(super) use offering::Offered;

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

/// Who may have an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    /// Another process offers it.
    is_borrowed: bool,
    slot: u8,
    tag: Option<Arc<str>>,
    holder: Holder,
}

/// What is known of an item.
pub(super) struct Known {
    item: WorkEntry,
    /// The id of the message that will say that it is done.
    completion: Option<String>,
    /// Since when it waits.
    since: u64,
    /// Whether somebody else may have done it.
    is_doubtful: bool,
}

/// The items that are known.
pub(super) struct Work {
    agenda: Agenda<Key, Lane, Option<Known>>,
    sessions: Sessions<Key>,
    /// Items that somebody else has locked, by the id of the message that will say that they are done.
    completions: HashMap<String, Key>,
    /// The slots of this process.
    slots: Slots,
    /// What is on offer, since when.
    on_offer: HashMap<Key, u64>,
    /// How many lanes have had their turn to offer something.
    offer_turn: usize,
    /// What others offer, since when.
    borrowed: VecDeque<(u64, Key)>,
    /// The versions that were seen lately: the change feed shows them again.
    versions: Recent,
}

impl Work {
    pub(super) fn new() -> Self {
        Self {
            agenda: Agenda::new(Limits::USUAL),
            sessions: Sessions::new(),
            completions: HashMap::new(),
            slots: Slots::none(),
            on_offer: HashMap::new(),
            offer_turn: 0,
            borrowed: VecDeque::new(),
            versions: Recent::new(),
        }
    }

    /// The item is now so: told by whoever wrote it.
    pub(super) fn put(&mut self, item: WorkEntry, now: u64) {
        self.versions.insert((&*item.instance, &*item.id, &item.etag));
        self.place(item, None, now);
    }

    /// The item was seen so in the container; false if that is no news here. If it is locked, `completion` is the id
    /// of the message that will say that it is done.
    pub(super) fn seen(&mut self, item: WorkEntry, completion: Option<String>, now: u64) -> bool {
        self.versions.insert((&*item.instance, &*item.id, &item.etag)) && self.place(item, completion, now)
    }

    /// The item was found by a search for what was left behind; a claim under way knows better.
    pub(super) fn found(&mut self, item: WorkEntry, now: u64) {
        let key = key(&item.instance, &item.id);
        let is_known = match self.agenda.get(&key) {
            Some(Some(known)) => self.agenda.is_claimed(&key) || known.item.etag == item.etag,
            Some(None) | None => false,
        };
        if !is_known {
            self.put(item, now);
        }
    }

    /// Puts an item where it belongs; false if it is another process's business: that has its slot, and with it the
    /// duty to see when its lock ends.
    fn place(&mut self, mut item: WorkEntry, completion: Option<String>, now: u64) -> bool {
        item.visible_at_ms = arrival(item.visible_at_ms, now);
        let key = key(&item.instance, &item.id);
        if !self.slots.contains(slot_of(&item.instance)) {
            self.remove_key(&key);
            return false;
        }
        self.forget_completion(&key);
        let is_doubtful = match self.agenda.get(&key) {
            Some(Some(known)) => known.is_doubtful || completion.is_some(),
            Some(None) | None => completion.is_some(),
        };
        let at = item.visible_at_ms;
        let locked_until = item.locked_until_ms.filter(|until| *until > now).map(|until| until.max(at));
        let lane = self.lane(&item, false);
        if let Some(session) = &item.session {
            self.sessions.add(session, key.clone());
        }
        if let Some(completion) = &completion {
            self.completions.insert(completion.clone(), key.clone());
        }
        let since = locked_until.unwrap_or(at).max(now);
        let known = Known { item, completion, since, is_doubtful };
        self.agenda.tell(key, (lane, Some(known)), Told { at, locked_until }, now);
        self.tidy();
        true
    }

    fn lane(&self, item: &WorkEntry, is_borrowed: bool) -> Lane {
        let holder = self.sessions.holder(item.session.as_deref());
        Lane { is_borrowed, slot: slot_of(&item.instance), tag: item.tag.as_deref().map(Arc::from), holder }
    }

    /// Forgets what belongs to items that had to make room.
    fn tidy(&mut self) {
        let Self { agenda, completions, sessions, .. } = self;
        if completions.len() > 2 * Limits::USUAL.things {
            completions.retain(|_, key| agenda.get(key).is_some());
        }
        if sessions.items() > 2 * Limits::USUAL.things {
            sessions.retain(|key| agenda.get(key).is_some());
        }
    }

    /// The item is done, or was cancelled.
    pub(super) fn remove(&mut self, instance: &str, id: &str) {
        self.remove_key(&key(instance, id));
    }

    /// A message has come; if it says that an item is done, the item goes.
    pub(super) fn completed(&mut self, message: &str) {
        // What is behind a point tells the message of a repeated call from that of the call before.
        let completion = message.split('.').next().unwrap_or(message);
        if let Some(key) = self.completions.remove(completion) {
            self.remove_key(&key);
        }
    }

    fn remove_key(&mut self, key: &Key) {
        self.forget_completion(key);
        if let Some(Some(Known { item: WorkEntry { session: Some(session), .. }, .. })) = self.agenda.get(key)
        {
            self.sessions.remove(session, key);
        }
        self.agenda.remove(key);
    }

    fn forget_completion(&mut self, key: &Key) {
        if let Some(Some(Known { completion: Some(completion), .. })) = self.agenda.get(key) {
            self.completions.remove(completion);
        }
    }

    /// Hands out the first item that a worker may have, of the slots that are wanted and of what others offer.
    pub(super) fn claim(
        &mut self,
        now: u64,
        wants: impl Fn(u8) -> bool,
        wanted: WorkFilter<'_>,
    ) -> Option<(Handed<Key>, WorkEntry)> {
        self.end_sessions(now);
        let takes = |lane: &Lane| {
            (lane.is_borrowed || wants(lane.slot))
                && lane.holder.lets(wanted.session)
                && wanted.tags.matches(lane.tag.as_deref())
        };
        let handed = self.agenda.claim(now, takes, |_| true)?;
        let item = self.agenda.get(&handed.key)?.as_ref()?.item.clone();
        Some((handed, item))
    }

    /// Takes back what was handed out; what was told of it meanwhile stands.
    pub(super) fn settle(&mut self, handed: &Handed<Key>, failed: bool, now: u64) {
        self.agenda.settle(handed, if failed { Outcome::Failed } else { Outcome::Back }, now);
    }

    /// The session has an owner until then: told by whoever wrote it.
    pub(super) fn session(&mut self, session: &str, owner: &str, until: u64) {
        let changed = self.sessions.own(session, owner, until);
        self.follow_session(&changed);
    }

    /// The session was seen so in the container. Only what reaches further than what is known is news: a feed
    /// may tell of the past.
    pub(super) fn session_seen(&mut self, session: &str, owner: &str, until: u64) {
        if self.sessions.owned_until(session).is_none_or(|known| known < until) {
            self.session(session, owner, until);
        }
    }

    /// The session has no owner any more.
    pub(super) fn session_free(&mut self, session: &str) {
        let changed = self.sessions.free(session);
        self.follow_session(&changed);
    }

    fn end_sessions(&mut self, now: u64) {
        let changed = self.sessions.end(now);
        self.follow_session(&changed);
    }

    fn follow_session(&mut self, items: &[Key]) {
        for key in items {
            if let Some(Some(known)) = self.agenda.get(key) {
                let lane = self.lane(&known.item, !self.slots.contains(slot_of(&key.0)));
                self.agenda.change_lane(key, lane);
            }
        }
    }

    /// These slots are this process's now: what is in others is forgotten, but for what is handed out.
    pub(super) fn own(&mut self, slots: &Slots, now: u64) {
        self.end_sessions(now);
        if self.slots == *slots {
            return;
        }
        let gained = slots.without(&self.slots);
        let lost = self.slots.without(slots);
        self.slots = *slots;
        // What was borrowed and is own now is found by the search of the gained slots.
        self.agenda.retain(|key| !lost.contains(slot_of(&key.0)) && !gained.contains(slot_of(&key.0)));
        let agenda = &self.agenda;
        self.completions.retain(|_, key| agenda.get(key).is_some());
        self.sessions.retain(|key| agenda.get(key).is_some());
    }

    /// When something may change after `now`: an item becomes visible, or a lock or a session ends.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        self.agenda.next_after(now).into_iter().chain(self.sessions.next_after(now)).min()
    }

    /// Whether something was forgotten, as `is_due` says.
    pub(super) fn has_forgotten(&self, is_due: impl Fn(&Agenda<Key, Lane, Option<Known>>) -> bool) -> bool {
        is_due(&self.agenda)
    }

    /// A search for what was forgotten begins.
    pub(super) fn searching(&mut self) {
        self.agenda.searching();
    }

    /// Whether some worker is just finding out about an item.
    pub(super) fn has_claims(&self) -> bool {
        self.agenda.has_claims()
    }

    /// How often in a row an item has failed.
    pub(super) fn failures(&self, key: &Key) -> u32 {
        self.agenda.failures(key)
    }
}

pub(super) fn key(instance: &str, id: &str) -> Key {
    (Arc::from(instance), Arc::from(id))
}
