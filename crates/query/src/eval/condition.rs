//! Conditions on their own, as a patch operation carries them: `from c where c.x = 1`.

use std::fmt;

use super::environment::Environment;
use super::error::CompileError;
use super::program::Program;
use crate::ast::Span;
use crate::{Parameters, SyntaxError, parse};

/// Why a condition cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionError {
    /// It does not parse.
    Syntax(SyntaxError),
    /// It parses but cannot be run, or is more than a condition.
    Compile(CompileError),
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionError::Syntax(error) => error.fmt(f),
            ConditionError::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConditionError {}

/// What makes a query of a condition.
const PREFIX: &str = "SELECT * ";

impl Program {
    /// Compiles `from <alias> where <condition>`; [`Program::matches`] then asks it.
    pub fn compile_condition(text: &str, environment: &Environment<'_>) -> Result<Program, ConditionError> {
        // Places are told in the text that the author wrote.
        let own = |span: Span| Span {
            start: span.start.saturating_sub(PREFIX.len()),
            end: span.end.saturating_sub(PREFIX.len()),
        };
        let query = parse(&format!("{PREFIX}{text}")).map_err(|error| {
            let (found, expected) = (error.found().to_owned(), error.expected().to_owned());
            ConditionError::Syntax(SyntaxError::new(text, own(error.span()), found, expected))
        })?;
        let only_condition = query.from.is_some()
            && query.group_by.is_empty()
            && query.order_by.is_none()
            && query.offset_limit.is_none();
        if !only_condition {
            let message = "a condition has the form `from <alias> where <condition>` and no other clause";
            return Err(ConditionError::Compile(CompileError::new(Span::default(), message)));
        }
        Program::compile(&query, &Parameters::new(), environment)
            .map_err(|error| ConditionError::Compile(CompileError::new(own(error.span), error.message)))
    }
}
