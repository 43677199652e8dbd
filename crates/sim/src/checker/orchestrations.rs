//! Did every orchestration do each of its steps exactly once, and come to its end?

use std::collections::BTreeMap;

use super::Violation;
use super::facts::Facts;
use super::words::moment;
use crate::checker::quick::{Map, Set};
use crate::history::{Ending, Entry, Given, Happening, Kept, Micros, Orchestration};

/// What ran, by instance and step.
type Steps<'h> = BTreeMap<(&'h str, &'h str), Vec<&'h Entry>>;

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) {
    let history = facts.history;
    let mut steps: Steps<'_> = BTreeMap::new();
    for entry in &history.ledger {
        steps.entry((&entry.instance, &entry.step)).or_default().push(entry);
    }
    for ((instance, step), entries) in &mut steps {
        entries.sort_by_key(|entry| entry.at);
        found.extend(ran_twice(facts, instance, step, entries));
    }
    found.extend(kept_in_vain(facts));
    found.extend(given_twice(facts));
    let known: Map<&str, &Orchestration> =
        history.orchestrations.iter().map(|one| (one.instance.as_str(), one)).collect();
    let mut told = Set::default();
    for ((instance, step), entries) in &steps {
        let at = entries.first().map_or(0, |entry| entry.at);
        let what = match known.get(instance) {
            None => format!("{instance} ran {step}, and nobody started it"),
            Some(one) if one.started == Some(false) => {
                format!("{instance} ran {step}, although its start was refused")
            }
            Some(one) if at < one.invoked => format!("{instance} ran {step} before it was started"),
            Some(one) if !one.steps.iter().any(|known| known == step) => {
                format!("{instance} ran {step}, which is none of its steps")
            }
            Some(_) => continue,
        };
        if told.insert(*instance) {
            found.push(complain("step-out-of-nowhere", what, at));
        }
    }
    for one in &history.orchestrations {
        found.extend(ending(facts, one, &steps));
        found.extend(early(one, &steps));
    }
}

/// A step that ran again although nothing had happened to whoever ran it first.
fn ran_twice(facts: &Facts<'_>, instance: &str, step: &str, entries: &[&Entry]) -> Option<Violation> {
    entries.windows(2).find_map(|pair| {
        let [first, second] = pair else { return None };
        let forgotten = facts.losses.iter().any(|loss| loss.until >= first.at && loss.from <= second.at);
        (!first.disturbed && !forgotten).then(|| {
            let what = format!(
                "{instance} ran {step} in process {} at {} and again in process {} at {}, and nothing had happened to the first",
                first.process,
                moment(first.at),
                second.process,
                moment(second.at)
            );
            complain("step-ran-twice", what, second.at)
        })
    })
}

/// A step whose result was kept, and that was kept or given to somebody once more. Whatever happens to processes, an activity
/// is done when somebody was told so. Who had been given it before may still begin, because a runtime asks for more before it
/// does, and its lock may have ended by then.
fn kept_in_vain(facts: &Facts<'_>) -> Vec<Violation> {
    let mut first: BTreeMap<(&str, &str), &Kept> = BTreeMap::new();
    let mut found = Vec::new();
    for kept in &facts.history.kept {
        let before = *first.entry((&kept.instance, &kept.step)).or_insert(kept);
        if !std::ptr::eq(before, kept) && !is_forgotten(facts, before, kept.until) {
            found.push(once_more(before, "step-kept-twice", kept.process, "kept", kept.until));
        }
    }
    for ((instance, step), kept) in first {
        let is_again = |given: &&Given| {
            (&*given.instance, &*given.step) == (instance, step)
                && given.at > kept.until
                && !is_forgotten(facts, kept, given.at)
        };
        let again = facts.history.given.iter().find(is_again);
        found.extend(
            again.map(|given| once_more(kept, "step-given-after-its-end", given.process, "got", given.at)),
        );
    }
    found
}

/// A step that somebody was given while somebody else had its lock, whatever was wrong meanwhile.
fn given_twice(facts: &Facts<'_>) -> Vec<Violation> {
    let mut before: BTreeMap<(&str, &str), Vec<&Given>> = BTreeMap::new();
    let mut found = Vec::new();
    for given in &facts.history.given {
        let earlier = before.entry((&given.instance, &given.step)).or_default();
        let has_lost =
            |first: &Given| facts.losses.iter().any(|loss| loss.until >= first.from && loss.from <= given.at);
        let holder = earlier.iter().find(|first| given.at < first.held_until && !has_lost(first));
        found.extend(holder.map(|first| {
            let what = format!(
                "process {} got {} of {} at {}, and process {}, which had got it at {}, had its lock until {}",
                given.process,
                given.step,
                given.instance,
                moment(given.at),
                first.process,
                moment(first.at),
                moment(first.held_until)
            );
            complain("step-given-while-locked", what, given.at)
        }));
        earlier.push(given);
    }
    found
}

/// Whether a failover may have lost what was kept.
fn is_forgotten(facts: &Facts<'_>, kept: &Kept, by: Micros) -> bool {
    facts.losses.iter().any(|loss| loss.until >= kept.from && loss.from <= by)
}

fn once_more(kept: &Kept, rule: &'static str, process: u32, did: &str, at: Micros) -> Violation {
    let Kept { instance, step, .. } = kept;
    let (first, until, at_moment) = (kept.process, moment(kept.until), moment(at));
    let what = format!(
        "what process {first} had done of {instance} by {step} was kept at {until}, and process {process} {did} it again at {at_moment}"
    );
    complain(rule, what, at)
}

fn ending<'h>(facts: &Facts<'_>, one: &'h Orchestration, steps: &Steps<'h>) -> Option<Violation> {
    let instance = &one.instance;
    let entries =
        |step: &'h String| steps.get(&(instance.as_str(), step.as_str())).map_or(&[][..], Vec::as_slice);
    let healed = facts.history.events.iter().rev().find_map(|event| match event.what {
        Happening::Healed { bound } => Some((event.until, bound)),
        _ => None,
    });
    let ran = one.steps.iter().any(|step| !entries(step).is_empty());
    let Some((at, ending)) = &one.ended else {
        // What was acknowledged may be forgotten only in an event that may lose it, and what is there goes on.
        let may_be_lost = !one.is_running || one.waits;
        let forgotten = may_be_lost && facts.losses.iter().any(|loss| loss.until >= one.invoked);
        let owed = one.started == Some(true) || (one.started.is_none() && ran);
        return (healed.is_some() && owed && !forgotten).then(|| {
            let what = format!("{instance}, started at {}, has not ended", moment(one.invoked));
            complain("orchestration-stuck", what, one.invoked)
        });
    };
    if let Some((healed, bound)) = healed
        && *at > one.invoked.max(healed).saturating_add(bound)
    {
        let what = format!(
            "{instance}, started at {}, ended at {} only, and the last fault was over at {}",
            moment(one.invoked),
            moment(*at),
            moment(healed)
        );
        return Some(complain("orchestration-late", what, *at));
    }
    if let Some(again) = &one.asked_again
        && again.as_ref() != Some(ending)
    {
        let what = format!("{instance} had ended as {ending:?}, and later it was {again:?}");
        return Some(complain("ending-changed", what, *at));
    }
    match ending {
        Ending::Failed(error) => {
            Some(complain("orchestration-failed", format!("{instance} failed: {error}"), *at))
        }
        Ending::Completed(output) if !is_expected(one, output) => {
            let what = format!("{instance} gave {output:?} instead of {:?}", one.expected);
            Some(complain("orchestration-wrong", what, *at))
        }
        Ending::Completed(_) => {
            let done =
                |step: &&'h String| entries(step).iter().any(|entry| entry.finished && entry.at <= *at);
            let missing = one.steps.iter().find(|step| !done(step))?;
            let what = format!("{instance} completed at {}, but {missing} had not been done", moment(*at));
            Some(complain("step-skipped", what, *at))
        }
    }
}

/// Whether an orchestration gave what it should, and twice only what it was told twice.
fn is_expected(one: &Orchestration, output: &str) -> bool {
    let mut words: Vec<&str> = Vec::new();
    for word in output.split(',') {
        if !(words.contains(&word) && one.repeats.iter().any(|repeated| repeated == word)) {
            words.push(word);
        }
    }
    words.join(",") == one.expected
}

/// A step that ran before the pause in front of it was over.
fn early<'h>(one: &'h Orchestration, steps: &Steps<'h>) -> Option<Violation> {
    one.pauses.iter().find_map(|pause| {
        // The pause began after the step before it had ended somewhere, and the first to begin is the earliest of all.
        let first = |step: &'h String| steps.get(&(one.instance.as_str(), step.as_str()))?.first();
        let (before, after) = (first(&pause.after)?, first(&pause.before)?);
        (after.at < before.at.saturating_add(pause.least)).then(|| {
            let what = format!(
                "{} ran {} at {} and {} at {} already, with a pause between them",
                one.instance,
                pause.after,
                moment(before.at),
                pause.before,
                moment(after.at)
            );
            complain("timer-early", what, after.at)
        })
    })
}

fn complain(rule: &'static str, message: String, at: Micros) -> Violation {
    Violation { rule, message, calls: Vec::new(), at }
}
