//! Is each item of a Strong account linearisable: is there one order of all calls, within the time of each, that explains
//! what each of them saw?
//!
//! Two ways that share nothing find out. [`zones`] compares pairs of calls and can name the two that contradict each other;
//! [`search`] tries all orders, and also sees what it takes three calls to show.

mod search;
#[cfg(test)]
mod tests;
mod zones;

use super::Violation;
use super::facts::Facts;
use crate::history::Level;

/// Gives the number of items that were looked at, and of those for which the search was given up.
pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Violation>) -> (usize, usize) {
    if facts.history.account.level != Level::Strong {
        return (0, 0);
    }
    let (mut asked, mut undecided) = (0, 0);
    for key in facts.keys() {
        asked += 1;
        if let Some(contradiction) = zones::check(facts, key) {
            found.push(contradiction);
            continue;
        }
        match search::check(facts, key) {
            search::Answer::Linearisable => {}
            search::Answer::Impossible(violation) => found.push(violation),
            search::Answer::Undecided => undecided += 1,
        }
    }
    (asked, undecided)
}
