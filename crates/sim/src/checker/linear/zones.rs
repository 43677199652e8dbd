//! Linearisability by pairs of calls.
//!
//! Versions name their writes. From the end of an acknowledged write until the beginning of the last read that saw its
//! version, the item had that version: this is its zone. No other version may be seen within a zone, nor after its
//! beginning if the other version was not written after its end. What is known to have been written is never followed
//! by a read of something older.

use crate::checker::Violation;
use crate::checker::facts::{Effect, Facts, Sighting};
use crate::checker::quick::Map;
use crate::checker::words::{call_and_time, version};
use crate::history::{CallId, Key, Micros};

struct Zone<'f> {
    write: &'f Effect<'f>,
    last: &'f Sighting<'f>,
}

impl Zone<'_> {
    fn from(&self) -> Micros {
        self.write.latest()
    }

    fn to(&self) -> Micros {
        self.last.invoked
    }
}

/// The first contradiction: those that follow from it say no more.
pub(super) fn check(facts: &Facts<'_>, key: Key) -> Option<Violation> {
    let shown = Shown::new(facts, key);
    let zones = shown.zones(facts, key);
    facts
        .sightings_of(key)
        .find_map(|sighting| stale(facts, sighting, &shown))
        .or_else(|| facts.sightings_of(key).find_map(|sighting| within(facts, sighting, &zones)))
}

/// When writes were seen.
struct Shown<'f> {
    /// The first sighting of anything that has the write in it.
    first: Map<CallId, &'f Sighting<'f>>,
    /// The last one of the version that the write made.
    last: Map<CallId, &'f Sighting<'f>>,
}

impl<'f> Shown<'f> {
    fn new(facts: &'f Facts<'f>, key: Key) -> Self {
        let mut shown = Self { first: Map::default(), last: Map::default() };
        for sighting in facts.sightings_of(key) {
            let Some(trail) = sighting.trail else { continue };
            for number in trail {
                let first = shown.first.entry(*number).or_insert(sighting);
                if sighting.returned < first.returned {
                    *first = sighting;
                }
            }
            let Some(number) = trail.last() else { continue };
            let last = shown.last.entry(*number).or_insert(sighting);
            if sighting.invoked > last.invoked {
                *last = sighting;
            }
        }
        shown
    }

    fn zones(&self, facts: &'f Facts<'f>, key: Key) -> Vec<Zone<'f>> {
        let certain = facts.effects(key).iter().filter(|write| write.certain);
        certain
            .filter_map(|write| {
                let last = *self.last.get(&write.id())?;
                (write.latest() < last.invoked).then_some(Zone { write, last })
            })
            .collect()
    }
}

/// Something older than what was known when the read began.
fn stale(facts: &Facts<'_>, sighting: &Sighting<'_>, shown: &Shown<'_>) -> Option<Violation> {
    let key = sighting.key;
    facts.effects(key).iter().find_map(|write| {
        let acknowledged = write.certain && write.latest() < sighting.invoked;
        let shown = shown.first.get(&write.id()).filter(|shown| shown.returned < sighting.invoked);
        if !(acknowledged || shown.is_some()) || !facts.behind(key, sighting.trail, write, sighting.returned)
        {
            return None;
        }
        if acknowledged {
            let why = format!("{} was acknowledged before it began", call_and_time(write.call));
            return Some(sighting.forbidden("stale-read", &why, &[write.id()]));
        }
        let shown = shown?;
        let why = format!("{} had seen {} before", call_and_time(shown.call), version(shown.trail));
        Some(sighting.forbidden("new-then-old", &why, &[shown.call.id, write.id()]))
    })
}

/// Another version is seen within a zone, or after the beginning of one that its write cannot have outlasted.
fn within(facts: &Facts<'_>, sighting: &Sighting<'_>, zones: &[Zone<'_>]) -> Option<Violation> {
    let maker = sighting.trail.and_then(|trail| facts.maker(sighting.key, trail));
    let over = |zone: &Zone<'_>| maker.is_some_and(|maker| maker.latest() < zone.to());
    let other = |zone: &&Zone<'_>| {
        sighting.invoked > zone.from()
            && (sighting.returned < zone.to() || over(zone))
            && sighting.trail.is_none_or(|trail| trail.last() != Some(&zone.write.id()))
    };
    let zone = zones.iter().find(other)?;
    let why = format!(
        "from before it began the version of {} was there until {} saw it",
        call_and_time(zone.write.call),
        call_and_time(zone.last.call)
    );
    Some(sighting.forbidden("new-then-old", &why, &[zone.write.id(), zone.last.call.id]))
}
