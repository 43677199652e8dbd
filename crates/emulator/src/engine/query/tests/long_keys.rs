//! Orders by values that are too long for a continuation: pages end and go on as they do with short ones.

use super::store::{Store, texts};
use crate::engine::FeedScope;
use crate::engine::query::{PageSize, QueryRequest};

/// What clients take in a header.
const HEADER: usize = 12 << 10;

/// Documents that share all but the end of a text, two of them all of it.
fn store(length: usize) -> Store {
    let long = "ü".repeat(length / 2);
    let text = |nth: usize| {
        let (a, other) = (nth % 4, (nth * 5) % 7);
        format!(r#"{{"a":"{long}{a}","b":{other}}}"#)
    };
    Store::with(1, (0..6).map(text).collect::<Vec<_>>().iter().map(String::as_str))
}

const QUERIES: [&str; 5] = [
    "SELECT VALUE c.id FROM c ORDER BY c.a",
    "SELECT VALUE c.id FROM c ORDER BY c.a DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.a, c.b DESC",
    "SELECT VALUE c.id FROM c WHERE c.b >= 0 ORDER BY c.a",
    "SELECT DISTINCT c.id, c.a FROM c ORDER BY c.a",
];

#[test]
fn pages_of_one_row_are_read_to_the_end() {
    for (length, queries) in [(20_000, &QUERIES[..]), (700_000, &QUERIES[..4])] {
        let store = store(length);
        for text in queries {
            let plain = store.plain(text).unwrap();
            let mut request = QueryRequest::new(*text, FeedScope::Container);
            request.page_size = PageSize::Rows(1);
            let mut rows = Vec::new();
            loop {
                let page = store.run(&request).unwrap();
                rows.extend(texts(&page.rows));
                request.continuation = page.continuation;
                let Some(continuation) = &request.continuation else { break };
                let most = if text.contains("DISTINCT") { 128 << 10 } else { HEADER };
                assert!(continuation.len() < most, "{text}: {}", continuation.len());
            }
            assert_eq!(rows, plain, "{text}");
        }
    }
}

#[test]
fn distinct_rows_without_a_place_that_fits_are_refused() {
    let store = store(700_000);
    let mut request = QueryRequest::new(QUERIES[4], FeedScope::Container);
    request.page_size = PageSize::Rows(1);
    let failure = store.run(&request).unwrap_err();
    assert!(failure.message.contains("sort by something shorter"), "{failure}");
}

#[test]
fn a_page_that_ends_at_an_item_that_is_gone_then_is_refused() {
    let store = store(20_000);
    for text in &QUERIES[..4] {
        let mut request = QueryRequest::new(*text, FeedScope::Container);
        request.page_size = PageSize::Rows(1);
        request.continuation = store.run(&request).unwrap().continuation;
        assert!(store.run(&request).is_ok(), "{text}");
        let whole = request.continuation.clone().unwrap();
        let (_, behind) = whole.split_once("\"number\":").unwrap();
        let number: String = behind.chars().take_while(char::is_ascii_digit).collect();
        let gone = whole.replace(&format!("\"number\":{number}"), "\"number\":77");
        let failure = store.run(&QueryRequest { continuation: Some(gone), ..request }).unwrap_err();
        assert!(failure.message.contains("has changed since"), "{text}: {failure}");
    }
}

#[test]
fn a_place_outlives_a_split() {
    let mut store = store(20_000);
    for text in &QUERIES[..4] {
        let plain = store.plain(text).unwrap();
        let mut request = QueryRequest::new(*text, FeedScope::Container);
        request.page_size = PageSize::Rows(3);
        let first = store.run(&request).unwrap();
        let mut split = std::mem::replace(&mut store, self::store(20_000));
        split.split();
        let mut rows = texts(&first.rows);
        for range in split.layout.ranges() {
            let scope = FeedScope::Range(range.id.clone());
            let mut request = QueryRequest::new(*text, scope);
            request.page_size = PageSize::Rows(2);
            request.continuation = first.continuation.clone();
            loop {
                let page = split.run(&request).unwrap();
                rows.extend(texts(&page.rows));
                request.continuation = page.continuation;
                if request.continuation.is_none() {
                    break;
                }
            }
        }
        let (mut rows, mut plain) = (rows, plain);
        rows.sort();
        plain.sort();
        assert_eq!(rows, plain, "{text}");
    }
}

/// Held are what rows are sorted by and not the rows alone.
#[test]
fn a_sort_that_holds_too_much_is_refused() {
    let large = format!(r#"{{"big":"{}","tags":{:?}}}"#, "x".repeat(300_000), [1; 200]);
    // A filter that finds few of its documents is cheaper to sort than the order to follow.
    let store = Store::with(1, [large.as_str(), "{}", "{}"]);
    let text = "SELECT VALUE 1 FROM c JOIN t IN c.tags WHERE c.id = '1' ORDER BY c.big";
    let mut request = QueryRequest::new(text, FeedScope::Container);
    request.page_size = PageSize::Any;
    let failure = store.run(&request).unwrap_err();
    assert!(failure.message.contains("sorting holds more than"), "{failure}");
    // What the page cannot show is let go.
    request.page_size = PageSize::Rows(5);
    assert_eq!(store.run(&request).unwrap().rows.len(), 5);
}
