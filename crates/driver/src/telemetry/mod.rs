//! Spans and metrics of operations, under the OpenTelemetry conventions for databases and Cosmos DB.
//!
//! Only `tracing` is used: with `tracing-opentelemetry`, spans become traces, and the events of the target
//! `cosmonaut::metrics` become metrics by the names of their fields. Keys, tokens, bodies and partition keys
//! are never recorded.

use cosmonaut_policy::CosmosOperation;
use cosmonaut_wire::ResourceType;
use tracing::{Instrument as _, Span, field};

use crate::diagnostics::DiagnosticsContext;
use crate::error::{Error, ErrorKind};
use crate::response::CosmosResponse;

/// Runs an operation within its span, and records what came of it.
pub(crate) async fn observed(
    operation: &CosmosOperation,
    server: &str,
    run: impl Future<Output = Result<CosmosResponse, Error>>,
) -> Result<CosmosResponse, Error> {
    let span = span_of(operation, server);
    let result = run.instrument(span.clone()).await;
    record(&span, operation, &result);
    result
}

fn span_of(operation: &CosmosOperation, server: &str) -> Span {
    let span = tracing::info_span!(
        "cosmosdb",
        otel.name = field::Empty,
        otel.kind = "client",
        otel.status_code = field::Empty,
        db.system.name = "azure.cosmosdb",
        db.operation.name = field::Empty,
        db.namespace = field::Empty,
        db.collection.name = field::Empty,
        db.response.status_code = field::Empty,
        server.address = server,
        "error.type" = field::Empty,
        azure.cosmosdb.response.sub_status_code = field::Empty,
        azure.cosmosdb.operation.request_charge = field::Empty,
        azure.cosmosdb.operation.contacted_regions = field::Empty,
    );
    // Nobody looks: nothing is put into words.
    if span.is_disabled() {
        return span;
    }
    let name = name_of(operation);
    span.record("db.operation.name", &name);
    let mut collection = None;
    for (kind, id) in operation.path().segments() {
        match (kind, id) {
            (ResourceType::Database, Some(id)) => drop(span.record("db.namespace", &*id)),
            (ResourceType::Container, Some(id)) => collection = Some(id.into_owned()),
            _ => {}
        }
    }
    match collection {
        Some(collection) => {
            span.record("otel.name", format!("{name} {collection}"));
            span.record("db.collection.name", &collection);
        }
        None => drop(span.record("otel.name", &name)),
    }
    span
}

/// Such as `read_docs`.
fn name_of(operation: &CosmosOperation) -> String {
    format!("{:?}_{}", operation.operation_type(), operation.resource_type().segment()).to_ascii_lowercase()
}

fn record(span: &Span, operation: &CosmosOperation, result: &Result<CosmosResponse, Error>) {
    let is_measured = tracing::enabled!(target: "cosmonaut::metrics", tracing::Level::INFO);
    if span.is_disabled() && !is_measured {
        return;
    }
    let (status, diagnostics, kind) = match result {
        Ok(response) => (Some(response.status()), Some(response.diagnostics()), None),
        Err(error) => (error.status(), error.diagnostics(), Some(error.kind())),
    };
    let charge = diagnostics.map_or(0.0, DiagnosticsContext::request_charge);
    let code = status.map_or(0, |status| status.code().as_u16());
    let error_type = kind.map(error_type);
    if let Some(status) = status {
        span.record("db.response.status_code", status.code().as_u16());
        span.record("azure.cosmosdb.response.sub_status_code", status.sub_status());
    }
    span.record("azure.cosmosdb.operation.request_charge", charge);
    if let Some(error_type) = &error_type {
        span.record("error.type", error_type);
        span.record("otel.status_code", "ERROR");
    }
    if let Some(diagnostics) = diagnostics {
        span.record("azure.cosmosdb.operation.contacted_regions", regions_of(diagnostics));
    }
    if is_measured {
        let elapsed = diagnostics.map_or(0.0, |diagnostics| diagnostics.elapsed().as_secs_f64());
        tracing::event!(
            target: "cosmonaut::metrics",
            tracing::Level::INFO,
            "histogram.db.client.operation.duration" = elapsed,
            "histogram.azure.cosmosdb.client.operation.request_charge" = charge,
            "db.system.name" = "azure.cosmosdb",
            "db.operation.name" = name_of(operation),
            "db.response.status_code" = code,
            "error.type" = error_type.unwrap_or_default(),
        );
    }
}

fn error_type(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::Transport(kind) => kind.name().to_owned(),
        kind => format!("{kind:?}"),
    }
}

/// Each region once, in the order in which they were first asked.
fn regions_of(diagnostics: &DiagnosticsContext) -> String {
    let mut regions: Vec<&str> = Vec::new();
    for region in diagnostics.attempts().iter().filter_map(|attempt| attempt.endpoint.region()) {
        if !regions.contains(&region.as_str()) {
            regions.push(region.as_str());
        }
    }
    regions.join(",")
}

#[cfg(test)]
mod tests;
