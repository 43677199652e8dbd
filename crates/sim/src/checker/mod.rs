//! Decides whether a history may have happened.
//!
//! It shares no code with client, driver, emulator or durable provider: it knows what callers saw, and nothing else. A rule
//! is broken only if no course of events at all explains what was seen; where that takes too long to find out, the
//! question is counted as undecided.

mod facts;
mod quick;
pub(crate) mod words;

// What one item was.
mod conditions;
mod linear;
mod staleness;
mod values;

// What one session saw.
mod sessions;

// What several items were together.
mod batches;
mod feeds;
mod queries;

// What was left.
mod conflicts;
mod durable_writes;

// What became of everything.
mod liveness;
mod orchestrations;

mod worth;

use crate::history::{CallId, History, Micros};
use facts::Facts;

pub use worth::{Worth, worth};

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: &'static str,
    /// Who saw what, when, and what forbids it.
    pub message: String,
    /// The calls to show.
    pub calls: Vec<CallId>,
    /// When it was seen.
    pub at: Micros,
}

/// What came of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The promises that were not kept, in the order of time.
    pub violations: Vec<Violation>,
    /// How many items were asked whether one order of all calls explains what was seen of them.
    pub asked: usize,
    /// Questions whose answer would have taken too long.
    pub undecided: usize,
}

/// Which promises were not kept.
pub fn check(history: &History) -> Vec<Violation> {
    decide(history).violations
}

/// Which promises were not kept, and how many questions stay open.
pub fn decide(history: &History) -> Verdict {
    let facts = Facts::new(history);
    let mut verdict = Verdict::default();
    let found = &mut verdict.violations;
    values::check(&facts, found);
    sessions::check(&facts, found);
    staleness::check(&facts, found);
    conditions::check(&facts, found);
    batches::check(&facts, found);
    queries::check(&facts, found);
    feeds::check(&facts, found);
    durable_writes::check(&facts, found);
    conflicts::check(&facts, found);
    orchestrations::check(&facts, found);
    liveness::check(&facts, found);
    (verdict.asked, verdict.undecided) = linear::check(&facts, found);
    // What is seen at the end is seen when everything else is over.
    let end = facts.end();
    for violation in found.iter_mut() {
        violation.at = violation.at.min(end);
        let mut known = quick::Set::default();
        violation.calls.retain(|id| known.insert(*id));
    }
    found.sort_by_key(|violation| violation.at);
    verdict
}
