//! What goes wrong when results do not have the shape that the plan promised.

use std::error::Error;
use std::fmt;

use serde_json::value::RawValue;

/// Results that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// A row that is not what the rewritten query yields. Retrying does not help: the rows come from another
    /// query than the one in the plan.
    Row {
        /// The beginning of the row.
        row: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A page for a source that does not exist or has already ended.
    Source(usize),
}

impl MergeError {
    pub(super) fn row(row: &RawValue, problem: impl fmt::Display) -> MergeError {
        MergeError::Row { row: crate::lexer::clip(row.get()), problem: problem.to_string() }
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Row { row, problem } => {
                write!(f, "the result row {row} does not fit the query plan: {problem}")
            }
            MergeError::Source(source) => {
                write!(f, "source {source} was given a page although it has ended or does not exist")
            }
        }
    }
}

impl Error for MergeError {}
