//! Do all regions hold the same at the end and, with several write regions, is it what the conflicts lead to?

use std::collections::BTreeMap;

use super::Violation;
use super::facts::{Effect, Facts};
use super::words::{call_and_time, version};
use crate::history::{CallId, Key, Micros};

/// What each region holds of an item.
type Held<'h> = Vec<(&'h str, Option<&'h [CallId]>)>;

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let mut ends: BTreeMap<Key, Held<'_>> = BTreeMap::new();
    for end in &facts.history.ends {
        for (key, trail) in &end.items {
            ends.entry(*key).or_default().push((&end.region, trail.as_deref()));
        }
    }
    for (key, regions) in ends {
        let Some((region, trail)) = regions.first().copied() else { continue };
        if let Some((other, another)) = regions.iter().find(|(_, another)| *another != trail) {
            let calls = [trail, *another].into_iter().flatten().filter_map(|trail| trail.last().copied());
            found.push(Violation {
                rule: "regions-differ",
                message: format!(
                    "at the end {region} holds {key} as {} and {other} as {}",
                    version(trail),
                    version(*another)
                ),
                calls: calls.collect(),
                at: Micros::MAX,
            });
        } else if facts.multi_write() {
            found.extend(wrong_winner(facts, key, trail));
        }
    }
}

/// The final version was replaced by somebody who had seen it, or lost to a later one.
fn wrong_winner(facts: &Facts<'_>, key: Key, trail: Option<&[CallId]>) -> Option<Violation> {
    let complain = |rule, write: &Effect<'_>, why: &str| {
        Some(Violation {
            rule,
            message: format!(
                "all regions hold {key} as {} at the end, but {} {why}",
                version(trail),
                call_and_time(write.call)
            ),
            calls: trail.and_then(|trail| trail.last()).copied().into_iter().chain([write.id()]).collect(),
            at: write.latest(),
        })
    };
    let kept = |write: &&Effect<'_>| write.certain && !facts.may_be_lost(write, Micros::MAX);
    let superseded =
        facts.effects(key).iter().filter(kept).find(|write| facts.behind(key, trail, write, Micros::MAX));
    if let Some(write) = superseded {
        let why = "was acknowledged, and nothing after it or beside it explains that it is gone";
        return complain("causally-later-write-lost", write, why);
    }
    if let Some(deletion) = beaten_deletion(facts, key, trail) {
        return complain(
            "update-beat-delete",
            deletion,
            "had deleted it, and wins over all that had not seen it",
        );
    }
    // A deletion wins over what had not seen it, and what is made after a deletion over what was there before it.
    if facts.effects(key).iter().any(Effect::deletes) {
        return None;
    }
    let (margin, winner) = (facts.history.account.conflict_margin?, facts.maker(key, trail?)?);
    let later = |write: &&Effect<'_>| {
        write.id() != winner.id()
            && !trail.is_some_and(|trail| trail.contains(&write.id()))
            && winner.latest().saturating_add(margin) < write.earliest()
    };
    let loser = facts.effects(key).iter().filter(kept).find(later)?;
    complain(
        "earlier-write-won",
        loser,
        "was acknowledged later and has the later number at the conflict path",
    )
}

/// A deletion that is not there, though what is there was written before any deletion began.
fn beaten_deletion<'f>(facts: &'f Facts<'f>, key: Key, trail: Option<&[CallId]>) -> Option<&'f Effect<'f>> {
    let winner = facts.maker(key, trail?)?;
    let mut deletions = facts.effects(key).iter().filter(|write| write.deletes());
    let first = deletions.clone().map(Effect::earliest).min()?;
    let kept = |write: &&Effect<'_>| write.certain && !facts.may_be_lost(write, Micros::MAX);
    deletions.find(kept).filter(|_| winner.latest() < first)
}
