//! A caller's way to stop an evaluation that is under way: it is asked every few rows.
//!
//! Why it stops, and by which clock, is the caller's business.

use std::fmt;
use std::sync::Arc;

/// Says whether a run is to stop.
#[derive(Clone)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Interrupt {
    /// Runs go on to their end.
    pub fn never() -> Interrupt {
        Interrupt(None)
    }

    /// Runs stop soon after `is_due` says so for the first time.
    pub fn when(is_due: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt(Some(Arc::new(is_due)))
    }

    pub(super) fn is_due(&self) -> bool {
        self.0.as_ref().is_some_and(|is_due| is_due())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt" } else { "Interrupt::never" })
    }
}
