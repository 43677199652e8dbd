//! Searches over several partitions: by distance, by text, and by both together.

use std::collections::BTreeSet;

use cosmonaut::model::{
    FullTextPath, FullTextPolicy, IndexingPolicy, VectorDistanceFunction, VectorEmbedding,
    VectorEmbeddingPolicy, VectorIndex, VectorIndexType,
};
use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, ContainerProperties, ErrorKind, FeedScope, Query};
use serde_json::{Value, json};

use crate::harness::Bench;
use crate::partitioned::{FIVE, make, split};

const COUNT: u32 = 40;

/// Item `n` has `n % 7` times the word `red` among thirty, and a vector at an angle that grows with `n`.
fn item(n: u32) -> Value {
    let reds = n % 7;
    let words = "red ".repeat(reds as usize) + &"blue ".repeat(30 - reds as usize);
    let angle = f64::from(n) * 0.05;
    json!({"id": n.to_string(), "pk": format!("p{n}"), "n": n, "t": words, "v": [angle.cos(), angle.sin()]})
}

async fn articles(bench: &Bench, metric: VectorDistanceFunction) -> ContainerClient {
    let vectors = VectorEmbeddingPolicy {
        vector_embeddings: vec![VectorEmbedding::new("/v", 2, metric)],
        ..Default::default()
    };
    let path = FullTextPath { path: "/t".to_owned(), language: None, extra: Default::default() };
    let texts = FullTextPolicy { full_text_paths: Some(vec![path]), ..Default::default() };
    let policy = IndexingPolicy::default()
        .with_vector_index(VectorIndex::new("/v", VectorIndexType::DiskAnn))
        .with_full_text_index("/t");
    let properties = ContainerProperties::new("articles", "/pk")
        .with_indexing_policy(policy)
        .with_vector_embedding_policy(vectors)
        .with_full_text_policy(texts);
    let container = make(bench, properties, FIVE).await;
    for n in 0..COUNT {
        container.create_item(format!("p{n}"), item(n)).await.unwrap();
    }
    container
}

async fn numbers(container: &ContainerClient, query: impl Into<Query>) -> Vec<u32> {
    container.query_items::<u32>(query, FeedScope::Container).collect().await.unwrap()
}

#[tokio::test]
async fn the_nearest_of_all_partitions_come_first() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Euclidean).await;
    for options in
        ["", ", false, {'distanceFunction': 'cosine'}", ", true, {'distanceFunction': 'euclidean'}"]
    {
        let order = format!("ORDER BY VectorDistance(c.v, [1, 0]{options})");
        let top = numbers(&container, format!("SELECT TOP 9 VALUE c.n FROM c {order}").as_str()).await;
        assert_eq!(top, (0..9).collect::<Vec<_>>(), "{options}");
        let part =
            numbers(&container, format!("SELECT VALUE c.n FROM c {order} OFFSET 5 LIMIT 7").as_str()).await;
        assert_eq!(part, (5..12).collect::<Vec<_>>(), "{options}");
        let all = format!("SELECT VALUE c.n FROM c WHERE c.n > 3 {order}");
        assert_eq!(numbers(&container, all.as_str()).await, (4..COUNT).collect::<Vec<_>>(), "{options}");
    }
}

#[tokio::test]
async fn what_has_no_distance_comes_last_and_a_small_page_size_loses_nothing() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Euclidean).await;
    for n in [COUNT, COUNT + 1] {
        container
            .create_item(format!("p{n}"), json!({"id": n.to_string(), "pk": format!("p{n}"), "n": n}))
            .await
            .unwrap();
    }
    let text = "SELECT VALUE c.n FROM c ORDER BY VectorDistance(c.v, [1, 0])";
    let options = FeedOptions { max_item_count: Some(3), ..Default::default() };
    let rows: Vec<u32> =
        container.query_items(text, FeedScope::Container).options(options).collect().await.unwrap();
    assert_eq!(rows[..COUNT as usize], (0..COUNT).collect::<Vec<_>>());
    assert_eq!(
        rows[COUNT as usize..].iter().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from([COUNT, COUNT + 1])
    );
}

#[tokio::test]
async fn texts_are_compared_with_those_of_all_partitions() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Cosine).await;
    let query =
        Query::new("SELECT TOP 15 VALUE c.n FROM c WHERE c.n < 35 ORDER BY RANK FullTextScore(c.t, @term)")
            .with("@term", "Reds");
    let found = numbers(&container, query).await;
    let reds: Vec<u32> = found.iter().map(|n| n % 7).collect();
    assert_eq!(reds, [6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4]);
    let found = numbers(
        &container,
        "SELECT VALUE c.n FROM c WHERE FullTextContainsAll(c.t, 'red', 'blue') AND c.n < 8",
    )
    .await;
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), (1..7).collect());
}

/// What two ranks come to: by how red an item is, and by how near its vector is.
fn fused(n: u32, weights: [f64; 2]) -> f64 {
    let by_text = if weights[0] < 0.0 { n % 7 + 1 } else { 7 - n % 7 };
    let by_vector = if weights[1] < 0.0 { COUNT - n } else { n + 1 };
    weights[0].abs() / (60.0 + f64::from(by_text)) + weights[1].abs() / (60.0 + f64::from(by_vector))
}

#[tokio::test]
async fn ranks_by_text_and_vector_are_fused_with_weights_and_windows() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Cosine).await;
    for (weights, written) in [
        ([1.0, 1.0], ""),
        ([1.0, 1.0], ", [1, 1]"),
        ([2.0, 0.5], ", [2, 0.5]"),
        ([1.0, -0.3], ", [1, -0.3]"),
        ([-1.0, -1.0], ", @w"),
    ] {
        let mut expected: Vec<f64> = (0..COUNT).map(|n| fused(n, weights)).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        let metric = ", false, {'distanceFunction': 'cosine'}";
        for (planned, (top, window, range)) in [
            ("", ("TOP 10 ", "", 0..10)),
            (metric, ("TOP 10 ", "", 0..10)),
            ("", ("", " OFFSET 4 LIMIT 5", 4..9)),
            (metric, ("", " OFFSET 4 LIMIT 5", 4..9)),
        ] {
            let text = format!(
                "SELECT {top}VALUE c.n FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'red'), \
                 VectorDistance(c.v, [1, 0]{planned}){written}){window}"
            );
            let found = numbers(&container, Query::new(&text).with("@w", [-1, -1])).await;
            let scores: Vec<f64> = found.iter().map(|n| fused(*n, weights)).collect();
            assert_eq!(scores, expected[range], "{text}");
        }
    }
}

#[tokio::test]
async fn a_search_by_both_follows_partitions_that_have_split_unnoticed() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Cosine).await;
    let mut expected: Vec<f64> = (0..COUNT).map(|n| fused(n, [1.0, 1.0])).collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    let text = "SELECT TOP 10 VALUE c.n FROM c \
                ORDER BY RANK RRF(FullTextScore(c.t, 'red'), VectorDistance(c.v, [1, 0]))";
    for round in 0..2 {
        let found = numbers(&container, text).await;
        let scores: Vec<f64> = found.iter().map(|n| fused(*n, [1.0, 1.0])).collect();
        assert_eq!(scores, expected[..10], "in round {round}");
        for nth in 0..5 {
            split(&bench, "articles", 2 * nth);
        }
    }
}

#[tokio::test]
async fn a_search_of_one_key_is_the_services() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Cosine).await;
    for text in [
        "SELECT VALUE c.n FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'red'), VectorDistance(c.v, [1, 0]))",
        "SELECT VALUE c.n FROM c ORDER BY VectorDistance(c.v, [1, 0])",
        "SELECT VALUE c.n FROM c ORDER BY RANK FullTextScore(c.t, 'red')",
    ] {
        let found: Vec<u32> = container.query_items(text, "p5").collect().await.unwrap();
        assert_eq!(found, [5], "{text}");
    }
}

#[tokio::test]
async fn searches_that_mean_nothing_are_errors_of_the_query() {
    let bench = Bench::start().await;
    let container = articles(&bench, VectorDistanceFunction::Cosine).await;
    for (text, words) in [
        ("SELECT * FROM c ORDER BY RANK c.n", "must be followed by a VectorDistance"),
        ("SELECT VALUE FullTextScore(c.t, 'a') FROM c", "only allowed in the ORDER BY RANK clause"),
        ("SELECT * FROM c ORDER BY VectorDistance(c.v, [1, 0]) DESC", "no direction"),
    ] {
        let error = container.query_items::<Value>(text, FeedScope::Container).collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Query, "{text}");
        assert!(error.to_string().contains(words), "{text}\n{error}");
    }
}
