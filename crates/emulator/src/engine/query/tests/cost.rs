//! What queries look at: as much as they give, not as much as there is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cosmonaut_wire::PartitionKey;

use super::store::Store;
use crate::engine::FeedScope;
use crate::engine::query::{IndexMetrics, PageSize, QueryRequest};

/// How many documents a first page of ten looked at.
fn looked_at(store: &Store, text: &str) -> u64 {
    looked_at_in(store, text, FeedScope::Container)
}

fn looked_at_in(store: &Store, text: &str, scope: FeedScope) -> u64 {
    let mut request = QueryRequest::new(text, scope);
    request.page_size = PageSize::Rows(10);
    request.populate_metrics = true;
    let metrics = store.run(&request).unwrap().metrics.unwrap();
    let count = metrics.split(';').find_map(|entry| entry.strip_prefix("retrievedDocumentCount=")).unwrap();
    count.parse().unwrap()
}

#[test]
fn cost_grows_with_the_result_and_not_with_the_container() {
    let documents: Vec<String> = (0..6000)
        .map(|n| {
            format!(r#"{{"a":{},"b":"k{n:05}","kind":{},"tags":["t{n}"],"plain":{n}}}"#, n % 3000, n % 2)
        })
        .collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for (text, most) in [
        ("SELECT * FROM c", 11),
        ("SELECT * FROM c WHERE c.b = 'k00077'", 1),
        ("SELECT * FROM c WHERE c.id IN ('7', '8', 'nobody')", 2),
        ("SELECT * FROM c WHERE c.kind = 1", 11),
        ("SELECT * FROM c WHERE c.kind = 1 AND c.a = 77", 2),
        ("SELECT * FROM c WHERE c.kind = 0 AND c.a = 77", 0),
        ("SELECT * FROM c WHERE c.a > 2990", 18),
        ("SELECT * FROM c WHERE c.a > 10", 11),
        ("SELECT * FROM c WHERE c.a > 10 AND c.a < 12", 2),
        ("SELECT * FROM c WHERE STARTSWITH(c.b, 'k0007')", 10),
        ("SELECT * FROM c WHERE c.b LIKE 'k0%'", 11),
        ("SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, 't5')", 1),
        ("SELECT * FROM c WHERE c.a = 5 OR c.b = 'k00006'", 3),
        ("SELECT * FROM c WHERE c.pk = '9'", 1),
        ("SELECT TOP 3 * FROM c ORDER BY c.b", 4),
        ("SELECT * FROM c ORDER BY c.b DESC", 11),
        ("SELECT * FROM c WHERE c.b > 'k03' ORDER BY c.b", 11),
        ("SELECT * FROM c WHERE c.a = 5 ORDER BY c.b", 2),
        ("SELECT * FROM c ORDER BY c.a, c.b DESC", 11),
        ("SELECT * FROM c WHERE c.a = 5 ORDER BY c.a, c.b DESC", 2),
        (
            "SELECT c._rid, [{\"item\": c.b}] AS orderByItems, c AS payload FROM c WHERE (true) ORDER BY c.b",
            11,
        ),
        (
            "SELECT c._rid, [{\"item\": c.b}] AS orderByItems, c AS payload FROM c WHERE ((c.b > 'k04000') AND (true)) ORDER BY c.b",
            11,
        ),
        (
            "SELECT c._rid, [{\"item\": c.b}] AS orderByItems, c.a AS payload FROM c WHERE (true) AND IS_DEFINED(c.a) ORDER BY c.b",
            11,
        ),
        (
            "SELECT c._rid, [{\"item\": c.a}] AS orderByItems, c.a AS payload FROM c WHERE (c.a > 77) AND IS_DEFINED(c.a) ORDER BY c.a",
            11,
        ),
    ] {
        let found = looked_at(&store, text);
        assert!(found <= most, "{text} looked at {found} documents");
    }
    assert_eq!(
        looked_at(&store, "SELECT * FROM c WHERE c.plain = 5999"),
        6000,
        "what is not indexed is scanned"
    );
}

#[test]
fn a_key_is_read_by_itself_and_not_through_the_whole_partition() {
    let documents: Vec<String> =
        (0..3000).map(|n| format!(r#"{{"pk":"k{}","a":1,"b":{n}}}"#, n % 300)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    for text in [
        "SELECT * FROM c",
        "SELECT * FROM c WHERE c.a = 1",
        "SELECT * FROM c WHERE c.b > 5",
        "SELECT * FROM c ORDER BY c.b",
        "SELECT * FROM c ORDER BY c.a DESC, c.b",
        "SELECT VALUE COUNT(1) FROM c",
    ] {
        let found = looked_at_in(&store, text, FeedScope::Key(PartitionKey::from("k7")));
        assert!(found <= 10, "{text} looked at {found} documents");
    }
    let selective = "SELECT * FROM c WHERE c.a = 1 AND c.b = 7 ORDER BY c.a DESC, c.b";
    assert_eq!(looked_at(&store, selective), 1);
}

#[test]
fn charges_follow_what_was_read() {
    let documents: Vec<String> = (0..500).map(|n| format!(r#"{{"a":{n},"plain":{n}}}"#)).collect();
    let store = Store::with(1, documents.iter().map(String::as_str));
    let charge = |text: &str| store.run(&QueryRequest::new(text, FeedScope::Container)).unwrap().charge;
    let indexed = charge("SELECT * FROM c WHERE c.a = 5");
    assert!((2.0..3.5).contains(&indexed), "{indexed}");
    assert!(charge("SELECT * FROM c WHERE c.plain = 5") > 10.0 * indexed);
    assert!(charge("SELECT * FROM c") > indexed);
}

#[test]
fn the_headers_say_what_was_used() {
    let store = Store::with(1, [r#"{"a":1,"b":2,"plain":3}"#, r#"{"a":1,"b":3}"#]);
    let mut request =
        QueryRequest::new("SELECT * FROM c WHERE c.a = 1 AND c.plain = 3", FeedScope::Container);
    (request.populate_metrics, request.index_metrics) = (true, Some(IndexMetrics::Base64));
    let page = store.run(&request).unwrap();
    let metrics = page.metrics.unwrap();
    for part in [
        "retrievedDocumentCount=2;",
        "outputDocumentCount=1;",
        "indexUtilizationRatio=0.50",
        "totalExecutionTimeInMs=",
    ] {
        assert!(metrics.contains(part), "{metrics}");
    }
    let report: serde_json::Value =
        serde_json::from_slice(&STANDARD.decode(page.index_utilization.unwrap()).unwrap()).unwrap();
    assert_eq!(report["UtilizedSingleIndexes"][0]["IndexSpec"], "/a/?");
    assert_eq!(report["PotentialSingleIndexes"][0]["IndexSpec"], "/plain/?");

    request.spec = "SELECT * FROM c ORDER BY c.a DESC, c.b".into();
    let page = store.run(&request).unwrap();
    let report: serde_json::Value =
        serde_json::from_slice(&STANDARD.decode(page.index_utilization.unwrap()).unwrap()).unwrap();
    assert_eq!(report["UtilizedCompositeIndexes"][0]["IndexSpecs"], serde_json::json!(["/a DESC", "/b ASC"]));
    assert_eq!(page.range_id.unwrap().as_str(), "0");
}

/// The shape is the one that the JavaScript and .NET SDKs read.
#[test]
fn newer_clients_are_told_of_indexes_in_fewer_words() {
    let store = Store::with(1, [r#"{"a":1,"b":2,"plain":{"x":1}}"#]);
    for (text, expected) in [
        (
            "SELECT * FROM c WHERE c.a = 1",
            r#"{"Utilized":{"SingleIndexes":[{"IndexSpec":"/a/?"}],"CompositeIndexes":[]},"Potential":{"SingleIndexes":[],"CompositeIndexes":[]}}"#,
        ),
        (
            "SELECT * FROM c WHERE c.plain.x = 1",
            r#"{"Utilized":{"SingleIndexes":[],"CompositeIndexes":[]},"Potential":{"SingleIndexes":[{"IndexSpec":"/plain/x/?"}],"CompositeIndexes":[]}}"#,
        ),
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.index_metrics = Some(IndexMetrics::UriEncoded);
        let encoded = store.run(&request).unwrap().index_utilization.unwrap();
        assert!(encoded.starts_with("%7B%22Utilized%22%3A"), "{encoded}");
        let decoded: serde_json::Value = serde_json::from_str(&decode(&encoded)).unwrap();
        assert_eq!(decoded, serde_json::from_str::<serde_json::Value>(expected).unwrap(), "{text}");
    }
}

fn decode(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_count_that_the_index_knows_loads_no_document() {
    let store =
        Store::with(1, (0..20).map(|n| if n % 2 == 0 { r#"{"a":1}"# } else { r#"{"a":2,"plain":1}"# }));
    for (text, documents) in [
        ("SELECT VALUE COUNT(1) FROM c", 0),
        ("SELECT VALUE [{\"item\": COUNT(1)}] FROM c", 0),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.a = 1", 0),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.a = 1 AND c.id > '3'", 0),
        ("SELECT VALUE COUNT(1) FROM c WHERE LENGTH(c.id) = 1", 20),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.plain = 1", 20),
        ("SELECT VALUE COUNT(c.a) FROM c", 20),
        ("SELECT VALUE SUM(1) FROM c", 20),
    ] {
        assert_eq!(looked_at(&store, text), documents, "{text}");
    }
}
