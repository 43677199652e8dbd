//! What requests cost.

use cosmonaut_driver::DiagnosticsContext;

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
}
