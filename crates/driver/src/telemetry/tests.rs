//! What spans and metrics say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cosmonaut_policy::OperationType;
use cosmonaut_wire::{PartitionKey, ResourcePath};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

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
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
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

#[tokio::test]
async fn an_operation_that_fails_is_described_without_its_key() {
    let recorder = Recorder::default();
    let path = ResourcePath::parse("/dbs/shop/colls/orders/docs/7").unwrap();
    let operation = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from("s3cret"));
    {
        let _here = tracing::subscriber::set_default(recorder.clone());
        let failing = async { Err(Error::new(ErrorKind::DeadlineExceeded, "late")) };
        assert!(observed(&operation, "shop.example", failing).await.is_err());
    }
    let seen = recorder.0.lock().unwrap().clone();
    for (name, expected) in [
        ("otel.name", "read_docs orders"),
        ("otel.kind", "client"),
        ("otel.status_code", "ERROR"),
        ("db.system.name", "azure.cosmosdb"),
        ("db.operation.name", "read_docs"),
        ("db.namespace", "shop"),
        ("db.collection.name", "orders"),
        ("server.address", "shop.example"),
        ("error.type", "DeadlineExceeded"),
        ("histogram.db.client.operation.duration", "0.0"),
        ("histogram.azure.cosmosdb.client.operation.request_charge", "0.0"),
    ] {
        assert_eq!(seen.get(name).map(String::as_str), Some(expected), "{name} in {seen:?}");
    }
    assert!(seen.values().all(|value| !value.contains("s3cret")), "{seen:?}");
}

#[tokio::test]
async fn a_background_task_that_panics_is_logged() {
    let recorder = Recorder::default();
    {
        let _here = tracing::subscriber::set_default(recorder.clone());
        let platform = Arc::new(crate::platform::TokioPlatform::new());
        let tasks = crate::tasks::BackgroundTaskManager::new(platform);
        let (armed, panicked) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn("sweep", async move {
            let _armed = armed;
            panic!("no luck");
        });
        assert!(panicked.await.is_err());
        tasks.shutdown().await;
    }
    let seen = recorder.0.lock().unwrap().clone();
    for (name, expected) in
        [("task", "sweep"), ("panic", "no luck"), ("message", "a background task panicked")]
    {
        assert_eq!(seen.get(name).map(String::as_str), Some(expected), "{name} in {seen:?}");
    }
}
