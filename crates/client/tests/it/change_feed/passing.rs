//! Changes that are not of the reader's type, and pages without changes.

use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut::{ChangeFeedStart, ErrorKind, FeedScope, RawItem};
use serde_json::{Value, json};

use super::{Item, behind, drain, feed, write};
use crate::harness::Bench;
use crate::scripted::{self, Scripted};

#[tokio::test]
async fn a_change_of_another_type_is_an_error_in_its_place() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    write(&items, 0..1, 1).await;
    items.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    write(&items, 1..2, 1).await;
    let mut changes = items.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
    let mut read = Vec::new();
    while let Some(change) = changes.next().await {
        read.push(change.map(|item| item.pk).map_err(|error| error.kind()));
    }
    assert_eq!(read, [Ok("key 0".to_owned()), Err(ErrorKind::Serialization), Ok("key 1".to_owned())]);
    assert!(changes.next().await.is_none(), "it is behind them");
}

#[tokio::test]
async fn a_change_that_could_not_be_read_is_passed_when_the_reader_goes_on() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    write(&items, 0..1, 1).await;
    items.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    let mut changes = items.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
    changes.next().await.unwrap().unwrap();
    let error = changes.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Serialization);
    assert!(error.to_string().contains("an item of the change feed") && error.to_string().contains('n'));
    // Whoever stops here and goes on elsewhere meets it again.
    assert!(changes.continuation().is_none());
    assert!(changes.next().await.is_none());
    let token = changes.continuation().unwrap().to_owned();
    assert_eq!(drain(&mut behind::<Item>(&items, token)).await.0, []);
}

#[tokio::test]
async fn a_page_with_a_change_of_another_type_is_not_lost() {
    let bench = Bench::start().await;
    let items = bench.container().await;
    items.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    let mut pages = feed::<Item>(&items, ChangeFeedStart::Beginning).into_pages();
    for _ in 0..2 {
        assert_eq!(pages.next().await.unwrap().unwrap_err().kind(), ErrorKind::Serialization);
    }
    let raw = feed::<RawItem>(&items, ChangeFeedStart::Beginning).into_pages().next().await;
    let raw = raw.unwrap().unwrap();
    assert!(raw.items[0].json::<Item>().is_err());
    assert_eq!(raw.items[0].json::<Value>().unwrap()["pk"], "a");
}

#[tokio::test]
async fn a_page_without_changes_is_not_the_end_unless_the_service_says_so() {
    let asked = AtomicUsize::new(0);
    let client = scripted::client(move |_, _| {
        let page = |items: Value, headers| Scripted {
            body: json!({"_rid": scripted::CONTAINER, "Documents": items, "_count": 0}),
            headers,
        };
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => page(json!([]), "etag: \"1\"\r\n"),
            1 => page(json!([]), "etag: \"2\"\r\n"),
            2 => page(json!([{"id": "1"}]), "etag: \"3\"\r\n"),
            3 => page(json!([]), "etag: \"4\"\r\n"),
            _ => Scripted { body: Value::Null, headers: "etag: \"4\"\r\n" },
        }
    })
    .await;
    let items = client.database("d").container("c");
    let mut pages = items.change_feed::<Value>(ChangeFeedStart::Beginning, FeedScope::Container).into_pages();
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((first.items.len(), first.diagnostics.len()), (1, 3), "what was asked on the way is told");
    assert!(pages.next().await.unwrap().unwrap().items.is_empty());
    assert!(pages.next().await.is_none());
}

#[tokio::test]
async fn a_server_that_does_not_say_where_to_go_on_is_an_error_each_time() {
    for headers in ["", "etag: \"1\"\r\n"] {
        let client = scripted::client(move |_, _| Scripted {
            body: json!({"_rid": scripted::CONTAINER, "Documents": [{"id": "1"}], "_count": 1}),
            headers,
        })
        .await;
        let items = client.database("d").container("c");
        let mut changes = items.change_feed::<Value>(ChangeFeedStart::Beginning, FeedScope::Container);
        if !headers.is_empty() {
            changes.next().await.unwrap().unwrap();
        }
        for _ in 0..2 {
            let error = changes.next().await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
        }
    }
}
