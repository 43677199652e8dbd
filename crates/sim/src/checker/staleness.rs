//! Is a read at the level Bounded no further behind than it may be?
//!
//! Asked of accounts with one write region only: with several, the bound is not kept for writes elsewhere.

use super::Violation;
use super::facts::{Effect, Facts, Sighting};
use super::words::{call_and_time, version};
use crate::history::{Call, CallId, Level, Micros, Operation};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let Level::Bounded { commits, time } = facts.history.account.level else { return };
    if facts.multi_write() {
        return;
    }
    for sighting in &facts.sightings {
        let missing = |write: &&Effect<'_>| {
            write.certain
                && write.latest() < sighting.invoked
                && facts.behind(sighting.key, sighting.trail, write, sighting.returned)
                && !facts.may_be_lost(write, sighting.returned)
        };
        let violation = facts
            .effects(sighting.key)
            .iter()
            .filter(missing)
            .find_map(|write| too_old(facts, sighting, write, commits, time))
            .or_else(|| region_goes_back(facts, sighting));
        found.extend(violation);
    }
}

fn too_old(
    facts: &Facts<'_>,
    sighting: &Sighting<'_>,
    write: &Effect<'_>,
    commits: u64,
    time: Micros,
) -> Option<Violation> {
    if write.latest().saturating_add(time) < sighting.invoked && was_held_to(facts, sighting, write, time) {
        let why =
            format!("{} was acknowledged more than {time} µs before it began", call_and_time(write.call));
        return Some(sighting.forbidden("staleness-by-time", &why, &[write.id()]));
    }
    let partition = sighting.key.partition;
    let later: Vec<CallId> = facts
        .history
        .calls
        .iter()
        .filter(|call| call.invoked > write.latest() && call.returned.is_some_and(|at| at < sighting.invoked))
        .filter(|call| {
            facts.effects_of(call).next().is_some_and(|effect| {
                effect.certain
                    && effect.write.key.partition == partition
                    && !facts.may_be_lost(effect, sighting.returned)
            })
        })
        .map(|call| call.id)
        .collect();
    let missing = later.len() as u64 + 1;
    (missing > commits).then(|| {
        let why = format!(
            "{} and {} acknowledged commits of the partition after it are missing, and at most {commits} may be",
            call_and_time(write.call),
            later.len()
        );
        sighting.forbidden("staleness-by-commits", &why, &[write.id()])
    })
}

/// Whether a region must have had a write that was acknowledged more than the bound ago. While a region cannot be reached
/// it is writes that wait, not reads, so that it is late until somebody is told of a later write of the partition.
fn was_held_to(facts: &Facts<'_>, sighting: &Sighting<'_>, write: &Effect<'_>, time: Micros) -> bool {
    let is_later = |call: &Call| {
        call.invoked > write.latest().saturating_add(time)
            && call.returned.is_some_and(|at| at < sighting.invoked)
            && facts.effects_of(call).any(|effect| {
                effect.certain
                    && effect.write.key.partition == sighting.key.partition
                    && !facts.may_be_lost(effect, sighting.returned)
            })
    };
    facts.is_all_quiet() || facts.history.calls.iter().any(is_later)
}

/// A region that showed or took a version does not show an older one.
fn region_goes_back(facts: &Facts<'_>, sighting: &Sighting<'_>) -> Option<Violation> {
    let region = region_of(sighting.call)?;
    let here = |call: &Call| region_of(call) == Some(region);
    let broken = |write: &Effect<'_>| {
        facts.behind(sighting.key, sighting.trail, write, sighting.returned)
            && !facts.may_be_lost(write, sighting.returned)
    };
    let taken = facts.effects(sighting.key).iter().find(|write| {
        write.certain && here(write.call) && write.latest() < sighting.invoked && broken(write)
    });
    if let Some(write) = taken {
        let why = format!("{region} had taken {}", call_and_time(write.call));
        return Some(sighting.forbidden("region-forgets", &why, &[write.id()]));
    }
    let shown = facts
        .sightings_of(sighting.key)
        .filter(|other| other.returned < sighting.invoked && here(other.call));
    for other in shown {
        let Some(maker) = other.trail.and_then(|trail| facts.maker(sighting.key, trail)) else { continue };
        if broken(maker) {
            let why = format!("{region} had shown {} to {}", version(other.trail), call_and_time(other.call));
            return Some(sighting.forbidden("region-goes-back", &why, &[other.call.id, maker.id()]));
        }
    }
    None
}

/// The one region that a call had to do with. Pages and items of one call may come from several.
fn region_of(call: &Call) -> Option<&str> {
    match call.operation {
        Operation::Read(_) | Operation::Write(_) | Operation::Batch(_) => call.region.as_deref(),
        Operation::ReadMany(_) | Operation::Query { .. } => None,
    }
}
