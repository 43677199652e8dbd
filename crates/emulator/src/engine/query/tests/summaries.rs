//! `GROUP BY` and `DISTINCT` page by page, while documents come and go between the pages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cosmonaut_query::value::Value;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::store::{Still, Store, policy, texts, unordered};
use crate::Pace;
use crate::engine::query::{PageSize, QueryRequest, ResumeFilter};
use crate::engine::{FeedScope, RegionId};
use crate::index::Index;
use crate::index::tests::{any_value, document};

/// Queries whose rows hold what makes them one of their own, and the query that lists just that.
const QUERIES: [(&str, &str); 14] = [
    ("SELECT DISTINCT VALUE c.a FROM c", ""),
    ("SELECT DISTINCT c.a FROM c", ""),
    ("SELECT DISTINCT c.a, c.b FROM c", ""),
    ("SELECT DISTINCT c.plain FROM c", ""),
    ("SELECT DISTINCT VALUE [c.a, c.b] FROM c", ""),
    ("SELECT DISTINCT c.a FROM c WHERE c.b = 1", ""),
    ("SELECT DISTINCT VALUE t FROM c JOIN t IN c.c", ""),
    ("SELECT DISTINCT c.a FROM c ORDER BY c.a", ""),
    ("SELECT DISTINCT c.a, c.b FROM c ORDER BY c.a DESC", ""),
    ("SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a", "SELECT DISTINCT c.a FROM c"),
    ("SELECT c.a, c.b, COUNT(1) AS n FROM c GROUP BY c.a, c.b", "SELECT DISTINCT c.a, c.b FROM c"),
    (
        "SELECT c.a, MAX(c.b) AS n FROM c WHERE c.b > 0 GROUP BY c.a",
        "SELECT DISTINCT c.a FROM c WHERE c.b > 0",
    ),
    ("SELECT c.plain, SUM(1) AS n FROM c GROUP BY c.plain", "SELECT DISTINCT c.plain FROM c"),
    ("SELECT DISTINCT c.a, c.b FROM c GROUP BY c.a, c.b, c.plain", "SELECT DISTINCT c.a, c.b FROM c"),
];

#[derive(Clone, Debug)]
enum Change {
    Insert(String),
    /// Removes a document, by its place among those that are there.
    Remove(prop::sample::Index),
}

fn any_document() -> impl Strategy<Value = String> {
    let few = prop_oneof![
        3 => (0i32..6).prop_map(|n| Value::Number(f64::from(n))),
        1 => any_value(),
    ];
    prop::collection::vec(few, 3..4).prop_map(|values| {
        let text = String::from_utf8(document(&values)).unwrap();
        let plain = values[0].to_json().map_or("null".to_owned(), |json| String::from_utf8(json).unwrap());
        let comma = if text == "{}" { "" } else { "," };
        text.replacen('{', &format!("{{\"plain\":{plain}{comma}"), 1)
    })
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any_document().prop_map(Change::Insert),
        any::<prop::sample::Index>().prop_map(Change::Remove),
    ]
}

/// What makes a row one of its own.
fn identity(row: &str) -> String {
    let value = match Value::from_json(row.as_bytes()).unwrap() {
        Value::Object(members) => {
            Value::Object(members.into_iter().filter(|(name, _)| &**name != "n").collect())
        }
        other => other,
    };
    String::from_utf8(value.canonical()).unwrap()
}

fn identities(store: &Store, (text, listing): (&str, &str)) -> BTreeSet<String> {
    let listing = if listing.is_empty() { text } else { listing };
    store.plain(listing).unwrap().iter().map(|row| identity(row)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_there_throughout_comes_once(
        documents in prop::collection::vec(any_document(), 0..20),
        changes in prop::collection::vec(prop::collection::vec(any_change(), 0..4), 0..12),
        size in 1usize..8,
        query in prop::sample::select(&QUERIES[..]),
        reindexed: bool,
    ) {
        let store = Store::new(&policy(), 1);
        let mut present: Vec<u64> = documents.iter().map(|text| store.insert(text)).collect();
        let mut request = QueryRequest::new(query.0, FeedScope::Container);
        request.page_size = PageSize::Rows(size);
        let mut throughout = identities(&store, query);
        let mut ever = throughout.clone();
        let (mut given, mut changes) = (Vec::new(), changes.into_iter());
        for turn in 0.. {
            let page = store.run(&request).unwrap();
            prop_assert!(page.rows.len() <= size);
            given.extend(texts(&page.rows).iter().map(|row| identity(row)));
            request.continuation = page.continuation;
            let Some(token) = &request.continuation else { break };
            prop_assert!(token.len() < 2_000, "{}", token);
            for change in changes.next().unwrap_or_default() {
                match change {
                    Change::Insert(text) => present.push(store.insert(&text)),
                    Change::Remove(_) if present.is_empty() => {}
                    Change::Remove(nth) => store.remove(present.swap_remove(nth.index(present.len()))),
                }
            }
            if reindexed && turn == 1 && !query.0.contains("ORDER") {
                // A way that was begun along an index goes on without it.
                let policy = policy().with_excluded_path("/a/?");
                store.layout.ranges()[0].replica(RegionId(0)).reindex(Index::new(&policy).unwrap());
            }
            let now = identities(&store, query);
            throughout = throughout.intersection(&now).cloned().collect();
            ever.extend(now);
        }
        let distinct: BTreeSet<String> = given.iter().cloned().collect();
        prop_assert_eq!(distinct.len(), given.len(), "{} repeats in pages of {}: {:?}", query.0, size, given);
        prop_assert!(throughout.is_subset(&distinct), "{} loses in pages of {}: {:?}", query.0, size, given);
        prop_assert!(distinct.is_subset(&ever), "{} invents in pages of {}: {:?}", query.0, size, given);
    }

    #[test]
    fn pages_of_every_size_give_the_same_rows(
        documents in prop::collection::vec(any_document(), 0..20), query in prop::sample::select(&QUERIES[..]),
    ) {
        let store = Store::with(1, documents.iter().map(String::as_str));
        let plain = unordered(store.plain(query.0).unwrap());
        for size in 1..=plain.len() + 1 {
            let rows = store.rows(query.0, FeedScope::Container, size).unwrap();
            prop_assert_eq!(unordered(rows), plain.clone(), "{} in pages of {}", query.0, size);
        }
    }
}

#[test]
fn a_page_reads_as_far_as_it_goes() {
    let documents: Vec<String> = (0..60).map(|n| format!(r#"{{"a":{},"b":{}}}"#, n % 20, n % 2)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for text in [
        "SELECT DISTINCT VALUE c.a FROM c",
        "SELECT DISTINCT c.a, c.b FROM c WHERE c.a >= 0",
        "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a",
        "SELECT c.b, c.a, COUNT(1) AS n FROM c GROUP BY c.a, c.b",
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Rows(4);
        request.populate_metrics = true;
        let (mut rows, mut read) = (Vec::new(), 0);
        loop {
            let page = store.run(&request).unwrap();
            let metrics = page.metrics.unwrap();
            let (_, count) = metrics.split_once("retrievedDocumentCount=").unwrap();
            read += count.split(';').next().unwrap().parse::<usize>().unwrap();
            rows.extend(texts(&page.rows));
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        assert_eq!(unordered(rows), unordered(store.plain(text).unwrap()), "{text}");
        // The last group of a page may have to be read twice.
        assert!(read < 180, "{text} reads {read} documents");
    }
}

#[test]
fn groups_of_a_page_without_time_are_followed_by_the_others() {
    let documents: Vec<String> = (0..12).map(|n| format!(r#"{{"a":{},"b":{}}}"#, n % 4, n % 2)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for text in ["SELECT DISTINCT VALUE c.a FROM c", "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a"] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Rows(2);
        request.pace = Pace::new(Arc::new(Still), Duration::ZERO, None);
        let mut pages = Vec::new();
        loop {
            let page = store.run(&request).unwrap();
            pages.push(texts(&page.rows));
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        assert!(pages.len() >= 4, "{text}: {pages:?}");
        assert_eq!(unordered(pages.concat()), unordered(store.plain(text).unwrap()), "{text}");
    }
}

#[test]
fn windows_are_kept_over_pages() {
    let documents: Vec<String> = (0..30).map(|n| format!(r#"{{"a":{}}}"#, n % 15)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for (text, count) in [
        ("SELECT DISTINCT TOP 7 c.a FROM c", 7),
        ("SELECT DISTINCT TOP 40 c.a FROM c", 15),
        ("SELECT DISTINCT VALUE c.a FROM c OFFSET 4 LIMIT 5", 5),
        ("SELECT DISTINCT VALUE c.a FROM c OFFSET 12 LIMIT 5", 3),
        ("SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a OFFSET 3 LIMIT 10", 10),
        ("SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a DESC OFFSET 2 LIMIT 9", 9),
    ] {
        for size in 1..18 {
            let rows: BTreeSet<String> =
                store.rows(text, FeedScope::Container, size).unwrap().into_iter().collect();
            assert_eq!(rows.len(), count, "{text} in pages of {size}");
        }
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Any;
        assert_eq!(store.run(&request).unwrap().rows.len(), count, "{text} on one page");
    }
}

#[test]
fn groups_go_on_after_a_split() {
    let documents: Vec<String> = (0..40).map(|n| format!(r#"{{"a":{}}}"#, n % 9)).collect();
    let text = "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a";
    for before in 1..4 {
        let mut store = Store::with(1, documents.iter().map(String::as_str));
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Rows(2);
        let mut counted = 0;
        let mut count = |rows: &[String]| {
            for row in rows {
                counted += serde_json::from_str::<serde_json::Value>(row).unwrap()["n"].as_u64().unwrap();
            }
        };
        for _ in 0..before {
            let page = store.run(&request).unwrap();
            count(&texts(&page.rows));
            request.continuation = page.continuation;
        }
        store.split();
        for range in store.layout.ranges() {
            let mut request = QueryRequest { scope: FeedScope::Range(range.id.clone()), ..request.clone() };
            while request.continuation.is_some() {
                let page = store.run(&request).unwrap();
                count(&texts(&page.rows));
                request.continuation = page.continuation;
            }
        }
        assert_eq!(counted, 40, "split after {before} pages");
    }
}

#[test]
fn a_sorted_query_without_duplicates_goes_on_where_its_client_wants() {
    let documents: Vec<String> = (0..12).map(|n| format!(r#"{{"a":{}}}"#, n % 4)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    let resume = |text: &str| ResumeFilter::read(&RawValue::from_string(text.to_owned()).unwrap()).unwrap();
    for text in [
        "SELECT DISTINCT c._rid, c.a FROM c ORDER BY c.a",
        "SELECT DISTINCT VALUE {a: c.a} FROM c ORDER BY c.a",
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.resume = Some(resume(r#"{"value":[1],"exclude":true}"#));
        let page = store.run(&request).unwrap();
        let found: BTreeSet<i64> = texts(&page.rows)
            .iter()
            .map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap()["a"].as_i64().unwrap())
            .collect();
        assert_eq!(found, BTreeSet::from([2, 3]), "{text}");
    }
}

#[test]
fn a_place_that_nobody_has_written_is_refused() {
    let store = Store::with(1, [r#"{"a":1}"#, r#"{"a":2}"#]);
    let long = STANDARD.encode([3; 400]);
    let short = STANDARD.encode([3; 4]);
    let unknown = STANDARD.encode([[1; 16].as_slice(), &[9]].concat());
    let tokens =
        [long.as_str(), &short, &unknown, "*"].map(|after| format!(r#"{{"v":1,"after":"{after}"}}"#));
    // The last one is of an earlier version, which counted rows.
    for token in tokens.into_iter().chain([r#"{"v":1,"given":1}"#.to_owned()]) {
        let mut request = QueryRequest::new("SELECT DISTINCT VALUE c.a FROM c", FeedScope::Container);
        request.continuation = Some(token);
        let refused = store.run(&request).unwrap_err();
        assert!(refused.message.contains("Invalid Continuation Token"), "{refused}");
    }
}

#[test]
fn large_rows_are_divided_between_pages() {
    let text = |n: usize| format!(r#"{{"a":{n},"b":"{}"}}"#, "x".repeat(1 << 20));
    let documents: Vec<String> = (0..10).map(text).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for text in [
        "SELECT DISTINCT c.a, c.b FROM c",
        "SELECT DISTINCT VALUE [c.a, c.b] FROM c",
        "SELECT DISTINCT VALUE [c.a, c.b] FROM c OFFSET 0 LIMIT 50",
        "SELECT c.a, c.b FROM c GROUP BY c.a, c.b",
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Any;
        let (mut pages, mut rows) = (Vec::new(), BTreeSet::new());
        loop {
            let page = store.run(&request).unwrap();
            pages.push(page.rows.len());
            rows.extend(texts(&page.rows));
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        assert_eq!(pages, [3, 3, 3, 1], "{text}");
        assert_eq!(rows.len(), 10, "{text}");
    }
}

#[test]
fn groups_without_a_row_and_short_rows_hide_no_others() {
    let documents: Vec<String> =
        (0..40).map(|n| format!(r#"{{"a":{n}{}}}"#, if n % 9 == 8 { r#","b":1"# } else { "" })).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for text in ["SELECT VALUE MAX(c.b) FROM c GROUP BY c.a", "SELECT VALUE c.b FROM c GROUP BY c.a, c.b"] {
        for size in [1, 2, 3, 100] {
            let mut request = QueryRequest::new(text, FeedScope::Container);
            request.page_size = PageSize::Rows(size);
            let mut rows = 0;
            loop {
                let page = store.run(&request).unwrap();
                rows += page.rows.len();
                request.continuation = page.continuation;
                if request.continuation.is_none() {
                    break;
                }
            }
            assert_eq!(rows, 4, "{text} in pages of {size}");
        }
    }
    // More rows than fit into a page, if each had the size of what is kept of it.
    let many = Store::new(&policy(), 1);
    for n in 0..40_000 {
        many.insert(&format!(r#"{{"a":{n}}}"#));
    }
    let mut request = QueryRequest::new("SELECT DISTINCT VALUE c.a FROM c", FeedScope::Container);
    request.page_size = PageSize::Any;
    assert_eq!(many.run(&request).unwrap().rows.len(), 40_000);
}
