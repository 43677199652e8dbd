//! A history sorted for questions: who wrote which item when, who saw which version, what came before what, and what may
//! be lost.
//!
//! "Before" is only said where it is certain. A write whose outcome is unknown may be applied at any time after it began, and
//! more than once; an acknowledged one within its call, but there perhaps more than once, unless it was sent once, has a
//! condition, or is a patch.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::history::{
    Call, CallId, Happening, History, Key, Level, Micros, Operation, Outcome, Trail, Write, WriteKind,
};

/// A write to one item that was applied or may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect<'h> {
    pub(super) call: &'h Call,
    pub(super) write: Write,
    /// Whether it was acknowledged.
    pub(super) certain: bool,
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

/// An event in which acknowledged writes may be lost.
#[derive(Debug)]
pub(super) struct Loss<'h> {
    pub(super) from: Micros,
    pub(super) until: Micros,
    /// Only what this region took; anything if there is none.
    region: Option<&'h str>,
    /// For each partition: everything that was acknowledged before this is known to have survived, as something later did.
    horizon: HashMap<u32, Micros>,
}

/// For each region that takes writes, the moment such that all that it acknowledged before is seen.
pub(super) type Floor = Vec<Micros>;

pub(super) struct Facts<'h> {
    pub(super) history: &'h History,
    /// All writes that were or may have been applied, by when they began.
    effects: BTreeMap<Key, Vec<Effect<'h>>>,
    calls: HashMap<CallId, &'h Call>,
    places: HashMap<(Key, CallId), usize>,
    pub(super) sightings: Vec<Sighting<'h>>,
    sightings_of: HashMap<Key, Vec<usize>>,
    pub(super) losses: Vec<Loss<'h>>,
    /// The numbers that the regions hold at the end.
    at_the_end: HashSet<(Key, CallId)>,
    /// The trail with which a version was seen.
    trails: HashMap<(Key, CallId), &'h [CallId]>,
    /// Several write regions: what each write had before it, and when each session first saw a write.
    floors: HashMap<CallId, Floor>,
    seen: HashMap<(u32, CallId), Micros>,
}

impl<'h> Facts<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let mut facts = Self {
            history,
            effects: BTreeMap::new(),
            calls: history.calls.iter().map(|call| (call.id, call)).collect(),
            places: HashMap::new(),
            sightings: Vec::new(),
            sightings_of: HashMap::new(),
            losses: Vec::new(),
            at_the_end: HashSet::new(),
            trails: HashMap::new(),
            floors: HashMap::new(),
            seen: HashMap::new(),
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
        // Another attempt may have been applied in a region that had not seen the second write.
        first.once() && (seen || self.covers(&self.floor_of(second), first))
    }

    /// Whether nothing ever went wrong.
    pub(super) fn is_all_quiet(&self) -> bool {
        self.history.events.is_empty()
    }

    /// What was there for sure wherever the write is.
    pub(super) fn floor_of(&self, effect: &Effect<'_>) -> Floor {
        if !self.multi_write() {
            return vec![effect.earliest()];
        }
        self.floors.get(&effect.id()).cloned().unwrap_or_default()
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

    fn may_be_lost_in(&self, loss: &Loss<'_>, write: &Effect<'_>, by: Micros) -> bool {
        let here = match (loss.region, write.call.region.as_deref()) {
            (Some(lost), Some(region)) if write.certain => lost == region,
            _ => true,
        };
        if !here || loss.until < write.earliest() || loss.from > by {
            return false;
        }
        let whole = write.latest() < loss.from && self.at_the_end.contains(&(write.write.key, write.id()));
        let below = loss
            .horizon
            .get(&write.write.key.partition)
            .is_some_and(|horizon| write.certain && write.latest() < *horizon);
        !whole && !below
    }

    fn gather_effects(&mut self) {
        for call in &self.history.calls {
            let certain = match call.outcome {
                Outcome::Written => true,
                Outcome::Unknown(_) | Outcome::Crashed | Outcome::Read(_) | Outcome::Pages { .. } => false,
                Outcome::Refused(_) | Outcome::Failed(_) => continue,
            };
            for write in writes_of(call) {
                self.effects.entry(write.key).or_default().push(Effect { call, write: *write, certain });
            }
        }
        for (key, effects) in &mut self.effects {
            effects.sort_by_key(|effect| (effect.earliest(), effect.id()));
            for (place, effect) in effects.iter().enumerate() {
                self.places.insert((*key, effect.id()), place);
            }
        }
    }

    fn gather_sightings(&mut self) {
        for call in &self.history.calls {
            let returned = call.returned.unwrap_or(Micros::MAX);
            match &call.outcome {
                Outcome::Read(items) => {
                    let saw = |(key, trail): &'h (Key, Option<Trail>)| Sighting {
                        call,
                        key: *key,
                        trail: trail.as_deref(),
                        invoked: call.invoked,
                        returned,
                    };
                    self.sightings.extend(items.iter().map(saw));
                }
                Outcome::Pages { pages, complete } => {
                    for page in pages {
                        let saw = |(key, trail): &'h (Key, Trail)| Sighting {
                            call,
                            key: *key,
                            trail: Some(trail),
                            invoked: page.invoked,
                            returned: page.returned,
                        };
                        self.sightings.extend(page.rows.iter().map(saw));
                    }
                    if *complete {
                        self.gather_missing_rows(call, returned);
                    }
                }
                Outcome::Written
                | Outcome::Refused(_)
                | Outcome::Failed(_)
                | Outcome::Unknown(_)
                | Outcome::Crashed => {}
            }
        }
    }

    /// A row that a whole query does not have was not there when the query came past its place.
    fn gather_missing_rows(&mut self, call: &'h Call, returned: Micros) {
        let (Operation::Query { partition, .. }, Outcome::Pages { pages, .. }) =
            (&call.operation, &call.outcome)
        else {
            return;
        };
        let rows: HashSet<Key> = pages.iter().flat_map(|page| &page.rows).map(|(key, _)| *key).collect();
        let (invoked, returned) = match pages.as_slice() {
            [page] => (page.invoked, page.returned),
            _ => (call.invoked, returned),
        };
        let asked = |key: &Key| partition.is_none_or(|partition| partition == key.partition);
        let missing = self.effects.keys().copied().filter(|key| asked(key) && !rows.contains(key));
        let saw = |key| Sighting { call, key, trail: None, invoked, returned };
        let sightings: Vec<_> = missing.map(saw).collect();
        self.sightings.extend(sightings);
    }

    fn gather_trails(&mut self) {
        let ends = self.history.ends.iter().flat_map(|end| &end.items);
        let ends = ends.filter_map(|(key, trail)| Some((*key, trail.as_deref()?)));
        for (key, trail) in ends.clone() {
            self.at_the_end.extend(trail.iter().map(|number| (key, *number)));
        }
        let seen = self.sightings.iter().filter_map(|sighting| Some((sighting.key, sighting.trail?)));
        for (key, trail) in seen.chain(ends) {
            for length in 1..=trail.len() {
                self.trails.entry((key, trail[length - 1])).or_insert(&trail[..length]);
            }
        }
    }

    /// Walks through time, and notes what each session had seen when it wrote.
    fn gather_causes(&mut self) {
        let mut moments: Vec<(Micros, bool, &'h Call)> = Vec::new();
        for call in &self.history.calls {
            moments.push((call.invoked, false, call));
            moments.extend(call.returned.map(|returned| (returned, true, call)));
        }
        moments.sort_by_key(|(at, ends, call)| (*at, *ends, call.id));
        let mut versions: HashMap<CallId, Vec<(Key, CallId)>> = HashMap::new();
        for sighting in &self.sightings {
            let numbers = sighting.trail.unwrap_or(&[]).iter().map(|number| (sighting.key, *number));
            versions.entry(sighting.call.id).or_default().extend(numbers);
        }
        let regions = self.history.account.regions.len();
        let mut sessions: HashMap<(u32, u32), Floor> = HashMap::new();
        for (at, ends, call) in moments {
            let partitions: BTreeSet<u32> = writes_of(call).iter().map(|write| write.key.partition).collect();
            if !ends {
                let Some(partition) = partitions.first() else { continue };
                let mut floor = vec![0; regions];
                if call.has_token
                    && let Some(seen) = sessions.get(&(call.session, *partition))
                {
                    floor.clone_from(seen);
                }
                if let Some(region) = self.lane(call) {
                    floor[region] = floor[region].max(call.invoked);
                }
                self.floors.insert(call.id, floor);
            } else if call.has_token {
                let own = writes_of(call).iter().filter(|_| call.outcome == Outcome::Written);
                let own = own.map(|write| (write.key, call.id));
                for (key, number) in own.chain(versions.remove(&call.id).unwrap_or_default()) {
                    self.seen.entry((call.session, number)).or_insert(at);
                    let Some(floor) = self.floors.get(&number) else { continue };
                    let seen = sessions.entry((call.session, key.partition)).or_default();
                    raise(seen, floor);
                }
            }
        }
    }

    fn gather_losses(&mut self) {
        let account = &self.history.account;
        if account.level == Level::Strong {
            return;
        }
        let mut writers: HashSet<&str> = account.regions.first().into_iter().map(String::as_str).collect();
        for event in &self.history.events {
            let region = match &event.what {
                Happening::Graceful { to } => {
                    writers.insert(to);
                    continue;
                }
                Happening::Forced { to } | Happening::PartitionForced { to } => {
                    writers.insert(to);
                    None
                }
                Happening::RegionLost(region) if account.multi_write => Some(region.as_str()),
                Happening::RegionLost(region) if writers.contains(region.as_str()) => None,
                Happening::RegionLost(_)
                | Happening::ServerCrashed
                | Happening::Split
                | Happening::Fault(_)
                | Happening::Healed { .. } => continue,
            };
            let mut horizon: HashMap<u32, Micros> = HashMap::new();
            // What is there at the end has survived, and what was built upon afterwards.
            let bases = self.trails.iter().filter_map(|((key, number), trail)| {
                let built_upon = self.effect(*key, *number)?.earliest() > event.until;
                let base = trail.split_last()?.1.last().filter(|_| built_upon)?;
                Some((*key, *base))
            });
            for (key, number) in self.at_the_end.iter().copied().chain(bases) {
                let survivor = self.effect(key, number).filter(|effect| effect.latest() < event.at);
                let Some(survivor) = survivor.filter(|_| !account.multi_write) else { continue };
                let known = horizon.entry(key.partition).or_default();
                *known = survivor.earliest().max(*known);
            }
            self.losses.push(Loss { from: event.at, until: event.until, region, horizon });
        }
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
