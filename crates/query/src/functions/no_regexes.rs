//! Functions of regular expressions in a build without the feature `regex`: known, so that queries can be planned, but not
//! run.

use super::Args;
use crate::eval::Val;

/// Whether patterns can be matched at all. Where not, no query that matches one is compiled.
pub(crate) const AVAILABLE: bool = false;

/// A pattern, of which there is none.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {}

/// Declares functions that nobody can call.
macro_rules! never_run {
    ($($name:ident)*) => {$(
        pub(super) fn $name<'a>(pattern: &Pattern, _: &mut Args<'a, '_>) -> Option<Val<'a>> {
            match *pattern {}
        }
    )*};
}

never_run! { matches extract extract_all replace }

pub(crate) fn compile(_: &Val<'_>, _: Option<&Val<'_>>) -> Option<Pattern> {
    None
}
