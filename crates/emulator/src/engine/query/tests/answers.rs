//! What queries answer, and what they are refused with.

use cosmonaut_wire::model::{ComputedProperty, IndexingPolicy, QuerySpec};
use cosmonaut_wire::{CosmosStatus, PartitionKey};

use super::store::{Still, Store, unordered};
use crate::Pace;
use crate::engine::FeedScope;
use crate::engine::query::{FeedQuery, PageSize, QueryRequest, list_over, run_over};

const PEOPLE: [&str; 6] = [
    r#"{"pk":"x","a":1,"b":"one","tags":["r","g"],"plain":1}"#,
    r#"{"pk":"x","a":2,"b":"two","tags":["g","g"],"plain":2}"#,
    r#"{"pk":"y","a":2,"b":"three","n":{"m":true}}"#,
    r#"{"pk":"y","a":"2","b":"four","n":{"m":null}}"#,
    r#"{"pk":"z","a":null,"b":"föur"}"#,
    r#"{"pk":"z","b":"six","tags":[]}"#,
];

#[test]
fn conditions_find_what_they_say() {
    let one = Store::with(1, PEOPLE);
    let three = Store::with(3, PEOPLE);
    for (condition, ids) in [
        ("true", "1 2 3 4 5 6"),
        ("c.a = 2", "2 3"),
        ("c.a IN (1, '2', 9)", "1 4"),
        ("c.a != 2", "1 4 5"),
        ("c.a > 1", "2 3"),
        ("c.a >= 1 AND c.a < 2", "1"),
        ("c.a BETWEEN 1 AND 2", "1 2 3"),
        ("c.a = null", "5"),
        ("c.a = undefined", ""),
        ("NOT IS_DEFINED(c.a)", "6"),
        ("IS_DEFINED(c.n)", "3 4"),
        ("c.n.m", "3"),
        ("IS_NULL(c.n.m)", "4"),
        ("STARTSWITH(c.b, 'fö')", "5"),
        ("c.b LIKE 't%'", "2 3"),
        ("c.b LIKE '%e'", "1 3"),
        ("ARRAY_CONTAINS(c.tags, 'g')", "1 2"),
        ("c.tags = []", "6"),
        ("c.a = 2 AND c.b = 'two'", "2"),
        ("c.a = 2 AND c.b > 'three'", "2"),
        ("c.a = 1 OR c.b = 'six'", "1 6"),
        ("c.a = 1 OR c.plain = 2", "1 2"),
        ("c.plain > 0", "1 2"),
        ("c.pk = 'y' AND c.a = 2", "3"),
        ("c.pk IN ('x', 'z') AND IS_DEFINED(c.tags)", "1 2 6"),
        ("c.id = '4'", "4"),
        ("c._ts > 4", "5 6"),
        ("c._rid > 'AAAAAYAAAAEEAAAAAAAAAA=='", "5 6"),
        ("EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'r')", "1"),
        ("1 = 2", ""),
    ] {
        let text = format!("SELECT VALUE c.id FROM c WHERE {condition}");
        let expected: Vec<String> = ids.split_whitespace().map(|id| format!("{id:?}")).collect();
        for store in [&one, &three] {
            for size in [1, 2, 100] {
                let found = store.rows(&text, FeedScope::Container, size).unwrap();
                assert_eq!(unordered(found), expected, "{condition} in pages of {size}");
            }
        }
    }
}

#[test]
fn a_scope_limits_what_is_seen() {
    let store = Store::with(3, PEOPLE);
    let key = FeedScope::Key(PartitionKey::from("y"));
    assert_eq!(store.rows("SELECT VALUE c.id FROM c", key.clone(), 1).unwrap(), [r#""3""#, r#""4""#]);
    assert_eq!(store.rows("SELECT VALUE COUNT(1) FROM c", key.clone(), 1).unwrap(), ["2"]);
    assert_eq!(
        store.rows("SELECT VALUE c.id FROM c ORDER BY c.b DESC", key.clone(), 1).unwrap(),
        [r#""3""#, r#""4""#]
    );
    assert_eq!(store.rows("SELECT VALUE c.id FROM c WHERE c.pk = 'x'", key, 1).unwrap(), [""; 0]);
    let mut seen = Vec::new();
    for range in store.layout.ranges() {
        seen.extend(store.rows("SELECT VALUE c.id FROM c", FeedScope::Range(range.id.clone()), 2).unwrap());
    }
    assert_eq!(unordered(seen).len(), 6);
    let gone = store.rows("SELECT * FROM c", FeedScope::Range("77".to_owned().into()), 2).unwrap_err();
    assert_eq!(gone.status, CosmosStatus::PARTITION_KEY_RANGE_GONE);
}

#[test]
fn select_star_gives_the_stored_bytes() {
    let store = Store::with(1, [r#"{"x":1.50,"u":"\u00e9"}"#]);
    let stored = concat!(
        r#"{"x":1.50,"u":"\u00e9","id":"1","pk":"1","_rid":"AAAAAYAAAAEBAAAAAAAAAA==","#,
        r#""_self":"dbs/AAAAAQ==/colls/AAAAAYAAAAE=/docs/AAAAAYAAAAEBAAAAAAAAAA==/","#,
        r#""_etag":"\"01010101-0101-0101-0101-010101010101\"","_attachments":"attachments/","_ts":1}"#
    );
    assert_eq!(store.all("SELECT * FROM c").unwrap(), [stored]);
    assert_eq!(store.all("SELECT * FROM c ORDER BY c.x").unwrap(), [stored]);
    assert_eq!(store.all("SELECT VALUE c FROM c WHERE c.x = 1.5").unwrap(), [stored]);
}

#[test]
fn computed_properties_are_seen_by_name() {
    let mut store = Store::with(1, [r#"{"name":"Ada","lower":"stored"}"#, r#"{"name":"bob"}"#]);
    let lower = ComputedProperty::new("lower", "SELECT VALUE LOWER(c.name) FROM c");
    store.properties.computed_properties = Some(vec![lower]);
    for (text, rows) in [
        ("SELECT VALUE c.lower FROM c", &[r#""ada""#, r#""bob""#][..]),
        ("SELECT VALUE c.id FROM c WHERE c.lower = 'ada'", &[r#""1""#]),
        ("SELECT VALUE c.id FROM c WHERE c.lower = 'stored'", &[]),
        ("SELECT VALUE c.id FROM c ORDER BY c.lower DESC", &[r#""2""#, r#""1""#]),
    ] {
        assert_eq!(store.all(text).unwrap(), rows, "{text}");
    }
    assert!(!store.all("SELECT * FROM c").unwrap()[1].contains("lower"));
}

#[test]
fn orders_need_their_index() {
    let store = Store::with(1, PEOPLE);
    let excluded = "The index path corresponding to the specified order-by item is excluded.";
    let composite =
        "The order by query does not have a corresponding composite index that it can be served from.";
    for (order, refusal) in [
        ("c.a", None),
        ("c.n.m DESC", None),
        ("c.a, c.b DESC", None),
        ("c.a DESC, c.b ASC", None),
        ("c._rid", None),
        ("c.plain", Some(excluded)),
        ("c._etag", Some(excluded)),
        ("c.a, c.b", Some(composite)),
        ("c.b DESC, c.a", Some(composite)),
        ("c.a, c.b DESC, c.n", Some(composite)),
    ] {
        let answer = store.all(&format!("SELECT VALUE c.id FROM c ORDER BY {order}"));
        match (answer, refusal) {
            (Ok(rows), None) => assert!(!rows.is_empty(), "{order}"),
            (Err(failure), Some(refusal)) => {
                assert_eq!(failure.status, CosmosStatus::BAD_REQUEST);
                assert!(failure.message.contains(refusal), "{order}: {failure}");
            }
            (answer, _) => panic!("{order}: {answer:?}"),
        }
    }
    let unindexed = Store::new(&IndexingPolicy::none(), 1);
    unindexed.insert(r#"{"a":1}"#);
    assert_eq!(unindexed.all("SELECT VALUE c.a FROM c WHERE c.a = 1").unwrap(), ["1"]);
    assert!(unindexed.all("SELECT * FROM c ORDER BY c.a").unwrap_err().message.contains(excluded));
}

#[test]
fn orders_are_those_of_the_types_and_begin_with_what_has_no_value() {
    let store = Store::with(
        1,
        [
            r#"{"a":"b"}"#,
            // By the bytes of the service's hash: f9…, 82….
            r#"{"a":[1,"a"]}"#,
            r#"{"a":[]}"#,
            r#"{"a":{"x":1}}"#,
            r#"{"a":null}"#,
            r#"{}"#,
            r#"{"a":true}"#,
            r#"{"a":-1}"#,
            r#"{"a":"a"}"#,
            r#"{"a":-1}"#,
        ],
    );
    for size in 1..11 {
        let rows = |direction: &str| {
            let text = format!("SELECT VALUE c.id FROM c ORDER BY c.a {direction}");
            let rows = store.rows(&text, FeedScope::Container, size).unwrap();
            rows.iter().map(|id| id.trim_matches('"').to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(rows(""), "6 5 7 8 10 9 1 3 2 4", "in pages of {size}");
        assert_eq!(rows("DESC"), "4 2 3 1 9 10 8 7 5 6", "in pages of {size}");
    }
}

#[test]
fn an_order_over_some_keys_of_a_partition_is_one_order() {
    let store = Store::with(1, PEOPLE);
    for size in 1..6 {
        let text = "SELECT VALUE c.id FROM c WHERE c.pk IN ('z', 'x') ORDER BY c.b";
        let rows = store.rows(text, FeedScope::Container, size).unwrap();
        assert_eq!(rows, ["\"5\"", "\"1\"", "\"6\"", "\"2\""], "in pages of {size}");
    }
}

#[test]
fn what_several_partitions_must_put_together_is_left_to_the_client() {
    let store = Store::with(3, PEOPLE);
    let single = Store::with(1, PEOPLE);
    for (text, servable) in [
        ("SELECT * FROM c", true),
        ("SELECT VALUE c.a FROM c WHERE c.a > 1", true),
        ("SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk", false),
        ("SELECT VALUE COUNT(1) FROM c ORDER BY c.a", false),
        ("SELECT 1", true),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'x'", true),
        ("SELECT TOP 2 * FROM c", false),
        ("SELECT * FROM c OFFSET 1 LIMIT 2", false),
        ("SELECT DISTINCT c.a FROM c", false),
        ("SELECT VALUE COUNT(1) FROM c", false),
        ("SELECT * FROM c ORDER BY c.a", false),
    ] {
        assert!(single.all(text).is_ok(), "{text}");
        match store.all(text) {
            Ok(rows) => assert!(servable && !rows.is_empty(), "{text}"),
            Err(failure) => {
                assert!(!servable, "{text}: {failure}");
                assert_eq!(failure.status, CosmosStatus::CROSS_PARTITION_QUERY_NOT_SERVABLE, "{text}");
                let plan: serde_json::Value =
                    serde_json::from_str(&failure.additional_info.unwrap()).unwrap();
                assert!(plan["queryInfo"].is_object(), "{text}");
            }
        }
    }
    let mut request = QueryRequest::new("SELECT * FROM c", FeedScope::Container);
    request.cross_partition = false;
    assert!(store.run(&request).unwrap_err().message.contains("enablecrosspartition"));
    assert!(single.run(&request).is_ok());
}

#[test]
fn what_is_wrong_with_a_query_is_said() {
    let store = Store::with(1, PEOPLE);
    for (text, part) in [
        ("SELECT * FORM c", "FORM"),
        ("SELECT x.a FROM c", "x"),
        ("SELECT VALUE NOPE(c.a) FROM c", "NOPE"),
        ("SELECT TOP @n * FROM c", "@n"),
        ("SELECT TOP 4294967296 * FROM c", "SC2060"),
        ("SELECT * FROM c OFFSET 0 LIMIT 4294967296", "SC2061"),
        ("SELECT * FROM c OFFSET 4294967296 LIMIT 1", "SC2062"),
        (
            "SELECT BADFUNC(1)",
            r#"Message: {"errors":[{"severity":"Error","location":{"start":7,"end":14},"code":"SC2005","#,
        ),
        ("SELECT c.a FROM c GROUP BY c.a ORDER BY c.a", "GROUP BY"),
    ] {
        let failure = store.all(text).unwrap_err();
        assert_eq!(failure.status, CosmosStatus::BAD_REQUEST, "{text}");
        assert!(failure.message.contains(part), "{text}: {failure}");
    }
}

#[test]
fn aggregates_take_no_notice_of_an_order() {
    let store = Store::with(1, PEOPLE);
    let counted = store.all("SELECT VALUE COUNT(1) FROM c ORDER BY c.a").unwrap();
    assert_eq!(counted, [PEOPLE.len().to_string()]);
}

#[test]
fn a_token_that_is_not_of_the_query_is_refused_by_name() {
    let store = Store::with(1, PEOPLE);
    let token_of = |text: &str| {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.page_size = PageSize::Rows(1);
        store.run(&request).unwrap().continuation.unwrap()
    };
    let (scan, order) = (token_of("SELECT * FROM c"), token_of("SELECT * FROM c ORDER BY c.b"));
    for (text, token) in [
        ("SELECT * FROM c", ""),
        ("SELECT * FROM c", "x"),
        ("SELECT * FROM c", "bm90IGpzb24"),
        ("SELECT * FROM c", "eyJ2Ijo5fQ"),
        ("SELECT * FROM c", order.as_str()),
        ("SELECT * FROM c ORDER BY c.b", scan.as_str()),
        ("SELECT * FROM c ORDER BY c.a, c.b DESC", order.as_str()),
        ("SELECT DISTINCT c.a FROM c", scan.as_str()),
    ] {
        let mut request = QueryRequest::new(text, FeedScope::Container);
        request.continuation = Some(token.to_owned());
        let failure = store.run(&request).unwrap_err();
        assert_eq!(failure.status, CosmosStatus::BAD_REQUEST);
        assert!(failure.message.contains("Invalid Continuation Token"), "{failure}");
        assert!(failure.message.contains(&format!("{token:?}")), "{failure}");
    }
}

#[test]
fn expired_documents_are_not_seen_before_they_are_swept() {
    let store = Store::with(1, PEOPLE);
    store.expire(2);
    for (text, rows) in [
        ("SELECT VALUE COUNT(1) FROM c", &["5"][..]),
        ("SELECT VALUE c.id FROM c WHERE c.a = 2", &["\"3\""]),
        ("SELECT VALUE c.id FROM c WHERE c.a >= 1 ORDER BY c.a DESC", &["\"3\"", "\"1\""]),
        ("SELECT VALUE c.id FROM c WHERE c.plain > 0", &["\"1\""]),
    ] {
        assert_eq!(store.all(text).unwrap(), rows, "{text}");
    }
}

#[test]
fn a_session_that_has_seen_more_is_told_so() {
    let store = Store::with(1, PEOPLE);
    let mut request = QueryRequest::new("SELECT * FROM c", FeedScope::Container);
    request.session = Some("0:-1#7".parse().unwrap());
    assert_eq!(store.run(&request).unwrap_err().status, CosmosStatus::READ_SESSION_NOT_AVAILABLE);
    request.session = Some("0:-1#0".parse().unwrap());
    assert_eq!(store.run(&request).unwrap().session.to_string(), "0:-1#0");
}

#[test]
fn lists_of_the_catalog_are_queried_too() {
    let offers = [r#"{"resource":"a","n":1}"#, r#"{"resource":"b","n":2}"#, r#"{"resource":"c","n":3}"#];
    let mut query = FeedQuery {
        spec: QuerySpec::new("SELECT VALUE o.resource FROM o WHERE o.n > @n ORDER BY o.n DESC")
            .with_parameter("@n", &1)
            .unwrap(),
        page_size: PageSize::Rows(1),
        continuation: None,
    };
    let mut found = Vec::new();
    loop {
        let page = run_over(offers.map(Into::into), &query, &Pace::default(), &Still).unwrap();
        found.extend(super::store::texts(&page.rows));
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            break;
        }
    }
    assert_eq!(found, [r#""c""#, r#""b""#]);
}

#[test]
fn a_page_of_a_list_asks_for_no_entries_but_its_own() {
    let asked = std::cell::RefCell::new(Vec::new());
    let entry = |nth: usize| {
        asked.borrow_mut().push(nth);
        (nth < 1000).then(|| format!(r#"{{"n":{nth}}}"#).into())
    };
    let mut continuation = None;
    for page in 0..10 {
        let found = list_over(&entry, PageSize::Rows(100), continuation.as_deref()).unwrap();
        assert_eq!(found.rows.len(), 100);
        assert_eq!(found.rows.get(0), Some(format!(r#"{{"n":{}}}"#, page * 100).as_bytes()));
        continuation = found.continuation;
    }
    assert!(continuation.is_none(), "the tenth page is the last");
    assert!(asked.borrow().len() <= 1010, "{} entries were asked for", asked.borrow().len());
    // A query goes on from the beginning, but no further than its page.
    asked.borrow_mut().clear();
    let spec = QuerySpec::new("SELECT c.n FROM c");
    let query = FeedQuery { spec, page_size: PageSize::Rows(10), continuation: None };
    let page = run_over((0..).map_while(entry), &query, &Pace::default(), &Still).unwrap();
    assert_eq!((page.rows.len(), asked.borrow().len()), (10, 11));
}

#[test]
fn a_query_over_a_list_ends_when_nobody_waits_for_it() {
    let pace = Pace::new(std::sync::Arc::new(Still), std::time::Duration::from_secs(60), None);
    pace.stop();
    let text = "SELECT COUNT(1) FROM c JOIN a IN c.l JOIN b IN c.l JOIN d IN c.l JOIN e IN c.l JOIN f IN c.l";
    let query = FeedQuery { spec: QuerySpec::new(text), page_size: PageSize::Any, continuation: None };
    let list = format!(r#"{{"l":[{}]}}"#, vec!["1"; 30].join(","));
    let ended = run_over([list.into()], &query, &pace, &Still).unwrap_err();
    assert_eq!(ended.status, CosmosStatus::REQUEST_TIMEOUT);
}
