//! Is every value one that somebody wrote, whole, and once?

use super::Violation;
use super::facts::{Facts, writes_of};
use super::words::{call_and_time, moment, name_of_call, version};
use crate::checker::quick::{Map, Set};
use crate::history::{CallId, Key, Micros, Operation, Outcome, WriteKind};

/// A trail that somebody saw.
struct Seen<'a> {
    key: Key,
    trail: &'a [CallId],
    at: Micros,
    by: Option<CallId>,
    who: String,
}

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    well_formed(facts, found);
    let mut known = Set::default();
    let mut bases: Map<(Key, CallId), Vec<&[CallId]>> = Map::default();
    for seen in all(facts) {
        if let Some(violation) = garbage(facts, &seen).or_else(|| twice(facts, &seen, &mut bases)) {
            // The same fault is seen by many: the first one tells it.
            if known.insert((violation.rule, seen.key, seen.trail)) {
                found.push(violation);
            }
        }
    }
}

fn all<'a>(facts: &'a Facts<'_>) -> Vec<Seen<'a>> {
    let history = facts.history;
    let calls = facts.sightings.iter().filter_map(|sighting| {
        Some(Seen {
            key: sighting.key,
            trail: sighting.trail?,
            at: sighting.returned,
            by: Some(sighting.call.id),
            who: name_of_call(sighting.call),
        })
    });
    let feeds = history.feeds.iter().flat_map(|feed| {
        feed.changes.iter().filter_map(|change| {
            let trail = change.trail.as_deref()?;
            Some(Seen { key: change.key, trail, at: change.at, by: None, who: format!("feed {}", feed.name) })
        })
    });
    let ends = history.ends.iter().flat_map(|end| {
        end.items.iter().filter_map(|(key, trail)| {
            let who = format!("{} at the end", end.region);
            Some(Seen { key: *key, trail: trail.as_deref()?, at: Micros::MAX, by: None, who })
        })
    });
    calls.chain(feeds).chain(ends).collect()
}

/// A number that nobody wrote there, or not yet, or whose write was refused.
fn garbage(facts: &Facts<'_>, seen: &Seen<'_>) -> Option<Violation> {
    let complain = |rule, number: Option<CallId>, why: String| {
        Some(Violation {
            rule,
            message: format!(
                "{} saw {} as {}{}: {why}",
                seen.who,
                seen.key,
                version(Some(seen.trail)),
                if seen.at == Micros::MAX { String::new() } else { format!(" at {}", moment(seen.at)) }
            ),
            calls: seen.by.into_iter().chain(number).collect(),
            at: seen.at,
        })
    };
    if seen.trail.is_empty() {
        return complain("broken-trail", None, "an item without any number".to_owned());
    }
    for (place, number) in seen.trail.iter().enumerate() {
        let Some(call) = facts.call(*number) else {
            return complain("garbage", None, format!("no call has the number {number}"));
        };
        let Some(write) = writes_of(call).iter().find(|write| write.key == seen.key) else {
            return complain(
                "garbage",
                Some(*number),
                format!("{} does not write this item", name_of_call(call)),
            );
        };
        if call.invoked >= seen.at {
            return complain("future-value", Some(*number), format!("{} had not begun", call_and_time(call)));
        }
        match &call.outcome {
            Outcome::Refused(_) | Outcome::Failed(_) => {
                let why = format!("{} was refused or had failed without effect", call_and_time(call));
                return complain("refused-write-visible", Some(*number), why);
            }
            Outcome::Written
            | Outcome::Unknown(_)
            | Outcome::Crashed
            | Outcome::Read(_)
            | Outcome::Pages { .. } => {}
        }
        let fits = match write.kind {
            WriteKind::Create | WriteKind::Upsert | WriteKind::Replace => place == 0,
            WriteKind::Patch => place > 0,
            WriteKind::Delete => false,
        };
        if !fits {
            return complain(
                "broken-trail",
                Some(*number),
                format!("{} cannot be there", name_of_call(call)),
            );
        }
    }
    None
}

/// A write that was applied twice, or in another order than the one in which it was acknowledged.
fn twice<'a>(
    facts: &Facts<'_>,
    seen: &Seen<'a>,
    bases: &mut Map<(Key, CallId), Vec<&'a [CallId]>>,
) -> Option<Violation> {
    let trail = seen.trail;
    let complain = |rule, numbers: &[CallId], why: &str| {
        Some(Violation {
            rule,
            message: format!("{} saw {} as {}: {why}", seen.who, seen.key, version(Some(trail))),
            calls: seen.by.into_iter().chain(numbers.iter().copied()).collect(),
            at: seen.at,
        })
    };
    for (place, number) in trail.iter().enumerate().skip(1) {
        if trail[..place].contains(number) {
            return complain("applied-twice", &[*number], &format!("call {number} was applied twice"));
        }
        let (base, patch) = (facts.effect(seen.key, trail[place - 1])?, facts.effect(seen.key, *number)?);
        if facts.before(patch, base) {
            let why = format!(
                "{} was applied to what {} made later",
                call_and_time(patch.call),
                call_and_time(base.call)
            );
            return complain("broken-trail", &[base.id(), *number], &why);
        }
        if facts.multi_write() || !facts.losses.is_empty() {
            continue;
        }
        let known = bases.entry((seen.key, *number)).or_default();
        let here = &trail[..place];
        if known.contains(&here) {
            continue;
        }
        // What begins with the same write that can be applied once is one life of the item.
        let root = facts.effect(seen.key, trail[0])?;
        if root.once() && known.iter().any(|other| other[0] == here[0]) {
            let why = format!("call {number} was applied to another version of the same item before");
            return complain("applied-twice", &[*number], &why);
        }
        known.push(here);
    }
    None
}

/// A history that says nothing, or contradicts itself, proves nothing.
fn well_formed(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let history = facts.history;
    let mut complain = |message: String, calls: Vec<CallId>, at| {
        found.push(Violation { rule: "malformed-history", message, calls, at });
    };
    if history.calls.is_empty() && history.orchestrations.is_empty() && history.feeds.is_empty() {
        complain("nothing was seen at all".to_owned(), Vec::new(), 0);
    }
    let mut numbers = Set::default();
    for call in &history.calls {
        let writes = !writes_of(call).is_empty();
        let fits = match &call.outcome {
            Outcome::Written | Outcome::Unknown(_) => writes,
            Outcome::Read(items) => match &call.operation {
                Operation::Read(key) => items.iter().map(|(key, _)| key).eq([key]),
                Operation::ReadMany(keys) => items.iter().map(|(key, _)| key).eq(keys),
                Operation::Write(_) | Operation::Batch(_) | Operation::Query { .. } => false,
            },
            Outcome::Pages { .. } => matches!(call.operation, Operation::Query { .. }),
            Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Crashed => true,
        };
        let ended = call.returned.is_some() != (call.outcome == Outcome::Crashed);
        let in_order = call.returned.is_none_or(|returned| returned >= call.invoked);
        if !fits || !ended || !in_order || !numbers.insert(call.id) {
            complain(
                format!("{} cannot have come to this", call_and_time(call)),
                vec![call.id],
                call.invoked,
            );
        }
    }
}
