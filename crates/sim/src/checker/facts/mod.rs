//! A history sorted for questions: who wrote which item when, who saw which version, what came before what, and what may
//! be lost.
//!
//! "Before" is only said where it is certain. A write whose outcome is unknown may be applied at any time after it began, and
//! more than once; an acknowledged one within its call, but there perhaps more than once, unless it was sent once, has a
//! condition, or is a patch.

mod gather;

use std::collections::BTreeMap;

use crate::checker::Violation;
use crate::checker::quick::{Map, Set};
use crate::checker::words::{call_and_time, version};
use crate::history::{
    Call, CallId, Happening, History, Key, Level, Micros, Operation, Outcome, Write, WriteKind,
};

/// A write to one item that was applied or may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect<'h> {
    pub(super) call: &'h Call,
    pub(super) write: Write,
    /// Whether it was acknowledged.
    pub(super) certain: bool,
    /// When somebody had seen it first.
    seen: Micros,
}

impl Effect<'_> {
    pub(super) fn id(&self) -> CallId {
        self.call.id
    }

    /// It was not applied before.
    pub(super) fn earliest(&self) -> Micros {
        self.call.invoked
    }

    /// It is not applied after.
    pub(super) fn latest(&self) -> Micros {
        match self.call.returned {
            Some(returned) if self.certain => returned,
            // What was sent once and seen is not applied again.
            _ if self.call.sent_once => self.seen,
            _ => Micros::MAX,
        }
    }

    pub(super) fn deletes(&self) -> bool {
        self.write.kind == WriteKind::Delete
    }

    /// Whether it can be applied once only: what has a condition is its own obstacle, and patches are marked.
    pub(super) fn once(&self) -> bool {
        self.call.sent_once || self.write.if_match.is_some() || self.write.kind == WriteKind::Patch
    }
}

/// Somebody saw an item, or that it is not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting<'h> {
    pub(super) call: &'h Call,
    pub(super) key: Key,
    pub(super) trail: Option<&'h [CallId]>,
    pub(super) invoked: Micros,
    pub(super) returned: Micros,
}

impl Sighting<'_> {
    /// That it may not have been, and which calls forbid it.
    pub(super) fn forbidden(&self, rule: &'static str, why: &str, calls: &[CallId]) -> Violation {
        let (by, seen) = (call_and_time(self.call), version(self.trail));
        Violation {
            rule,
            message: format!("{by} saw {} as {seen}, but {why}", self.key),
            calls: [self.call.id].into_iter().chain(calls.iter().copied()).collect(),
            at: self.returned,
        }
    }
}

/// An event in which acknowledged writes may be lost.
#[derive(Debug)]
pub(super) struct Loss<'h> {
    pub(super) from: Micros,
    pub(super) until: Micros,
    /// Only what this region took; anything if there is none.
    region: Option<&'h str>,
    /// For each partition: everything that was acknowledged before this is known to have survived, as something later did.
    horizon: Map<u32, Micros>,
    /// What the new write region had shown before.
    shown: Set<(Key, CallId)>,
}

/// For each region that takes writes, the moment such that all that it acknowledged before is seen.
pub(super) type Floor = Vec<Micros>;

pub(super) struct Facts<'h> {
    pub(super) history: &'h History,
    /// All writes that were or may have been applied, by when they began.
    effects: BTreeMap<Key, Vec<Effect<'h>>>,
    calls: Map<CallId, &'h Call>,
    places: Map<(Key, CallId), usize>,
    pub(super) sightings: Vec<Sighting<'h>>,
    sightings_of: Map<Key, Vec<usize>>,
    pub(super) losses: Vec<Loss<'h>>,
    /// The numbers that the regions hold at the end.
    at_the_end: Set<(Key, CallId)>,
    /// The trail with which a version was seen.
    trails: Map<(Key, CallId), &'h [CallId]>,
    /// Several write regions: what each write had before it, and when each session first saw a write.
    floors: Map<CallId, Floor>,
    seen: Map<(u32, CallId), Micros>,
}

impl<'h> Facts<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let mut facts = Self {
            history,
            effects: BTreeMap::new(),
            calls: history.calls.iter().map(|call| (call.id, call)).collect(),
            places: Map::default(),
            sightings: Vec::new(),
            sightings_of: Map::default(),
            losses: Vec::new(),
            at_the_end: Set::default(),
            trails: Map::default(),
            floors: Map::default(),
            seen: Map::default(),
        };
        facts.gather_effects();
        facts.gather_sightings();
        for (place, sighting) in facts.sightings.iter().enumerate() {
            facts.sightings_of.entry(sighting.key).or_default().push(place);
        }
        facts.gather_trails();
        if history.account.multi_write {
            facts.gather_causes();
        }
        facts.gather_losses();
        facts
    }

    pub(super) fn multi_write(&self) -> bool {
        self.history.account.multi_write
    }

    /// The last moment of which anything is known.
    pub(super) fn end(&self) -> Micros {
        let history = self.history;
        let calls = history.calls.iter().map(|call| call.returned.unwrap_or(call.invoked));
        let events = history.events.iter().map(|event| event.until);
        let changes = history.feeds.iter().flat_map(|feed| &feed.changes).map(|change| change.at);
        let entries = history.ledger.iter().map(|entry| entry.at);
        let orchestrations = history.orchestrations.iter();
        let endings = orchestrations.map(|one| one.ended.as_ref().map_or(one.invoked, |(at, _)| *at));
        calls.chain(events).chain(changes).chain(entries).chain(endings).max().unwrap_or(0)
    }

    pub(super) fn call(&self, id: CallId) -> Option<&'h Call> {
        self.calls.get(&id).copied()
    }

    /// The items that were written.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.effects.keys().copied()
    }

    /// The writes to an item that were or may have been applied.
    pub(super) fn effects(&self, key: Key) -> &[Effect<'h>] {
        self.effects.get(&key).map_or(&[], Vec::as_slice)
    }

    /// What was seen of an item.
    pub(super) fn sightings_of(&self, key: Key) -> impl Iterator<Item = &Sighting<'h>> + Clone {
        self.sightings_of.get(&key).into_iter().flatten().map(|place| &self.sightings[*place])
    }

    /// What a call did to an item, unless it did nothing for sure.
    pub(super) fn effect(&self, key: Key, id: CallId) -> Option<&Effect<'h>> {
        let place = *self.places.get(&(key, id))?;
        self.effects(key).get(place)
    }

    /// What a call did to all of its items.
    pub(super) fn effects_of(&self, call: &Call) -> impl Iterator<Item = &Effect<'h>> {
        writes_of(call).iter().filter_map(|write| self.effect(write.key, call.id))
    }

    /// The write that made the version.
    pub(super) fn maker(&self, key: Key, trail: &[CallId]) -> Option<&Effect<'h>> {
        self.effect(key, *trail.last()?)
    }

    /// Whether one write was applied before another one for sure, each time that it was.
    pub(super) fn before(&self, first: &Effect<'_>, second: &Effect<'_>) -> bool {
        if first.id() == second.id() {
            return false;
        }
        if !self.multi_write() {
            return first.latest() < second.earliest();
        }
        let seen = self.seen.get(&(second.call.session, first.id()));
        let seen = second.call.has_token && seen.is_some_and(|seen| *seen < second.earliest());
        // Another attempt may have been applied in a region that had not seen the second write, whatever its condition.
        first.call.sent_once && (seen || self.covers(&self.floor_of(second), first))
    }

    /// Whether the answer to a write brought the session a token, with or without one in the request.
    pub(super) fn tells_session(&self, call: &Call) -> bool {
        self.history.account.level == Level::Session && call.outcome == Outcome::Written
    }

    /// Whether nothing ever went wrong.
    pub(super) fn is_all_quiet(&self) -> bool {
        self.history.events.iter().all(|event| matches!(event.what, Happening::Healed { .. }))
    }

    /// What was there for sure wherever the write is.
    pub(super) fn floor_of(&self, effect: &Effect<'_>) -> Floor {
        if !self.multi_write() {
            return vec![effect.earliest()];
        }
        self.floors.get(&effect.id()).cloned().unwrap_or_default()
    }

    /// What was there for sure where the write was answered.
    pub(super) fn floor_of_answer(&self, effect: &Effect<'_>) -> Floor {
        let mut floor = self.floor_of(effect);
        self.raise_lane(&mut floor, effect.call);
        floor
    }

    /// Raises the floor to what the region that answered the call had before.
    fn raise_lane(&self, floor: &mut Floor, call: &Call) {
        if let Some(floor) = self.lane(call).and_then(|region| floor.get_mut(region)) {
            *floor = call.invoked.max(*floor);
        }
    }

    /// Whether an item of this name may have given way to another one, whose place in the order is its own: it was deleted and
    /// made anew or, with several write regions, made in two of them at once.
    pub(super) fn may_be_another(&self, key: Key, by: Micros) -> bool {
        let writes = self.effects(key).iter().filter(|write| write.earliest() < by);
        let (mut deletes, mut births) = (0, 0);
        for write in writes {
            match write.write.kind {
                WriteKind::Delete => deletes += 1,
                // What was sent to two regions has made two.
                WriteKind::Create | WriteKind::Upsert => births += if write.call.sent_once { 1 } else { 2 },
                WriteKind::Replace | WriteKind::Patch => {}
            }
        }
        deletes > 0 || self.multi_write() && births > 1
    }

    /// Whether an acknowledged write lies below the floor.
    pub(super) fn covers(&self, floor: &Floor, effect: &Effect<'_>) -> bool {
        let Some(region) = self.lane(effect.call) else { return false };
        effect.certain && floor.get(region).is_some_and(|floor| effect.latest() < *floor)
    }

    /// Which log a call wrote to.
    fn lane(&self, call: &Call) -> Option<usize> {
        if !self.multi_write() {
            return Some(0);
        }
        let region = call.region.as_deref()?;
        self.history.account.regions.iter().position(|name| name == region)
    }

    /// Whether what was seen of an item until `by` is older than what `write` made of it, for sure.
    pub(super) fn behind(&self, key: Key, seen: Option<&[CallId]>, write: &Effect<'_>, by: Micros) -> bool {
        let Some(trail) = seen else {
            let explains = |other: &&Effect<'_>| {
                other.deletes()
                    && other.earliest() < by
                    && (!self.before(other, write) || self.wins_through_another(other, write))
            };
            return !write.deletes() && !self.effects(key).iter().any(|other| explains(&other));
        };
        if trail.contains(&write.id()) {
            return false;
        }
        let earlier_in_its_trail = || {
            trail.len() > 1
                && self.trails.get(&(key, write.id())).is_some_and(|later| later.starts_with(trail))
        };
        self.maker(key, trail).is_some_and(|maker| self.before(maker, write) || earlier_in_its_trail())
    }

    /// With several write regions a deletion wins over each write that had not seen it, and what comes of that may win over
    /// one that had, in turn.
    fn wins_through_another(&self, deletion: &Effect<'_>, write: &Effect<'_>) -> bool {
        let unaware = |other: &Effect<'_>| {
            !other.deletes()
                && other.id() != write.id()
                && !self.before(deletion, other)
                && !self.before(other, deletion)
        };
        self.multi_write() && self.effects(write.write.key).iter().any(unaware)
    }

    /// Whether the write may have been lost until then.
    pub(super) fn may_be_lost(&self, write: &Effect<'_>, by: Micros) -> bool {
        self.losses.iter().any(|loss| self.may_be_lost_in(loss, write, by))
    }

    pub(super) fn may_be_lost_in(&self, loss: &Loss<'_>, write: &Effect<'_>, by: Micros) -> bool {
        let here = match (loss.region, write.call.region.as_deref()) {
            (Some(lost), Some(region)) if write.certain => lost == region,
            _ => true,
        };
        if !here || loss.until < write.earliest() || loss.from > by {
            return false;
        }
        let own = (write.write.key, write.id());
        let whole =
            write.latest() < loss.from && (self.at_the_end.contains(&own) || loss.shown.contains(&own));
        let below = loss
            .horizon
            .get(&write.write.key.partition)
            .is_some_and(|horizon| write.certain && write.latest() < *horizon);
        !whole && !below
    }
}

/// Makes a floor at least as high as another one.
pub(super) fn raise(floor: &mut Floor, other: &Floor) {
    if floor.len() < other.len() {
        floor.resize(other.len(), 0);
    }
    for (mine, other) in floor.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}

/// What a call writes.
pub(super) fn writes_of(call: &Call) -> &[Write] {
    match &call.operation {
        Operation::Write(write) => std::slice::from_ref(write),
        Operation::Batch(writes) => writes,
        Operation::Read(_) | Operation::ReadMany(_) | Operation::Query { .. } => &[],
    }
}
