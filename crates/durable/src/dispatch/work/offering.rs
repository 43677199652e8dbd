//! Which items are offered to other processes, and which are taken from those that others offer.

use super::{Key, Known, Told, Work, WorkEntry, key};
use crate::dispatch::wants::Wants;
use crate::lease::slot_of;

/// For how long an item is left to the workers of the process that has its slot.
pub(super) const PRECEDENCE_MS: u64 = 500;
/// How many items are on offer at once.
pub(super) const MOST_OFFERS: usize = 64;
/// How many items of a lane are looked at for one that could be offered.
pub(super) const MOST_LOOKED_AT: usize = 256;
/// After what time an item that nobody has taken is offered again.
pub(super) const OFFER_AGAIN_MS: u64 = 30_000;
/// How many items of others are remembered, and for how long.
pub(super) const MOST_BORROWED: usize = 1000;
pub(super) const BORROWED_MS: u64 = 60_000;

/// An item that is to be offered.
pub(in crate::dispatch) struct Offered {
    pub(in crate::dispatch) item: WorkEntry,
    /// It may be done already.
    pub(in crate::dispatch) is_doubtful: bool,
}

impl Work {
    /// Another process offers an item; false if nobody here takes it.
    pub(in crate::dispatch) fn offered(&mut self, item: WorkEntry, wants: &Wants, now: u64) -> bool {
        while let Some((since, key)) = self.borrowed.front().cloned()
            && since + BORROWED_MS <= now
        {
            self.borrowed.pop_front();
            if !self.slots.contains(slot_of(&key.0)) && !self.agenda.is_claimed(&key) {
                self.remove_key(&key);
            }
        }
        let key = key(&item.instance, &item.id);
        let lane = self.lane(&item, true);
        let is_own = self.slots.contains(lane.slot);
        let is_known = self.agenda.get(&key).is_some();
        if self.borrowed.len() >= MOST_BORROWED {
            // What is done makes room.
            let agenda = &self.agenda;
            self.borrowed.retain(|(_, key)| agenda.get(key).is_some());
        }
        let has_room = self.borrowed.len() < MOST_BORROWED;
        if is_own || is_known || !has_room || !wants.takes(item.tag.as_deref(), &lane.holder, now) {
            return false;
        }
        if let Some(session) = &item.session {
            self.sessions.add(session, key.clone());
        }
        self.borrowed.push_back((now, key.clone()));
        let known = Known { item, completion: None, since: now, is_doubtful: false };
        self.agenda.tell(key, (lane, Some(known)), Told { at: now, locked_until: None }, now);
        true
    }

    /// Which items are to be offered to other processes now: those that no worker here takes, and those that no worker
    /// here has taken in time. Of these the youngest, because the workers here take the oldest.
    pub(in crate::dispatch) fn choose_offers(&mut self, wants: &Wants, now: u64) -> Vec<Offered> {
        self.end_sessions(now);
        self.agenda.promote(now);
        let agenda = &self.agenda;
        self.on_offer.retain(|key, since| now < *since + OFFER_AGAIN_MS && agenda.is_ready(key));
        let mut room = MOST_OFFERS.saturating_sub(self.on_offer.len());
        let mut chosen: Vec<Key> = Vec::new();
        // Lanes take turns, a few items each: work that nobody takes must not fill all places for ever.
        let mut lanes: Vec<_> = agenda.ready_lanes().filter(|(lane, _)| !lane.is_borrowed).collect();
        let turn = self.offer_turn.checked_rem(lanes.len()).unwrap_or(0);
        lanes.rotate_left(turn);
        let each = room.div_ceil(lanes.len().max(1));
        for (lane, items) in lanes {
            if room == 0 {
                break;
            }
            self.offer_turn += 1;
            let taken_here = wants.takes(lane.tag.as_deref(), &lane.holder, now);
            let is_late = |key: &&Key| match agenda.get(key) {
                Some(Some(known)) => !taken_here || known.since + PRECEDENCE_MS <= now,
                Some(None) | None => false,
            };
            let is_new = |key: &&Key| !self.on_offer.contains_key(*key);
            let fits = items.values().rev().take(MOST_LOOKED_AT).filter(is_late).filter(is_new);
            let before = chosen.len();
            chosen.extend(fits.take(room.min(each)).cloned());
            room -= chosen.len() - before;
        }
        chosen.into_iter().filter_map(|key| self.put_on_offer(key, now)).collect()
    }

    fn put_on_offer(&mut self, key: Key, now: u64) -> Option<Offered> {
        let known = self.agenda.get_mut(&key)?.as_mut()?;
        let offered = Offered { item: known.item.clone(), is_doubtful: known.is_doubtful };
        // Offered once, it may be done by somebody else.
        known.is_doubtful = true;
        self.on_offer.insert(key, now);
        Some(offered)
    }

    /// These items could not be offered.
    pub(in crate::dispatch) fn take_back_offers(&mut self, offered: &[Offered]) {
        for Offered { item, .. } in offered {
            self.on_offer.remove(&key(&item.instance, &item.id));
        }
    }

    /// Whether an item waits for a worker.
    pub(in crate::dispatch) fn has_ready(&self) -> bool {
        self.agenda.ready_lanes().any(|(lane, _)| !lane.is_borrowed)
    }
}
