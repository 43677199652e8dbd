//! Many items at once, from one partition and from several, and while they split.

use cosmonaut::options::{CreateContainerOptions, FeedOptions, HttpProtocol};
use cosmonaut::{
    ContainerClient, ContainerProperties, ErrorKind, PartitionKey, RawItem, ThroughputProperties,
};
use cosmonaut_emulator::Emulator;
use cosmonaut_emulator::engine::Container;
use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionKeyRange};
use cosmonaut_wire::{EpkRange, PartitionKeyRangeId, ResourcePath};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire, speaking};

#[derive(Debug, Deserialize)]
struct Item {
    id: String,
    pk: Value,
}

/// A container with five partitions.
async fn wide(bench: &Bench) -> ContainerClient {
    bench.client.create_database_if_not_exists("d").await.unwrap();
    let throughput = Some(ThroughputProperties::manual(30_000));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    let database = bench.client.database("d");
    database.create_container(ContainerProperties::new("c", "/pk")).options(options).await.unwrap();
    database.container("c")
}

#[tokio::test]
async fn items_come_in_the_order_in_which_they_were_asked_for() {
    on_every_wire(async |_bench, container| {
        for (key, id) in [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")] {
            container.create_item(key, json!({"id": id, "pk": key})).await.unwrap();
        }
        let wanted = [("b", "1"), ("a", "2"), ("a", "missing"), ("b", "1"), ("c", "1"), ("a", "1")];
        let read = container.read_many::<Item>(wanted).await.unwrap();
        let found: Vec<_> = read.items().iter().map(|item| item.as_ref().map(|item| &*item.id)).collect();
        assert_eq!(found, [Some("1"), Some("2"), None, Some("1"), None, Some("1")]);
        assert_eq!(read.items()[0].as_ref().unwrap().pk, "b");
        assert_eq!(read.missing().collect::<Vec<_>>(), [2, 4]);
        assert!(read.request_charge() > 0.0);
        assert_eq!(read.diagnostics().len(), 1, "one partition is asked once");
        assert_eq!(read.into_found().len(), 4);
        let none = container.read_many::<Item>([("a", "1"); 0]).await.unwrap();
        assert!(none.items().is_empty() && none.diagnostics().is_empty());
    })
    .await;
}

#[tokio::test]
async fn partitions_are_asked_in_parallel_and_in_portions() {
    let bench = Bench::start().await;
    let container = wide(&bench).await;
    let keys: Vec<String> = (0..600).map(|number| format!("key {number}")).collect();
    for key in &keys {
        container.create_item(key, json!({"id": "profile", "pk": key})).await.unwrap();
    }
    let sent = bench.emulator.requests();
    let options = FeedOptions { max_concurrency: Some(2), ..Default::default() };
    let wanted = keys.iter().map(|key| (key, "profile"));
    let read = container.read_many::<Item>(wanted).options(options).await.unwrap();
    assert_eq!(read.missing().count(), 0);
    for (item, key) in read.items().iter().zip(&keys) {
        assert_eq!(item.as_ref().unwrap().pk, *key);
    }
    let requests = bench.emulator.requests() - sent;
    assert_eq!(requests, read.diagnostics().len() as u64);
    assert!((6..=15).contains(&requests), "{requests} requests for 600 items in 5 partitions");
}

/// Keys of one partition each, of all five.
fn key_of_each(stored: &Container) -> Vec<String> {
    let key = |range: PartitionKeyRange| {
        let range = EpkRange { min: range.min_inclusive, max: range.max_exclusive };
        let lies_there = |key: &String| {
            let place = PartitionKey::from(&**key).effective(&PartitionKeyDefinition::from("/pk"));
            range.contains(&place.unwrap())
        };
        (0..).map(|number| format!("key {number}")).find(lies_there).unwrap()
    };
    stored.partition_key_ranges().into_iter().map(key).collect()
}

#[tokio::test]
async fn an_item_that_is_alone_in_its_request_is_read_and_not_queried() {
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    let emulator = Emulator::builder().request_log(move |answered| {
        let _ = sender.send((answered.method.clone(), answered.path.clone()));
    });
    let bench = Bench::with(emulator, speaking(HttpProtocol::Negotiated)).await;
    let container = wide(&bench).await;
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let keys = key_of_each(&bench.emulator.engine().container(&path).unwrap());
    let [crowded, single, none, pair, _] = &keys[..] else { panic!("{keys:?}") };
    let ids: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    for id in &ids {
        container.create_item(crowded, json!({"id": id, "pk": crowded})).await.unwrap();
    }
    container.create_item(single, json!({"id": "single", "pk": single})).await.unwrap();
    for id in ["one", "two"] {
        container.create_item(pair, json!({"id": id, "pk": pair})).await.unwrap();
    }
    // The partitions are known from here on.
    container.read_many::<Item>([(crowded, "0"), (crowded, "1")]).await.unwrap();

    let mut wanted: Vec<(&str, &str)> = ids.iter().map(|id| (&**crowded, &**id)).collect();
    // What is asked for twice is one item.
    wanted.extend([
        (&**single, "single"),
        (single, "single"),
        (none, "missing"),
        (pair, "one"),
        (pair, "two"),
    ]);
    let before = bench.emulator.requests();
    while requests.try_recv().is_ok() {}
    let read = container.read_many::<Item>(wanted.clone()).await.unwrap();
    assert_eq!(read.missing().collect::<Vec<_>>(), [103]);
    for (item, (key, id)) in read.items().iter().zip(&wanted).filter(|(item, _)| item.is_some()) {
        let item = item.as_ref().unwrap();
        assert_eq!((&*item.id, item.pk.as_str()), (*id, Some(*key)));
    }
    assert_eq!(bench.emulator.requests() - before, 5);
    assert_eq!(read.diagnostics().len(), 5);
    let mut sent = Vec::new();
    for _ in 0..5 {
        let (method, path) = requests.recv().await.unwrap();
        sent.push(format!("{method} {}", path.trim_start_matches("/dbs/d/colls/c/docs")));
    }
    sent.sort();
    // The item that is left of 101 of a partition is read by itself too.
    assert_eq!(sent, ["GET /100", "GET /missing", "GET /single", "POST ", "POST "]);
}

#[tokio::test]
async fn only_the_pairs_that_were_asked_for_are_fetched() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    for (key, id) in names.iter().flat_map(|key| names.iter().map(move |id| (key, id))) {
        container.create_item(key, json!({"id": id, "pk": key})).await.unwrap();
    }
    let read = container.read_many::<Item>(names.iter().map(|name| (name, name))).await.unwrap();
    assert_eq!(read.missing().count(), 0);
    let bytes = |read: &cosmonaut::ReadMany<Item>| -> usize {
        let attempts = read.diagnostics().iter().flat_map(|request| request.attempts());
        attempts.map(|attempt| attempt.response_bytes).sum()
    };
    let of_one_key = container.read_many::<Item>(names.iter().map(|name| ("0", name))).await.unwrap();
    assert!(bytes(&read) < 2 * bytes(&of_one_key), "{} and {} bytes", bytes(&read), bytes(&of_one_key));
}

#[tokio::test]
async fn keys_of_every_kind_are_found() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let keys: Vec<(PartitionKey, Option<Value>)> = vec![
        ("x".into(), Some(json!("x"))),
        ("é\"".into(), Some(json!("é\""))),
        (7.into(), Some(json!(7))),
        (0.1.into(), Some(json!(0.1))),
        (true.into(), Some(json!(true))),
        (().into(), Some(json!(null))),
        (PartitionKey::UNDEFINED, None),
    ];
    for (key, value) in &keys {
        let mut item = json!({"id": "1"});
        if let Some(value) = value {
            item["pk"] = value.clone();
        }
        container.create_item(key.clone(), &item).await.unwrap();
    }
    let wanted = keys.iter().map(|(key, _)| (key.clone(), "1"));
    let read = container.read_many::<Value>(wanted).await.unwrap();
    for (item, (key, value)) in read.into_items().into_iter().zip(&keys) {
        assert_eq!(item.unwrap().get("pk"), value.as_ref(), "{key}");
    }
    let error = container.read_many::<Value>([(("a", "b"), "1")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
}

#[tokio::test]
async fn hierarchical_keys_are_found() {
    let bench = Bench::start().await;
    let container = bench.container_as(ContainerProperties::new("h", ["/a", "/deep/b"])).await;
    let mut wanted = Vec::new();
    for a in ["x", "y"] {
        for b in 0..3 {
            let item = json!({"id": "1", "a": a, "deep": {"b": b}});
            container.create_item((a, b), &item).await.unwrap();
            wanted.push(((a, b), "1"));
        }
    }
    // Both values are asked for, but not together.
    wanted.retain(|wanted| *wanted != (("x", 2), "1"));
    let read = container.read_many::<Value>(wanted.clone()).await.unwrap();
    assert_eq!(read.missing().count(), 0);
    for (item, ((a, b), _)) in read.items().iter().zip(wanted) {
        let item = item.as_ref().unwrap();
        assert_eq!((&item["a"], &item["deep"]["b"]), (&json!(a), &json!(b)));
    }
}

#[tokio::test]
async fn a_partition_that_splits_is_followed() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let keys: Vec<String> = (0..50).map(|number| format!("key {number}")).collect();
    for key in &keys {
        container.create_item(key, json!({"id": "1", "pk": key})).await.unwrap();
    }
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let stored = bench.emulator.engine().container(&path).unwrap();
    drop(stored.split(&PartitionKeyRangeId::from("0")).unwrap());
    let read = container.read_many::<RawItem>(keys.iter().map(|key| (key, "1"))).await.unwrap();
    assert_eq!(read.missing().count(), 0);
}

/// Many requests to one partition learn of its split at the same time; what was found by then is not asked for again.
#[tokio::test]
async fn a_partition_that_splits_under_many_requests_is_asked_for_anew_once() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let keys: Vec<String> = (0..2000).map(|number| format!("key {number}")).collect();
    for key in &keys {
        container.create_item(key, json!({"id": "1", "pk": key})).await.unwrap();
    }
    let read = async || {
        let options = FeedOptions { max_concurrency: Some(20), ..Default::default() };
        container.read_many::<Item>(keys.iter().map(|key| (key, "1"))).options(options).await.unwrap()
    };
    assert_eq!(read().await.diagnostics().len(), 20, "a request for each hundred");
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let stored = bench.emulator.engine().container(&path).unwrap();
    drop(stored.split(&PartitionKeyRangeId::from("0")).unwrap());
    let read = read().await;
    for (item, key) in read.items().iter().zip(&keys) {
        assert_eq!(item.as_ref().unwrap().pk, **key);
    }
    assert_eq!(read.missing().count(), 0);
    assert_eq!(read.diagnostics().len(), 60, "those that were refused, and two in the place of each");
}

#[tokio::test]
async fn an_item_of_the_wrong_type_is_named() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    for id in ["1", "2"] {
        container.create_item("a", json!({"id": id, "pk": "a", "n": "many"})).await.unwrap();
    }
    #[derive(Debug, Deserialize)]
    struct Counted {
        #[expect(dead_code, reason = "it is never read")]
        n: u32,
    }
    let error = container.read_many::<Counted>([("a", "2"), ("a", "1")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Serialization);
    let message = error.to_string();
    assert!(message.contains("item \"2\" in d/c") && message.contains("`n`"), "{message}");
}
