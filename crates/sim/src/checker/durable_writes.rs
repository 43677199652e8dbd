//! Is every acknowledged write there at the end, or superseded?
//!
//! With one write region, acknowledged writes are lost only in an event that may lose them, and then all that came after
//! in the partition are lost too. With several, [`conflicts`](super::conflicts) asks.

use std::collections::BTreeMap;

use super::Violation;
use super::facts::{Effect, Facts};
use super::words::{call_and_time, version};
use crate::checker::quick::Set;
use crate::history::{CallId, Key, Micros};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    if !facts.multi_write() {
        at_the_end(facts, found);
    }
    lost_updates(facts, found);
}

fn at_the_end(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    // Regions that hold the same are told of once.
    let mut ends: BTreeMap<(Key, Option<&[CallId]>), &str> = BTreeMap::new();
    for end in &facts.history.ends {
        for (key, trail) in &end.items {
            ends.entry((*key, trail.as_deref())).or_insert(&end.region);
        }
    }
    for ((key, trail), region) in ends {
        let missing = |write: &&Effect<'_>| write.certain && facts.behind(key, trail, write, Micros::MAX);
        let Some(write) =
            facts.effects(key).iter().rfind(|write| missing(write) && !facts.may_be_lost(write, Micros::MAX))
        else {
            continue;
        };
        let rule = match (write.deletes(), facts.losses.is_empty()) {
            (true, _) => "deleted-item-back",
            (false, true) => "acknowledged-write-lost",
            (false, false) => "hole-in-what-was-lost",
        };
        let why = match rule {
            "hole-in-what-was-lost" => {
                ", and no failover can have lost it: a later one of its partition is there, or none came after it"
            }
            _ => ", and nothing may have lost or replaced it",
        };
        found.push(Violation {
            rule,
            message: format!(
                "{region} holds {key} as {} at the end, but {} was acknowledged{why}",
                version(trail),
                call_and_time(write.call)
            ),
            calls: trail.and_then(|trail| trail.last()).copied().into_iter().chain([write.id()]).collect(),
            at: write.latest(),
        });
    }
}

/// A patch that was applied to something older than what had been acknowledged before the patch began.
fn lost_updates(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let sightings = facts.sightings.iter().filter_map(|sighting| Some((sighting.key, sighting.trail?)));
    let ends = facts.history.ends.iter().flat_map(|end| &end.items);
    let ends = ends.filter_map(|(key, trail)| Some((*key, trail.as_deref()?)));
    let mut known: Set<(Key, &[CallId])> = Set::default();
    for (key, trail) in sightings.chain(ends) {
        for length in (2..=trail.len()).rev() {
            let so_far = &trail[..length];
            if !known.insert((key, so_far)) {
                break;
            }
            let base = &trail[..length - 1];
            let Some(patch) = facts.maker(key, so_far) else { continue };
            let lost = facts.effects(key).iter().find(|write| {
                write.certain
                    && facts.before(write, patch)
                    && facts.behind(key, Some(base), write, Micros::MAX)
                    && !facts.may_be_lost(write, patch.latest())
            });
            if let Some(write) = lost {
                found.push(Violation {
                    rule: "lost-update",
                    message: format!(
                        "{} was applied to {key} as {}, although {} had been acknowledged before",
                        call_and_time(patch.call),
                        version(Some(base)),
                        call_and_time(write.call)
                    ),
                    calls: vec![patch.id(), write.id()],
                    at: patch.call.returned.unwrap_or(patch.earliest()),
                });
            }
        }
    }
}
