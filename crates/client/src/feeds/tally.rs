//! What requests cost.

use cosmonaut_driver::DiagnosticsContext;

use crate::Error;

/// What requests cost since this was last taken, and what was tried.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) charge: f64,
    pub(crate) diagnostics: Vec<DiagnosticsContext>,
}

impl Tally {
    /// Counts a request.
    pub(crate) fn add(&mut self, tried: &DiagnosticsContext) {
        self.charge += tried.request_charge();
        self.diagnostics.push(tried.clone());
    }

    /// Counts a request that has failed and is made in another way.
    pub(crate) fn add_failed(&mut self, error: &Error) {
        error.diagnostics().into_iter().for_each(|tried| self.add(tried));
    }
}
