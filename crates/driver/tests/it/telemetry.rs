//! Spans and metrics as OpenTelemetry's exporters get them.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosDriverRuntimeBuilder, Credential, OpenTelemetry, OperationType,
};
use cosmonaut_options::CosmosClientOptions;
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};
use serde_json::json;

use crate::harness::{Bench, emulator, no_environment, operation, read};
use crate::scripted::{Answer, Network, run};

/// Where the telemetry of one test goes.
struct Collected {
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Collected {
    fn new(sampler: Sampler) -> Self {
        let spans = InMemorySpanExporter::default();
        let metrics = InMemoryMetricExporter::default();
        let tracers =
            SdkTracerProvider::builder().with_simple_exporter(spans.clone()).with_sampler(sampler).build();
        let reader = PeriodicReader::builder(metrics.clone()).build();
        let meters = SdkMeterProvider::builder().with_reader(reader).build();
        Self { spans, metrics, tracers, meters }
    }

    fn settings(&self) -> OpenTelemetry {
        let telemetry = OpenTelemetry::default().tracer_provider(self.tracers.clone());
        telemetry.meter_provider(self.meters.clone()).request_metrics(true)
    }

    fn on(&self, runtime: CosmosDriverRuntimeBuilder) -> CosmosDriverRuntimeBuilder {
        runtime.opentelemetry(self.settings())
    }

    /// The spans since this was last asked, in the order in which they ended.
    fn take_spans(&self) -> Vec<SpanData> {
        let spans = self.spans.get_finished_spans().unwrap();
        self.spans.reset();
        spans
    }

    /// What has been counted until now, by name.
    fn metrics(&self) -> BTreeMap<String, Measured> {
        self.metrics.reset();
        self.meters.force_flush().unwrap();
        let exported = self.metrics.get_finished_metrics().unwrap();
        let scopes = exported.iter().flat_map(|resource| resource.scope_metrics());
        let metrics = scopes.flat_map(|scope| scope.metrics());
        metrics.map(|metric| (metric.name().to_owned(), Measured::from(metric))).collect()
    }
}

/// A metric as it was exported.
#[derive(Debug)]
struct Measured {
    unit: String,
    series: Vec<Series>,
}

/// What a metric says for one set of attributes.
#[derive(Debug)]
struct Series {
    attributes: BTreeMap<String, String>,
    /// Of a histogram; 1 for a counter.
    count: u64,
    sum: f64,
    /// Of a histogram.
    bounds: Vec<f64>,
}

impl From<&Metric> for Measured {
    fn from(metric: &Metric) -> Self {
        let series = match metric.data() {
            AggregatedMetrics::F64(MetricData::Histogram(histogram)) => histogram
                .data_points()
                .map(|point| Series {
                    attributes: words(point.attributes()),
                    count: point.count(),
                    sum: point.sum(),
                    bounds: point.bounds().collect(),
                })
                .collect(),
            AggregatedMetrics::U64(MetricData::Histogram(histogram)) => histogram
                .data_points()
                .map(|point| Series {
                    attributes: words(point.attributes()),
                    count: point.count(),
                    sum: point.sum() as f64,
                    bounds: point.bounds().collect(),
                })
                .collect(),
            AggregatedMetrics::I64(MetricData::Sum(sum)) if !sum.is_monotonic() => sum
                .data_points()
                .map(|point| Series {
                    attributes: words(point.attributes()),
                    count: 1,
                    sum: point.value() as f64,
                    bounds: Vec::new(),
                })
                .collect(),
            other => panic!("{} is neither a histogram nor an up-down counter: {other:?}", metric.name()),
        };
        Self { unit: metric.unit().to_owned(), series }
    }
}

fn words<'a>(attributes: impl IntoIterator<Item = &'a KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|pair| (pair.key.to_string(), pair.value.to_string())).collect()
}

async fn bench(collected: &Collected) -> Bench {
    let emulator = emulator(false).await;
    let runtime = collected.on(CosmosDriverRuntime::builder().environment(&no_environment)).build().unwrap();
    let key = Credential::master_key(emulator.key()).unwrap();
    let driver = runtime.create_driver(emulator.url(), key, CosmosClientOptions::default()).unwrap();
    let bench = Bench { emulator, driver };
    bench.make_container().await;
    collected.spans.reset();
    bench
}

fn query(text: &str) -> cosmonaut_driver::CosmosOperation {
    operation(OperationType::Query, "/dbs/d/colls/c/docs")
        .with_target(PartitionKey::from("p4rtition"))
        .with_body(json!({"query": text, "parameters": []}).to_string())
}

#[tokio::test]
async fn an_operation_is_a_client_span_with_a_span_for_its_attempt() {
    let collected = Collected::new(Sampler::AlwaysOn);
    let bench = bench(&collected).await;
    bench.create_item("1dentity", "p4rtition").await;
    let spans = collected.take_spans();
    assert_eq!(
        spans.iter().map(|span| &*span.name).collect::<Vec<_>>(),
        ["cosmosdb.request", "create_item c"]
    );
    let (child, root) = (&spans[0], &spans[1]);
    assert_eq!((&root.span_kind, &child.span_kind), (&SpanKind::Client, &SpanKind::Client));
    assert_eq!(root.status, Status::Unset);
    assert_eq!(child.parent_span_id, root.span_context.span_id());
    assert_eq!(child.span_context.trace_id(), root.span_context.trace_id());
    assert!(root.start_time <= child.start_time && child.end_time <= root.end_time);
    let said = words(&root.attributes);
    let port = bench.emulator.url().rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    for (key, expected) in [
        ("db.system.name", "azure.cosmosdb"),
        ("db.operation.name", "create_item"),
        ("db.namespace", "d"),
        ("db.collection.name", "c"),
        ("server.port", &port),
        ("db.response.status_code", "201"),
        ("azure.cosmosdb.response.sub_status_code", "0"),
        ("azure.cosmosdb.connection.mode", "gateway"),
        ("azure.cosmosdb.consistency.level", "Session"),
        ("azure.resource_provider.namespace", "Microsoft.DocumentDB"),
    ] {
        assert_eq!(said.get(key).map(String::as_str), Some(expected), "{key} in {said:?}");
    }
    for key in [
        "server.address",
        "azure.client.id",
        "user_agent.original",
        "azure.cosmosdb.operation.request_charge",
        "azure.cosmosdb.operation.contacted_regions",
        "azure.cosmosdb.request.body.size",
        "azure.cosmosdb.request.activity_id",
    ] {
        assert!(said.contains_key(key), "{key} in {said:?}");
    }
    assert!(!said.contains_key("error.type"));
    let said = words(&child.attributes);
    assert_eq!(said["azure.cosmosdb.network.response.status_code"], "201");
    assert_eq!((&*said["network.protocol.name"], &*said["network.protocol.version"]), ("http", "2"));
    assert!(said.contains_key("cloud.region"), "{said:?}");
}

#[tokio::test]
async fn what_fails_has_the_status_of_an_error() {
    let collected = Collected::new(Sampler::AlwaysOn);
    let bench = bench(&collected).await;
    assert!(bench.read_item("none", "p4rtition").await.is_err());
    let spans = collected.take_spans();
    for span in &spans {
        assert!(matches!(&span.status, Status::Error { description } if description == "404"), "{span:?}");
        assert_eq!(words(&span.attributes)["error.type"], "404");
    }
    assert_eq!(words(&spans[1].attributes)["db.response.status_code"], "404");
    let duration = &collected.metrics()["db.client.operation.duration"];
    let failed = duration.series.iter().filter(|series| series.attributes.contains_key("error.type"));
    assert_eq!(failed.map(|series| series.count).sum::<u64>(), 1);
}

#[tokio::test]
async fn metrics_have_the_units_and_buckets_of_the_convention() {
    let collected = Collected::new(Sampler::AlwaysOff);
    let bench = bench(&collected).await;
    bench.create_item("1dentity", "p4rtition").await;
    bench.create_item("another", "p4rtition").await;
    bench.run(query("SELECT * FROM c")).await.unwrap();
    assert!(collected.take_spans().is_empty(), "nothing is sampled");
    let metrics = collected.metrics();
    let units: Vec<(&str, &str)> = metrics.iter().map(|(name, metric)| (&**name, &*metric.unit)).collect();
    assert_eq!(
        units,
        [
            ("azure.cosmosdb.client.active_instance.count", "{instance}"),
            ("azure.cosmosdb.client.operation.request_charge", "{request_unit}"),
            ("azure.cosmosdb.client.request.body.size", "By"),
            ("azure.cosmosdb.client.request.duration", "s"),
            ("azure.cosmosdb.client.response.body.size", "By"),
            ("db.client.operation.duration", "s"),
            ("db.client.response.returned_rows", "{row}"),
        ]
    );
    for (name, bounds) in [
        ("db.client.operation.duration", &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0]),
        (
            "azure.cosmosdb.client.operation.request_charge",
            &[1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0],
        ),
    ] {
        let series = &metrics[name].series;
        let creates: Vec<_> =
            series.iter().filter(|series| series.attributes["db.operation.name"] == "create_item").collect();
        assert_eq!(creates.len(), 1, "{name}: one series");
        assert_eq!((creates[0].count, &*creates[0].bounds), (2, &bounds[..]), "{name}");
        let keys: Vec<&str> = creates[0].attributes.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "azure.cosmosdb.consistency.level",
                "azure.cosmosdb.response.sub_status_code",
                "db.collection.name",
                "db.namespace",
                "db.operation.name",
                "db.response.status_code",
                "db.system.name",
                "server.address",
                "server.port",
            ],
            "{name}"
        );
    }
    let rows = &metrics["db.client.response.returned_rows"].series;
    assert_eq!(rows.len(), 1, "queries and feeds alone");
    assert_eq!((rows[0].count, rows[0].sum), (1, 2.0));
    assert_eq!(rows[0].bounds, [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7]);
    let mib = 1_048_576.0;
    for name in ["azure.cosmosdb.client.request.body.size", "azure.cosmosdb.client.response.body.size"] {
        let bounds: Vec<f64> = metrics[name].series[0].bounds.iter().map(|bound| bound / mib).collect();
        let expected = [0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 10.0];
        assert_eq!(bounds, expected, "{name}");
    }
    let instances = &metrics["azure.cosmosdb.client.active_instance.count"].series;
    assert_eq!(instances[0].attributes.keys().collect::<Vec<_>>(), ["server.address", "server.port"]);
}

#[tokio::test]
async fn requests_are_counted_only_if_asked_for_and_clients_while_they_live() {
    let collected = Collected::new(Sampler::AlwaysOn);
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    let driver = |telemetry: OpenTelemetry| -> CosmosDriver {
        Network::driver_of(network.runtime().opentelemetry(telemetry), CosmosClientOptions::default())
    };
    let first = driver(collected.settings().request_metrics(false));
    let second = first.clone();
    let third = driver(collected.settings().request_metrics(false));
    run(&first, &read("1", "a")).await.unwrap();
    let metrics = collected.metrics();
    assert!(metrics.contains_key("db.client.operation.duration"));
    assert!(!metrics.contains_key("azure.cosmosdb.client.request.duration"));
    let count = || collected.metrics()["azure.cosmosdb.client.active_instance.count"].series[0].sum;
    assert_eq!(count(), 2.0, "a clone is the same client");
    drop((first, second));
    assert_eq!(count(), 1.0);
    drop(third);
    assert_eq!(count(), 0.0);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_times_region_and_error() {
    let collected = Collected::new(Sampler::AlwaysOn);
    let network = Network::new(&["west", "east"], false, |region, _| match region {
        "west" => Answer::Status(503, 0),
        _ => Answer::After(Duration::from_millis(30), 200),
    });
    let driver = Network::driver_of(collected.on(network.runtime()), CosmosClientOptions::default());
    run(&driver, &read("1", "a")).await.unwrap();
    let spans = collected.take_spans();
    let (root, attempts) = spans.split_last().unwrap();
    assert_eq!(&*root.name, "read_item c");
    assert_eq!(root.status, Status::Unset, "it succeeded in the end");
    let said: Vec<_> = attempts.iter().map(|span| words(&span.attributes)).collect();
    assert_eq!(said[0]["cloud.region"], "west");
    assert_eq!(said[0]["error.type"], "503");
    assert!(matches!(attempts[0].status, Status::Error { .. }));
    let last = attempts.last().unwrap();
    assert_eq!(words(&last.attributes)["cloud.region"], "east");
    assert_eq!(last.end_time.duration_since(last.start_time).unwrap(), Duration::from_millis(30));
    assert!(attempts[0].end_time <= last.start_time);
    assert_eq!(words(&root.attributes)["azure.cosmosdb.operation.contacted_regions"], "[\"west\",\"east\"]");
}

#[tokio::test]
async fn an_operation_belongs_to_the_span_that_the_application_is_in() {
    let collected = Collected::new(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)));
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    let driver = Network::driver_of(collected.on(network.runtime()), CosmosClientOptions::default());
    let tracer = collected.tracers.tracer("application");
    let context = Context::new().with_span(tracer.start("checkout"));
    let checkout = context.span().span_context().span_id();
    {
        use opentelemetry::context::FutureExt as _;
        run(&driver, &read("1", "a")).with_context(context.clone()).await.unwrap();
    }
    let spans = collected.take_spans();
    assert_eq!(spans[1].parent_span_id, checkout);
}

#[tokio::test]
async fn secrets_and_the_applications_data_are_in_no_attribute() {
    let collected = Collected::new(Sampler::AlwaysOn);
    let bench = bench(&collected).await;
    bench.create_item("1dentity", "p4rtition").await;
    bench.read_item("1dentity", "p4rtition").await.unwrap();
    assert!(bench.read_item("unkn0wn", "p4rtition").await.is_err());
    bench.run(query("SELECT * FROM c WHERE c.id = '1dentity'")).await.unwrap();
    let spans = collected.take_spans();
    assert_eq!(spans.len(), 8);
    let everything = format!("{spans:?} {:?}", collected.metrics());
    for secret in ["1dentity", "unkn0wn", "p4rtition", EMULATOR_KEY, bench.emulator.key(), "type%3dmaster"] {
        assert!(!everything.contains(secret), "{secret} is in {everything}");
    }
}

#[tokio::test]
async fn nothing_is_recorded_when_it_is_off() {
    let collected = Collected::new(Sampler::AlwaysOn);
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    let off = OpenTelemetry::off().tracer_provider(collected.tracers.clone());
    let runtime = network.runtime().opentelemetry(off.meter_provider(collected.meters.clone()));
    let driver = Network::driver_of(runtime, CosmosClientOptions::default());
    run(&driver, &read("1", "a")).await.unwrap();
    assert!(collected.take_spans().is_empty() && collected.metrics().is_empty());
}
