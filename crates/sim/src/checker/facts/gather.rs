//! How the facts are gathered from a history, once.

use std::collections::BTreeSet;

use super::{Effect, Facts, Floor, Loss, Sighting, raise, writes_of};
use crate::checker::quick::{Map, Set};
use crate::history::{Call, CallId, Happening, Key, Level, Micros, Operation, Order, Outcome, Trail};

impl<'h> Facts<'h> {
    pub(super) fn gather_effects(&mut self) {
        for call in &self.history.calls {
            let certain = match call.outcome {
                Outcome::Written => true,
                Outcome::Unknown(_) | Outcome::Crashed | Outcome::Read(_) | Outcome::Pages { .. } => false,
                Outcome::Refused(_) | Outcome::Failed(_) => continue,
            };
            for write in writes_of(call) {
                self.effects.entry(write.key).or_default().push(Effect {
                    call,
                    write: *write,
                    certain,
                    seen: Micros::MAX,
                });
            }
        }
        for (key, effects) in &mut self.effects {
            effects.sort_by_key(|effect| (effect.earliest(), effect.id()));
            for (place, effect) in effects.iter().enumerate() {
                self.places.insert((*key, effect.id()), place);
            }
        }
    }

    pub(super) fn gather_sightings(&mut self) {
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
                Outcome::Pages { pages, complete, .. } => {
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
        let (Operation::Query { partition, order }, Outcome::Pages { pages, .. }) =
            (&call.operation, &call.outcome)
        else {
            return;
        };
        let rows: Set<Key> = pages.iter().flat_map(|page| &page.rows).map(|(key, _)| *key).collect();
        let (invoked, returned) = match pages.as_slice() {
            [page] => (page.invoked, page.returned),
            _ => (call.invoked, returned),
        };
        let asked = |key: &Key| partition.is_none_or(|partition| partition == key.partition);
        // The winner of a conflict has a place of its own among its like, which the query may have come past before.
        let is_one_answer = matches!(pages.as_slice(), [page] if page.is_one_answer);
        let has_moved = |key: &Key| {
            self.multi_write()
                && *order != Order::Place
                && !is_one_answer
                && self.may_be_another(*key, returned)
        };
        let is_missing = |key: &Key| asked(key) && !rows.contains(key) && !has_moved(key);
        let missing = self.effects.keys().copied().filter(is_missing);
        let saw = |key| Sighting { call, key, trail: None, invoked, returned };
        let sightings: Vec<_> = missing.map(saw).collect();
        self.sightings.extend(sightings);
    }

    pub(super) fn gather_trails(&mut self) {
        let ends = self.history.ends.iter().flat_map(|end| &end.items);
        let ends = ends.filter_map(|(key, trail)| Some((*key, trail.as_deref()?)));
        for (key, trail) in ends.clone() {
            self.at_the_end.extend(trail.iter().map(|number| (key, *number)));
        }
        let mut seen: Map<CallId, Micros> = Map::default();
        for sighting in &self.sightings {
            for number in sighting.trail.unwrap_or(&[]) {
                let first = seen.entry(*number).or_insert(Micros::MAX);
                *first = sighting.returned.min(*first);
            }
        }
        for effect in self.effects.values_mut().flatten() {
            effect.seen = seen.get(&effect.id()).copied().unwrap_or(Micros::MAX);
        }
        let seen = self.sightings.iter().filter_map(|sighting| Some((sighting.key, sighting.trail?)));
        for (key, trail) in seen.chain(ends) {
            for length in 1..=trail.len() {
                self.trails.entry((key, trail[length - 1])).or_insert(&trail[..length]);
            }
        }
    }

    /// Walks through time, and notes what each session had seen when it wrote.
    pub(super) fn gather_causes(&mut self) {
        let mut moments: Vec<(Micros, bool, &'h Call)> = Vec::new();
        for call in &self.history.calls {
            moments.push((call.invoked, false, call));
            moments.extend(call.returned.map(|returned| (returned, true, call)));
        }
        moments.sort_by_key(|(at, ends, call)| (*at, *ends, call.id));
        let mut versions: Map<CallId, Vec<(Key, CallId)>> = Map::default();
        for sighting in &self.sightings {
            let numbers = sighting.trail.unwrap_or(&[]).iter().map(|number| (sighting.key, *number));
            versions.entry(sighting.call.id).or_default().extend(numbers);
        }
        let regions = self.history.account.regions.len();
        let mut sessions: Map<(u32, u32), Floor> = Map::default();
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
                // Of several attempts another region may have taken one too, which lacks what the answering one has.
                if call.sent_once {
                    self.raise_lane(&mut floor, call);
                }
                self.floors.insert(call.id, floor);
            } else if call.has_token || self.tells_session(call) {
                let own = writes_of(call).iter().filter(|_| call.outcome == Outcome::Written);
                let own = own.map(|write| (write.key, call.id));
                for (key, number) in own.chain(versions.remove(&call.id).unwrap_or_default()) {
                    self.seen.entry((call.session, number)).or_insert(at);
                    let Some(mut floor) = self.floors.get(&number).cloned() else { continue };
                    if number == call.id {
                        self.raise_lane(&mut floor, call);
                    }
                    raise(sessions.entry((call.session, key.partition)).or_default(), &floor);
                }
            }
        }
    }

    pub(super) fn gather_losses(&mut self) {
        let account = &self.history.account;
        if account.level == Level::Strong {
            return;
        }
        let mut writers: Set<&str> = account.regions.first().into_iter().map(String::as_str).collect();
        for event in &self.history.events {
            let mut new_writer = None;
            let region = match &event.what {
                Happening::Graceful { to } => {
                    writers.insert(to);
                    continue;
                }
                Happening::Forced { to } | Happening::PartitionForced { to } => {
                    writers.insert(to);
                    new_writer = Some(to.as_str());
                    None
                }
                Happening::RegionLost(region) if account.multi_write => Some(region.as_str()),
                Happening::RegionLost(region) if writers.contains(region.as_str()) => None,
                Happening::RegionLost(_)
                | Happening::RegionRemoved(_)
                | Happening::KeyLapsed
                | Happening::ServerCrashed
                | Happening::Split
                | Happening::Fault(_)
                | Happening::Healed { .. } => continue,
            };
            let mut horizon: Map<u32, Micros> = Map::default();
            // What is there at the end has survived, and what was built upon afterwards.
            let bases = self.trails.iter().filter_map(|((key, number), trail)| {
                let built_upon = self.effect(*key, *number)?.earliest() > event.until;
                let base = trail.split_last()?.1.last().filter(|_| built_upon)?;
                Some((*key, *base))
            });
            // What the new writer had shown it had, with all that came before.
            let shown = self.sightings.iter().filter_map(|sighting| {
                let here = sighting.call.region.as_deref() == new_writer && new_writer.is_some();
                let by_one = matches!(sighting.call.operation, Operation::Read(_));
                // What it had shown before an earlier failover may have been lost with that.
                let since = self.losses.iter().all(|earlier| earlier.until < sighting.invoked);
                let before = sighting.returned < event.at && since;
                let number = sighting.trail?.last().filter(|_| here && by_one && before)?;
                self.effect(sighting.key, *number).map(|_| (sighting.key, *number))
            });
            let shown: Set<(Key, CallId)> = shown.collect();
            for (key, number) in &shown {
                let Some(effect) = self.effect(*key, *number).filter(|_| !account.multi_write) else {
                    continue;
                };
                let known = horizon.entry(key.partition).or_default();
                *known = effect.earliest().max(*known);
            }
            for (key, number) in self.at_the_end.iter().copied().chain(bases) {
                let survivor = self.effect(key, number).filter(|effect| effect.latest() < event.at);
                let Some(survivor) = survivor.filter(|_| !account.multi_write) else { continue };
                let known = horizon.entry(key.partition).or_default();
                *known = survivor.earliest().max(*known);
            }
            self.losses.push(Loss { from: event.at, until: event.until, region, horizon, shown });
        }
    }
}
