//! What OpenTelemetry gets to hear, by an exporter in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};

use crate::harness::{Account, Server};
use crate::steps::*;

/// Where the metrics of a test go.
struct Collected {
    exporter: InMemoryMetricExporter,
    meters: SdkMeterProvider,
}

impl Collected {
    fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).build();
        Self { exporter, meters: SdkMeterProvider::builder().with_reader(reader).build() }
    }

    /// What was measured until now: `turns outcome=committed` and its value.
    fn all(&self) -> BTreeMap<String, f64> {
        self.exporter.reset();
        self.meters.force_flush().unwrap();
        let exported = self.exporter.get_finished_metrics().unwrap();
        let metrics =
            exported.iter().flat_map(|resource| resource.scope_metrics()).flat_map(|scope| scope.metrics());
        let mut all = BTreeMap::new();
        for metric in metrics {
            let name = metric.name().trim_start_matches("duroxide.provider.").to_owned();
            let mut add = |attributes: Vec<String>, value: f64| {
                all.insert(format!("{name} {}", attributes.join(" ")), value);
            };
            let told = |attribute: &opentelemetry::KeyValue| format!("{}={}", attribute.key, attribute.value);
            match metric.data() {
                AggregatedMetrics::U64(MetricData::Sum(sum)) => sum
                    .data_points()
                    .for_each(|point| add(point.attributes().map(told).collect(), point.value() as f64)),
                AggregatedMetrics::F64(MetricData::Sum(sum)) => {
                    sum.data_points()
                        .for_each(|point| add(point.attributes().map(told).collect(), point.value()));
                }
                AggregatedMetrics::U64(MetricData::Gauge(gauge)) => gauge
                    .data_points()
                    .for_each(|point| add(point.attributes().map(told).collect(), point.value() as f64)),
                AggregatedMetrics::F64(MetricData::Gauge(gauge)) => {
                    gauge
                        .data_points()
                        .for_each(|point| add(point.attributes().map(told).collect(), point.value()));
                }
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                    histogram
                        .data_points()
                        .for_each(|point| add(point.attributes().map(told).collect(), point.count() as f64));
                }
                _ => panic!("{name} is of another kind"),
            }
        }
        all
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_activities_losses_costs_and_the_backlog_are_measured() {
    let collected = Collected::new();
    let home = Server::shared(Account::OneRegion).home();
    let config =
        CosmosProviderConfig { meter_provider: Some(Arc::new(collected.meters.clone())), ..home.config() };
    let provider = CosmosProvider::connect(config).await.unwrap();
    send(&provider, start("order-7")).await;
    let (_, token) = fetch(&provider).await;
    provider.abandon_orchestration_item(&token, None, false).await.unwrap();
    let (_, token) = fetch(&provider).await;
    let turn = Turn {
        work: vec![activity("order-7", 2, "x"), activity("order-7", 3, "y")],
        ..Turn::first("order-7")
    };
    turn.ack(&provider, &token).await.unwrap();
    Turn::default().ack(&provider, "no token").await.unwrap_err();
    let (_, token) = fetch_work(&provider).await;
    provider.ack_work_item(&token, Some(completion("order-7", 2))).await.unwrap();
    provider.renew_work_item_lock(&token, Duration::from_secs(1)).await.unwrap_err();
    provider.backlog().await.unwrap();

    let all = collected.all();
    for (name, expected) in [
        ("turns outcome=committed", 1.0),
        ("turns outcome=abandoned", 1.0),
        ("turns outcome=lock_lost", 1.0),
        ("activities outcome=committed", 1.0),
        ("schedule_to_start queue=orchestrator", 1.0),
        ("schedule_to_start queue=worker", 1.0),
        ("redeliveries queue=orchestrator", 1.0),
        ("retries purpose=calls", 0.0),
        ("lock_losses queue=orchestrator", 1.0),
        ("lock_losses queue=worker", 1.0),
        ("backlog queue=orchestrator", 1.0),
        ("backlog queue=worker", 1.0),
    ] {
        assert_eq!(all.get(name), Some(&expected), "{name}: {all:?}");
    }
    for name in ["requests purpose=calls", "request_charge purpose=calls", "requests purpose=waiting"] {
        assert!(all.get(name).is_some_and(|value| *value > 1.0), "{name}: {all:?}");
    }
    for name in ["backlog.age queue=orchestrator", "backlog.age queue=worker"] {
        assert!(all.contains_key(name), "{name}: {all:?}");
    }
    assert!(all.keys().all(|name| !name.contains("order-7")), "no name of an instance is told: {all:?}");
}
