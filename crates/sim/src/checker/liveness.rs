//! Does everything succeed within the bound after the last fault?

use super::Violation;
use super::facts::Facts;
use super::words::{call_and_time, moment, name_of_outcome};
use crate::history::{Call, Happening, Micros, Outcome, Refusal};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let Some(event) = facts.history.events.last() else { return };
    let Happening::Healed { bound } = event.what else { return };
    for call in &facts.history.calls {
        let Some(returned) = call.returned else { continue };
        let due = call.invoked.max(event.until).saturating_add(bound);
        let failed = call.invoked > event.until && !succeeded(facts, call);
        if !failed && returned <= due {
            continue;
        }
        let (rule, what) = if failed {
            ("failure-after-the-last-fault", name_of_outcome(&call.outcome))
        } else {
            ("too-late-after-the-last-fault", format!("ended {} µs late", returned - due))
        };
        found.push(Violation {
            rule,
            message: format!(
                "{}: {what}; the last fault was over at {}",
                call_and_time(call),
                moment(event.until)
            ),
            calls: vec![call.id],
            at: returned,
        });
    }
}

fn succeeded(facts: &Facts<'_>, call: &Call) -> bool {
    match &call.outcome {
        Outcome::Written | Outcome::Read(_) | Outcome::Crashed => true,
        Outcome::Pages { complete, .. } => *complete || may_be_nowhere(facts, call),
        Outcome::Refused(refusal) => match refusal {
            Refusal::NotFound | Refusal::Conflict | Refusal::Precondition => true,
            Refusal::Session => may_be_nowhere(facts, call),
            Refusal::Throttled | Refusal::Other(_) => false,
        },
        Outcome::Failed(_) | Outcome::Unknown(_) => false,
    }
}

/// Whether no region may have what the session has seen: some of it was lost or, with several write regions, seen in two of
/// them of which neither has all.
fn may_be_nowhere(facts: &Facts<'_>, call: &Call) -> bool {
    facts.multi_write() || saw_what_is_lost(facts, call)
}

/// A session that may have seen what a failover lost may be refused for ever.
fn saw_what_is_lost(facts: &Facts<'_>, call: &Call) -> bool {
    let began = |until: Micros| {
        facts.history.calls.iter().any(|other| {
            let learnt = other.has_token || facts.tells_session(other);
            other.session == call.session && learnt && other.invoked <= until && other.id != call.id
        })
    };
    facts.losses.iter().any(|loss| began(loss.until))
}
