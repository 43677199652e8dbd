//! How calls, versions and moments are named in sentences.

use crate::history::{Call, Micros, Operation, Order, Outcome, Refusal, Write, WriteKind};

/// A moment in seconds.
pub(crate) fn moment(at: Micros) -> String {
    format!("{}.{:06} s", at / 1_000_000, at % 1_000_000)
}

/// A call with its number, what was asked, and who asked.
pub(crate) fn name_of_call(call: &Call) -> String {
    format!("call {} ({}, session {})", call.id, name_of_operation(&call.operation), call.session)
}

/// A call with its number, what was asked, who asked, and when.
pub(super) fn call_and_time(call: &Call) -> String {
    let until = call.returned.map_or_else(|| "its process ended".to_owned(), moment);
    format!("{}, {} to {until}", name_of_call(call), moment(call.invoked))
}

/// A version as its trail; "nothing" if there is none.
pub(crate) fn version(trail: Option<&[u64]>) -> String {
    match trail {
        None => "nothing".to_owned(),
        Some(trail) => {
            let numbers: Vec<_> = trail.iter().map(u64::to_string).collect();
            format!("[{}]", numbers.join(" "))
        }
    }
}

pub(crate) fn name_of_operation(operation: &Operation) -> String {
    match operation {
        Operation::Read(key) => format!("read {key}"),
        Operation::ReadMany(keys) => {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            format!("read_many {}", keys.join(" "))
        }
        Operation::Write(write) => name_of_write(write),
        Operation::Batch(writes) => {
            let writes: Vec<_> = writes.iter().map(name_of_write).collect();
            format!("batch {}", writes.join(", "))
        }
        Operation::Query { partition, order } => {
            let of = partition.map_or_else(|| "all".to_owned(), |partition| format!("p{partition}"));
            let order = match order {
                Order::Any => "",
                Order::Place => " in order",
                Order::Tie { falling: false } => " in order with ties",
                Order::Tie { falling: true } => " in falling order with ties",
            };
            format!("query {of}{order}")
        }
    }
}

fn name_of_write(write: &Write) -> String {
    let kind = match write.kind {
        WriteKind::Create => "create",
        WriteKind::Upsert => "upsert",
        WriteKind::Replace => "replace",
        WriteKind::Patch => "patch",
        WriteKind::Delete => "delete",
    };
    let condition = write.if_match.map_or_else(String::new, |version| format!(" if {version}"));
    format!("{kind} {}{condition}", write.key)
}

pub(crate) fn name_of_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Written => "written".to_owned(),
        Outcome::Read(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|(key, trail)| {
                    let seen = version(trail.as_deref());
                    if items.len() == 1 { seen } else { format!("{key} {seen}") }
                })
                .collect();
            items.join(", ")
        }
        Outcome::Pages { pages, complete, .. } => {
            let pages: Vec<_> = pages
                .iter()
                .map(|page| {
                    let rows: Vec<_> = page
                        .rows
                        .iter()
                        .map(|(key, trail)| format!("{key} {}", version(Some(trail))))
                        .collect();
                    rows.join(", ")
                })
                .collect();
            format!("{}{}", pages.join(" | "), if *complete { "" } else { " … and failed" })
        }
        Outcome::Refused(refusal) => match refusal {
            Refusal::NotFound => "not found".to_owned(),
            Refusal::Conflict => "conflict".to_owned(),
            Refusal::Precondition => "precondition failed".to_owned(),
            Refusal::Throttled => "throttled".to_owned(),
            Refusal::Session => "no region has what the session has seen".to_owned(),
            Refusal::Other(status) => format!("refused with {status}"),
        },
        Outcome::Failed(why) => format!("failed: {why}"),
        Outcome::Unknown(why) => format!("unknown: {why}"),
        Outcome::Crashed => "its process ended".to_owned(),
    }
}
