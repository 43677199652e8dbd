//! What others get to see of operations: reports, spans and metrics.
//!
//! | part | for | feature |
//! | --- | --- | --- |
//! | `handler` | a handler that hears of operations which failed, were slow, expensive or large | none |
//! | `log` | such a handler, which writes a line | `tracing` |
//! | `otel`, `metrics`, `keys` | spans and metrics by the OpenTelemetry conventions for databases and Cosmos DB | `opentelemetry` |
//! | `spans` | the spans alone, for applications that already collect those of `tracing` | `tracing` |
//!
//! Keys, tokens, bodies, partition keys and item ids are never in a span or a metric.

#[cfg(any(feature = "opentelemetry", feature = "tracing"))]
mod attributes;
mod handler;
#[cfg(feature = "opentelemetry")]
mod keys;
#[cfg(feature = "tracing")]
mod log;
#[cfg(feature = "opentelemetry")]
mod metrics;
#[cfg(feature = "opentelemetry")]
mod otel;
#[cfg(feature = "tracing")]
mod spans;

use cosmonaut_policy::{CosmosOperation, Moment, operation_name};

use crate::driver::DriverCore;
use crate::options::OperationOptions;

pub(crate) use handler::DiagnosticsReporter;
pub use handler::{DiagnosticsEvent, DiagnosticsHandler};
#[cfg(feature = "tracing")]
pub use log::LogDiagnostics;
#[cfg(feature = "opentelemetry")]
pub use otel::OpenTelemetry;
#[cfg(feature = "opentelemetry")]
pub(crate) use otel::{ActiveInstance, OperationTelemetry};

/// One run of an operation, for those who watch it.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) core: &'a DriverCore,
    pub(crate) operation: &'a CosmosOperation,
    pub(crate) options: &'a OperationOptions,
    pub(crate) started: Moment,
}

impl Observed<'_> {
    /// The caller's name for the operation, or the convention's.
    fn name(&self) -> &'static str {
        let by_convention =
            || operation_name(self.operation.operation_type(), self.operation.resource_type());
        self.options.operation_name.unwrap_or_else(by_convention)
    }
}

/// Runs an operation within its spans, and measures it.
#[cfg(any(feature = "opentelemetry", feature = "tracing"))]
pub(crate) async fn observe(
    observed: Observed<'_>,
    run: crate::transport::BoxFuture<'_, Result<crate::response::CosmosResponse, crate::error::Error>>,
) -> Result<crate::response::CosmosResponse, crate::error::Error> {
    #[cfg(feature = "tracing")]
    let run = spans::within(&observed, run);
    #[cfg(feature = "opentelemetry")]
    let run = otel::within(&observed, run);
    run.await
}
