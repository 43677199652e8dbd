//! What a query that parses but cannot be answered is answered with.

use std::error::Error;
use std::fmt;

use crate::ast::Span;
use crate::place::Place;
use crate::wording::Wording;

/// A query that is well formed but means nothing, or asks for what is not supported.
///
/// Displays what is wrong and where, with the line and a caret; if several things are wrong, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    first: Problem,
    others: Vec<Problem>,
    wording: Wording,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    place: Place,
    message: String,
    pub(super) wording: Wording,
}

impl Problem {
    pub(super) fn new(text: &str, span: Span, message: String, wording: Wording) -> Problem {
        Problem { place: Place::new(text, span), message, wording }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.message, self.place)?;
        self.place.write_excerpt(f)
    }
}

impl CheckError {
    /// The error of all problems; none without a problem.
    pub(super) fn of(problems: Vec<Problem>) -> Option<CheckError> {
        let wording = Wording::all(problems.iter().map(|problem| problem.wording.clone()).collect());
        let mut problems = problems.into_iter();
        let first = problems.next()?;
        Some(CheckError(Box::new(Details { first, others: problems.collect(), wording })))
    }

    /// What the service says, of all that is wrong.
    pub fn wording(&self) -> &Wording {
        &self.0.wording
    }

    /// The place of what is wrong first.
    pub fn place(&self) -> &Place {
        &self.0.first.place
    }

    /// What is wrong first, without the place.
    pub fn message(&self) -> &str {
        &self.0.first.message
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.first)?;
        self.0.others.iter().try_for_each(|problem| write!(f, "\n{problem}"))
    }
}

impl Error for CheckError {}
