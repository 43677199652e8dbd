//! What spans of `tracing` say, and the lines that `LogDiagnostics` writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_driver::{LogDiagnostics, OperationOptions};
use cosmonaut_options::{CosmosClientOptions, RequestOptions};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

use crate::harness::read;
use crate::scripted::{Answer, Network, run};

/// Keeps every field of every span and event, as text.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<BTreeMap<String, String>>>);

impl Visit for Recorder {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.lock().unwrap().insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cosmonaut")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Hears what this thread does from here on.
///
/// `tracing` remembers of each place whether anybody listens. A place that another thread reaches for the first time at
/// the very moment when somebody begins to listen stays unheard, so that all are asked again until this is heard.
async fn listen(recorder: &Recorder) -> DefaultGuard {
    let here = tracing::subscriber::set_default(recorder.clone());
    loop {
        let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
        run(&network.driver(CosmosClientOptions::default()), &read("1", "a")).await.unwrap();
        if std::mem::take(&mut *recorder.0.lock().unwrap()).contains_key("otel.name") {
            return here;
        }
        tracing::callsite::rebuild_interest_cache();
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_fails_is_described_without_its_key() {
    let recorder = Recorder::default();
    let _here = listen(&recorder).await;
    let network = Network::new(&["west"], false, |_, _| Answer::Hang);
    let runtime = network.runtime().diagnostics_handler(Arc::new(LogDiagnostics));
    let driver = Network::driver_of(runtime, CosmosClientOptions::default());
    let request = RequestOptions::default().with_end_to_end_timeout(Duration::from_secs(5));
    let options = OperationOptions { request, ..Default::default() };
    assert!(driver.execute_operation(&read("1d3nt", "s3cret"), &options).await.is_err());
    let seen = recorder.0.lock().unwrap().clone();
    for (name, expected) in [
        ("otel.name", "read_item c"),
        ("otel.kind", "client"),
        ("otel.status_code", "ERROR"),
        ("db.system.name", "azure.cosmosdb"),
        ("db.operation.name", "read_item"),
        ("db.namespace", "d"),
        ("db.collection.name", "c"),
        ("server.address", "global.test"),
        ("server.port", "80"),
        ("error.type", "deadline_exceeded"),
        ("azure.cosmosdb.consistency.level", "Session"),
        ("azure.cosmosdb.operation.contacted_regions", "west"),
        // The line of `LogDiagnostics`.
        ("reason", "failure"),
        ("operation", "read_item"),
        ("error", "deadline_exceeded"),
        ("message", "Read docs 5000.0ms 0.00RU: west h2#1 deadline_exceeded 5000.0ms"),
    ] {
        assert_eq!(seen.get(name).map(String::as_str), Some(expected), "{name} in {seen:?}");
    }
    for value in seen.values() {
        assert!(!value.contains("s3cret") && !value.contains("1d3nt"), "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_succeeds_says_its_status_and_charge() {
    let recorder = Recorder::default();
    let _here = listen(&recorder).await;
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    run(&network.driver(CosmosClientOptions::default()), &read("1", "a")).await.unwrap();
    let seen = recorder.0.lock().unwrap().clone();
    assert_eq!(seen.get("db.response.status_code").map(String::as_str), Some("200"));
    assert_eq!(seen.get("azure.cosmosdb.operation.request_charge").map(String::as_str), Some("1.5"));
    assert_eq!(seen.get("otel.status_code"), None);
}
