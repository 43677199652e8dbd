//! Where in the query text something is, and how a message shows it: line, column, the line itself, a caret.
//!
//! It holds no judgement about the text; the errors that carry a place say what is wrong there.

use std::fmt;

use crate::ast::Span;

/// How many characters of a long line are shown on either side of the place.
const CONTEXT: usize = 60;

/// A place in a query text, with what is needed to show it without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bytes concerned.
    pub span: Span,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted in characters from 1.
    pub column: usize,
    excerpt: String,
    caret_indent: usize,
    caret_length: usize,
}

impl Place {
    /// The place of `span` in `text`; a span outside the text is moved to its end.
    pub fn new(text: &str, span: Span) -> Place {
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[..line_start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;

        let before: Vec<char> = text[line_start..start].chars().rev().take(CONTEXT).collect();
        let after = text[start..line_end].trim_end_matches('\r').chars().take(CONTEXT);
        let marked = text[start..end.min(line_end)].chars().count().clamp(1, CONTEXT);
        // Tabs and controls would move the caret away from its place.
        let excerpt = before.iter().rev().copied().chain(after).map(|c| if c.is_control() { ' ' } else { c });
        Place {
            span,
            line,
            column,
            excerpt: excerpt.collect(),
            caret_indent: before.len(),
            caret_length: marked,
        }
    }

    /// Writes the line and a caret under the place.
    pub(crate) fn write_excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n  {}\n  {:indent$}", self.excerpt, "", indent = self.caret_indent)?;
        write!(f, "{}", "^".repeat(self.caret_length))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
