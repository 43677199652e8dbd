//! Under which names a diagnostics handler hears of the client's calls, and that one call may set when it does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut::options::{DiagnosticsOptions, FeedOptions, ItemOptions};
use cosmonaut::{
    ContainerProperties, CosmosDriverRuntime, DiagnosticsEvent, DiagnosticsHandler, DiagnosticsReason,
};
use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::harness::{client_in, no_environment};

#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<&'static str>>>);

impl Names {
    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl DiagnosticsHandler for Names {
    fn handle(&self, event: &DiagnosticsEvent<'_>) {
        assert!(matches!(event.reason, DiagnosticsReason::SlowPoint | DiagnosticsReason::Slow), "{event:?}");
        self.0.lock().unwrap().push(event.operation_name);
    }
}

/// Whatever takes any time is slow.
fn impatient() -> DiagnosticsOptions {
    DiagnosticsOptions {
        point_latency_threshold: Some(Duration::ZERO),
        latency_threshold: Some(Duration::ZERO),
        ..Default::default()
    }
}

#[tokio::test]
async fn calls_are_reported_by_the_names_of_the_convention() {
    let emulator = Emulator::builder().start().await.unwrap();
    let names = Names::default();
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .diagnostics_handler(Arc::new(names.clone()))
        .build()
        .unwrap();
    let options = cosmonaut::options::CosmosClientOptions {
        // Only the calls that set less are reported.
        diagnostics: DiagnosticsOptions {
            point_latency_threshold: Some(Duration::MAX),
            latency_threshold: Some(Duration::MAX),
            ..Default::default()
        },
        ..Default::default()
    };
    let client = client_in(&runtime, &emulator, options);
    client.create_database("d").await.unwrap();
    let database = client.database("d");
    database.create_container(ContainerProperties::new("c", "/pk")).await.unwrap();
    let container = database.container("c");
    let item = json!({"id": "1", "pk": "a"});
    container.create_item("a", &item).await.unwrap();
    assert!(names.take().is_empty());

    let one = ItemOptions { diagnostics: impatient(), ..Default::default() };
    container.read_item::<Value>("a", "1").options(one.clone()).await.unwrap();
    container.upsert_item("a", &item).options(one).await.unwrap();
    assert_eq!(names.take(), ["read_item", "upsert_item"]);

    let many = FeedOptions { diagnostics: impatient(), ..Default::default() };
    container.read_many::<Value>([("a", "1"), ("a", "2")]).options(many).await.unwrap();
    assert_eq!(names.take(), ["read_many_items"]);

    let options = FeedOptions { diagnostics: impatient(), ..Default::default() };
    let mut rows = container.query_items::<Value>("SELECT * FROM c", "a").options(options);
    while let Some(row) = rows.next().await {
        row.unwrap();
    }
    assert_eq!(names.take(), ["query_items"]);
}
