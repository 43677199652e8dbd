//! What a text that is not a query is answered with.

use std::error::Error;
use std::fmt;

use crate::ast::Span;
use crate::place::Place;
use crate::wording::Wording;

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
    wording: Wording,
}

impl SyntaxError {
    pub(crate) fn new(text: &str, span: Span, found: String, expected: String) -> SyntaxError {
        let near = text.get(span.start..span.end).unwrap_or_default();
        let message = format!("Syntax error, incorrect syntax near '{near}'.");
        SyntaxError::worded(text, span, (found, expected), Wording::coded("SC1001", span, message))
    }

    /// An error for which the service has other words.
    pub(crate) fn worded(
        text: &str,
        span: Span,
        (found, expected): (String, String),
        wording: Wording,
    ) -> SyntaxError {
        SyntaxError(Box::new(Details { place: Place::new(text, span), found, expected, wording }))
    }

    /// What the service says.
    pub fn wording(&self) -> &Wording {
        &self.0.wording
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
        let Details { place, found, expected, .. } = &*self.0;
        write!(f, "syntax error at {place}: found {found}, expected {expected}")?;
        place.write_excerpt(f)
    }
}

impl Error for SyntaxError {}
