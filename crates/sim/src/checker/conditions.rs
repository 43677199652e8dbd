//! Do conditions hold, and does some state during the call explain each refusal?
//!
//! A write goes to the newest version of its item, so both a success and a refusal say what that was. Asked of accounts
//! with one write region: with several, two regions may both accept.

use std::collections::BTreeMap;

use super::Violation;
use super::facts::{Effect, Facts, writes_of};
use super::words::{call_and_time, version};
use crate::history::{Call, CallId, Key, Micros, Outcome, Refusal, Write, WriteKind};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    if facts.multi_write() {
        return;
    }
    for call in &facts.history.calls {
        match &call.outcome {
            Outcome::Written => {
                let broken = writes_of(call).iter().find_map(|write| accepted(facts, call, write));
                found.extend(broken);
            }
            Outcome::Refused(refusal) => found.extend(refused(facts, call, *refusal)),
            Outcome::Read(_)
            | Outcome::Pages { .. }
            | Outcome::Failed(_)
            | Outcome::Unknown(_)
            | Outcome::Crashed => {}
        }
    }
    two_successes(facts, found);
}

/// What makes a state of the item certain during all of a call.
struct Because {
    why: String,
    calls: Vec<CallId>,
}

/// The item was there all the time.
fn there(facts: &Facts<'_>, call: &Call, key: Key) -> Option<Because> {
    let until = call.returned?;
    facts.effects(key).iter().rev().filter(|write| write.id() != call.id).find_map(|maker| {
        let gone = |other: &Effect<'_>| {
            other.deletes()
                && other.id() != call.id
                && other.earliest() < until
                && !facts.before(other, maker)
        };
        let certain = maker.certain
            && !maker.deletes()
            && maker.latest() < call.invoked
            && !facts.effects(key).iter().any(gone)
            && !facts.may_be_lost(maker, until);
        certain.then(|| Because {
            why: format!("{} had made it and nobody can have deleted it", call_and_time(maker.call)),
            calls: vec![maker.id()],
        })
    })
}

/// The item was not there at any time.
fn absent(facts: &Facts<'_>, call: &Call, key: Key) -> Option<Because> {
    let until = call.returned?;
    let effects = facts.effects(key);
    let may_make =
        |other: &&Effect<'_>| !other.deletes() && other.id() != call.id && other.earliest() < until;
    if !effects.iter().any(|other| may_make(&other)) {
        return Some(Because { why: "nobody can have made it".to_owned(), calls: Vec::new() });
    }
    effects.iter().rev().filter(|write| write.id() != call.id).find_map(|deletion| {
        let certain = deletion.certain
            && deletion.deletes()
            && deletion.latest() < call.invoked
            && effects.iter().filter(may_make).all(|other| facts.before(other, deletion))
            && !facts.may_be_lost(deletion, until);
        certain.then(|| Because {
            why: format!("{} had deleted it and nobody can have made it anew", call_and_time(deletion.call)),
            calls: vec![deletion.id()],
        })
    })
}

/// The item had this version all the time, and no other one of the same number.
fn unchanged(facts: &Facts<'_>, call: &Call, key: Key, wanted: CallId) -> Option<Because> {
    let until = call.returned?;
    let maker = facts.effect(key, wanted)?;
    // A version that was written twice has two tags: whoever saw the first one holds a tag that is no longer good.
    let early = facts.sightings_of(key).any(|sighting| {
        sighting.invoked <= maker.latest()
            && sighting.trail.is_some_and(|trail| trail.last() == Some(&wanted))
    });
    let certain = maker.certain
        && !maker.deletes()
        && maker.latest() < call.invoked
        && (maker.once() || !early)
        && !facts.may_be_lost(maker, until);
    let changes = |other: &&Effect<'_>| {
        other.id() != wanted
            && other.id() != call.id
            && other.earliest() < until
            && !facts.before(other, maker)
    };
    let certain = certain && !facts.effects(key).iter().any(|other| changes(&other));
    certain.then(|| Because {
        why: format!("{} had made that version and nobody can have changed it", call_and_time(maker.call)),
        calls: vec![maker.id()],
    })
}

fn accepted(facts: &Facts<'_>, call: &Call, write: &Write) -> Option<Violation> {
    let key = write.key;
    if let Some(wanted) = write.if_match
        && let Some(violation) = overwritten(facts, call, key, wanted)
    {
        return Some(violation);
    }
    match write.kind {
        WriteKind::Create => {
            let because = there(facts, call, key)?;
            Some(complain("create-over-an-item", call, &format!("created {key}"), because))
        }
        WriteKind::Replace | WriteKind::Patch | WriteKind::Delete => {
            let because = absent(facts, call, key)?;
            Some(complain("write-without-an-item", call, &format!("found {key}"), because))
        }
        WriteKind::Upsert => None,
    }
}

/// A condition on a version that had been replaced before the call began.
fn overwritten(facts: &Facts<'_>, call: &Call, key: Key, wanted: CallId) -> Option<Violation> {
    let (own, maker) = (facts.effect(key, call.id)?, facts.effect(key, wanted)?);
    if makes_anew(facts, own, maker) {
        return None;
    }
    let newer = facts.effects(key).iter().find(|other| {
        other.certain
            && facts.before(other, own)
            && facts.before(maker, other)
            && !facts.may_be_lost(other, own.latest())
    })?;
    let because = Because {
        why: format!("{} had replaced that version before", call_and_time(newer.call)),
        calls: vec![wanted, newer.id()],
    };
    Some(complain("condition-ignored", call, &format!("wrote {key} if it is {wanted}"), because))
}

/// Whether an upsert may have found nothing: nobody says what its condition means then.
fn makes_anew(facts: &Facts<'_>, write: &Effect<'_>, maker: &Effect<'_>) -> bool {
    let gone = |other: &Effect<'_>| {
        other.deletes() && other.earliest() < write.latest() && !facts.before(other, maker)
    };
    write.write.kind == WriteKind::Upsert && facts.effects(write.write.key).iter().any(gone)
}

fn refused(facts: &Facts<'_>, call: &Call, refusal: Refusal) -> Option<Violation> {
    let writes = writes_of(call);
    // Of a batch any operation may be the one that was refused: all of them must be impossible.
    let all = |concerns: &dyn Fn(&Write) -> bool, because: &dyn Fn(&Write) -> Option<Because>| {
        let concerned: Vec<_> = writes.iter().filter(|write| concerns(write)).collect();
        let mut reasons: Vec<_> = concerned.iter().map(|write| because(write)).collect::<Option<_>>()?;
        reasons.pop()
    };
    match refusal {
        Refusal::Conflict => {
            let because =
                all(&|write| write.kind == WriteKind::Create, &|write| absent(facts, call, write.key))?;
            Some(complain("unexplained-conflict", call, "found that the item exists", because))
        }
        Refusal::NotFound => {
            let needs_it = |write: &Write| {
                matches!(write.kind, WriteKind::Replace | WriteKind::Patch | WriteKind::Delete)
            };
            let because = all(&needs_it, &|write| there(facts, call, write.key))?;
            Some(complain("unexplained-not-found", call, "did not find the item", because))
        }
        Refusal::Precondition => {
            let because = all(&|write| write.if_match.is_some(), &|write| {
                unchanged(facts, call, write.key, write.if_match?)
            })?;
            Some(complain("unexplained-precondition", call, "found another version", because))
        }
        Refusal::Throttled | Refusal::Session | Refusal::Other(_) => None,
    }
}

/// At most one write replaces a version.
fn two_successes(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let mut successes: BTreeMap<(Key, CallId), Vec<&Effect<'_>>> = BTreeMap::new();
    for key in facts.keys() {
        for write in facts.effects(key).iter().filter(|write| write.certain) {
            if let Some(wanted) = write.write.if_match {
                successes.entry((key, wanted)).or_default().push(write);
            }
        }
    }
    for ((key, wanted), writes) in successes {
        let Some(maker) = facts.effect(key, wanted) else { continue };
        for pair in writes.windows(2) {
            let [first, second] = pair else { continue };
            // A version that is written again between the two has another tag.
            let one_tag = maker.once() || maker.latest() < first.earliest().min(second.earliest());
            let lost = [first, second].iter().any(|write| facts.may_be_lost(write, Micros::MAX));
            let anew = [first, second].iter().any(|write| makes_anew(facts, write, maker));
            if one_tag && !lost && !anew {
                found.push(Violation {
                    rule: "two-successes-on-one-version",
                    message: format!(
                        "both {} and {} replaced {key} as {}",
                        call_and_time(first.call),
                        call_and_time(second.call),
                        version(Some(&[wanted]))
                    ),
                    calls: vec![first.id(), second.id(), wanted],
                    at: second.latest(),
                });
            }
        }
    }
}

fn complain(rule: &'static str, call: &Call, what: &str, because: Because) -> Violation {
    Violation {
        rule,
        message: format!("{} {what}, but {}", call_and_time(call), because.why),
        calls: [call.id].into_iter().chain(because.calls).collect(),
        at: call.returned.unwrap_or(call.invoked),
    }
}
