//! A server whose pages never end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut::{ErrorKind, FeedScope};
use serde_json::{Value, json};

use crate::scripted::{self, Scripted};

#[tokio::test]
async fn an_empty_page_that_goes_on_where_it_began_is_an_error() {
    let pages = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pages);
    // Every list and query has no rows, and the same continuation.
    let client = scripted::client(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        let body = json!({"_rid": "", "Documents": [], "Databases": [], "_count": 0});
        Scripted { body, headers: "x-ms-continuation: again\r\n" }
    })
    .await;
    let container = client.database("d").container("c");
    for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT VALUE COUNT(1) FROM c"] {
        let rows = container.query_items::<Value>(text, FeedScope::Container);
        let error = rows.collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{text}: {error}");
        assert!(error.to_string().contains("goes on where it began"), "{error}");
        // The plan, the first page and the next.
        let asked = pages.swap(0, Ordering::Relaxed);
        assert!(asked <= 3, "{text}: {asked}");
    }
    let many = container.read_many::<Value>([("a", "1"), ("a", "2")]).await;
    assert_eq!(many.unwrap_err().kind(), ErrorKind::InvalidResponse);
    let error = client.list_databases().next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
}
