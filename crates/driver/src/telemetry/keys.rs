//! The attributes of spans and metrics under the names that the OpenTelemetry conventions give them.

use std::borrow::Cow;

use cosmonaut_policy::CosmosEndpoint;
use cosmonaut_wire::{ResourcePath, ResourceType};
use opentelemetry::{Array, KeyValue, StringValue, Value};

use super::Observed;
use super::attributes::{Ending, SYSTEM, Subject, server_of, status_text};
use crate::diagnostics::{AttemptDiagnostics, AttemptOutcome};
use crate::transport::HttpVersion;

/// What is known before an operation runs; on its span and on all metrics of it.
pub(super) fn subject(subject: &Subject<'_>) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(12);
    attributes.push(KeyValue::new("db.system.name", SYSTEM));
    attributes.push(KeyValue::new("db.operation.name", subject.name));
    for (key, value) in [
        ("db.namespace", &subject.namespace),
        ("db.collection.name", &subject.collection),
        ("db.stored_procedure.name", &subject.stored_procedure),
    ] {
        if let Some(value) = value {
            attributes.push(KeyValue::new(key, value.clone().into_owned()));
        }
    }
    push_server(&mut attributes, subject.address, subject.port);
    attributes
}

/// Which processor of which container's changes it is. The convention has no name for a processor.
pub(super) fn processor(endpoint: &CosmosEndpoint, container: &ResourcePath, name: &str) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(6);
    attributes.push(KeyValue::new("db.system.name", SYSTEM));
    for (kind, id) in container.segments() {
        let key = match kind {
            ResourceType::Database => "db.namespace",
            ResourceType::Container => "db.collection.name",
            _ => continue,
        };
        attributes.extend(id.map(|id| KeyValue::new(key, id.into_owned())));
    }
    attributes.push(KeyValue::new("azure.cosmosdb.change_feed.processor.name", name.to_owned()));
    attributes.extend(server(endpoint));
    attributes
}

/// Which account it is; all that the number of clients is told by.
pub(super) fn server(endpoint: &CosmosEndpoint) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(2);
    let (address, port) = server_of(endpoint);
    push_server(&mut attributes, address, port);
    attributes
}

fn push_server(attributes: &mut Vec<KeyValue>, address: &str, port: Option<u16>) {
    attributes.push(KeyValue::new("server.address", address.to_owned()));
    if let Some(port) = port {
        attributes.push(KeyValue::new("server.port", i64::from(port)));
    }
}

/// What is known once an operation has ended; on its span and on its metrics.
pub(super) fn ending(ending: &Ending<'_>) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(4);
    if let Some(status) = ending.status {
        attributes.push(KeyValue::new("db.response.status_code", status_text(status)));
        let sub_status = i64::from(status.sub_status());
        attributes.push(KeyValue::new("azure.cosmosdb.response.sub_status_code", sub_status));
    }
    if let Some(level) = ending.consistency {
        attributes.push(KeyValue::new("azure.cosmosdb.consistency.level", level.as_str()));
    }
    if let Some(error_type) = &ending.error_type {
        attributes.push(KeyValue::new("error.type", error_type.clone()));
    }
    attributes
}

/// What is told on the span only, as each value would make a metric of its own.
pub(super) fn ending_of_span(observed: &Observed<'_>, ending: &Ending<'_>) -> Vec<KeyValue> {
    let regions = ending.regions().into_iter().map(|region| StringValue::from(region.to_owned()));
    let regions = Value::Array(Array::String(regions.collect()));
    let mut attributes = vec![
        KeyValue::new("azure.cosmosdb.connection.mode", "gateway"),
        KeyValue::new("azure.cosmosdb.operation.request_charge", ending.request_charge),
        KeyValue::new("azure.cosmosdb.operation.contacted_regions", regions),
    ];
    let request_bytes = observed.operation.body().len();
    if request_bytes > 0 {
        attributes.push(KeyValue::new("azure.cosmosdb.request.body.size", count(request_bytes as u64)));
    }
    if let Some(rows) = ending.rows {
        attributes.push(KeyValue::new("db.response.returned_rows", count(rows)));
    }
    if let Some(diagnostics) = ending.diagnostics {
        let activity_id = diagnostics.activity_id().to_owned();
        attributes.push(KeyValue::new("azure.cosmosdb.request.activity_id", activity_id));
    }
    attributes
}

/// One attempt; on its span and on the metrics of requests.
pub(super) fn attempt(attempt: &AttemptDiagnostics) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(8);
    attributes.push(KeyValue::new("network.protocol.name", "http"));
    let host = attempt.endpoint.authority().host().to_owned();
    attributes.push(KeyValue::new("network.peer.address", host));
    attributes.push(KeyValue::new("network.peer.port", i64::from(attempt.endpoint.port())));
    if let Some(region) = attempt.endpoint.region() {
        attributes.push(KeyValue::new("cloud.region", region.as_str().to_owned()));
    }
    if let AttemptOutcome::Answered(status) = attempt.outcome {
        let code = i64::from(status.code().as_u16());
        attributes.push(KeyValue::new("azure.cosmosdb.network.response.status_code", code));
        let sub_status = i64::from(status.sub_status());
        attributes.push(KeyValue::new("azure.cosmosdb.network.response.sub_status_code", sub_status));
    }
    if let Some(error_type) = attempt_error(attempt) {
        attributes.push(KeyValue::new("error.type", error_type));
    }
    attributes
}

/// What is told of an attempt on its span only.
pub(super) fn attempt_of_span(attempt: &AttemptDiagnostics) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("db.system.name", SYSTEM)];
    if let Some(charge) = attempt.request_charge {
        attributes.push(KeyValue::new("azure.cosmosdb.request.request_charge", charge));
    }
    if let Some(protocol) = attempt.protocol {
        let version = match protocol {
            HttpVersion::Http1 => "1.1",
            HttpVersion::Http2 => "2",
        };
        attributes.push(KeyValue::new("network.protocol.version", version));
    }
    attributes
}

/// What went wrong with an attempt. One that was given up, as another had answered, has not failed.
pub(super) fn attempt_error(attempt: &AttemptDiagnostics) -> Option<Cow<'static, str>> {
    match attempt.outcome {
        AttemptOutcome::Answered(status) if status.code().as_u16() >= 400 => Some(status_text(status)),
        AttemptOutcome::Answered(_) | AttemptOutcome::Cancelled | AttemptOutcome::LeftRunning => None,
        AttemptOutcome::Failed { kind, .. } => Some(kind.map_or("credential", |kind| kind.name()).into()),
        AttemptOutcome::DeadlineExceeded => Some("deadline_exceeded".into()),
    }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
