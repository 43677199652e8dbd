//! What a text that is not a query is answered with.

use std::error::Error;
use std::fmt;

use crate::ast::Span;
use crate::place::Place;

/// The text is not a query of this dialect.
///
/// Displays the place, what was found there and what would have been right, with the line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    place: Place,
    found: String,
    expected: String,
}

impl SyntaxError {
    pub(crate) fn new(text: &str, span: Span, found: String, expected: String) -> SyntaxError {
        SyntaxError(Box::new(Details { place: Place::new(text, span), found, expected }))
    }

    /// The place of what was found.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The bytes of what was found.
    pub fn span(&self) -> Span {
        self.0.place.span
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.0.place.line
    }

    /// The column, counted in characters from 1.
    pub fn column(&self) -> usize {
        self.0.place.column
    }

    /// What was found.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What would have been right.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { place, found, expected } = &*self.0;
        write!(f, "syntax error at {place}: found {found}, expected {expected}")?;
        place.write_excerpt(f)
    }
}

impl Error for SyntaxError {}
