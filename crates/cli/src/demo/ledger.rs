//! What was said about every write, and what reading everything back says.
//!
//! Each write has a number that it leaves behind: an order is created with it, a counter's list gets it appended. So
//! reading all items tells how often each write was applied, and no write can stand in for another.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cosmonaut::{ContainerClient, Error, ErrorKind, FeedScope};
use serde_json::Value;

/// What the client said about a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done.
    Acknowledged,
    /// It is not done.
    Refused,
    /// It may or may not be done.
    Unknown,
}

impl Answer {
    pub(crate) fn of_error(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Throttled
            | ErrorKind::Forbidden
            | ErrorKind::Unauthorized
            | ErrorKind::BadRequest
            | ErrorKind::NotFound
            | ErrorKind::PreconditionFailed
            | ErrorKind::TooLarge
            | ErrorKind::Configuration
            | ErrorKind::Credential
            | ErrorKind::Serialization => Self::Refused,
            // Nobody else creates the item that is in the way: it was an earlier attempt.
            ErrorKind::Conflict
            | ErrorKind::OutcomeUnknown
            | ErrorKind::DeadlineExceeded
            | ErrorKind::Transport
            | ErrorKind::Unavailable
            | ErrorKind::SessionNotAvailable
            | ErrorKind::InvalidResponse
            | ErrorKind::Status
            | ErrorKind::Query
            | ErrorKind::NotModified
            | _ => Self::Unknown,
        }
    }
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Kept,
    Lost,
    Duplicated,
    UnknownApplied,
    UnknownNotApplied,
    Refused,
}

impl Verdict {
    fn of(answer: Answer, times_found: u32) -> Self {
        match (answer, times_found) {
            (Answer::Acknowledged, 0) => Self::Lost,
            (Answer::Acknowledged, 1) => Self::Kept,
            (Answer::Unknown, 0) => Self::UnknownNotApplied,
            (Answer::Unknown, 1) => Self::UnknownApplied,
            (Answer::Refused, 0) => Self::Refused,
            // An application repeats what was refused, and so would apply it twice.
            (Answer::Refused, 1) | (_, 2..) => Self::Duplicated,
        }
    }
}

/// How many writes came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    /// Acknowledged, but not there.
    pub(crate) lost: u64,
    /// Applied more than once, or applied although it was refused.
    pub(crate) duplicated: u64,
    pub(crate) unknown: u64,
    /// Those of the unknown that were applied.
    pub(crate) unknown_applied: u64,
}

impl Audit {
    fn new(answers: &[(u64, Answer)], found: &HashMap<u64, u32>) -> Self {
        let mut audit = Self::default();
        for (number, answer) in answers {
            match answer {
                Answer::Acknowledged => audit.acknowledged += 1,
                Answer::Refused => audit.refused += 1,
                Answer::Unknown => audit.unknown += 1,
            }
            match Verdict::of(*answer, found.get(number).copied().unwrap_or(0)) {
                Verdict::Lost => audit.lost += 1,
                Verdict::Duplicated => audit.duplicated += 1,
                Verdict::UnknownApplied => audit.unknown_applied += 1,
                Verdict::Kept | Verdict::UnknownNotApplied | Verdict::Refused => {}
            }
        }
        audit
    }
}

/// Every write that was answered, or is known not to be.
#[derive(Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    answers: Vec<(u64, Answer)>,
}

impl Ledger {
    /// A number for a write that is about to be sent.
    pub(crate) fn number(&self) -> u64 {
        let mut state = self.lock();
        state.next += 1;
        state.next
    }

    pub(crate) fn note(&self, number: u64, answer: Answer) {
        self.lock().answers.push((number, answer));
    }

    /// Reads everything back, and compares.
    pub(crate) async fn audit(&self, container: &ContainerClient) -> cosmonaut::Result<Audit> {
        let query = "SELECT c.number, c.applied FROM c";
        let mut rows = container.query_items::<Value>(query, FeedScope::Container);
        let mut found = HashMap::new();
        while let Some(row) = rows.next().await {
            for number in numbers(&row?) {
                *found.entry(number).or_default() += 1;
            }
        }
        Ok(Audit::new(&self.lock().answers, &found))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writes that an item shows.
fn numbers(item: &Value) -> Vec<u64> {
    let applied = item["applied"].as_array().into_iter().flatten();
    applied.chain([&item["number"]]).filter_map(Value::as_u64).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_and_what_is_there_decide_together() {
        use Answer::*;
        for (answer, found, expected) in [
            (Acknowledged, 1, Verdict::Kept),
            (Acknowledged, 0, Verdict::Lost),
            (Acknowledged, 2, Verdict::Duplicated),
            (Unknown, 0, Verdict::UnknownNotApplied),
            (Unknown, 1, Verdict::UnknownApplied),
            (Unknown, 2, Verdict::Duplicated),
            (Refused, 0, Verdict::Refused),
            (Refused, 1, Verdict::Duplicated),
            (Refused, 7, Verdict::Duplicated),
        ] {
            assert_eq!(Verdict::of(answer, found), expected, "{answer:?}, found {found} times");
        }
    }

    #[test]
    fn an_audit_counts_every_write_once() {
        let answers = [
            (1, Answer::Acknowledged),
            (2, Answer::Acknowledged),
            (3, Answer::Unknown),
            (4, Answer::Unknown),
            (5, Answer::Refused),
            (6, Answer::Acknowledged),
        ];
        let found = HashMap::from([(1, 1), (3, 1), (6, 2), (99, 1)]);
        let expected =
            Audit { acknowledged: 3, refused: 1, lost: 1, duplicated: 1, unknown: 2, unknown_applied: 1 };
        assert_eq!(Audit::new(&answers, &found), expected);
    }

    #[test]
    fn items_show_the_writes_that_made_them() {
        for (item, expected) in [
            (json!({"number": 7}), &[7][..]),
            (json!({"applied": [1, 3, 3]}), &[1, 3, 3]),
            (json!({"applied": []}), &[]),
            (json!({}), &[]),
        ] {
            assert_eq!(numbers(&item), expected, "{item}");
        }
    }
}
