//! The streams of lists and queries: item by item, page by page, and from one to the other.

use cosmonaut::options::FeedOptions;
use cosmonaut::{ErrorKind, FeedScope, Items, RawItem};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};
use crate::partitioned::{FIVE, container};

const TEXTS: [&str; 3] =
    ["SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT DISTINCT VALUE c.n FROM c"];

#[tokio::test]
async fn pages_after_items_begin_with_what_is_left_of_the_page_that_was_begun() {
    let bench = Bench::start().await;
    let many = container(&bench, "c", FIVE).await;
    for n in 0..30 {
        let key = format!("key {n}");
        many.create_item(&*key, json!({"id": "1", "pk": key, "n": n})).await.unwrap();
    }
    for text in TEXTS {
        for taken in [0, 1, 6, 7, 8, 29, 30] {
            let options = FeedOptions::default().max_item_count(7);
            let mut items = many.query_items::<u32>(text, FeedScope::Container).options(options.clone());
            let mut found = Vec::new();
            for _ in 0..taken {
                found.push(items.next().await.unwrap().unwrap());
            }
            let mut pages = items.into_pages();
            while let Some(page) = pages.next().await {
                let page = page.unwrap();
                assert!(page.items.len() <= 7, "{text}");
                found.extend(page.items);
                if let Some(continuation) = page.continuation {
                    // Whoever goes on from there misses nothing and sees nothing twice.
                    let options = FeedOptions { continuation: Some(continuation), ..options.clone() };
                    let rest = many.query_items::<u32>(text, FeedScope::Container).options(options);
                    assert_eq!(found.len() + rest.collect().await.unwrap().len(), 30, "{text} after {taken}");
                }
            }
            found.sort_unstable();
            assert_eq!(found, (0..30).collect::<Vec<_>>(), "{text} after {taken}");
        }
    }
}

#[tokio::test]
async fn lists_and_queries_give_items_as_bytes_too() {
    on_every_wire(async |bench, container| {
        let item = r#"{"id":"1","pk":"a","n":1.50}"#;
        container.create_item("a", RawItem::from(item)).await.unwrap();
        let rows: Items<RawItem> = container.query_items("SELECT c.n FROM c", FeedScope::Container);
        let rows = rows.collect().await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].json::<Value>().unwrap(), json!({"n": 1.5}));
        let options = FeedOptions { max_item_count: Some(1), ..Default::default() };
        let mut databases = bench.client.list_databases().options(options);
        assert_eq!(databases.next().await.unwrap().unwrap().id, "d");
        assert!(databases.next().await.is_none());
        let unreadable = container.query_items::<String>("SELECT c.n FROM c", FeedScope::Container);
        let error = unreadable.collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Serialization, "{error}");
        assert!(error.to_string().contains("a row of the query's result"), "{error}");
    })
    .await;
}
