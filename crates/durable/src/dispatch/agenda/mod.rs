//! What there is to do, and when each thing is handed out: one state machine for instances, work items and chores.
//!
//! It has no clock, no lock and no request. What a thing is, who may have it and what the container says of it are
//! elsewhere; this file answers when a thing may be handed out, and what becomes of it afterwards.
//!
//! | state | handed out | event: next state |
//! | --- | --- | --- |
//! | (absent) | never | `news`, `hint`: Due; `lock`: Locked; `tell`: Due or Locked |
//! | Due(at) | from `at` on | `claim`: Claimed; `lock`: Locked; `news`, `hint`: Due, at the earlier time |
//! | Claimed | never | `settle`: see [`Outcome`]; `news`, `tell`, `wake` and `unlock` wait for the `settle` |
//! | Locked(until, due) | from `until` on | `claim`: Claimed; `unlock`: Due(due) or absent; `news`: Locked, with the earlier `due` |
//! | Parked | never | `news`, `wake`: Due; `lock`: Locked; `hint`: Parked |
//!
//! `tell` replaces Due, Locked and Parked by what it says; `remove` makes any state absent.
//!
//! What holds at all times, and is checked against a simple model in `model.rs`:
//!
//! 1. A thing is handed out to one holder at a time. What a holder says after `remove` changes nothing.
//! 2. A thing that is due is handed out, or [`Agenda::forgotten_from`] says that it has to be searched for.
//! 3. A thing that failed comes back after a pause of its own, behind all that are ready by then.
//! 4. There are never more things than the limit and those that are handed out.

mod entry;
#[cfg(test)]
mod model;
mod places;
mod ready;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use super::pause::pause_ms;
use entry::{Entry, Holding, Place, State, earlier};
use ready::Ready;

pub(super) use entry::{Handed, News, Outcome, Told, Turn};

/// The things that are known. `K` names one, `L` is who may have it, `D` is what else is known of it.
pub(super) struct Agenda<K, L, D = ()> {
    entries: HashMap<K, Entry<L, D>>,
    ready: Ready<L, K>,
    /// What may be handed out later: the time, and a number that makes it unique.
    waiting: BTreeMap<(u64, u64), K>,
    /// What waits for news, the oldest first.
    parked: BTreeMap<u64, K>,
    limits: Limits,
    next_number: u64,
    claimed: usize,
    forgotten_from: Option<u64>,
}

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many things at most, beside those that are handed out.
    pub(super) things: usize,
    /// How far ahead: what is due later is left to a search.
    pub(super) horizon_ms: u64,
}

impl Limits {
    /// What a process remembers of one kind of thing.
    pub(super) const USUAL: Self = Self { things: 100_000, horizon_ms: 10 * 60 * 1000 };
}

impl<K: Clone + Eq + Hash, L: Clone + Ord, D> Agenda<K, L, D> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            entries: HashMap::new(),
            ready: Ready::new(),
            waiting: BTreeMap::new(),
            parked: BTreeMap::new(),
            limits,
            next_number: 0,
            claimed: 0,
            forgotten_from: None,
        }
    }

    /// There is something new to do.
    pub(super) fn news(&mut self, key: K, lane: L, news: News, now: u64)
    where
        D: Default,
    {
        let at = news.at;
        match self.entries.get_mut(&key).map(|entry| &mut entry.state) {
            Some(State::Claimed(holding)) => holding.news.push(news),
            Some(State::Due(due)) => *due = at.min(*due),
            Some(State::Locked { due, .. }) => *due = earlier(*due, Some(at)),
            Some(state @ State::Parked) => *state = State::Due(at),
            None => self.insert(key.clone(), (lane, D::default()), State::Due(at), now),
        }
        self.replace(&key, now);
    }

    /// There may be something to do, which may be known.
    pub(super) fn hint(&mut self, key: K, lane: L, at: u64, now: u64)
    where
        D: Default,
    {
        match self.entries.get_mut(&key).map(|entry| &mut entry.state) {
            Some(State::Due(due)) => *due = at.min(*due),
            Some(State::Claimed(_) | State::Locked { .. } | State::Parked) => return,
            None => self.insert(key.clone(), (lane, D::default()), State::Due(at), now),
        }
        // It may have waited for longer than it is known.
        let turn = (at, self.number());
        self.replace_at(&key, Some(turn), now);
    }

    /// A thing that waits for news is worth a look.
    pub(super) fn wake(&mut self, key: &K, now: u64) {
        match self.entries.get_mut(key).map(|entry| &mut entry.state) {
            // The holder may have looked before.
            Some(State::Claimed(holding)) => holding.woken = Some(now),
            Some(state @ State::Parked) => {
                *state = State::Due(now);
                self.replace(key, now);
            }
            Some(State::Due(_) | State::Locked { .. }) | None => {}
        }
    }

    /// Somebody works on it until then.
    pub(super) fn lock(&mut self, key: K, lane: L, until: u64, now: u64)
    where
        D: Default,
    {
        match self.entries.get_mut(&key).map(|entry| &mut entry.state) {
            Some(State::Claimed(_)) => return,
            Some(State::Locked { until: end, .. }) => *end = until,
            Some(state) => {
                let due = if let State::Due(due) = state { Some(*due) } else { None };
                *state = State::Locked { until, due };
            }
            None => {
                self.insert(key.clone(), (lane, D::default()), State::Locked { until, due: None }, now);
            }
        }
        self.replace(&key, now);
    }

    /// The lock has ended, and what was done under it is done.
    pub(super) fn unlock(&mut self, key: &K, now: u64) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        match &mut entry.state {
            State::Locked { due: Some(due), .. } => entry.state = State::Due(*due),
            State::Locked { due: None, .. } => return self.remove(key),
            // The holder may have seen the lock before.
            State::Claimed(holding) => holding.is_unlocked = true,
            State::Due(_) | State::Parked => return,
        }
        self.replace(key, now);
    }

    /// The thing is so, whatever was known of it.
    pub(super) fn tell(&mut self, key: K, (lane, data): (L, D), told: Told, now: u64) {
        let Some(entry) = self.entries.get_mut(&key) else {
            self.insert(key.clone(), (lane, data), told.state(), now);
            return self.replace(&key, now);
        };
        entry.data = data;
        match &mut entry.state {
            State::Claimed(holding) => holding.told = Some(told),
            state => *state = told.state(),
        }
        self.change_lane(&key, lane);
        self.replace(&key, now);
    }

    /// Other holders may have the thing from now on.
    pub(super) fn change_lane(&mut self, key: &K, lane: L) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if entry.lane == lane {
            return;
        }
        if let Place::Ready(turn) = entry.place {
            self.ready.remove(&entry.lane, turn);
            self.ready.insert(lane.clone(), turn, key.clone());
        }
        entry.lane = lane;
    }

    /// There is nothing to do with it any more.
    pub(super) fn remove(&mut self, key: &K) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.claimed -= usize::from(matches!(entry.state, State::Claimed(_)));
        self.unplace(&entry);
    }

    /// Removes all that are not to be kept, except those that are handed out.
    pub(super) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        let gone =
            |(key, entry): &(&K, &Entry<L, D>)| !matches!(entry.state, State::Claimed(_)) && !keep(key);
        let gone: Vec<K> = self.entries.iter().filter(gone).map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    /// Hands out the thing that has been ready for longest, of those in a lane that is wanted.
    pub(super) fn claim(
        &mut self,
        now: u64,
        wants: impl Fn(&L) -> bool,
        fits: impl Fn(&K) -> bool,
    ) -> Option<Handed<K>> {
        self.promote(now);
        let (turn, key) = self.ready.first(wants, fits)?;
        let ticket = self.number();
        let entry = self.entries.get_mut(&key)?;
        let due = match entry.state {
            State::Due(due) => due,
            State::Locked { until, due } => due.map_or(until, |due| due.min(until)),
            State::Claimed(_) | State::Parked => return None,
        };
        self.ready.remove(&entry.lane, turn);
        entry.place = Place::Nowhere;
        entry.state = State::Claimed(Holding::new(ticket, turn, due));
        self.claimed += 1;
        Some(Handed { key, ticket })
    }

    /// Takes back what was handed out.
    pub(super) fn settle(&mut self, handed: &Handed<K>, outcome: Outcome<'_>, now: u64) {
        let Some(entry) = self.entries.get_mut(&handed.key) else { return };
        let holding = match &mut entry.state {
            State::Claimed(holding) if holding.ticket == handed.ticket => holding,
            State::Claimed(_) | State::Due(_) | State::Locked { .. } | State::Parked => return,
        };
        let Holding { turn, due, news, told, woken, is_unlocked, .. } = holding.clone();
        let unseen =
            |seen: &[u64]| news.iter().filter(|news| !seen.contains(&news.mark)).map(|news| news.at).min();
        let as_before =
            || told.map_or(State::Due(earlier(unseen(&[]), Some(due)).unwrap_or(due)), Told::state);
        self.claimed -= 1;
        let next = match outcome {
            Outcome::Taken { until, seen, later } => {
                Some(State::Locked { until, due: earlier(later, unseen(seen)) })
            }
            Outcome::Held { .. } if is_unlocked => {
                Some(State::Due(earlier(unseen(&[]), Some(due)).unwrap_or(due)))
            }
            Outcome::Held { until } => Some(State::Locked { until, due: earlier(unseen(&[]), Some(due)) }),
            Outcome::Idle { seen, later } => earlier(later, unseen(seen)).map(State::Due),
            Outcome::Waits { seen, later } => {
                Some(earlier(earlier(later, unseen(seen)), woken).map_or(State::Parked, State::Due))
            }
            Outcome::Back => {
                entry.place = Place::Ready(turn);
                Some(as_before())
            }
            Outcome::Failed => Some(as_before()),
        };
        match outcome {
            Outcome::Failed => {
                entry.failures = entry.failures.saturating_add(1);
                entry.not_before = now.saturating_add(pause_ms(entry.failures));
            }
            Outcome::Back => {}
            Outcome::Taken { .. } | Outcome::Held { .. } | Outcome::Idle { .. } | Outcome::Waits { .. } => {
                (entry.failures, entry.not_before) = (0, 0);
            }
        }
        match next {
            Some(next) => {
                entry.state = next;
                self.come_back(&handed.key, now);
            }
            None => {
                self.entries.remove(&handed.key);
            }
        }
    }

    /// What is known of a thing.
    pub(super) fn get(&self, key: &K) -> Option<&D> {
        self.entries.get(key).map(|entry| &entry.data)
    }

    /// As [`get`](Self::get), to be changed.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut D> {
        self.entries.get_mut(key).map(|entry| &mut entry.data)
    }

    /// The things that are ready, by lane and in the order in which they became so.
    pub(super) fn ready_lanes(&self) -> impl Iterator<Item = (&L, &BTreeMap<Turn, K>)> {
        self.ready.lanes()
    }

    /// Whether a thing is ready.
    pub(super) fn is_ready(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| matches!(entry.place, Place::Ready(_)))
    }

    /// How many things are known.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How often in a row a thing has failed.
    pub(super) fn failures(&self, key: &K) -> u32 {
        self.entries.get(key).map_or(0, |entry| entry.failures)
    }

    /// Whether a thing is handed out.
    pub(super) fn is_claimed(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| matches!(entry.state, State::Claimed(_)))
    }

    /// Whether news has come of a thing while it is handed out.
    pub(super) fn has_news(&self, handed: &Handed<K>) -> bool {
        match self.entries.get(&handed.key).map(|entry| &entry.state) {
            Some(State::Claimed(holding)) => holding.ticket == handed.ticket && !holding.news.is_empty(),
            Some(State::Due(_) | State::Locked { .. } | State::Parked) | None => false,
        }
    }

    /// Whether some holder is just finding out about a thing.
    pub(super) fn has_claims(&self) -> bool {
        self.claimed > 0
    }

    /// When the next thing after `now` may be handed out.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        self.waiting.range((now + 1, 0)..).next().map(|((at, _), _)| *at)
    }

    /// From when on something may be due that there was no room for; `None` if there is nothing of the kind.
    pub(super) fn forgotten_from(&self) -> Option<u64> {
        self.forgotten_from
    }

    /// Whether a search for what was forgotten makes sense: there is room for what it finds.
    pub(super) fn has_room(&self) -> bool {
        self.entries.len() <= self.limits.things / 4 * 3
    }

    /// A search for what was forgotten begins.
    pub(super) fn searching(&mut self) {
        self.forgotten_from = None;
    }
}
