//! Does everything succeed within the bound after the last fault, and is nobody refused who shows what the account has given?

use super::Violation;
use super::facts::Facts;
use super::words::{call_and_time, moment, name_of_outcome};
use crate::history::{Call, Happening, Micros, Outcome, Refusal};

/// A call that lasts at least this long may have had a request on its way for longer than what it showed was good: tokens are
/// not used for their last ten seconds, by clocks that are wrong by less than one.
const GOOD_FOR: Micros = 9_000_000;

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    found.extend(facts.history.calls.iter().filter_map(|call| refused_unduly(facts, call)));
    after_the_last_fault(facts, found);
}

/// A call that was refused as one of a stranger, although the key that callers had was good all the time.
fn refused_unduly(facts: &Facts<'_>, call: &Call) -> Option<Violation> {
    let returned = call.returned.filter(|_| call.outcome == Outcome::Refused(Refusal::Other(401)))?;
    let lapses = facts.history.events.iter().filter(|event| event.what == Happening::KeyLapsed);
    let mut lapses = lapses.filter(|lapse| call.invoked <= lapse.until && lapse.at <= returned);
    if lapses.next().is_some() || returned - call.invoked >= GOOD_FOR {
        return None;
    }
    let message = format!("{}: refused with 401, although its credential was good", call_and_time(call));
    Some(Violation { rule: "refused-with-a-good-credential", message, calls: vec![call.id], at: returned })
}

fn after_the_last_fault(facts: &Facts<'_>, found: &mut Vec<Violation>) {
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
        Outcome::Pages { complete, .. } => *complete || saw_what_is_lost(facts, call),
        Outcome::Refused(refusal) => match refusal {
            Refusal::NotFound | Refusal::Conflict | Refusal::Precondition => true,
            Refusal::Session => saw_what_is_lost(facts, call),
            Refusal::Throttled | Refusal::Other(_) => false,
        },
        Outcome::Failed(_) | Outcome::Unknown(_) => false,
    }
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
