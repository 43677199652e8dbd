//! Spans and metrics go to OpenTelemetry's global providers by default. These belong to the whole process, so this
//! test has a process of its own.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]

use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosOperation, Credential, OperationOptions, OperationType,
};
use cosmonaut_emulator::Emulator;
use cosmonaut_wire::ResourcePath;
use opentelemetry::global;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

fn driver(emulator: &Emulator) -> CosmosDriver {
    let no_environment = |_: &str| None::<std::ffi::OsString>;
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(emulator.key()).unwrap();
    runtime.create_driver(emulator.url(), key, Default::default()).unwrap()
}

#[tokio::test]
async fn clients_use_the_global_providers_that_are_set_when_they_are_made() {
    let emulator = Emulator::builder().start().await.unwrap();
    let (spans, metrics) = (InMemorySpanExporter::default(), InMemoryMetricExporter::default());
    let early = driver(&emulator);
    let meters = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(metrics.clone()).build());
    let meters = meters.build();
    global::set_meter_provider(meters.clone());
    global::set_tracer_provider(SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build());
    let list = CosmosOperation::new(OperationType::ReadFeed, ResourcePath::parse("/dbs").unwrap());
    early.execute_operation(&list, &OperationOptions::default()).await.unwrap();
    assert!(spans.get_finished_spans().unwrap().is_empty());

    let late = driver(&emulator);
    late.execute_operation(&list, &OperationOptions::default()).await.unwrap();
    let finished = spans.get_finished_spans().unwrap();
    let names: Vec<&str> = finished.iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["cosmosdb.request", "read_all_databases"]);
    meters.force_flush().unwrap();
    let exported = metrics.get_finished_metrics().unwrap();
    let scopes = exported.iter().flat_map(|resource| resource.scope_metrics());
    let mut counted: Vec<&str> =
        scopes.flat_map(|scope| scope.metrics()).map(|metric| metric.name()).collect();
    counted.sort_unstable();
    assert_eq!(
        counted,
        [
            "azure.cosmosdb.client.active_instance.count",
            "azure.cosmosdb.client.operation.request_charge",
            "db.client.operation.duration",
            "db.client.response.returned_rows",
        ]
    );
}
