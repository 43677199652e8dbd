//! `DISTINCT` over partitions: what is fetched grows with the result and the partitions, not with the rows that repeat
//! one another.

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, FeedScope};
use serde_json::{Value, json};

use crate::harness::Bench;
use crate::partitioned::{FIVE, container, normal, split};

const PARTITIONS: u64 = 5;
/// A row of an ordered query in a partition's answer, and what comes with an answer, in bytes at most.
const ROW: usize = 100;
const ANSWER: usize = 100;
/// How many rows are asked for at once, where the result has fewer.
const PAGE: usize = 32;

/// Every key has each of the values `a` from 0 to 5, as often as that is said, with another `b` each time.
async fn filled(bench: &Bench, id: &str, copies: u32) -> ContainerClient {
    let many = container(bench, id, FIVE).await;
    for key in 0..8 {
        let key = format!("key {key}");
        for n in 0..6 * copies {
            let item = json!({"id": n.to_string(), "pk": key, "a": n % 6, "b": n / 6, "list": [n % 6]});
            many.create_item(&*key, &item).await.unwrap();
        }
    }
    many
}

/// What a query has given, how many requests it took, and how many bytes came.
struct Taken {
    rows: Vec<Value>,
    requests: u64,
    bytes: usize,
}

async fn take(bench: &Bench, many: &ContainerClient, text: &str, options: FeedOptions) -> Taken {
    let before = bench.emulator.requests();
    let mut taken = Taken { rows: Vec::new(), requests: 0, bytes: 0 };
    let mut pages = many.query_items::<Value>(text, FeedScope::Container).options(options).into_pages();
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        taken.rows.extend(page.items.into_iter().map(normal));
        let attempts = page.diagnostics.iter().flat_map(|request| request.attempts());
        taken.bytes += attempts.map(|attempt| attempt.response_bytes).sum::<usize>();
    }
    taken.requests = bench.emulator.requests() - before;
    taken
}

#[tokio::test]
async fn what_repeats_is_passed_over_by_the_partitions() {
    let bench = Bench::start().await;
    let many = filled(&bench, "c", 40).await;
    let a = |values: &[u32]| values.iter().map(|a| normal(json!({"a": a}))).collect::<Vec<_>>();
    for (text, expected) in [
        ("SELECT DISTINCT TOP 2 c.a FROM c ORDER BY c.a", a(&[0, 1])),
        ("SELECT DISTINCT TOP 2 c.a FROM c ORDER BY c.a DESC", a(&[5, 4])),
        ("SELECT DISTINCT c.a FROM c ORDER BY c.a OFFSET 1 LIMIT 2", a(&[1, 2])),
        // What is selected is only the first of the keys.
        ("SELECT DISTINCT TOP 2 c.a FROM c ORDER BY c.a, c.b", a(&[0, 1])),
        ("SELECT DISTINCT TOP 3 c.a FROM c ORDER BY c.a DESC, c.b ASC", a(&[5, 4, 3])),
    ] {
        let taken = take(&bench, &many, text, FeedOptions::default()).await;
        assert_eq!(taken.rows, expected, "{text}");
        // Each partition is asked for each value, and once more to see that other keys do not matter.
        let values = 3;
        assert!(taken.requests <= 2 * values * PARTITIONS, "{text}: {} requests", taken.requests);
        let most = taken.requests as usize * (ANSWER + PAGE * ROW);
        assert!(taken.bytes <= most, "{text}: {} bytes by {} requests", taken.bytes, taken.requests);
        // All rows of two values would be more.
        assert!(taken.bytes < 2 * 8 * 40 * ROW, "{text}: {} bytes", taken.bytes);
    }
}

#[tokio::test]
async fn what_is_fetched_does_not_grow_with_what_repeats() {
    let bench = Bench::start().await;
    let (few, many) = (filled(&bench, "few", 10).await, filled(&bench, "many", 40).await);
    for text in
        ["SELECT DISTINCT c.a FROM c ORDER BY c.a", "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a, c.b DESC"]
    {
        let options = FeedOptions::default().max_item_count(4);
        let of_few = take(&bench, &few, text, options.clone()).await;
        let of_many = take(&bench, &many, text, options).await;
        assert_eq!(of_few.rows.len(), 6, "{text}");
        assert_eq!(of_few.rows, of_many.rows, "{text}");
        let counts = (of_few.requests, of_many.requests, of_few.bytes, of_many.bytes);
        assert!(of_many.requests <= of_few.requests + PARTITIONS, "{text}: {counts:?}");
        assert!(of_many.bytes <= of_few.bytes * 5 / 4, "{text}: {counts:?}");
    }
}

#[tokio::test]
async fn rows_without_order_are_fetched_only_until_there_are_enough() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..200 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "a": n})).await.unwrap();
    }
    for text in
        ["SELECT DISTINCT TOP 3 VALUE c.a FROM c", "SELECT DISTINCT VALUE c.a FROM c OFFSET 1 LIMIT 2"]
    {
        let taken = take(&bench, &many, text, FeedOptions::default()).await;
        let expected = if text.contains("TOP") { 3 } else { 2 };
        assert_eq!(taken.rows.len(), expected, "{text}");
        assert!(taken.requests <= PARTITIONS, "{text}: {} requests", taken.requests);
        assert!(
            taken.bytes <= taken.requests as usize * ANSWER + 3 * 5 * 10,
            "{text}: {} bytes",
            taken.bytes
        );
    }
}

#[tokio::test]
async fn values_that_no_condition_can_pass_are_read_to_their_end() {
    let bench = Bench::start().await;
    let many = filled(&bench, "c", 4).await;
    let text = "SELECT DISTINCT VALUE c.list FROM c ORDER BY c.list";
    let taken = take(&bench, &many, text, FeedOptions::default().max_item_count(2)).await;
    let mut lists = taken.rows;
    lists.sort_by_key(|list| list[0].as_f64().map(|n| n as u32));
    assert_eq!(lists, (0..6).map(|n| normal(json!([n]))).collect::<Vec<_>>());
}

#[tokio::test]
async fn values_of_every_kind_come_behind_those_that_repeat() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    let rising = [
        json!({}),
        json!({"a": null}),
        json!({"a": false}),
        json!({"a": true}),
        json!({"a": -1.5}),
        json!({"a": 2}),
        json!({"a": ""}),
        json!({"a": "x"}),
        json!({"a": [1]}),
        json!({"a": {"b": 1}}),
    ];
    for key in 0..8 {
        let key = format!("key {key}");
        for n in 0..6 * rising.len() {
            let mut item = rising[n % rising.len()].clone();
            (item["id"], item["pk"]) = (json!(n.to_string()), json!(key));
            many.create_item(&*key, &item).await.unwrap();
        }
    }
    let rising = rising.map(normal);
    for page in [1, 2, 3, 5, 100] {
        let options = FeedOptions::default().max_item_count(page);
        let text = "SELECT DISTINCT c.a FROM c ORDER BY c.a";
        assert_eq!(take(&bench, &many, text, options.clone()).await.rows, rising, "pages of {page}");
        let falling: Vec<Value> = rising.iter().rev().cloned().collect();
        let text = "SELECT DISTINCT c.a FROM c ORDER BY c.a DESC";
        assert_eq!(take(&bench, &many, text, options.clone()).await.rows, falling, "pages of {page}");
        let text = "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a";
        let values: Vec<Value> = rising[1..].iter().map(|row| row["a"].clone()).collect();
        assert_eq!(take(&bench, &many, text, options).await.rows, values, "pages of {page}");
    }
}

#[tokio::test]
async fn a_token_goes_on_behind_what_repeats_also_when_partitions_split() {
    let bench = Bench::start().await;
    let many = filled(&bench, "c", 10).await;
    for (text, splits) in [
        ("SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a", false),
        ("SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a DESC, c.b ASC", false),
        ("SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a", true),
    ] {
        let mut found = Vec::new();
        let mut token = None;
        for turn in 0.. {
            let options = FeedOptions { max_item_count: Some(1), continuation: token, ..Default::default() };
            let mut pages = many.query_items::<u32>(text, FeedScope::Container).options(options).into_pages();
            let Some(page) = pages.next().await else { break };
            let page = page.unwrap();
            assert!(page.diagnostics.len() <= 30, "{text}: {} requests", page.diagnostics.len());
            found.extend(page.items);
            token = page.continuation;
            if token.is_none() {
                break;
            }
            if splits && turn < 2 {
                split(&bench, "c", turn);
            }
        }
        let expected: Vec<u32> =
            if text.contains("DESC") { (0..6).rev().collect() } else { (0..6).collect() };
        assert_eq!(found, expected, "{text}");
    }
}
