//! Explaining queries: where they go, what is sent, what is merged, and which indexes they use.

use cosmonaut::model::{DistinctType, IndexedPath, SortOrder};
use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerClient, ContainerProperties, ErrorKind, FeedScope, IndexingPolicy, Query};
use serde_json::json;

use crate::harness::Bench;
use crate::partitioned::{FIVE, make, split};

/// Fifty items over five partitions; `b` has no index.
async fn orders(bench: &Bench) -> ContainerClient {
    let policy = IndexingPolicy {
        included_paths: Some(vec![IndexedPath::new("/*")]),
        excluded_paths: Some(vec![IndexedPath::new("/b/?")]),
        ..IndexingPolicy::default()
    };
    let properties = ContainerProperties::new("c", "/pk").with_indexing_policy(policy);
    let orders = make(bench, properties, FIVE).await;
    for n in 0..50 {
        let key = format!("key {n}");
        orders.create_item(&*key, json!({"id": "1", "pk": key, "a": n, "b": n})).await.unwrap();
    }
    orders
}

#[tokio::test]
async fn an_explanation_tells_plan_partitions_indexes_and_cost() {
    let bench = Bench::start().await;
    let orders = orders(&bench).await;
    let query = Query::new("SELECT * FROM c WHERE c.a >= @least ORDER BY c.a DESC").with("@least", 10);
    let explained = orders.explain_query(query, FeedScope::Container).await.unwrap();
    assert!(explained.is_merged && explained.not_understood.is_none());
    assert_eq!(explained.plan.order_by, [SortOrder::Descending]);
    assert!(
        explained.sent.contains("orderByItems") && !explained.sent.contains("formattable"),
        "{explained:?}"
    );
    assert_eq!((explained.partitions.len(), explained.ruled_out), (5, 0));
    assert_eq!(explained.partitions.iter().map(|partition| partition.rows).sum::<usize>(), 40);
    for partition in &explained.partitions {
        assert!(partition.id.is_some() && partition.request_charge > 0.0 && !partition.has_more);
        let metrics = partition.metrics.as_ref().unwrap();
        assert_eq!(metrics.output_documents, partition.rows as u64);
        assert_eq!(metrics.index_hit_ratio, 1.0);
    }
    let indexes = explained.indexes().unwrap();
    assert_eq!(indexes.used.iter().map(|index| &index.paths[0]).collect::<Vec<_>>(), ["/a/?"]);
    assert_eq!(indexes.potential, []);
}

#[tokio::test]
async fn what_no_index_serves_is_named() {
    let bench = Bench::start().await;
    let orders = orders(&bench).await;
    let text = "SELECT DISTINCT VALUE c.a FROM c WHERE c.b = 7";
    let explained = orders.explain_query(text, FeedScope::Container).await.unwrap();
    assert_eq!(explained.plan.distinct_type, DistinctType::Unordered);
    let indexes = explained.indexes().unwrap();
    assert_eq!(indexes.potential.iter().map(|index| &index.paths[0]).collect::<Vec<_>>(), ["/b/?"]);
    let retrieved = explained.partitions.iter().map(|partition| partition.metrics.as_ref().unwrap());
    assert_eq!(retrieved.map(|metrics| metrics.retrieved_documents).sum::<u64>(), 50);
}

#[tokio::test]
async fn partitions_that_cannot_have_results_are_not_asked() {
    let bench = Bench::start().await;
    let orders = orders(&bench).await;
    let text = "SELECT * FROM c WHERE c.pk = 'key 1'";
    let explained = orders.explain_query(text, FeedScope::Container).await.unwrap();
    assert!(!explained.is_merged);
    assert_eq!((explained.partitions.len(), explained.ruled_out), (1, 4));
    let explained = orders.explain_query("SELECT * FROM c", "key 1").await.unwrap();
    assert_eq!((explained.partitions.len(), explained.ruled_out), (1, 0));
    assert_eq!(explained.sent, "SELECT * FROM c");
}

#[tokio::test]
async fn a_page_has_no_more_rows_than_asked_and_splits_are_followed() {
    let bench = Bench::start().await;
    let orders = orders(&bench).await;
    let options = || Some(FeedOptions::default().max_item_count(1));
    let before =
        orders.explain_query("SELECT * FROM c", FeedScope::Container).options(options()).await.unwrap();
    assert!(before.partitions.iter().all(|partition| partition.rows == 1 && partition.has_more));
    split(&bench, "c", 2);
    let after =
        orders.explain_query("SELECT * FROM c", FeedScope::Container).options(options()).await.unwrap();
    assert_eq!(after.partitions.len(), 6);
}

#[tokio::test]
async fn a_text_that_is_no_query_is_refused_with_its_place() {
    let bench = Bench::start().await;
    let orders = orders(&bench).await;
    let refused = orders.explain_query("SELECT * FORM c", FeedScope::Container).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Query);
    assert!(error.to_string().contains("line 1, column 10"), "{error}");
}
