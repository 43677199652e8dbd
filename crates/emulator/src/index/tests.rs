//! What the index as a whole promises: no residue, policies honoured, sets that hold every match.

use std::collections::BTreeSet;
use std::ops::Bound;

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::value::Value;
use cosmonaut_wire::model::{CompositeOrder, IndexingMode, IndexingPolicy};
use cosmonaut_wire::{EffectivePartitionKey, PartitionKey, ResourceId};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::engine::{DocumentParts, RegionId, VersionTag};

/// Values with few distinct scalars, so that they meet, and strings of every sort.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just(String::new()),
        "[ab]{1,3}",
        "\\PC{0,6}",
        Just("a\0b".to_owned()),
        "[ab]{0,2}".prop_map(|tail| "é".repeat(130) + &tail),
    ];
    let number =
        prop_oneof![(-3i32..4).prop_map(f64::from), Just(-0.0), Just(0.5), Just(1e300), Just(-1e-300)];
    let scalar = prop_oneof![
        Just(Value::Undefined),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        prop_oneof![Just(9_007_199_254_740_991), Just(9_007_199_254_740_993), Just(-i64::MAX), any::<i64>()]
            .prop_map(Value::integer),
        text.prop_map(|text| Value::String(text.into())),
    ];
    let nested = scalar.clone().prop_recursive(3, 12, 3, |inner| {
        let defined = inner.prop_filter("undefined is in no array", |value| !value.is_undefined());
        let name = prop_oneof![Just("a"), Just("b"), Just("c d"), Just("é")];
        prop_oneof![
            prop::collection::vec(defined.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(name, defined, 0..3).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }),
        ]
    });
    // Nested values alone would leave little for the comparisons of scalars to do.
    prop_oneof![4 => scalar, 1 => nested]
}

/// The text of an object whose members `a`, `b`, … are these values, undefined ones left out.
pub(crate) fn document(values: &[Value]) -> Vec<u8> {
    let members = values.iter().zip(["a", "b", "c", "d"]).filter(|(value, _)| !value.is_undefined());
    let object = Value::Object(members.map(|(value, name)| (name.into(), value.clone())).collect());
    let mut text = Vec::new();
    object.write_json(&mut text);
    text
}

fn stored(number: u64, body: Vec<u8>) -> Arc<Document> {
    Arc::new(Document::from(DocumentParts {
        container: ResourceId::container(1, 1),
        number,
        id: &number.to_string(),
        key: PartitionKey::NONE,
        epk: EffectivePartitionKey::MIN,
        open: &body[..body.len() - 1],
        etag: VersionTag([0; 16]),
        ts: 1,
        lsn: 1,
        origin: RegionId(0),
        nth: 0,
        ttl: None,
        indexed: true,
    }))
}

fn policy() -> IndexingPolicy {
    IndexingPolicy::default()
        .with_composite_index([("/a", CompositeOrder::Ascending), ("/b", CompositeOrder::Descending)])
}

fn path(text: &str) -> IndexPath {
    IndexPath::parse(text).unwrap().0
}

fn sorted(numbers: &Numbers<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    while let Some(number) = numbers.at_or_after(found.last().map_or(0, |last| last + 1)) {
        found.push(number);
    }
    found
}

proptest! {
    #[test]
    fn an_index_that_was_filled_at_once_is_the_same(
        all in prop::collection::vec(prop::collection::vec(any_value(), 2..4), 0..12),
        one_thread in any::<bool>(),
    ) {
        let mut filled = Index::new(&policy()).unwrap().with_one_thread(one_thread);
        let mut followed = Index::new(&policy()).unwrap();
        let numbered: Vec<_> = all.iter().zip(1..).map(|(values, number)| stored(number, document(values))).collect();
        for document in &numbered {
            followed.insert(document.number, &document.text());
        }
        let mut was_first = false;
        filled.fill(&numbered, || was_first = true);
        prop_assert!(was_first && filled == followed);
        for document in &numbered {
            filled.remove(document.number, &document.text());
        }
        prop_assert!(filled == Index::new(&policy()).unwrap());
    }

    #[test]
    fn what_is_removed_leaves_nothing_behind(
        kept in prop::collection::vec(prop::collection::vec(any_value(), 2..4), 0..6),
        removed in prop::collection::vec(prop::collection::vec(any_value(), 2..4), 0..6),
    ) {
        let (mut fresh, mut used) = (Index::new(&policy()).unwrap(), Index::new(&policy()).unwrap());
        for (number, values) in removed.iter().enumerate() {
            used.insert(1000 + number as u64, &document(values));
        }
        for (number, values) in kept.iter().enumerate() {
            let body = document(values);
            prop_assert_eq!(used.insert(number as u64, &body), fresh.insert(number as u64, &body));
        }
        for (number, values) in removed.iter().enumerate() {
            used.remove(1000 + number as u64, &document(values));
        }
        prop_assert!(used == fresh, "{:?}\n{:?}", used, fresh);
    }

    #[test]
    fn sets_hold_every_match_and_exact_terms_nothing_else(
        values in prop::collection::vec(any_value(), 1..12), low in any_value(), high in any_value(),
    ) {
        let mut index = Index::new(&policy()).unwrap();
        for (number, value) in values.iter().enumerate() {
            index.insert(number as u64, &document(std::slice::from_ref(value)));
        }
        let (Some(low_term), Some(high_term)) = (Term::of(&low), Term::of(&high)) else { return Ok(()) };
        let span = Span { low: Bound::Included(low_term.clone()), high: Bound::Included(high_term) };
        let filters = [
            (Filter::Terms(path("/a/?"), vec![low_term.clone()]), vec![&low, &low]),
            (Filter::Span(path("/a/?"), span.clone()), vec![&low, &high]),
        ];
        for (filter, bounds) in filters {
            // A stretch that is too long to be listed is not.
            let Some(found) = numbers_of(&index, &filter, &mut Used::default()) else { continue };
            let found = sorted(&found);
            for (number, value) in values.iter().enumerate() {
                let wanted = value.total_cmp(bounds[0]).is_ge() && value.total_cmp(bounds[1]).is_le();
                let exact = Term::of(value).is_none_or(|term| term.is_exact());
                let contained = found.contains(&(number as u64));
                prop_assert!(contained || !wanted || value.is_undefined(), "{value:?} in {filter:?}");
                prop_assert!(!contained || wanted || !exact, "{value:?} in {filter:?}");
            }
        }
    }

    #[test]
    fn sets_combine_as_sets_do(lists in prop::collection::vec(prop::collection::btree_set(0u64..30, 0..20), 1..4)) {
        let numbers = || lists.iter().map(|list| Numbers::List(list.iter().copied().collect())).collect::<Vec<_>>();
        let both = lists.iter().skip(1).fold(lists[0].clone(), |all, next| &all & next);
        let either = lists.iter().fold(BTreeSet::new(), |all, next| &all | next);
        prop_assert_eq!(sorted(&Numbers::every(numbers()).unwrap()), both.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(sorted(&Numbers::Any(numbers())), either.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn the_most_precise_path_decides() {
    let default = IndexingPolicy::default();
    let opt_in =
        IndexingPolicy { included_paths: Some(vec![]), excluded_paths: None, ..IndexingPolicy::default() }
            .with_excluded_path("/*")
            .with_included_path("/a/?")
            .with_included_path("/b/*")
            .with_excluded_path("/b/c/*")
            .with_included_path("/b/c/d/?")
            .with_included_path("/tags/[]/?");
    for (policy, text, expected) in [
        (&default, "/x/?", Coverage::Indexed),
        (&default, "/x/y/[]/z/?", Coverage::Indexed),
        (&default, "/_etag/?", Coverage::Excluded),
        (&default, "/_ts/?", Coverage::Indexed),
        (&default, "/_self/?", Coverage::Unkept),
        (&opt_in, "/a/?", Coverage::Indexed),
        (&opt_in, "/a/x/?", Coverage::Excluded),
        (&opt_in, "/b/?", Coverage::Indexed),
        (&opt_in, "/b/x/y/?", Coverage::Indexed),
        (&opt_in, "/b/c/?", Coverage::Excluded),
        (&opt_in, "/b/c/x/?", Coverage::Excluded),
        (&opt_in, "/b/c/d/?", Coverage::Indexed),
        (&opt_in, "/tags/?", Coverage::Excluded),
        (&opt_in, "/tags/[]/?", Coverage::Indexed),
        (&opt_in, "/id/?", Coverage::Indexed),
        (&opt_in, "/_ts/?", Coverage::Indexed),
        (&IndexingPolicy::none(), "/id/?", Coverage::Excluded),
    ] {
        let index = Index::new(policy).unwrap();
        assert_eq!(index.coverage(&path(text).0), expected, "{text}");
    }
}

#[test]
fn only_what_the_policy_covers_is_counted_and_kept() {
    let body = br#"{"a":1,"b":[1,1,{"c":null}],"id":"x","_rid":"r","_self":"s","_etag":"e","_ts":1,"a":2}"#;
    let mut index = Index::new(&policy()).unwrap();
    // a, b, the three elements, c, id, _ts and the composite.
    assert_eq!(index.insert(7, body), 9);
    let a = index.at(&path("/a/?").0).unwrap();
    assert!(a.get(&Term::of_number(1.0)).is_none(), "the last of two equal names is the one that counts");
    assert_eq!(a.get(&Term::of_number(2.0)).unwrap().iter().collect::<Vec<_>>(), [7]);
    assert_eq!(
        index.at(&path("/b/[]/?").0).unwrap().count(&Span::ALL, 9),
        2,
        "a document is listed once under a term"
    );
    assert!(index.at(&path("/_rid/?").0).is_none());
    index.remove(7, body);
    assert!(index == Index::new(&policy()).unwrap());
}

#[test]
fn a_policy_that_cannot_be_followed_is_refused_with_the_reason() {
    let default = IndexingPolicy::default;
    let only = |included: &str| {
        IndexingPolicy {
            included_paths: Some(vec![]),
            excluded_paths: Some(vec![]),
            ..IndexingPolicy::default()
        }
        .with_included_path(included)
    };
    let (ascending, odd) = (CompositeOrder::Ascending, CompositeOrder::from("sideways".to_owned()));
    for (policy, reason) in [
        (only("/a/?"), "mandatory indexing path"),
        (default().with_excluded_path("/*"), "both included and excluded"),
        (default().with_included_path("/a b/?"), "'/a b/?'"),
        (default().with_included_path("/a"), "'/a'"),
        (default().with_composite_index([("/a", ascending.clone())]), "1 paths"),
        (
            default().with_composite_index([("/a", ascending.clone()), ("/a", ascending.clone())]),
            "'/a' twice",
        ),
        (default().with_composite_index([("/a/?", ascending.clone()), ("/b", ascending.clone())]), "'/a/?'"),
        (default().with_composite_index([("/a", odd), ("/b", ascending)]), "'sideways'"),
        (default().with_full_text_index("/t/*"), "takes no wildcard"),
        (IndexingPolicy { automatic: Some(true), ..IndexingPolicy::none() }, "\"automatic\""),
        (IndexingPolicy { indexing_mode: Some(IndexingMode::from("odd".to_owned())), ..default() }, "'odd'"),
    ] {
        let message = Index::new(&policy).unwrap_err().message;
        assert!(message.contains(reason), "{reason}: {message}");
    }
    for policy in [
        json!({}),
        json!({"indexingMode": "none"}),
        json!({"indexingMode": "none", "automatic": false, "includedPaths": [], "excludedPaths": []}),
        json!({"excludedPaths": [{"path": "/*"}]}),
        json!({"excludedPaths": [{"path": "/a/?"}]}),
        json!({"includedPaths": [{"path": "/", "indexes": [{"kind": "Range"}]}]}),
        json!({"includedPaths": [{"path": "/*"}], "compositeIndexes": [[{"path": "/a"}, {"path": "/b", "order": "descending"}]]}),
    ] {
        let parsed: IndexingPolicy = serde_json::from_value(policy.clone()).unwrap();
        assert!(Index::new(&parsed).is_ok(), "{policy}");
    }
}

#[test]
fn a_composite_index_serves_its_order_and_the_opposite() {
    let index = Index::new(&policy()).unwrap();
    for (order, expected) in [
        (&[("/a/?", false), ("/b/?", true)][..], Some(false)),
        (&[("/a/?", true), ("/b/?", false)], Some(true)),
        (&[("/a/?", false), ("/b/?", false)], None),
        (&[("/b/?", true), ("/a/?", false)], None),
        (&[("/a/?", false)], None),
        (&[("/a/?", false), ("/b/?", true), ("/c/?", true)], None),
    ] {
        let parts: Vec<_> = order
            .iter()
            .map(|(text, descending)| OrderPart { path: path(text), descending: *descending })
            .collect();
        assert_eq!(index.composite(&parts).map(|(_, backwards)| backwards), expected, "{order:?}");
    }
}

#[test]
fn entries_of_a_composite_index_are_in_its_order() {
    let mut index = Index::new(&policy()).unwrap();
    let bodies = [
        r#"{"a":1,"b":1}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"b":9}"#,
        r#"{"a":"x"}"#,
        r#"{"a":1}"#,
        r#"{"a":0,"b":"z"}"#,
    ];
    for (number, body) in bodies.iter().enumerate() {
        index.insert(number as u64, body.as_bytes());
    }
    let parts = [
        OrderPart { path: path("/a/?"), descending: false },
        OrderPart { path: path("/b/?"), descending: true },
    ];
    let (composite, _) = index.composite(&parts).unwrap();
    let numbers: Vec<_> =
        composite.entries().values().flat_map(|postings| PostingsRef::from(postings).iter()).collect();
    assert_eq!(numbers, [2, 5, 1, 0, 4, 3]);
}

#[test]
fn a_document_deeper_than_any_valid_one_is_survived() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let body = format!(r#"{{"a":{deep}}}"#);
    let mut index = Index::new(&policy()).unwrap();
    index.insert(1, body.as_bytes());
    index.remove(1, body.as_bytes());
    assert!(index == Index::new(&policy()).unwrap());
    assert_eq!(RawJson::new(body.as_bytes()).as_bytes().len(), body.len());
}

#[test]
fn a_name_that_occurs_twice_has_its_last_value() {
    let more: String = (0..20).map(|n| format!(r#","m{n}":{n}"#)).collect();
    for more in ["", more.as_str()] {
        let (mut twice, mut once) = (Index::new(&policy()).unwrap(), Index::new(&policy()).unwrap());
        twice.insert(1, format!(r#"{{"a":1,"b":0,"\u0061":2{more}}}"#).as_bytes());
        once.insert(1, format!(r#"{{"a":2,"b":0{more}}}"#).as_bytes());
        assert!(twice == once, "{more}");
    }
}

/// Whatever the number of values that a condition names, finding the next document takes one search.
#[test]
fn many_values_with_few_documents_are_one_list() {
    let mut index = Index::new(&IndexingPolicy::default()).unwrap();
    for number in 0..300u64 {
        index.insert(number, format!(r#"{{"a":{number},"b":{}}}"#, number % 2).as_bytes());
    }
    let terms =
        |values: std::ops::Range<u64>| values.map(|n| Term::of(&Value::Number(n as f64)).unwrap()).collect();
    let path = |name: &str| IndexPath(vec![Step::Member(name.into())]);
    let found = |filter| numbers_of(&index, filter, &mut Used::default()).unwrap();
    let all = Filter::Terms(path("a"), terms(100..400));
    let Numbers::List(list) = found(&all) else { panic!("not a list") };
    assert_eq!(list, (100..300).collect::<Vec<_>>());
    // Listing both halves of a container would take longer than to seek in two sets.
    let halves = Filter::Terms(path("b"), terms(0..2));
    assert!(matches!(found(&halves), Numbers::Any(_)));
}
