//! Pages end anywhere and go on exactly there: between the rows of one document, over splits, among writes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::store::{Still, Store, policy, texts, unordered};
use crate::Pace;
use crate::engine::query::{PageSize, QueryRequest, TieOrder};
use crate::engine::{FeedScope, RegionId};
use crate::index::Index;

const TAGGED: [&str; 5] = [
    r#"{"a":2,"b":1,"tags":["x","y","z"]}"#,
    r#"{"a":1,"b":1,"tags":["x"]}"#,
    r#"{"a":1,"b":2,"tags":[]}"#,
    r#"{"a":2,"b":3,"tags":["y","y"]}"#,
    r#"{"a":3,"b":1}"#,
];

const QUERIES: [&str; 17] = [
    "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c._rid DESC",
    "SELECT c.id, t FROM c JOIN t IN c.tags",
    "SELECT c.id, t FROM c JOIN t IN c.tags WHERE c.a = 2",
    "SELECT c.id, t FROM c JOIN t IN c.tags WHERE c.a > 0",
    "SELECT c.id, t FROM c JOIN t IN c.tags WHERE t = 'y'",
    "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.a",
    "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.a DESC, c.b",
    "SELECT c.id, t FROM c JOIN t IN c.tags WHERE c.a = 2 ORDER BY c.a DESC, c.b",
    "SELECT TOP 4 c.id, t FROM c JOIN t IN c.tags ORDER BY c.b DESC",
    "SELECT TOP 3 c.id FROM c",
    "SELECT c.id FROM c OFFSET 1 LIMIT 3",
    "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.a OFFSET 2 LIMIT 3",
    "SELECT DISTINCT VALUE c.a FROM c",
    "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a DESC",
    "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a",
    "SELECT VALUE SUM(c.a) FROM c",
    "SELECT VALUE 1",
];

#[test]
fn every_page_size_gives_the_same_rows() {
    let store = Store::with(1, TAGGED);
    for text in QUERIES {
        let plain = store.plain(text).unwrap();
        assert!(!plain.is_empty(), "{text}");
        for size in 1..=plain.len() + 1 {
            let rows = store.rows(text, FeedScope::Container, size).unwrap();
            if text.contains("ORDER BY") {
                assert_eq!(rows, plain, "{text} in pages of {size}");
            } else {
                assert_eq!(unordered(rows), unordered(plain.clone()), "{text} in pages of {size}");
            }
        }
    }
}

#[test]
fn pages_that_end_early_for_want_of_time_give_the_same_rows() {
    let store = Store::with(1, TAGGED);
    for text in QUERIES {
        let plain = store.plain(text).unwrap();
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Any;
        // Every page has taken its time as soon as it begins.
        request.pace = Pace::new(Arc::new(Still), Duration::ZERO, None);
        let (mut rows, mut pages) = (Vec::new(), 0);
        loop {
            let page = store.run(&request).unwrap();
            rows.extend(texts(&page.rows));
            pages += 1;
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        if text.contains("ORDER BY") {
            assert_eq!(rows, plain, "{text}");
        } else {
            assert_eq!(unordered(rows), unordered(plain), "{text}");
        }
        let sees_all_at_once =
            ["DISTINCT", "COUNT", "SUM", "VALUE 1", "_rid"].iter().any(|word| text.contains(word));
        assert!(sees_all_at_once || pages > 1, "{text}: {pages}");
    }
}

#[test]
fn a_page_of_any_size_is_bounded_by_its_bytes() {
    let large = format!(r#"{{"a":1,"text":"{}"}}"#, "x".repeat(1 << 20));
    let store = Store::with(1, [large.as_str(); 10]);
    for text in [
        "SELECT * FROM c",
        "SELECT * FROM c ORDER BY c.a",
        "SELECT * FROM c WHERE c.a > 0",
        "SELECT DISTINCT * FROM c",
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Any;
        let mut pages = Vec::new();
        loop {
            let page = store.run(&request).unwrap();
            assert!(page.rows.byte_len() <= PageSize::MAX_BYTES, "{text}");
            pages.push(page.rows.len());
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
        assert_eq!(pages, [3, 3, 3, 1], "{text}");
    }
}

#[test]
fn the_default_page_has_a_hundred_rows() {
    let store = Store::with(1, [r#"{"a":1}"#; 101]);
    let page = store.run(&QueryRequest::new("SELECT * FROM c", FeedScope::Container)).unwrap();
    assert_eq!(page.rows.len(), 100);
    assert!(page.continuation.is_some());
    for (header, size) in [(-1, Some(PageSize::Any)), (5, Some(PageSize::Rows(5))), (0, None), (-2, None)] {
        assert_eq!(PageSize::from_header(header), size);
    }
}

#[test]
fn a_last_page_that_is_full_is_followed_by_an_empty_one() {
    let one = Store::with(1, [r#"{"a":1,"b":1}"#; 4]);
    for (store, text, pages) in [
        (&one, "SELECT * FROM c", vec![2, 2, 0]),
        (&one, "SELECT * FROM c WHERE c.a = 1", vec![2, 2, 0]),
        (&one, "SELECT * FROM c ORDER BY c.a", vec![2, 2, 0]),
        (&one, "SELECT * FROM c ORDER BY c._ts DESC", vec![2, 2, 0]),
        (&one, "SELECT * FROM c ORDER BY c.x", vec![2, 2, 0]),
        (&one, "SELECT * FROM c ORDER BY c.a, c.b DESC", vec![2, 2, 0]),
        (&one, "SELECT DISTINCT VALUE c.id FROM c", vec![2, 2, 0]),
        // The query itself says that there is no more.
        (&one, "SELECT TOP 4 * FROM c", vec![2, 2]),
        (&one, "SELECT DISTINCT TOP 4 c.id FROM c", vec![2, 2]),
        (&one, "SELECT * FROM c ORDER BY c.a OFFSET 0 LIMIT 4", vec![2, 2]),
        (&one, "SELECT c.id FROM c GROUP BY c.id", vec![2, 2]),
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Rows(2);
        let mut sizes = Vec::new();
        loop {
            let page = store.run(&request).unwrap();
            sizes.push(page.rows.len());
            request.continuation = page.continuation;
            let Some(token) = &request.continuation else { break };
            assert!(serde_json::from_str::<serde_json::Value>(token).is_ok(), "{token}");
        }
        assert_eq!(sizes, pages, "{text}");
    }
}

#[test]
fn each_partition_has_pages_of_its_own() {
    for partitions in 1..5 {
        let store = Store::with(partitions, [r#"{"a":1}"#; 6]);
        for text in ["SELECT * FROM c", "SELECT * FROM c WHERE c.a = 1", "SELECT * FROM c WHERE c.a = 2"] {
            let mut request = QueryRequest::new(text, FeedScope::Container);
            let mut pages = 0;
            loop {
                let page = store.run(&request).unwrap();
                pages += 1;
                request.continuation = page.continuation;
                if request.continuation.is_none() {
                    break;
                }
            }
            assert_eq!(pages, usize::from(partitions), "{text}");
        }
    }
}

#[test]
fn ties_come_in_the_order_that_the_page_says() {
    let store = Store::with(
        1,
        [r#"{"a":1,"b":1}"#, r#"{"a":1,"b":1}"#, r#"{"a":1,"b":1}"#, r#"{"b":1}"#, r#"{"b":1}"#],
    );
    for (ties, header, rising, falling) in [
        (TieOrder::FirstKey, r#"{"reverseRidEnabled":true"#, "4 5 1 2 3", "3 2 1 5 4"),
        (
            TieOrder::Ascending,
            r#"{"reverseRidEnabled":false,"reverseIndexScan":false}"#,
            "4 5 1 2 3",
            "1 2 3 4 5",
        ),
        (
            TieOrder::Descending,
            r#"{"reverseRidEnabled":false,"reverseIndexScan":true}"#,
            "5 4 3 2 1",
            "3 2 1 5 4",
        ),
    ] {
        for (order, expected) in
            [("c.a", rising), ("c.a DESC", falling), ("c.a, c.b DESC", rising), ("c.a DESC, c.b", falling)]
        {
            // A condition that few documents fulfil is sorted, others are read along the index.
            for filter in ["", " WHERE c.b = 1"] {
                for size in 1..7 {
                    let text = format!("SELECT VALUE c.id FROM c{filter} ORDER BY {order}");
                    let mut request = QueryRequest::new(text.as_str(), FeedScope::Container);
                    (request.page_size, request.ties) = (PageSize::Rows(size), ties);
                    let mut ids = Vec::new();
                    loop {
                        let page = store.run(&request).unwrap();
                        let info = serde_json::to_string(&page.execution_info).unwrap();
                        assert!(info.starts_with(header), "{info}");
                        ids.extend(texts(&page.rows).iter().map(|id| id.trim_matches('"').to_owned()));
                        request.continuation = page.continuation;
                        if request.continuation.is_none() {
                            break;
                        }
                    }
                    assert_eq!(ids.join(" "), expected, "{text}, {ties:?}, in pages of {size}");
                }
            }
        }
    }
}

#[test]
fn tokens_survive_a_split() {
    let documents: Vec<String> =
        (0..40).map(|n| format!(r#"{{"a":{},"b":"{n}","tags":[1,2,3]}}"#, n % 5)).collect();
    for text in [
        "SELECT c.id, t FROM c JOIN t IN c.tags",
        "SELECT c.id, t FROM c JOIN t IN c.tags WHERE c.a = 2",
        "SELECT c.id, t FROM c JOIN t IN c.tags WHERE c.a >= 2",
        "SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.a",
    ] {
        for before in 1..12 {
            let mut store = Store::with(1, documents.iter().map(String::as_str));
            let expected = unordered(store.plain(text).unwrap());
            let mut request = QueryRequest::new(text, FeedScope::Container);
            request.page_size = PageSize::Rows(7);
            let mut rows = Vec::new();
            for page in 0.. {
                if page == before {
                    store.split();
                    rows.extend(rest(&store, &request));
                    break;
                }
                let page = store.run(&request).unwrap();
                rows.extend(texts(&page.rows));
                request.continuation = page.continuation;
                if request.continuation.is_none() {
                    break;
                }
            }
            assert_eq!(unordered(rows), expected, "{text}, split after {before} pages");
        }
    }
}

#[test]
fn a_walk_goes_on_when_its_path_is_not_indexed_any_more() {
    let documents: Vec<String> = (0..40).map(|n| format!(r#"{{"a":{}}}"#, n * 7 % 20)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    let text = "SELECT VALUE c.id FROM c WHERE c.a > 3";
    let expected = unordered(store.plain(text).unwrap());
    let mut request = QueryRequest::new(text, FeedScope::Container);
    request.page_size = PageSize::Rows(3);
    let mut rows = Vec::new();
    for page in 0.. {
        if page == 2 {
            assert!(request.continuation.as_ref().is_some_and(|token| token.contains("term")), "it walks");
            let policy = policy().with_excluded_path("/a/?");
            store.layout.ranges()[0].replica(RegionId(0)).reindex(Index::new(&policy).unwrap());
        }
        let page = store.run(&request).unwrap();
        rows.extend(texts(&page.rows));
        request.continuation = page.continuation;
        if request.continuation.is_none() {
            break;
        }
    }
    assert_eq!(unordered(rows), expected);
}

/// What is left, read from each child as a client does after a split.
fn rest(store: &Store, request: &QueryRequest) -> Vec<String> {
    let mut rows = Vec::new();
    let scopes = match request.spec.query.contains("ORDER BY") {
        true => store.layout.ranges().iter().map(|range| FeedScope::Range(range.id.clone())).collect(),
        false => vec![FeedScope::Container],
    };
    for scope in scopes {
        let mut request = QueryRequest { scope, ..request.clone() };
        loop {
            let page = store.run(&request).unwrap();
            rows.extend(texts(&page.rows));
            request.continuation = page.continuation;
            if request.continuation.is_none() {
                break;
            }
        }
    }
    rows
}

#[test]
fn writes_between_pages_lose_and_repeat_nothing_else() {
    for text in [
        "SELECT VALUE c.id FROM c",
        "SELECT VALUE c.id FROM c WHERE c.a = 1",
        "SELECT VALUE c.id FROM c WHERE c.a > 0",
        "SELECT VALUE c.id FROM c ORDER BY c.a",
        "SELECT VALUE c.id FROM c ORDER BY c.a DESC",
        "SELECT VALUE c.id FROM c ORDER BY c.a DESC, c.b",
    ] {
        for size in 1..6 {
            let store = Store::with(1, [r#"{"a":1,"b":1}"#; 20]);
            let mut kept: BTreeSet<String> = store.plain(text).unwrap().into_iter().collect();
            let mut request = QueryRequest::new(text, FeedScope::Container);
            request.page_size = PageSize::Rows(size);
            let (mut seen, mut victim) = (Vec::new(), 1);
            loop {
                let page = store.run(&request).unwrap();
                seen.extend(texts(&page.rows));
                request.continuation = page.continuation;
                if request.continuation.is_none() {
                    break;
                }
                // Takes away documents on both sides of the position, the one that it names included, and adds others.
                if let Some(last) = seen.last() {
                    store.remove(last.trim_matches('"').parse().unwrap());
                    kept.remove(last);
                }
                store.remove(victim);
                kept.remove(&format!("\"{victim}\""));
                victim += 4;
                if victim < 20 {
                    store.insert(r#"{"a":0,"b":1}"#);
                    store.insert(r#"{"a":2,"b":1}"#);
                }
            }
            let distinct: BTreeSet<String> = seen.iter().cloned().collect();
            assert_eq!(distinct.len(), seen.len(), "{text} repeats in pages of {size}");
            assert!(kept.is_subset(&distinct), "{text} loses in pages of {size}");
        }
    }
}
