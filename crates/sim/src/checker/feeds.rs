//! Are change feeds complete and in order?
//!
//! A failover may lose versions that a feed has given, or that it was to give. Only these may be missing, and only after one
//! of these may something older be given: what has survived is asked for as ever.

use std::collections::BTreeMap;

use super::Violation;
use super::facts::{Effect, Facts};
use super::words::{call_and_time, moment, version};
use crate::checker::quick::{Map, Set};
use crate::history::{CallId, Change, Feed, FeedKind, Key, Micros, WriteKind};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    for feed in &facts.history.feeds {
        // A processor repeats what was not recorded as done, so what it gives goes back; but not while nothing fails.
        let straight = match feed.kind {
            FeedKind::Latest | FeedKind::AllVersions => true,
            FeedKind::Processor => facts.is_all_quiet(),
        };
        if straight {
            found.extend(out_of_order(facts, feed));
            found.extend(twice(facts, feed));
        }
        if feed.kind == FeedKind::AllVersions && !facts.multi_write() {
            found.extend(broken_chain(facts, feed));
        }
        if !facts.multi_write() {
            found.extend(skipped(facts, feed));
        }
        if feed.drained {
            found.extend(incomplete(facts, feed, straight));
        }
    }
}

/// An older change after a newer one: of the same item or, with one write region, of the same partition.
fn out_of_order(facts: &Facts<'_>, feed: &Feed) -> Option<Violation> {
    let mut before: Map<Key, Vec<&Effect<'_>>> = Map::default();
    let mut newest: Map<u32, &Effect<'_>> = Map::default();
    for change in &feed.changes {
        let Some(maker) = change.trail.as_deref().and_then(|trail| facts.maker(change.key, trail)) else {
            continue;
        };
        let same = before.entry(change.key).or_default();
        // With several write regions, another attempt of the later write may have come here before.
        let came_once = |other: &Effect<'_>| !facts.multi_write() || other.call.sent_once;
        let later = same.iter().find(|other| facts.before(maker, other) && came_once(other)).copied();
        let later = later.or_else(|| {
            let other = newest.get(&change.key.partition).copied()?;
            (!facts.multi_write() && facts.before(maker, other)).then_some(other)
        });
        if let Some(later) = later {
            let what = format!(
                "gave what {} made after what {} made later",
                call_and_time(maker.call),
                call_and_time(later.call)
            );
            return Some(complain("feed-out-of-order", feed, change.at, &what, &[maker.id(), later.id()]));
        }
        if is_lost(facts, maker) {
            continue;
        }
        same.push(maker);
        let known = newest.entry(change.key.partition).or_insert(maker);
        if maker.earliest() > known.earliest() {
            *known = maker;
        }
    }
    None
}

fn twice(facts: &Facts<'_>, feed: &Feed) -> Option<Violation> {
    let mut given: Set<(Key, CallId)> = Set::default();
    for change in &feed.changes {
        let Some(maker) = change.trail.as_deref().and_then(|trail| facts.maker(change.key, trail)) else {
            continue;
        };
        // A write that is sent again may be applied again, which is another change.
        let one = maker.once();
        if !given.insert((change.key, maker.id())) && one && !facts.multi_write() {
            let what = format!("gave {} twice as {} made it", change.key, call_and_time(maker.call));
            return Some(complain("change-twice", feed, change.at, &what, &[maker.id()]));
        }
    }
    None
}

/// In a feed of all versions each one is made from the one before, of those that were not lost.
fn broken_chain(facts: &Facts<'_>, feed: &Feed) -> Option<Violation> {
    let mut given: Map<Key, Vec<Option<&[CallId]>>> = Map::default();
    for change in &feed.changes {
        let trail = change.trail.as_deref();
        let versions = given.entry(change.key).or_default();
        let newest = versions.last().copied().flatten();
        // Of what was there when a feed begins in the middle, nothing is known.
        while let Some(before) = versions.last().copied().or((feed.since == 0).then_some(None)) {
            if follows(facts, change, before) {
                break;
            }
            let may_be_gone = match before {
                Some(trail) => facts.maker(change.key, trail).is_some_and(|maker| is_lost(facts, maker)),
                None => {
                    facts.effects(change.key).iter().any(|write| write.deletes() && is_lost(facts, write))
                }
            };
            if versions.is_empty() || !may_be_gone {
                let what = format!(
                    "gave {} as {} right after {}: something between them is missing",
                    change.key,
                    version(trail),
                    version(newest)
                );
                return Some(complain("feed-skips", feed, change.at, &what, &last_of(change)));
            }
            versions.pop();
        }
        versions.push(trail);
    }
    None
}

/// Whether a change can be the next one after a version.
fn follows(facts: &Facts<'_>, change: &Change, before: Option<&[CallId]>) -> bool {
    match change.trail.as_deref() {
        None => before.is_some(),
        Some([base @ .., _]) if !base.is_empty() => Some(base) == before,
        Some(trail) => match facts.maker(change.key, trail).map(|maker| maker.write.kind) {
            Some(WriteKind::Create) => before.is_none(),
            Some(WriteKind::Replace) => before.is_some(),
            Some(WriteKind::Upsert | WriteKind::Patch | WriteKind::Delete) | None => true,
        },
    }
}

/// Whether a failover may have lost what a write made.
fn is_lost(facts: &Facts<'_>, write: &Effect<'_>) -> bool {
    facts.may_be_lost(write, Micros::MAX)
}

/// Something later of the partition was given, and this never.
fn skipped(facts: &Facts<'_>, feed: &Feed) -> Option<Violation> {
    let mut given: Set<(Key, CallId)> = Set::default();
    let mut newest: BTreeMap<u32, (&Effect<'_>, Micros)> = BTreeMap::new();
    for change in &feed.changes {
        let Some(maker) = change.trail.as_deref().and_then(|trail| facts.maker(change.key, trail)) else {
            continue;
        };
        given.insert((change.key, maker.id()));
        let known = newest.entry(change.key.partition).or_insert((maker, change.at));
        if maker.earliest() > known.0.earliest() {
            *known = (maker, change.at);
        }
    }
    for key in facts.keys() {
        let Some((later, at)) = newest.get(&key.partition) else { continue };
        let missing = facts.effects(key).iter().find(|write| {
            let superseded = || {
                feed.kind != FeedKind::AllVersions
                    && facts
                        .effects(key)
                        .iter()
                        .any(|other| other.id() != write.id() && !facts.before(other, write))
            };
            write.certain
                && !write.deletes()
                && write.earliest() >= feed.since
                && !given.contains(&(key, write.id()))
                && facts.before(write, later)
                && !superseded()
                && !is_lost(facts, write)
        });
        if let Some(write) = missing {
            let what = format!(
                "gave what {} made and not what {} had made before",
                call_and_time(later.call),
                call_and_time(write.call)
            );
            return Some(complain("feed-skips", feed, *at, &what, &[later.id(), write.id()]));
        }
    }
    None
}

/// A feed that was read to its end leads to what the container holds.
fn incomplete(facts: &Facts<'_>, feed: &Feed, straight: bool) -> Option<Violation> {
    let at = feed.changes.last().map_or(0, |change| change.at);
    for (key, end) in facts.history.ends.first().map_or(&[][..], |end| &end.items) {
        let mut changes = feed.changes.iter().filter(|change| change.key == *key);
        let maker = end.as_deref().and_then(|trail| facts.maker(*key, trail));
        let owed = maker.is_some_and(|maker| maker.earliest() >= feed.since);
        let holds = version(end.as_deref());
        // What was lost may have stood in the place of what is there again.
        let was_hidden = facts.effects(*key).iter().any(|write| {
            let later = |maker: &Effect<'_>| maker.id() != write.id() && !facts.before(write, maker);
            is_lost(facts, write) && maker.is_none_or(later)
        });
        let owed = owed && (feed.kind == FeedKind::AllVersions || !was_hidden);
        if owed && !changes.clone().any(|change| change.trail == *end) {
            let what = format!("was read to its end and never gave {key} as {holds}, which is what it is");
            return Some(complain(
                "feed-incomplete",
                feed,
                at,
                &what,
                &maker.map(Effect::id).into_iter().collect::<Vec<_>>(),
            ));
        }
        let vanishes = feed.kind != FeedKind::AllVersions && end.is_none();
        if straight
            && !vanishes
            && !was_hidden
            && let Some(last) = changes.next_back().filter(|last| last.trail != *end)
        {
            let what = format!(
                "was read to its end and gave {key} as {} last, but it is {holds}",
                version(last.trail.as_deref())
            );
            return Some(complain("feed-incomplete", feed, last.at, &what, &last_of(last)));
        }
        if feed.kind == FeedKind::AllVersions && !facts.multi_write() {
            let given = |write: &&Effect<'_>| {
                changes_of(feed, *key)
                    .any(|change| change.trail.as_deref().and_then(<[CallId]>::last) == Some(&write.id()))
            };
            let owed = |write: &&Effect<'_>| {
                write.certain && write.earliest() >= feed.since && !is_lost(facts, write)
            };
            let (deletions, makers): (Vec<_>, Vec<_>) =
                facts.effects(*key).iter().filter(owed).partition(|write| write.deletes());
            let missing = makers.iter().find(|write| !given(write));
            if let Some(write) = missing {
                let what =
                    format!("was read to its end and never gave what {} made", call_and_time(write.call));
                return Some(complain("feed-incomplete", feed, at, &what, &[write.id()]));
            }
            if changes_of(feed, *key).filter(|change| change.trail.is_none()).count() < deletions.len() {
                let what =
                    format!("was read to its end and gave fewer deletions of {key} than were acknowledged");
                let calls: Vec<_> = deletions.iter().map(|write| write.id()).collect();
                return Some(complain("feed-incomplete", feed, at, &what, &calls));
            }
        }
    }
    None
}

fn changes_of(feed: &Feed, key: Key) -> impl Iterator<Item = &Change> {
    feed.changes.iter().filter(move |change| change.key == key)
}

fn last_of(change: &Change) -> Vec<CallId> {
    change.trail.iter().filter_map(|trail| trail.last().copied()).collect()
}

fn complain(rule: &'static str, feed: &Feed, at: Micros, what: &str, calls: &[CallId]) -> Violation {
    let message = format!("feed {} at {}: it {what}", feed.name, moment(at));
    Violation { rule, message, calls: calls.to_vec(), at }
}
