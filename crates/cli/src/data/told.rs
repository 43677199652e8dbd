//! What programs are told of work that is done. The work counts, whether or not they listen.

use serde_json::Value;

use crate::failure::Failure;
use crate::screen::print;

/// Whether what was to be told could be. It is looked at only when all work is done.
#[must_use]
pub(crate) struct Told(pub(crate) Result<(), Failure>);

impl Told {
    /// Writes a line of JSON to the standard output.
    pub(crate) fn line(line: &Value) -> Self {
        Self(print(&format!("{line}\n")))
    }

    /// Both. Once a line could not be written, that stays so.
    pub(crate) fn and(self, next: Self) -> Self {
        Self(self.0.and(next.0))
    }
}
