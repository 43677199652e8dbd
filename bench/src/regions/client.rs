//! What is asked of a client under measurement, and what it tells of each operation.

use std::sync::Arc;

use super::REGIONS;
use super::identity::Identity;
use crate::Result;

/// A client of the account; clones share its connections.
pub trait Client: Clone + Send + Sync + Sized + 'static {
    const NAME: &'static str;

    /// Finds the account by an address, as an application in the nearest region: with its key, or with tokens.
    fn connect(url: &str, identity: Option<Arc<Identity>>) -> impl Future<Output = Result<Self>> + Send;

    fn read(&self, item: usize) -> impl Future<Output = Outcome> + Send;

    fn write(&self, item: usize) -> impl Future<Output = Outcome> + Send;
}

/// What came of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The region that answered, as a place in [`REGIONS`].
    pub region: Option<usize>,
    /// Whether a second region was asked while the first had not answered.
    pub hedged: bool,
    /// What the answer cost, in request units.
    pub charge: f64,
    /// What all other attempts cost.
    pub extra: f64,
    /// Attempts that were sent and given up: they cost something or nothing, and nobody knows.
    pub unknown: u32,
}

/// One request of an operation, as the client's diagnostics have it.
pub struct Attempt<'a> {
    pub region: Option<&'a str>,
    pub charge: f64,
    /// Whether it was answered with what was asked for.
    pub answered: bool,
    /// Whether it was given up for another that answered.
    pub given_up: bool,
}

impl Outcome {
    pub fn new<'a>(
        failure: Option<String>,
        hedged: bool,
        attempts: impl DoubleEndedIterator<Item = Attempt<'a>>,
    ) -> Self {
        let mut outcome = Self { failure, hedged, ..Self::default() };
        let mut answer_is_found = outcome.failure.is_some();
        // The answer that was taken is the last of those that are good.
        for attempt in attempts.rev() {
            if attempt.answered && !answer_is_found {
                answer_is_found = true;
                outcome.charge = attempt.charge;
                outcome.region = attempt.region.and_then(place);
            } else {
                outcome.extra += attempt.charge;
                outcome.unknown += u32::from(attempt.given_up);
            }
        }
        // Not every client lists the attempt that lost.
        if hedged && outcome.extra == 0.0 {
            outcome.unknown = outcome.unknown.max(1);
        }
        outcome
    }
}

fn place(region: &str) -> Option<usize> {
    // One client knows regions by the names that the account has, the other by `westus`.
    let plain = |name: &str| name.replace(' ', "").to_lowercase();
    REGIONS.iter().position(|known| plain(known) == plain(region))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(region: &str, charge: f64, answered: bool) -> Attempt<'_> {
        Attempt { region: Some(region), charge, answered, given_up: charge == 0.0 }
    }

    #[test]
    fn what_the_answer_did_not_cost_is_extra() {
        let attempts = [attempt("West US", 1.5, false), attempt("eastus", 2.0, true)];
        let outcome = Outcome::new(None, false, attempts.into_iter());
        assert_eq!((outcome.region, outcome.charge, outcome.extra, outcome.unknown), (Some(0), 2.0, 1.5, 0));
    }

    #[test]
    fn what_was_given_up_is_counted() {
        let attempts = [attempt("West US", 0.0, false), attempt("East US", 2.0, true)];
        let outcome = Outcome::new(None, true, attempts.into_iter());
        assert_eq!((outcome.hedged, outcome.extra, outcome.unknown), (true, 0.0, 1));
        let outcome = Outcome::new(None, true, [attempt("East US", 2.0, true)].into_iter());
        assert_eq!(outcome.unknown, 1, "not listed, but asked");
    }

    #[test]
    fn a_failure_is_served_by_no_region() {
        let attempts = [attempt("West US", 1.0, false), attempt("East US", 1.0, true)];
        let outcome = Outcome::new(Some("503".into()), false, attempts.into_iter());
        assert_eq!((outcome.region, outcome.charge, outcome.extra), (None, 0.0, 2.0));
    }
}
