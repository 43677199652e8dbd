//! What of a history is shown with a violation.

use std::collections::HashSet;

use crate::checker::Violation;
use crate::checker::words::{name_of_operation, name_of_outcome};
use crate::history::{Call, Event, Happening, History, Key, Micros, Operation, Orchestration, Outcome};

/// More than this is not read.
const MOST_ROWS: usize = 40;
const MOST_EVENTS: usize = 12;

/// What is shown, in the order of time.
pub(super) struct Scene<'h> {
    pub(super) bars: Vec<Bar<'h>>,
    pub(super) events: Vec<&'h Event>,
    pub(super) from: Micros,
    pub(super) to: Micros,
    /// Calls on the same items that are not shown, before and after.
    pub(super) left_out: usize,
}

/// One call, or one step of an orchestration.
pub(super) struct Bar<'h> {
    pub(super) from: Micros,
    /// `None` if its process ended first.
    pub(super) to: Option<Micros>,
    /// Which lane it is in.
    pub(super) lane: String,
    pub(super) region: Option<&'h str>,
    pub(super) what: String,
    pub(super) outcome: String,
    /// Whether the violation names it.
    pub(super) marked: bool,
}

pub(super) fn scene<'h>(history: &'h History, violation: &Violation) -> Scene<'h> {
    let named: HashSet<_> = violation.calls.iter().copied().collect();
    let marked: Vec<_> = history.calls.iter().filter(|call| named.contains(&call.id)).collect();
    let keys: HashSet<Key> = marked.iter().flat_map(|call| keys_of(call)).collect();
    let concerned =
        |call: &&&Call| !named.contains(&call.id) && keys_of(call).iter().any(|key| keys.contains(key));
    let mut others: Vec<_> = history.calls.iter().collect::<Vec<_>>();
    others.retain(|call| concerned(&call));
    let distance = |call: &&Call| {
        let from = |marked: &&Call| marked.invoked.abs_diff(call.invoked);
        marked.iter().map(from).min().unwrap_or(Micros::MAX)
    };
    others.sort_by_key(distance);
    let room = MOST_ROWS.saturating_sub(marked.len());
    let left_out = others.len().saturating_sub(room);
    others.truncate(room);
    let mut bars: Vec<_> =
        marked.into_iter().chain(others).map(|call| bar(call, named.contains(&call.id))).collect();
    if let Some(one) = orchestration(history, violation) {
        bars.extend(steps(history, one));
    }
    bars.sort_by_key(|bar| bar.from);
    let ends = bars.iter().map(|bar| bar.to.unwrap_or(bar.from)).chain([violation.at]);
    let to = ends.max().unwrap_or(violation.at);
    let from = bars.iter().map(|bar| bar.from).min().unwrap_or(violation.at).min(violation.at);
    Scene { events: events(history, from, to), bars, from, to: to.max(from.saturating_add(1)), left_out }
}

fn bar(call: &Call, marked: bool) -> Bar<'_> {
    Bar {
        from: call.invoked,
        to: call.returned,
        lane: format!("session {}", call.session),
        region: call.region.as_deref(),
        what: format!("{} {}", call.id, name_of_operation(&call.operation)),
        outcome: name_of_outcome(&call.outcome),
        marked,
    }
}

/// The orchestration that the violation is about: its message begins with the instance.
fn orchestration<'h>(history: &'h History, violation: &Violation) -> Option<&'h Orchestration> {
    let about = |one: &&Orchestration| {
        let rest = violation.message.strip_prefix(one.instance.as_str());
        violation.calls.is_empty() && rest.is_some_and(|rest| rest.starts_with([' ', ',']))
    };
    history.orchestrations.iter().find(about)
}

fn steps<'h>(history: &'h History, one: &'h Orchestration) -> impl Iterator<Item = Bar<'h>> {
    let lane = |process| format!("process {process}");
    let started = Bar {
        from: one.invoked,
        to: one.ended.as_ref().map(|(at, _)| *at),
        lane: one.instance.clone(),
        region: None,
        what: "from start to end".to_owned(),
        outcome: one
            .ended
            .as_ref()
            .map_or_else(|| "has not ended".to_owned(), |(_, ending)| format!("{ending:?}")),
        marked: true,
    };
    let ran = history.ledger.iter().filter(|entry| entry.instance == one.instance).map(move |entry| Bar {
        from: entry.at,
        to: Some(entry.at),
        lane: lane(entry.process),
        region: None,
        what: entry.step.clone(),
        outcome: match (entry.finished, entry.disturbed) {
            (true, false) => "done".to_owned(),
            (true, true) => "done, disturbed".to_owned(),
            (false, _) => "not finished".to_owned(),
        },
        marked: true,
    });
    [started].into_iter().chain(ran)
}

/// Those within the time that is shown, and before it those that may have lost something and the last few.
fn events(history: &History, from: Micros, to: Micros) -> Vec<&Event> {
    let inside = |event: &&Event| event.until >= from && event.at <= to;
    let weighty = |event: &&Event| match event.what {
        Happening::Forced { .. }
        | Happening::PartitionForced { .. }
        | Happening::RegionLost(_)
        | Happening::Healed { .. } => true,
        Happening::Graceful { .. }
        | Happening::RegionRemoved(_)
        | Happening::KeyLapsed
        | Happening::ServerCrashed
        | Happening::Split
        | Happening::Fault(_) => false,
    };
    let mut shown: Vec<_> = history.events.iter().filter(|event| inside(event) || weighty(event)).collect();
    while shown.len() > MOST_EVENTS {
        // What is farthest from the time that is shown goes first.
        let far = |event: &&&Event| from.saturating_sub(event.at).max(event.at.saturating_sub(to));
        let Some(place) = (0..shown.len()).max_by_key(|place| far(&&shown[*place])) else { break };
        shown.remove(place);
    }
    shown
}

/// What was done, in a few words.
pub(super) fn name_of_event(event: &Event) -> String {
    match &event.what {
        Happening::Graceful { to } => format!("writes move to {to}"),
        Happening::Forced { to } => format!("writes are forced to {to}"),
        Happening::PartitionForced { to } => format!("writes of a partition are forced to {to}"),
        Happening::RegionLost(region) => format!("{region} is lost"),
        Happening::RegionRemoved(region) => format!("{region} leaves"),
        Happening::KeyLapsed => "the key that callers have is not the account's".to_owned(),
        Happening::ServerCrashed => "the server crashes".to_owned(),
        Happening::Split => "a partition splits".to_owned(),
        Happening::Fault(what) => what.clone(),
        Happening::Healed { .. } => "the last fault is over".to_owned(),
    }
}

fn keys_of(call: &Call) -> Vec<Key> {
    match (&call.operation, &call.outcome) {
        (Operation::Read(key), _) => vec![*key],
        (Operation::ReadMany(keys), _) => keys.clone(),
        (Operation::Write(write), _) => vec![write.key],
        (Operation::Batch(writes), _) => writes.iter().map(|write| write.key).collect(),
        (Operation::Query { .. }, Outcome::Pages { pages, .. }) => {
            pages.iter().flat_map(|page| &page.rows).map(|(key, _)| *key).collect()
        }
        (Operation::Query { .. }, _) => Vec::new(),
    }
}
