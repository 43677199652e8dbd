//! How far a processor is behind.

use cosmonaut::ChangeFeedEstimator;

use serde_json::json;

use super::harness::{Events, Ledger, Shop, patiently};

async fn total(estimator: &ChangeFeedEstimator) -> u64 {
    estimator.lag().await.unwrap().total()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_no_lease_is_passed_by_and_named() {
    let shop = Shop::open().await;
    // What the names of the leases begin with.
    let other = super::harness::quick(shop.notes.change_feed_processor("q", &shop.leases));
    Ledger::default().start("one", other).await.stop().await;
    let documents = shop.lease_documents().await;
    let prefix = documents["0"]["id"].as_str().unwrap().strip_suffix('0').unwrap().replacen('q', "p", 1);
    let is_no_lease = |name: &str| json!({"id": format!("{prefix}{name}"), "version": "the first"});
    for name in ["0", "strange"] {
        shop.leases.create_item(format!("{prefix}{name}"), is_no_lease(name)).await.unwrap();
    }

    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    for name in ["0", "strange"] {
        events
            .until(&format!("failed None the document \"{prefix}{name}\" of the lease container is no lease"))
            .await;
    }
    shop.write(1).await;
    for lease in 1..5 {
        events.until(&format!("acquired {lease}")).await;
    }
    patiently(async {
        while one.estimator().lag().await.unwrap().leases.iter().any(|lease| lease.lag > 0) {
            super::harness::pause().await;
        }
    })
    .await;
    one.stop().await;
    assert!(ledger.entries().iter().all(|entry| entry.lease != "0"));

    // A lease that says where it is in words that nobody understands.
    let patch = cosmonaut::Patch::new().set("/ContinuationToken", "where\nit was");
    let odd = format!("{prefix}1");
    shop.leases.patch_item(&*odd, &odd, patch).await.unwrap();
    let lag = shop.processor().estimator().lag().await.unwrap();
    assert_eq!(lag.leases.iter().map(|lease| &*lease.lease).collect::<Vec<_>>(), ["2", "3", "4"]);
    let unreadable: Vec<String> = lag.unreadable.iter().map(ToString::to_string).collect();
    for name in ["0", "strange", "1"] {
        assert!(
            unreadable.iter().any(|error| error.contains(&format!("{prefix}{name}\""))),
            "{unreadable:?}"
        );
    }
    assert_eq!((unreadable.len(), lag.total()), (3, 3), "there may be something to do in each");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_is_what_was_not_read_yet_lease_by_lease() {
    let shop = Shop::open().await;
    let estimator = shop.processor().estimator();
    assert_eq!(total(&estimator).await, 1, "there are no leases yet");
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    shop.write(1).await;
    ledger.until(30).await;
    let owned = one.estimator().lag().await.unwrap();
    assert_eq!(owned.leases.len(), 5);
    assert!(owned.leases.iter().all(|lease| lease.owner.as_deref() == Some("one")), "{owned:?}");
    one.stop().await;
    assert_eq!(total(&estimator).await, 0, "everything was read");

    shop.write(2).await;
    shop.write(3).await;
    let lag = estimator.lag().await.unwrap();
    assert_eq!(lag.total(), 60, "{lag:?}");
    assert!(lag.leases.iter().all(|lease| lease.owner.is_none() && lease.lag > 0), "{lag:?}");
    crate::partitioned::split(&shop.bench, "c", 0);
    let lag = estimator.lag().await.unwrap();
    assert_eq!(lag.leases[0].lag, 1, "its partition is not there any more: somebody is to look at it");

    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let reporting = async {
        let interval = std::time::Duration::from_millis(1);
        estimator.report(interval, |lag| told.send(lag.unwrap().total()).unwrap()).await;
    };
    let hearing = async {
        for _ in 0..3 {
            assert!(hears.recv().await.unwrap() > 0);
        }
    };
    patiently(async {
        tokio::select! {
            () = reporting => unreachable!("it goes on for as long as it is polled"),
            () = hearing => {}
        }
    })
    .await;
}

#[cfg(feature = "opentelemetry")]
#[tokio::test(flavor = "multi_thread")]
async fn the_lag_is_a_metric() {
    use cosmonaut::{CosmosClient, CosmosDriverRuntime, Credential, OpenTelemetry};
    use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};

    let shop = Shop::open().await;
    let exporter = InMemoryMetricExporter::default();
    let meters =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let telemetry = OpenTelemetry::default().meter_provider(meters.clone());
    let runtime = CosmosDriverRuntime::builder().environment(&crate::harness::no_environment);
    let runtime = runtime.opentelemetry(telemetry).build().unwrap();
    let key = Credential::master_key(shop.bench.emulator.key()).unwrap();
    let client =
        CosmosClient::builder().runtime(&runtime).endpoint(shop.bench.emulator.url()).credential(key);
    let database = client.build().unwrap().database("d");
    let (notes, leases) = (database.container(shop.notes.id()), database.container(shop.leases.id()));
    let estimator = notes.change_feed_processor("p", &leases).estimator();
    // Nobody has begun: there may be something to do.
    assert_eq!(total(&estimator).await, 1);
    meters.force_flush().unwrap();
    let exported = exporter.get_finished_metrics().unwrap();
    let metrics = exported.iter().flat_map(|resource| resource.scope_metrics());
    let mut metrics = metrics.flat_map(|scope| scope.metrics());
    let lag = metrics.find(|metric| metric.name() == "azure.cosmosdb.client.change_feed.lag").unwrap();
    assert_eq!(lag.unit(), "{change}");
    let AggregatedMetrics::U64(MetricData::Gauge(gauge)) = lag.data() else { panic!("{lag:?}") };
    let points: Vec<_> = gauge.data_points().collect();
    assert_eq!((points.len(), points[0].value()), (1, 1));
    let attributes: Vec<String> =
        points[0].attributes().map(|pair| format!("{}={}", pair.key, pair.value)).collect();
    for expected in [
        "db.system.name=azure.cosmosdb".to_owned(),
        "db.namespace=d".to_owned(),
        format!("db.collection.name={}", shop.notes.id()),
        "azure.cosmosdb.change_feed.processor.name=p".to_owned(),
    ] {
        assert!(attributes.contains(&expected), "{expected} in {attributes:?}");
    }
}
