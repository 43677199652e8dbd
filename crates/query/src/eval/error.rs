//! Why a query cannot be compiled, and why a run of it stopped.

use std::fmt;

use crate::ast::Span;

/// Why a query that parses cannot be run. Always the author's to correct; answered as 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// Where in the query text.
    pub span: Span,
    /// What is wrong and, where there is one, the remedy.
    pub message: String,
}

impl CompileError {
    pub(super) fn new(span: Span, message: impl Into<String>) -> CompileError {
        CompileError { span, message: message.into() }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the query)", self.message, self.span.start)
    }
}

impl std::error::Error for CompileError {}

/// Why a run stopped. But for [`EvalError::Interrupted`], running the same query over the same documents stops the same
/// way; answered as 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// A subquery that stands for one value yielded several.
    SubqueryRows,
    /// One document made more rows than [`Limits::steps_per_document`](super::Limits) allows.
    TooManySteps {
        /// The limit.
        limit: u64,
    },
    /// A value grew beyond [`Limits::value_bytes`](super::Limits).
    ValueTooLarge {
        /// The limit.
        limit: usize,
    },
    /// Sorting, grouping or `DISTINCT` held more than [`Limits::held_bytes`](super::Limits).
    TooMuchHeld {
        /// The limit.
        limit: usize,
    },
    /// A function that a user has defined failed, or there is nobody to run it.
    UserFunction,
    /// Its [`Interrupt`](super::Interrupt) said so.
    Interrupted,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::SubqueryRows => f.write_str(
                "a subquery used as a value returned more than one row: use ARRAY(…) or an aggregate",
            ),
            EvalError::TooManySteps { limit } => write!(
                f,
                "the query makes more than {limit} rows from one document: narrow its JOINs with subqueries that filter first"
            ),
            EvalError::ValueTooLarge { limit } => {
                write!(
                    f,
                    "an expression of the query builds a value of more than {limit} bytes: build it from less"
                )
            }
            EvalError::TooMuchHeld { limit } => write!(
                f,
                "sorting, grouping or DISTINCT holds more than {limit} bytes: filter more, or select fewer members"
            ),
            EvalError::UserFunction => f.write_str("a user-defined function failed"),
            EvalError::Interrupted => f.write_str("the query was stopped before its end"),
        }
    }
}

impl std::error::Error for EvalError {}
