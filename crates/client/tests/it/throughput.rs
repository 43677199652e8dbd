//! Throughput: changes that take a while, and groups of calls with a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cosmonaut::{ContainerProperties, ErrorKind, ThroughputControlGroup, ThroughputProperties};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};
use crate::scripted::{self, Scripted};

#[tokio::test]
async fn a_change_of_throughput_is_watched_until_the_service_has_made_it() {
    // No server makes a change take a while on demand, so this one says what Azure says meanwhile.
    let (asked, looks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (replaced, looked) = (Arc::clone(&asked), Arc::clone(&looks));
    let client = scripted::client(move |method, path| {
        let amount = if replaced.load(Ordering::Relaxed) > 0 { 50_000 } else { 400 };
        let offer = |amount: u32| {
            json!({"id": "o1", "_rid": "o1", "resource": "dbs/AAAAAA==/colls/AAAAAIAAAAE=/",
                "offerResourceId": scripted::CONTAINER, "offerVersion": "V2", "content": {"offerThroughput": amount}})
        };
        let pending = "x-ms-offer-replace-pending: true\r\nx-ms-cosmos-min-throughput: 500\r\n";
        match (method, path) {
            ("POST", "/offers") => {
                let body = json!({"_rid": "", "Offers": [offer(amount)], "_count": 1});
                Scripted { body, headers: "" }
            }
            ("PUT", "/offers/o1") => {
                replaced.fetch_add(1, Ordering::Relaxed);
                Scripted { body: offer(50_000), headers: pending }
            }
            ("GET", "/offers/o1") => {
                let is_pending = looked.fetch_add(1, Ordering::Relaxed) < 2;
                let headers = if is_pending { pending } else { "x-ms-offer-replace-pending: false\r\n" };
                Scripted { body: offer(amount), headers }
            }
            other => panic!("nobody asks for {other:?}"),
        }
    })
    .await;
    let container = client.database("d").container("c");
    let wanted = ThroughputProperties::manual(50_000);
    let mut poller = container.begin_replace_throughput(wanted).every(Duration::from_millis(1));
    let mut seen = Vec::new();
    while let Some(status) = poller.next().await {
        let status = status.unwrap();
        assert_eq!(status.throughput, wanted);
        seen.push((status.is_pending, status.minimum));
    }
    assert_eq!(seen, [(true, Some(500)), (true, Some(500)), (true, Some(500)), (false, None)]);
    assert_eq!((asked.load(Ordering::Relaxed), looks.load(Ordering::Relaxed)), (1, 3), "asked for once");
}

#[tokio::test]
async fn a_change_that_is_made_at_once_is_not_watched() {
    on_every_wire(async |bench, _| {
        let database = bench.client.database("d");
        let properties = ContainerProperties::new("own", "/pk");
        database.create_container(properties).throughput(ThroughputProperties::manual(400)).await.unwrap();
        let own = database.container("own");
        let wanted = ThroughputProperties::manual(1000);
        assert_eq!(own.begin_replace_throughput(wanted).wait().await.unwrap(), wanted);
        assert_eq!(own.read_throughput().await.unwrap().into_value(), Some(wanted));
        let nothing = database.container("nothing").begin_replace_throughput(wanted).wait().await;
        assert!(nothing.unwrap_err().is_not_found());
        let shared = database.begin_replace_throughput(wanted).wait().await;
        assert_eq!(shared.unwrap_err().kind(), ErrorKind::NotFound, "the database has none of its own");
    })
    .await;
}

#[tokio::test]
async fn calls_of_a_group_are_not_sent_beyond_its_limit_and_others_are() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    // So little that no time of a test fills it again.
    let group = ThroughputControlGroup::limit("import", 0.01).max_wait(Duration::ZERO);
    let import = items.with_throughput_control(&group);
    import.create_item("a", json!({"id": "0", "pk": "a"})).await.unwrap();
    let error = import.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap_err();
    assert!(error.is_throttled(), "{error}");
    assert!(error.to_string().contains("import"), "{error}");
    let rows = import.query_items::<Value>("SELECT * FROM c", "a").collect().await;
    assert!(rows.unwrap_err().is_throttled(), "all calls of the group share its limit");
    assert!(items.read_item::<Value>("a", "1").await.unwrap_err().is_not_found(), "it was not sent");
    items.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
}

#[tokio::test]
async fn a_group_with_a_share_knows_what_is_provisioned() {
    let bench = Bench::start().await;
    let shared = bench.container().await;
    let database = bench.client.database("d");
    let properties = ContainerProperties::new("own", "/pk");
    database.create_container(properties).throughput(ThroughputProperties::manual(400)).await.unwrap();
    let group = ThroughputControlGroup::share("reports", 0.5).max_wait(Duration::ZERO);
    let own = database.container("own").with_throughput_control(&group);
    // 200 units are there at once.
    for id in 0..5 {
        own.create_item("a", json!({"id": id.to_string(), "pk": "a"})).await.unwrap();
    }
    let nothing = database.container("nothing").with_throughput_control(&group);
    assert!(nothing.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
    for wrong in [ThroughputControlGroup::share("all", 1.5), ThroughputControlGroup::limit("none", 0.0)] {
        let error = shared.with_throughput_control(&wrong).read_item::<Value>("a", "1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
}
