//! Is the result of a query one that some state of the container gives?
//!
//! What a row says about its item, and what its absence says, is asked where single reads are asked. Here: whether the
//! rows are those that were asked for, in order, once each, and whether a page is of one moment.

use super::Violation;
use super::facts::{Effect, Facts};
use super::words::{call_and_time, version};
use crate::checker::quick::Map;
use crate::history::{Call, CallId, Key, Operation, Order, Outcome, Page, Trail};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    for call in &facts.history.calls {
        let (Operation::Query { partition, order }, Outcome::Pages { pages, complete, .. }) =
            (&call.operation, &call.outcome)
        else {
            continue;
        };
        let rows = pages.iter().flat_map(|page| &page.rows);
        let rows: Vec<_> = rows.collect();
        if let Some((key, _)) =
            rows.iter().find(|(key, _)| partition.is_some_and(|asked| asked != key.partition))
        {
            found.push(complain("row-not-asked-for", call, &format!("got a row of {key}"), &[]));
        }
        if let Some(pair) = rows.windows(2).find(|pair| is_turned(*order, pair[0].0, pair[1].0)) {
            let what = format!("got {} before {}", pair[0].0, pair[1].0);
            found.push(complain("rows-out-of-order", call, &what, &[]));
        }
        found.extend(twice(facts, call, pages));
        // With several write regions a page is of one moment too, but nothing tells what was before what.
        if partition.is_some() && !facts.multi_write() {
            let whole = pages.len() == 1 && *complete;
            let mut answers = pages.iter().filter(|page| page.is_one_answer);
            found.extend(answers.find_map(|page| torn(facts, call, page, whole)));
        }
    }
}

/// Whether the second of two rows belongs before the first.
fn is_turned(order: Order, first: Key, second: Key) -> bool {
    match order {
        Order::Any => false,
        Order::Place => (first.item, first.partition) > (second.item, second.partition),
        Order::Tie { falling: false } => first.tie() > second.tie(),
        Order::Tie { falling: true } => first.tie() < second.tie(),
    }
}

fn twice(facts: &Facts<'_>, call: &Call, pages: &[Page]) -> Option<Violation> {
    let mut seen: Map<Key, (usize, &Trail)> = Map::default();
    for (number, page) in pages.iter().enumerate() {
        for (key, trail) in &page.rows {
            let Some((before, earlier)) = seen.insert(*key, (number, trail)) else { continue };
            let anew = facts.may_be_another(*key, page.returned);
            let is_same_answer = before == number && page.is_one_answer;
            if is_same_answer || !anew && facts.losses.is_empty() {
                let (first, second) = (version(Some(earlier)), version(Some(trail)));
                let what = format!("got {key} twice, as {first} and as {second}");
                return Some(complain("row-twice", call, &what, &[]));
            }
        }
    }
    None
}

/// A page that has a write of the partition, and lacks one that was acknowledged before that began.
fn torn(facts: &Facts<'_>, call: &Call, page: &Page, whole: bool) -> Option<Violation> {
    let makers = page.rows.iter().filter_map(|(key, trail)| facts.maker(*key, trail));
    let newest = makers.max_by_key(|maker| maker.earliest())?;
    let mut states: Map<Key, Option<&[CallId]>> =
        page.rows.iter().map(|(key, trail)| (*key, Some(trail.as_slice()))).collect();
    if whole {
        let partition = newest.write.key.partition;
        for key in facts.keys().filter(|key| key.partition == partition) {
            states.entry(key).or_insert(None);
        }
    }
    let lacks = |key: Key, trail: Option<&[CallId]>| {
        let missing = |write: &&Effect<'_>| {
            write.certain
                && write.latest() < newest.earliest()
                && facts.behind(key, trail, write, page.returned)
                && !facts.may_be_lost(write, page.returned)
        };
        facts.effects(key).iter().find(missing)
    };
    let mut keys: Vec<_> = states.into_iter().collect();
    keys.sort_unstable();
    keys.into_iter().find_map(|(key, trail)| {
        let write = lacks(key, trail)?;
        let what = format!(
            "has {key} as {} beside what {} made, but {} was acknowledged before that began",
            version(trail),
            call_and_time(newest.call),
            call_and_time(write.call)
        );
        Some(complain("torn-page", call, &what, &[newest.id(), write.id()]))
    })
}

fn complain(rule: &'static str, call: &Call, what: &str, calls: &[CallId]) -> Violation {
    Violation {
        rule,
        message: format!("{} {what}", call_and_time(call)),
        calls: [call.id].into_iter().chain(calls.iter().copied()).collect(),
        at: call.returned.unwrap_or(call.invoked),
    }
}
