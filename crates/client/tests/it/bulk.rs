//! Bulk: every operation has its own result, whatever happens to the requests and partitions.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use cosmonaut::options::RequestOptions;
use cosmonaut::{BulkOperation, BulkResult, BulkRun, ContainerClient, ErrorKind, FeedScope, Patch};
use cosmonaut_emulator::{Effect, Emulator, Fault};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire, pass, speaking};
use crate::partitioned::{FIVE, container, split};
use crate::scripted::{self, Scripted};

fn item(key: &str, id: u64) -> Value {
    json!({"id": id.to_string(), "pk": key, "n": id})
}

/// Items of many partition keys.
pub(crate) fn creates(count: u64) -> impl Iterator<Item = BulkOperation> + Send + 'static {
    (0..count).map(|n| {
        let key = format!("key {}", n % 97);
        BulkOperation::create(key.as_str(), item(&key, n))
    })
}

pub(crate) async fn results(mut run: BulkRun) -> Vec<BulkResult> {
    let mut results = Vec::new();
    while let Some(result) = run.next().await {
        results.push(result);
    }
    results.sort_by_key(BulkResult::index);
    results
}

pub(crate) async fn numbers(container: &ContainerClient) -> Vec<u64> {
    let rows = container.query_items::<u64>("SELECT VALUE c.n FROM c", FeedScope::Container);
    let mut numbers = rows.collect().await.unwrap();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn each_operation_has_its_own_status() {
    on_every_wire(async |_bench, container| {
        for id in 1..5 {
            container.create_item("a", item("a", id)).await.unwrap();
        }
        let seen = container.read_item::<Value>("a", "1").await.unwrap().etag().unwrap();
        let unmet = Patch::new().set("/n", 9).condition("FROM c WHERE c.n = 9");
        let operations = [
            (BulkOperation::create("b", item("b", 1)), Ok(201)),
            (BulkOperation::create("a", item("a", 1)), Err(ErrorKind::Conflict)),
            (BulkOperation::upsert("c", item("c", 7)), Ok(201)),
            (BulkOperation::replace("a", "2", item("a", 2)), Ok(200)),
            (BulkOperation::replace("a", "x", item("a", 9)), Err(ErrorKind::NotFound)),
            (BulkOperation::patch("a", "3", Patch::new().increment("/n", 10)), Ok(200)),
            (BulkOperation::patch("a", "4", unmet), Err(ErrorKind::PreconditionFailed)),
            (BulkOperation::read("a", "3"), Ok(200)),
            (BulkOperation::read("b", "nobody"), Err(ErrorKind::NotFound)),
            (BulkOperation::replace("a", "1", item("a", 1)).if_match(seen.clone()), Ok(200)),
            (BulkOperation::delete("a", "1").if_match(seen.clone()), Err(ErrorKind::PreconditionFailed)),
            (BulkOperation::delete("a", "4"), Ok(204)),
            (BulkOperation::create("b", json!({"pk": "b"})), Err(ErrorKind::BadRequest)),
            (BulkOperation::create(("a", "b"), item("a", 20)), Err(ErrorKind::BadRequest)),
            (BulkOperation::create("a", cosmonaut::RawItem::from("{")), Err(ErrorKind::Serialization)),
            (BulkOperation::read("a", "2").if_none_match("\"no\""), Ok(200)),
        ];
        let expected: Vec<_> = operations.iter().map(|(_, expected)| *expected).collect();
        let given = operations.map(|(operation, _)| operation);
        let found = results(container.bulk().run_all(given).unwrap()).await;
        assert_eq!(found.len(), expected.len());
        for (index, (result, expected)) in found.iter().zip(expected).enumerate() {
            let outcome = result.outcome().map(|done| done.status().code().as_u16());
            assert_eq!(outcome.map_err(cosmonaut::Error::kind), expected, "{index}: {result:?}");
            assert_eq!(result.index(), index as u64);
        }
        assert_eq!(found[7].item::<Value>().unwrap()["n"], 13);
        assert_eq!(found[0].id(), Some("1"));
        assert!(found[0].outcome().unwrap().item().is_empty(), "it was not asked for");
        assert!(found[0].outcome().unwrap().etag().is_some());
        let told =
            container.bulk().content_response(true).run_all([BulkOperation::upsert("d", item("d", 5))]);
        assert_eq!(results(told.unwrap()).await[0].item::<Value>().unwrap()["n"], 5);
    })
    .await;
}

#[tokio::test]
async fn operations_on_one_item_are_applied_in_their_order() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let operations = (0..40u64).flat_map(|round| {
        (0..20u64).map(move |n| {
            let (key, id) = (format!("key {n}"), n.to_string());
            match round {
                0 => BulkOperation::create(key.as_str(), json!({"id": id, "pk": key, "n": 0})),
                round => {
                    let next =
                        Patch::new().set("/n", round).condition(format!("FROM c WHERE c.n = {}", round - 1));
                    BulkOperation::patch(key.as_str(), id, next)
                }
            }
        })
    });
    let summary = many.bulk().run_all(operations).unwrap().finish().await;
    assert!(summary.is_complete(), "{:?}", summary.failures.first());
    assert_eq!(summary.progress.succeeded, 800);
    assert_eq!(numbers(&many).await, [39; 20]);
}

#[tokio::test]
async fn what_is_throttled_is_sent_again_and_nothing_is_lost_or_done_twice() {
    let emulator = Emulator::builder().throttle(true);
    let bench = Bench::with(emulator, speaking(cosmonaut::options::HttpProtocol::Negotiated)).await;
    let many = container(&bench, "c", 4000).await;
    let heard = Arc::new(AtomicU64::new(0));
    let hears = Arc::clone(&heard);
    let run = many
        .bulk()
        .on_progress(move |progress| hears.store(progress.succeeded, Ordering::Relaxed))
        .run_all(creates(2000))
        .unwrap();
    let summary = run.finish().await;
    assert!(summary.is_complete(), "{:?}", summary.failures.first());
    assert!(summary.progress.throttled > 0, "{:?}", summary.progress);
    assert!(summary.progress.request_charge > 4000.0, "{:?}", summary.progress);
    assert_eq!(heard.load(Ordering::Relaxed), 2000);
    assert_eq!(numbers(&many).await, (0..2000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_partition_that_takes_nothing_for_long_fails_its_operations_with_what_it_said() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    many.create_item("warm", item("warm", 1)).await.unwrap();
    let throttled = Fault::new(Effect::Throttle { retry_after: Duration::from_millis(5) });
    bench.emulator.control().add_fault(throttled.in_container("d/c")).await.unwrap();
    let run = many.bulk().patience(Duration::from_millis(200)).run_all(creates(300)).unwrap();
    let found = results(run).await;
    assert_eq!(found.len(), 300);
    for result in found {
        assert_eq!(result.outcome().unwrap_err().kind(), ErrorKind::Throttled);
        assert!(result.tries() > 1);
    }
}

#[tokio::test]
async fn partitions_that_split_meanwhile_lose_and_repeat_nothing() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let mut run = many.bulk().buffer(200_000).run_all(creates(6000)).unwrap();
    let (mut indexes, mut splits) = (BTreeSet::new(), 0);
    while let Some(result) = run.next().await {
        result.outcome().unwrap_or_else(|error| panic!("{error}"));
        indexes.insert(result.index());
        if indexes.len() % 1000 == 0 && splits < 5 {
            split(&bench, "c", 2 * splits);
            splits += 1;
        }
    }
    assert_eq!(indexes.len(), 6000);
    assert_eq!(splits, 5);
    assert_eq!(numbers(&many).await, (0..6000).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_answer_that_is_lost_leaves_the_outcome_of_its_operations_unknown_and_of_no_others() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    many.create_item("warm", item("warm", 100_000)).await.unwrap();
    let lost = Fault::new(Effect::DropResponse).times(1);
    bench.emulator.control().add_fault(lost.in_container("d/c")).await.unwrap();
    let found = results(many.bulk().run_all(creates(3000)).unwrap()).await;
    let mut unknown = 0;
    for result in &found {
        if let Err(error) = result.outcome() {
            assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
            unknown += 1;
        }
    }
    // Whatever was under way on the same connection is lost with it: 20 requests at most.
    assert!((1..=2000).contains(&unknown), "{unknown} unknown");
    let there = numbers(&many).await.len() as u64 - 1;
    assert!((3000 - unknown..=3000).contains(&there), "{there} there, {unknown} unknown");
}

#[tokio::test]
async fn one_item_that_is_too_large_fails_alone() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let large = json!({"id": "large", "pk": "a", "text": "x".repeat(3 << 20)});
    let operations = creates(10).chain([BulkOperation::create("a", large)]).collect::<Vec<_>>();
    let found = results(container.bulk().run_all(operations).unwrap()).await;
    for result in &found[..10] {
        result.outcome().unwrap();
    }
    assert_eq!(found[10].outcome().unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn without_a_container_every_operation_says_so() {
    let bench = Bench::start().await;
    let nowhere = bench.client.database("d").container("nowhere");
    for result in results(nowhere.bulk().run_all(creates(250)).unwrap()).await {
        assert_eq!(result.outcome().unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert!(bench.client.database("d").container("a/b").bulk().run_all([]).is_err());
    let container = bench.container().await;
    assert!(results(container.bulk().run_all([]).unwrap()).await.is_empty());
}

/// Counts what is taken from it, and gives one operation at a time, with pauses.
struct Counted {
    operations: Box<dyn Iterator<Item = BulkOperation> + Send>,
    taken: Arc<AtomicU64>,
    is_pause: bool,
}

impl futures_core::Stream for Counted {
    type Item = BulkOperation;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<BulkOperation>> {
        self.is_pause = !self.is_pause;
        if self.is_pause {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(self.operations.next())
    }
}

/// How many were taken when no more are.
async fn rest(taken: &AtomicU64) -> u64 {
    loop {
        let before = taken.load(Ordering::Relaxed);
        pass(Duration::from_millis(300)).await;
        if taken.load(Ordering::Relaxed) == before {
            return before;
        }
    }
}

#[tokio::test]
async fn no_more_is_taken_than_there_is_room_for_and_a_consumer_may_pause() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let taken = Arc::new(AtomicU64::new(0));
    let operations =
        Counted { operations: Box::new(creates(20_000)), taken: Arc::clone(&taken), is_pause: false };
    let request = RequestOptions { end_to_end_timeout: Some(Duration::from_secs(60)), ..Default::default() };
    let mut run = many.bulk().buffer(100_000).request(request).run(operations).unwrap();
    let mut count = 0;
    assert!(run.next().await.is_some());
    let before = rest(&taken).await;
    assert!(before < 4000, "{before} taken while nobody took results");
    while let Some(result) = run.next().await {
        result.outcome().unwrap();
        count += 1;
    }
    assert_eq!(count, 19_999);
}

#[tokio::test]
async fn dropping_the_results_stops_the_run() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let taken = Arc::new(AtomicU64::new(0));
    let operations =
        Counted { operations: Box::new(creates(1_000_000)), taken: Arc::clone(&taken), is_pause: false };
    let mut run = many.bulk().buffer(100_000).run(operations).unwrap();
    for _ in 0..500 {
        run.next().await.unwrap();
    }
    drop(run);
    assert!(rest(&taken).await < 1_000_000);
}

#[tokio::test]
async fn a_source_or_a_listener_that_panics_ends_the_run_and_the_summary_says_so() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let source = creates(500).inspect(|operation| assert!(!format!("{operation:?}").contains("\"300\"")));
    let summary = container.bulk().run_all(source).unwrap().finish().await;
    assert!(!summary.is_complete(), "{:?}", summary.progress);
    let run = container.bulk().on_progress(|_| panic!("a listener")).run_all(creates(5).skip(1)).unwrap();
    assert!(!run.finish().await.is_complete());
    let whole = container.bulk().run_all(creates(0)).unwrap().finish().await;
    assert!(whole.is_complete());
}

#[tokio::test]
async fn a_consumer_that_pauses_while_everything_is_throttled_loses_no_patience() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    many.create_item("warm", item("warm", 100_000)).await.unwrap();
    let throttled = Fault::new(Effect::Throttle { retry_after: Duration::from_millis(20) }).times(8);
    bench.emulator.control().add_fault(throttled.in_container("d/c")).await.unwrap();
    // More results than wait for a consumer, which then pauses for longer than the patience.
    let mut run = many.bulk().patience(Duration::from_secs(6)).run_all(creates(3000)).unwrap();
    assert!(run.next().await.is_some());
    pass(Duration::from_secs(7)).await;
    let mut count = 1;
    while let Some(result) = run.next().await {
        result.outcome().unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert_eq!(count, 3000);
}

#[tokio::test]
async fn an_operation_that_is_throttled_for_ever_fails_though_others_of_its_partition_are_done() {
    const OTHERS: u64 = 2000;
    let client = scripted::client_by_body(|_, _, body| {
        let operations: Vec<Value> = serde_json::from_slice(body).unwrap();
        let result = |operation: &Value| match operation["id"].as_str() {
            Some("never") => json!({"statusCode": 429, "requestCharge": 0, "retryAfterMilliseconds": 50}),
            _ => json!({"statusCode": 204, "requestCharge": 1}),
        };
        Scripted { body: operations.iter().map(result).collect(), headers: "" }
    })
    .await;
    let items = client.database("d").container("c");
    let never = std::iter::once(BulkOperation::delete("a", "never"));
    let operations = never.chain((0..OTHERS).map(|n| BulkOperation::delete("a", n.to_string())));
    let patience = Duration::from_millis(100);
    let mut run = items.bulk().buffer(100_000).patience(patience).run_all(operations).unwrap();
    let mut done = 0;
    while let Some(result) = run.next().await {
        if result.id() == Some("never") {
            assert_eq!(result.outcome().unwrap_err().kind(), ErrorKind::Throttled);
            assert!(done < OTHERS, "it is not given up before all others are done");
        } else {
            result.outcome().unwrap();
            done += 1;
        }
    }
    assert_eq!(done, OTHERS);
}

#[tokio::test]
async fn keys_of_any_shape_find_their_partitions() {
    use cosmonaut::{ContainerProperties, PartitionKey};
    let bench = Bench::start().await;
    let properties = ContainerProperties::new("h", ["/a", "/b"]);
    let container = crate::partitioned::make(&bench, properties, FIVE).await;
    let operations = (0..300u64).map(|n| {
        let item = json!({"id": n.to_string(), "a": format!("a{}", n % 7), "b": n % 50, "n": n});
        BulkOperation::create((format!("a{}", n % 7).as_str(), (n % 50) as f64), item)
    });
    let summary = container.bulk().run_all(operations).unwrap().finish().await;
    assert!(summary.is_complete(), "{:?}", summary.failures.first());
    assert_eq!(numbers(&container).await, (0..300).collect::<Vec<_>>());

    let plain = bench.container().await;
    let odd = [
        (BulkOperation::create(PartitionKey::UNDEFINED, json!({"id": "u"})), Ok(201)),
        (BulkOperation::create(true, json!({"id": "t", "pk": true})), Ok(201)),
        (BulkOperation::create(f64::NAN, json!({"id": "n", "pk": 1})), Err(ErrorKind::BadRequest)),
        (BulkOperation::create(f64::INFINITY, json!({"id": "i", "pk": 1})), Err(ErrorKind::BadRequest)),
        (BulkOperation::create("", json!({"id": "e", "pk": ""})), Ok(201)),
    ];
    let expected: Vec<_> = odd.iter().map(|(_, expected)| *expected).collect();
    let found = results(plain.bulk().run_all(odd.map(|(operation, _)| operation)).unwrap()).await;
    for (result, expected) in found.iter().zip(expected) {
        let outcome = result.outcome().map(|done| done.status().code().as_u16());
        assert_eq!(outcome.map_err(cosmonaut::Error::kind), expected, "{result:?}");
    }
}
