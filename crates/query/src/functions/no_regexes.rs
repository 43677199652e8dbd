//! `RegexMatch` in a build without the feature `regex`: known, so that queries can be planned, but not run.

use super::Args;
use crate::eval::{EvalError, Val};

/// Whether patterns can be matched at all. Where not, no query that matches one is compiled.
pub(crate) const AVAILABLE: bool = false;

/// A pattern, of which there is none.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {}

impl Pattern {
    pub(crate) fn is_match(&self, _: &str, _: impl Fn() -> Result<(), EvalError>) -> Result<bool, EvalError> {
        match *self {}
    }
}

pub(super) fn matches<'a>(_: &mut Args<'a, '_>) -> Option<Val<'a>> {
    None
}

pub(crate) fn compile(_: &Val<'_>, _: Option<&Val<'_>>) -> Option<Pattern> {
    None
}
