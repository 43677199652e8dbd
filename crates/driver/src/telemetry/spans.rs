//! An operation as a span of `tracing`: the light way, for applications that already collect those.
//!
//! There are no spans of single attempts and no metrics here; `otel` has both.

use tracing::{Instrument as _, Span, field};

use super::Observed;
use super::attributes::{Ending, SYSTEM, Subject, status_text};
use crate::error::Error;
use crate::response::CosmosResponse;
use crate::transport::BoxFuture;

/// Runs an operation within its span, and records what came of it.
pub(super) fn within<'a>(
    observed: &Observed<'a>,
    run: BoxFuture<'a, Result<CosmosResponse, Error>>,
) -> BoxFuture<'a, Result<CosmosResponse, Error>> {
    let span = span_of(observed);
    // Nobody looks: nothing is put into words.
    if span.is_disabled() {
        return run;
    }
    let observed = *observed;
    Box::pin(async move {
        let result = run.instrument(span.clone()).await;
        record(&span, &Ending::of(&observed, &result));
        result
    })
}

fn span_of(observed: &Observed<'_>) -> Span {
    let span = tracing::info_span!(
        "cosmosdb",
        otel.name = field::Empty,
        otel.kind = "client",
        otel.status_code = field::Empty,
        db.system.name = SYSTEM,
        db.operation.name = field::Empty,
        db.namespace = field::Empty,
        db.collection.name = field::Empty,
        db.stored_procedure.name = field::Empty,
        db.response.status_code = field::Empty,
        db.response.returned_rows = field::Empty,
        server.address = field::Empty,
        server.port = field::Empty,
        "error.type" = field::Empty,
        azure.cosmosdb.consistency.level = field::Empty,
        azure.cosmosdb.response.sub_status_code = field::Empty,
        azure.cosmosdb.operation.request_charge = field::Empty,
        azure.cosmosdb.operation.contacted_regions = field::Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let subject = Subject::of(observed);
    span.record("otel.name", &*subject.span_name());
    span.record("db.operation.name", subject.name);
    span.record("server.address", subject.address);
    if let Some(port) = subject.port {
        span.record("server.port", port);
    }
    for (field, value) in [
        ("db.namespace", &subject.namespace),
        ("db.collection.name", &subject.collection),
        ("db.stored_procedure.name", &subject.stored_procedure),
    ] {
        if let Some(value) = value {
            span.record(field, &**value);
        }
    }
    span
}

fn record(span: &Span, ending: &Ending<'_>) {
    if let Some(status) = ending.status {
        span.record("db.response.status_code", &*status_text(status));
        span.record("azure.cosmosdb.response.sub_status_code", status.sub_status());
    }
    if let Some(error_type) = &ending.error_type {
        span.record("error.type", &**error_type);
        span.record("otel.status_code", "ERROR");
    }
    if let Some(rows) = ending.rows {
        span.record("db.response.returned_rows", rows);
    }
    if let Some(level) = ending.consistency {
        span.record("azure.cosmosdb.consistency.level", level.as_str());
    }
    span.record("azure.cosmosdb.operation.request_charge", ending.request_charge);
    // `tracing` has no lists.
    span.record("azure.cosmosdb.operation.contacted_regions", ending.regions().join(","));
}
