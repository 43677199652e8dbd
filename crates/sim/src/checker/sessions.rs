//! Does each session see what it wrote and what it saw, and what was there before?
//!
//! What a session has seen is a floor for each partition: whatever was acknowledged before something that it saw began. A
//! read with the session's token may be newer than the floor, never older.

use super::Violation;
use super::facts::{Effect, Facts, Floor, Sighting, raise, writes_of};
use super::words::call_and_time;
use crate::checker::quick::Map;
use crate::history::{Call, CallId, Key, Micros, Outcome};

/// What one session has seen so far.
#[derive(Default)]
struct Seen<'f> {
    /// For each partition, the floor and the write that it comes from.
    floors: Map<u32, (Floor, Vec<CallId>)>,
    /// The newest versions that it saw of an item, or made, each with the call that showed it.
    versions: Map<Key, Vec<(&'f Effect<'f>, CallId)>>,
    /// It saw that the item is gone: one of these deletions has happened.
    gone: Map<Key, (Vec<&'f Effect<'f>>, CallId)>,
}

/// For each call that found an item gone, the deletions that may have done it.
type Deletions<'f> = Map<(CallId, Key), Vec<&'f Effect<'f>>>;

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let mut sightings: Map<CallId, Vec<&Sighting<'_>>> = Map::default();
    for sighting in &facts.sightings {
        sightings.entry(sighting.call.id).or_default().push(sighting);
    }
    let mut moments: Vec<(Micros, bool, &Call)> = Vec::new();
    for call in facts.history.calls.iter().filter(|call| call.has_token || facts.tells_session(call)) {
        moments.push((call.invoked, false, call));
        moments.extend(call.returned.map(|returned| (returned, true, call)));
    }
    // What returns at the moment at which another call begins is not before it.
    moments.sort_by_key(|(at, ends, call)| (*at, *ends, call.id));
    let mut sessions: Map<u32, Seen<'_>> = Map::default();
    let mut deletions: Deletions<'_> = Map::default();
    for (_, ends, call) in moments {
        let seen = sessions.entry(call.session).or_default();
        let sightings = sightings.get(&call.id).map_or(&[][..], Vec::as_slice);
        if ends {
            learn(facts, seen, call, sightings, &deletions);
        } else {
            for sighting in sightings {
                deletions.insert((call.id, sighting.key), explain(facts, seen, sighting));
            }
            found.extend(sightings.iter().filter_map(|sighting| look(facts, seen, sighting)));
        }
    }
}

fn learn<'f>(
    facts: &'f Facts<'f>,
    seen: &mut Seen<'f>,
    call: &Call,
    sightings: &[&Sighting<'_>],
    deletions: &Deletions<'f>,
) {
    if call.outcome == Outcome::Written {
        for write in writes_of(call) {
            if let Some(effect) = facts.effect(write.key, call.id) {
                learn_version(facts, seen, effect, &facts.floor_of_answer(effect), call.id);
            }
        }
    }
    for sighting in sightings {
        match sighting.trail {
            Some(trail) => {
                let Some(maker) = facts.maker(sighting.key, trail) else { continue };
                // Whoever has seen one part of a batch has seen all of it.
                for effect in facts.effects_of(maker.call) {
                    learn_version(facts, seen, effect, &facts.floor_of(effect), call.id);
                }
            }
            None => {
                let deletions =
                    deletions.get(&(call.id, sighting.key)).filter(|deletions| !deletions.is_empty());
                if let Some(deletions) = deletions {
                    seen.gone.insert(sighting.key, (deletions.clone(), call.id));
                }
            }
        }
    }
}

/// Which deletions explain that an item is gone that the session knew when the call began.
fn explain<'f>(facts: &'f Facts<'f>, seen: &Seen<'f>, sighting: &Sighting<'_>) -> Vec<&'f Effect<'f>> {
    let known = seen.versions.get(&sighting.key).and_then(|known| known.last());
    let Some((known, _)) = known.filter(|_| sighting.trail.is_none()) else { return Vec::new() };
    let may_be = |effect: &&Effect<'_>| {
        effect.deletes() && effect.earliest() < sighting.returned && !facts.before(effect, known)
    };
    facts.effects(sighting.key).iter().filter(may_be).collect()
}

fn learn_version<'f>(
    facts: &'f Facts<'f>,
    seen: &mut Seen<'f>,
    effect: &'f Effect<'f>,
    its_floor: &Floor,
    by: CallId,
) {
    let key = effect.write.key;
    let (floor, sources) = seen.floors.entry(key.partition).or_default();
    let before = floor.clone();
    raise(floor, its_floor);
    if *floor != before {
        sources.push(effect.id());
    }
    let known = seen.versions.entry(key).or_default();
    if known.iter().all(|(other, _)| other.id() != effect.id()) {
        known.retain(|(other, _)| !facts.before(other, effect));
        known.push((effect, by));
    }
}

fn look(facts: &Facts<'_>, seen: &Seen<'_>, sighting: &Sighting<'_>) -> Option<Violation> {
    let key = sighting.key;
    let broken = |write: &Effect<'_>| {
        facts.behind(key, sighting.trail, write, sighting.returned)
            && !facts.may_be_lost(write, sighting.returned)
    };
    let versions = seen.versions.get(&key).map_or(&[][..], Vec::as_slice);
    if let Some((write, by)) = versions.iter().find(|(write, _)| broken(write)) {
        let own = write.call.session == sighting.call.session && *by == write.id();
        let rule = if own { "read-your-writes" } else { "monotonic-reads" };
        let why = if own {
            format!("the session had written {} by {}", key, call_and_time(write.call))
        } else {
            format!("the session had seen by call {by} what {} wrote", call_and_time(write.call))
        };
        return Some(sighting.forbidden(rule, &why, &[write.id(), *by]));
    }
    if let Some((deletions, by)) = seen.gone.get(&key)
        && deletions.iter().all(|deletion| broken(deletion))
    {
        let why = format!("the session had seen by call {by} that it was deleted since");
        let calls: Vec<_> = deletions.iter().map(|deletion| deletion.id()).chain([*by]).collect();
        return Some(sighting.forbidden("monotonic-reads", &why, &calls));
    }
    let (floor, sources) = seen.floors.get(&key.partition)?;
    let below = |write: &&Effect<'_>| facts.covers(floor, write) && broken(write);
    let write = facts.effects(key).iter().rfind(below)?;
    let source = sources.iter().rev().filter_map(|id| facts.call(*id)).find(|source| {
        facts.effects_of(source).any(|source| facts.covers(&facts.floor_of_answer(source), write))
    });
    let why = format!(
        "{} was acknowledged before {} began, which the session has seen",
        call_and_time(write.call),
        source.map_or_else(|| "something".to_owned(), call_and_time)
    );
    let calls: Vec<_> = [write.id()].into_iter().chain(source.map(|source| source.id)).collect();
    Some(sighting.forbidden(rule_of_floor(facts, write, source), &why, &calls))
}

/// What the writer of what the session saw had to do with the write that the session does not see.
fn rule_of_floor(facts: &Facts<'_>, write: &Effect<'_>, source: Option<&Call>) -> &'static str {
    let Some(source) = source else { return "session-floor" };
    if source.session == write.call.session {
        return "monotonic-writes";
    }
    let read_before = facts.sightings.iter().any(|sighting| {
        sighting.call.session == source.session
            && sighting.returned < source.invoked
            && sighting.trail.is_some_and(|trail| trail.contains(&write.id()))
    });
    if read_before { "writes-follow-reads" } else { "session-floor" }
}
