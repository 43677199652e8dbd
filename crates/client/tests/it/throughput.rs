//! Throughput: changes that take a while, and groups of calls with a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use cosmonaut::fault_injection::{FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule};
use cosmonaut::{
    BulkOperation, ContainerProperties, ErrorKind, FeedScope, ThroughputControlGroup, ThroughputProperties,
};
use cosmonaut_wire::ResourceType;
use serde_json::{Value, json};

use crate::harness::{Bench, faulty_client, on_every_wire, soon};
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
        // Written by both ways of the service.
        let pending = "x-ms-offer-replace-pending: True\r\nx-ms-cosmos-min-throughput: 500\r\n";
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
                let is_pending = (1..3).contains(&looked.fetch_add(1, Ordering::Relaxed));
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
    assert_eq!(
        (asked.load(Ordering::Relaxed), looks.load(Ordering::Relaxed)),
        (1, 4),
        "asked for once, and looked at before"
    );
}

#[tokio::test]
async fn a_change_of_kind_sets_its_amount_when_the_service_is_done_with_the_kind() {
    let (puts, looks) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let asked = Arc::clone(&puts);
    let client = scripted::client(move |method, path| {
        let offer = |puts: usize| {
            let content = match puts {
                0 => json!({"offerThroughput": 400}),
                1 => json!({"offerThroughput": 100, "offerAutopilotSettings": {"maxThroughput": 1000}}),
                _ => json!({"offerThroughput": 400, "offerAutopilotSettings": {"maxThroughput": 4000}}),
            };
            json!({"id": "o1", "_rid": "o1", "resource": "dbs/AAAAAA==/colls/AAAAAIAAAAE=/",
                "offerResourceId": scripted::CONTAINER, "offerVersion": "V2", "content": content})
        };
        let pending = "x-ms-offer-replace-pending: true\r\n";
        match (method, path) {
            ("POST", "/offers") => {
                let body = json!({"_rid": "", "Offers": [offer(asked.load(Ordering::Relaxed))], "_count": 1});
                Scripted { body, headers: "" }
            }
            ("PUT", "/offers/o1") => {
                let puts = asked.fetch_add(1, Ordering::Relaxed) + 1;
                Scripted { body: offer(puts), headers: if puts == 1 { pending } else { "" } }
            }
            ("GET", "/offers/o1") => {
                // Before it, and twice while the kind changes.
                let is_pending = looks.fetch_add(1, Ordering::Relaxed) == 1;
                let headers = if is_pending { pending } else { "" };
                Scripted { body: offer(asked.load(Ordering::Relaxed)), headers }
            }
            other => panic!("nobody asks for {other:?}"),
        }
    })
    .await;
    let container = client.database("d").container("c");
    let wanted = ThroughputProperties::autoscale(4000, None);
    let mut poller = container.begin_replace_throughput(wanted).every(Duration::from_millis(1));
    let mut seen = Vec::new();
    while let Some(status) = poller.next().await {
        seen.push((status.unwrap().is_pending, puts.load(Ordering::Relaxed)));
    }
    assert_eq!(seen, [(true, 1), (true, 1), (false, 2)], "the amount is not set while the kind changes");
    assert_eq!(poller.wait().await.unwrap(), wanted);
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

#[tokio::test]
async fn a_group_waits_no_longer_than_a_call_may_take() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    let group = ThroughputControlGroup::limit("import", 0.01);
    let import = items.with_throughput_control(&group);
    import.create_item("a", json!({"id": "0", "pk": "a"})).await.unwrap();
    // The group would let it wait for two minutes.
    let brief = import.create_item("a", json!({"id": "1", "pk": "a"})).timeout(Duration::from_millis(20));
    assert!(brief.await.unwrap_err().is_throttled());
    assert!(items.read_item::<Value>("a", "1").await.unwrap_err().is_not_found(), "it was not sent");
    let conflicts = import.list_conflicts().timeout(Duration::from_millis(20)).collect().await;
    assert!(conflicts.unwrap_err().is_throttled(), "they are in the group, too");
    // What is done with the container itself is not in the group.
    import.read().await.unwrap();
    import.read_throughput().await.unwrap();
}

#[tokio::test]
async fn a_call_that_nobody_polls_keeps_no_other_of_its_group_from_its_turn() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    let group = ThroughputControlGroup::limit("import", 20.0);
    let import = items.with_throughput_control(&group);
    let create = async |id: usize| import.create_item("a", json!({"id": id.to_string(), "pk": "a"})).await;
    // Until the group has used more than it may.
    for id in 0..5 {
        create(id).await.unwrap();
    }
    let mut parked = std::pin::pin!(create(5));
    for _ in 0..3 {
        let polled = std::future::poll_fn(|context| Poll::Ready(parked.as_mut().poll(context))).await;
        assert!(polled.is_pending(), "it has to wait");
        tokio::task::yield_now().await;
    }
    for id in 6..8 {
        // Others have their turn.
        soon(create(id)).await.unwrap();
    }
    parked.await.unwrap();
}

#[tokio::test]
async fn a_call_waits_no_longer_for_what_is_provisioned_than_for_its_turn() {
    let bench = Bench::start().await;
    bench.container().await;
    let (client, faults) = faulty_client(&bench);
    let condition = FaultInjectionCondition { resource: Some(ResourceType::Offer), ..Default::default() };
    faults.set(FaultInjectionRule::new("hangs", FaultInjectionResult::Hang).when(condition));
    let group = ThroughputControlGroup::share("reports", 0.5).max_wait(Duration::from_millis(50));
    let items = client.database("d").container("c").with_throughput_control(&group);
    for _ in 0..2 {
        let read = items.read_item::<Value>("a", "1").into_future();
        let error = soon(read).await.unwrap_err();
        assert!(error.is_throttled() && error.to_string().contains("provisioned"), "{error}");
    }
}

#[tokio::test]
async fn a_bulk_run_in_a_group_waits_and_loses_nothing() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    // Each of its requests overdraws, and the next one waits; none is refused.
    let group = ThroughputControlGroup::limit("import", 6000.0).max_wait(Duration::ZERO);
    let operations = (0..1000).map(|number| {
        let key = (number % 7).to_string();
        BulkOperation::create(key.clone(), json!({"id": number.to_string(), "pk": key}))
    });
    let import = items.with_throughput_control(&group);
    let summary = import.bulk().run_all(operations).unwrap().finish().await;
    assert_eq!((summary.progress.succeeded, summary.is_complete()), (1000, true));
    let count = items.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
    assert_eq!(count.collect().await.unwrap(), [1000]);
}
