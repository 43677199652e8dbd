//! What is a history worth: how often does what makes checking hard occur in it?
//!
//! A run in which nothing was stale, lost or unknown proves nothing about staleness, loss or unknown outcomes.

use super::facts::{Effect, Facts};
use crate::checker::quick::Set;
use crate::history::{CallId, Happening, History, Key, Micros, Outcome, Refusal};

/// How often what makes checking hard occurs in a history. Whoever makes a scenario knows which of them must not be zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// Acknowledged writes, each item of a batch counted.
    pub acknowledged: usize,
    /// Items that were seen.
    pub seen: usize,
    /// Items that were seen with a session's token, in another region than the one that took the item's version.
    pub seen_elsewhere: usize,
    /// Items that were seen older than what had been acknowledged before.
    pub stale: usize,
    /// Calls that were refused because no region had what the session had seen.
    pub session_refusals: usize,
    /// Writes with an unknown outcome that somebody saw.
    pub unknown_applied: usize,
    /// Writes with an unknown outcome that nobody saw.
    pub unknown_unseen: usize,
    /// Acknowledged writes that a failover has lost.
    pub lost: usize,
    /// Pairs of acknowledged writes to one item in two regions at the same time.
    pub conflicts: usize,
    /// Partitions that split.
    pub splits: usize,
}

/// How many writes a sighting is compared with.
const NEWEST: usize = 8;

impl Worth {
    /// All counts, with what they are called in reports.
    pub fn counts(&self) -> [(&'static str, usize); 10] {
        [
            ("writes acknowledged", self.acknowledged),
            ("items seen", self.seen),
            ("items seen in another region", self.seen_elsewhere),
            ("items seen late", self.stale),
            ("sessions refused", self.session_refusals),
            ("unknown writes seen", self.unknown_applied),
            ("unknown writes not seen", self.unknown_unseen),
            ("acknowledged writes lost", self.lost),
            ("writes in two regions at once", self.conflicts),
            ("partitions split", self.splits),
        ]
    }
}

/// What a history is worth.
pub fn worth(history: &History) -> Worth {
    let facts = Facts::new(history);
    let mut worth = Worth::default();
    for sighting in &facts.sightings {
        let known = |write: &Effect<'_>| write.certain && write.latest() < sighting.invoked;
        let older = |write: &Effect<'_>| facts.behind(sighting.key, sighting.trail, write, sighting.returned);
        // The newest tell.
        let mut newest = facts.effects(sighting.key).iter().rev().filter(|write| known(write)).take(NEWEST);
        worth.stale += usize::from(newest.any(older));
        let Some(trail) = sighting.trail else { continue };
        worth.seen += 1;
        let taken = facts.maker(sighting.key, trail).and_then(|maker| maker.call.region.as_deref());
        let elsewhere = taken.is_some() && taken != sighting.call.region.as_deref();
        worth.seen_elsewhere += usize::from(sighting.call.has_token && elsewhere);
    }
    let numbers = numbers(&facts);
    for key in facts.keys() {
        for write in facts.effects(key) {
            let found = numbers.contains(&(key, write.id()));
            match (write.certain, found) {
                (true, _) => worth.acknowledged += 1,
                (false, true) => worth.unknown_applied += 1,
                (false, false) => worth.unknown_unseen += 1,
            }
        }
        worth.conflicts += conflicts(&facts, key);
    }
    if let Some(end) = history.ends.first() {
        for (key, trail) in &end.items {
            let gone = |write: &&Effect<'_>| {
                write.certain
                    && facts.behind(*key, trail.as_deref(), write, Micros::MAX)
                    && facts.may_be_lost(write, Micros::MAX)
            };
            worth.lost += facts.effects(*key).iter().filter(gone).count();
        }
    }
    let refused = |outcome: &Outcome| *outcome == Outcome::Refused(Refusal::Session);
    worth.session_refusals = history.calls.iter().filter(|call| refused(&call.outcome)).count();
    worth.splits = history.events.iter().filter(|event| event.what == Happening::Split).count();
    worth
}

/// Every number that somebody saw.
fn numbers(facts: &Facts<'_>) -> Set<(Key, CallId)> {
    let sightings = facts.sightings.iter().filter_map(|sighting| Some((sighting.key, sighting.trail?)));
    let ends = facts.history.ends.iter().flat_map(|end| &end.items);
    let ends = ends.filter_map(|(key, trail)| Some((*key, trail.as_deref()?)));
    sightings.chain(ends).flat_map(|(key, trail)| trail.iter().map(move |number| (key, *number))).collect()
}

fn conflicts(facts: &Facts<'_>, key: Key) -> usize {
    if !facts.multi_write() {
        return 0;
    }
    let certain: Vec<_> = facts.effects(key).iter().filter(|write| write.certain).collect();
    let concurrent = |one: &Effect<'_>, other: &Effect<'_>| {
        one.call.region != other.call.region
            && one.latest() >= other.earliest()
            && other.latest() >= one.earliest()
    };
    let later = |place: usize| certain[place + 1..].iter();
    certain
        .iter()
        .enumerate()
        .map(|(place, one)| later(place).filter(|other| concurrent(one, other)).count())
        .sum()
}
