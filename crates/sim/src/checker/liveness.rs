//! Does everything succeed within the bound after the last fault, and is nobody refused who shows what the account has given?

use super::Violation;
use super::facts::Facts;
use super::words::{call_and_time, moment, name_of_outcome};
use crate::history::{Call, Happening, Level, Micros, Outcome, Refusal, Unended};

/// A call that lasts at least this long may have had a request on its way for longer than what it showed was good: tokens are
/// not used for their last ten seconds, by clocks that are wrong by less than one.
const GOOD_FOR: Micros = 9_000_000;

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    found.extend(facts.history.calls.iter().filter_map(|call| refused_unduly(facts, call)));
    after_the_last_fault(facts, found);
    found.extend(facts.history.unended.iter().map(never_ended));
}

/// Something that was still under way when everything else had long been over.
fn never_ended(unended: &Unended) -> Violation {
    let Unended { what, call, since, until } = unended;
    let message = format!(
        "{what} began at {} and had not ended at {}, and its process lived",
        moment(*since),
        moment(*until)
    );
    Violation { rule: "call-never-ended", message, calls: call.iter().copied().collect(), at: *until }
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
    let is_excused = |refusal: &Refusal| *refusal == Refusal::Session && may_be_nowhere(facts, call);
    match &call.outcome {
        Outcome::Written | Outcome::Read(_) | Outcome::Crashed => true,
        Outcome::Pages { complete, refusal, .. } => *complete || refusal.as_ref().is_some_and(is_excused),
        Outcome::Refused(refusal) => match refusal {
            Refusal::NotFound | Refusal::Conflict | Refusal::Precondition => true,
            Refusal::Session | Refusal::Throttled | Refusal::Other(_) => is_excused(refusal),
        },
        Outcome::Unknown(_) => may_wait_for_others(facts, call),
        Outcome::Failed(_) => false,
    }
}

/// Where several regions write and none may be further behind than a bound: whether a write may have had to wait for others
/// to arrive. Another region is asked meanwhile, and may refuse it for what the item is there; nobody knows then whether the
/// first has applied it.
fn may_wait_for_others(facts: &Facts<'_>, call: &Call) -> bool {
    let Level::Bounded { commits, .. } = facts.history.account.level else { return false };
    // It counts itself.
    !call.sent_once && on_their_way(facts, call).count() as u64 > commits
}

/// Whether no region may have what the session has seen: some of it was lost or, with several write regions, seen in two of
/// them of which neither has all yet.
fn may_be_nowhere(facts: &Facts<'_>, call: &Call) -> bool {
    is_on_its_way(facts, call) || saw_what_is_lost(facts, call)
}

/// With several write regions: whether anything was written so short a time ago that some region may not have it yet.
fn is_on_its_way(facts: &Facts<'_>, call: &Call) -> bool {
    on_their_way(facts, call).next().is_some()
}

/// With several write regions: what was written so short a time ago that some region may not have it yet.
fn on_their_way<'f>(facts: &'f Facts<'_>, call: &Call) -> impl Iterator<Item = &'f Call> {
    let account = &facts.history.account;
    let is_recent = move |other: &&Call| {
        let ended = other.returned.unwrap_or(other.invoked);
        facts.effects_of(other).next().is_some()
            && call.returned.is_none_or(|returned| other.invoked < returned)
            && ended.saturating_add(account.arrives_within) >= call.invoked
    };
    let calls = facts.history.calls.iter().filter(is_recent);
    calls.filter(|_| account.multi_write)
}

/// A session that may have seen what a failover lost may be refused for ever. A token tells of all that the partition had when
/// the session was answered, whoever wrote it.
fn saw_what_is_lost(facts: &Facts<'_>, call: &Call) -> bool {
    let learnt = |other: &&Call| {
        other.session == call.session
            && other.id != call.id
            && (other.has_token || facts.tells_session(other))
    };
    let calls: Vec<&Call> = facts.history.calls.iter().filter(learnt).collect();
    facts.losses.iter().any(|loss| {
        let Some(until) = calls
            .iter()
            .filter(|other| other.invoked <= loss.until)
            .map(|other| other.returned.unwrap_or(Micros::MAX))
            .max()
        else {
            return false;
        };
        facts.keys().any(|key| {
            let effects = facts.effects(key).iter().take_while(|effect| effect.earliest() < until);
            effects
                .filter(|effect| effect.earliest() <= loss.until)
                .any(|effect| facts.may_be_lost_in(loss, effect, call.invoked))
        })
    })
}
