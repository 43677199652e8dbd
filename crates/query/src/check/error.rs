//! What a query that parses but cannot be answered is answered with.

use std::error::Error;
use std::fmt;

use crate::ast::Span;
use crate::place::Place;
use crate::wording::Wording;

/// A query that is well formed but means nothing, or asks for what is not supported.
///
/// Displays what is wrong and where, with the line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    place: Place,
    message: String,
    wording: Wording,
}

impl CheckError {
    pub(super) fn new(text: &str, span: Span, message: String, wording: Wording) -> CheckError {
        CheckError(Box::new(Details { place: Place::new(text, span), message, wording }))
    }

    /// What the service says.
    pub fn wording(&self) -> &Wording {
        &self.0.wording
    }

    /// The place concerned.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.0.message, self.0.place)?;
        self.0.place.write_excerpt(f)
    }
}

impl Error for CheckError {}
