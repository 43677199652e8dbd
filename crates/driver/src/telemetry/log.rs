//! A diagnostics handler that writes one line per event through `tracing`.

use super::attributes::kind_name;
use super::{DiagnosticsEvent, DiagnosticsHandler};

/// Writes each event as one warning of the target `cosmonaut::diagnostics`.
///
/// What an error says in words is left out, as the service may quote the caller's data in it.
///
/// ```
/// use std::sync::Arc;
/// use cosmonaut_driver::{CosmosDriverRuntime, LogDiagnostics};
///
/// let runtime = CosmosDriverRuntime::builder().diagnostics_handler(Arc::new(LogDiagnostics)).build()?;
/// # Ok::<(), cosmonaut_driver::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LogDiagnostics;

impl DiagnosticsHandler for LogDiagnostics {
    fn handle(&self, event: &DiagnosticsEvent<'_>) {
        let error = event.error.map_or("none", |error| kind_name(error.kind()));
        tracing::warn!(
            target: "cosmonaut::diagnostics",
            reason = event.reason.name(),
            operation = event.operation_name,
            activity_id = event.diagnostics.activity_id(),
            payload_bytes = event.payload_bytes,
            dropped_before = event.dropped_before,
            error,
            "{}",
            event.diagnostics
        );
    }
}
