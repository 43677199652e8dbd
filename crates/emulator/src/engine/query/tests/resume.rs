//! Queries that go on at the values of a row: what comes before the place is left out, whatever way rows are found.

use serde_json::value::RawValue;

use super::store::{Store, texts};
use crate::engine::FeedScope;
use crate::engine::query::{PageSize, QueryRequest, ResumeFilter, TieOrder};

const DOCUMENTS: [&str; 8] = [
    r#"{"a":1,"b":1}"#,
    r#"{"a":1,"b":2}"#,
    r#"{"a":1,"b":1}"#,
    r#"{"b":1}"#,
    r#"{"a":"x","b":1}"#,
    r#"{"a":[],"b":1}"#,
    r#"{"a":[1,"a"],"b":1}"#,
    r#"{"a":{},"b":1}"#,
];

/// The `_rid` of a document, which ends with its number.
fn rid(number: u64) -> String {
    use base64::Engine as _;
    let mut bytes = [1, 2, 3, 4, 0x80, 6, 7, 8].to_vec();
    bytes.extend(number.to_le_bytes());
    base64::engine::general_purpose::STANDARD.encode(bytes).replace('/', "-")
}

fn filter(value: &str, number: Option<u64>, exclude: bool) -> ResumeFilter {
    let rid = number.map(|number| format!(r#","rid":"{}""#, rid(number))).unwrap_or_default();
    let json = format!(r#"{{"value":{value}{rid},"exclude":{exclude}}}"#);
    ResumeFilter::read(&RawValue::from_string(json).unwrap()).unwrap()
}

/// The low and high halves of the hashes in the reference, as signed numbers.
fn hashed(kind: &str, bytes: &str) -> String {
    let byte = |at: usize| u8::from_str_radix(&bytes[2 * at..2 * at + 2], 16).unwrap();
    let half = |from: usize| i64::from_le_bytes(std::array::from_fn(|at| byte(from + at)));
    format!(r#"[{{"type":"{kind}","low":{},"high":{}}}]"#, half(0), half(8))
}

fn ids(store: &Store, order: &str, ties: TieOrder, resume: &ResumeFilter, size: usize) -> String {
    let text = format!("SELECT VALUE c.id FROM c ORDER BY {order}");
    let mut request = QueryRequest::new(text.as_str(), FeedScope::Container);
    (request.page_size, request.ties) = (PageSize::Rows(size), ties);
    // It travels with the continuation, too.
    request.resume = Some(resume.clone());
    let mut ids = Vec::new();
    loop {
        let page = store.run(&request).unwrap();
        ids.extend(texts(&page.rows).iter().map(|id| id.trim_matches('"').to_owned()));
        request.continuation = page.continuation;
        if request.continuation.is_none() {
            return ids.join(" ");
        }
    }
}

#[test]
fn rows_come_from_the_place_on() {
    let store = Store::with(1, DOCUMENTS);
    let empty_array = hashed("array", "82805359a33cefa2ff634aff29f7547d");
    let array = hashed("array", "f9dcea90144f1c2da14e5ad8d1c43906");
    let object = hashed("object", "d865b9803e74381438a701aa606ab814");
    use TieOrder::{Ascending, Descending, FirstKey};
    for (order, ties, resume, expected) in [
        ("c.a", FirstKey, filter("[[]]", None, false), "4 1 2 3 5 6 7 8"),
        ("c.a", FirstKey, filter("[[]]", None, true), "1 2 3 5 6 7 8"),
        ("c.a", FirstKey, filter("[1]", None, false), "1 2 3 5 6 7 8"),
        ("c.a", FirstKey, filter("[1]", None, true), "5 6 7 8"),
        ("c.a", FirstKey, filter("[1]", Some(2), false), "2 3 5 6 7 8"),
        ("c.a", FirstKey, filter("[1]", Some(2), true), "3 5 6 7 8"),
        ("c.a", Descending, filter("[1]", Some(2), false), "2 1 5 6 7 8"),
        ("c.a DESC", FirstKey, filter("[1]", Some(2), false), "2 1 4"),
        ("c.a DESC", Ascending, filter("[1]", Some(2), false), "2 3 4"),
        ("c.a DESC", FirstKey, filter("[[]]", None, true), ""),
        ("c.a", FirstKey, filter(&empty_array, None, true), "7 8"),
        ("c.a", FirstKey, filter(&array, Some(7), false), "7 8"),
        ("c.a", FirstKey, filter(&object, None, false), "8"),
        ("c.a DESC", FirstKey, filter(&array, None, true), "6 5 3 2 1 4"),
        ("c.a, c.b DESC", FirstKey, filter("[1,1]", Some(3), false), "3 5 6 7 8"),
        ("c.a, c.b DESC", FirstKey, filter("[1,2]", None, true), "1 3 5 6 7 8"),
    ] {
        for size in 1..10 {
            assert_eq!(ids(&store, order, ties, &resume, size), expected, "{order}, {resume:?}, {ties:?}");
        }
    }
}

#[test]
fn a_filter_that_does_not_fit_is_refused() {
    let store = Store::with(1, DOCUMENTS);
    for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.a, c.b DESC"] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.resume = Some(filter("[1]", None, false));
        assert!(store.run(&request).unwrap_err().message.contains("resumeFilter"));
    }
    for json in [
        "1",
        r#"{"value":1}"#,
        r#"{"value":[[1]]}"#,
        r#"{"value":[{"type":"string","low":1,"high":1}]}"#,
        r#"{"value":[1],"rid":"x"}"#,
    ] {
        let failure = ResumeFilter::read(&RawValue::from_string(json.to_owned()).unwrap()).unwrap_err();
        assert!(failure.message.contains("resumeFilter"), "{json}: {failure}");
    }
}
