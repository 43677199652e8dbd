//! Is a batch seen whole or not at all?
//!
//! By one page of a query of one partition, and by what a region holds at the end; on a Strong account also by one read
//! after another. With several write regions nothing is asked: nobody says whether a conflict can split a batch.

use super::Violation;
use super::facts::{Facts, Sighting};
use super::words::{call_and_time, version};
use crate::checker::quick::Map;
use crate::history::{Call, CallId, Key, Level, Micros, Operation, Outcome};

type Snapshot<'a> = Map<Key, Option<&'a [CallId]>>;

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    if facts.multi_write() {
        return;
    }
    for call in &facts.history.calls {
        let (Operation::Query { partition: Some(partition), .. }, Outcome::Pages { pages, complete, .. }) =
            (&call.operation, &call.outcome)
        else {
            continue;
        };
        for page in pages {
            let mut snapshot: Snapshot<'_> =
                page.rows.iter().map(|(key, trail)| (*key, Some(trail.as_slice()))).collect();
            if pages.len() == 1 && *complete {
                for key in facts.keys().filter(|key| key.partition == *partition) {
                    snapshot.entry(key).or_insert(None);
                }
            }
            let who = call_and_time(call);
            found.extend(half(facts, &snapshot, page.returned, &who, &[call.id]));
        }
    }
    for end in &facts.history.ends {
        let snapshot: Snapshot<'_> = end.items.iter().map(|(key, trail)| (*key, trail.as_deref())).collect();
        let who = format!("{} at the end", end.region);
        found.extend(half(facts, &snapshot, Micros::MAX, &who, &[]));
    }
    if facts.history.account.level == Level::Strong {
        for batch in facts.history.calls.iter().filter(|call| matches!(call.operation, Operation::Batch(_))) {
            found.extend(seen_in_parts(facts, batch));
        }
    }
}

/// A snapshot that has one part of a batch and lacks another one.
fn half(
    facts: &Facts<'_>,
    snapshot: &Snapshot<'_>,
    at: Micros,
    who: &str,
    calls: &[CallId],
) -> Option<Violation> {
    let mut rows: Vec<_> = snapshot.iter().filter_map(|(key, trail)| Some((*key, (*trail)?))).collect();
    rows.sort_unstable();
    for (key, trail) in rows {
        for part in trail.iter().filter_map(|number| facts.effect(key, *number)) {
            for other in facts.effects_of(part.call).filter(|other| other.write.key != key) {
                let place = other.write.key;
                let Some(seen) = snapshot.get(&place) else { continue };
                if facts.behind(place, *seen, other, at) {
                    return Some(Violation {
                        rule: "half-a-batch",
                        message: format!(
                            "{who} saw {key} as {} and {place} as {}: one has what {} wrote, the other is older",
                            version(Some(trail)),
                            version(*seen),
                            call_and_time(part.call)
                        ),
                        calls: calls.iter().copied().chain([part.id()]).collect(),
                        at,
                    });
                }
            }
        }
    }
    None
}

/// Once somebody saw one part of a batch, nobody who reads afterwards misses another.
fn seen_in_parts(facts: &Facts<'_>, batch: &Call) -> Option<Violation> {
    let shows = |sighting: &&Sighting<'_>| sighting.trail.is_some_and(|trail| trail.contains(&batch.id));
    let parts: Vec<_> = facts.effects_of(batch).collect();
    let first = parts
        .iter()
        .flat_map(|part| facts.sightings_of(part.write.key))
        .filter(shows)
        .min_by_key(|sighting| sighting.returned)?;
    for part in &parts {
        let key = part.write.key;
        let missed = facts.sightings_of(key).find(|sighting| {
            sighting.invoked > first.returned && facts.behind(key, sighting.trail, part, sighting.returned)
        });
        if let Some(sighting) = missed.filter(|_| key != first.key) {
            return Some(Violation {
                rule: "half-a-batch",
                message: format!(
                    "{} saw {key} as {}, but {} had seen {} as {} before, which {} wrote with it",
                    call_and_time(sighting.call),
                    version(sighting.trail),
                    call_and_time(first.call),
                    first.key,
                    version(first.trail),
                    call_and_time(batch)
                ),
                calls: vec![sighting.call.id, first.call.id, batch.id],
                at: sighting.returned,
            });
        }
    }
    None
}
