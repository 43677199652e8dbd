//! Generated documents and conditions, small enough that values meet often.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

/// A value as documents hold it; `None` is a member that is not there.
fn value() -> impl Strategy<Value = Option<Json>> {
    select(vec![
        None,
        Some(json!(null)),
        Some(json!(true)),
        Some(json!(false)),
        Some(json!(0)),
        Some(json!(1)),
        Some(json!(-2.5)),
        Some(json!("")),
        Some(json!("a")),
        Some(json!("ab")),
        Some(json!("b%")),
        Some(json!([])),
        Some(json!(["a", 1])),
        Some(json!({"n": 1})),
    ])
}

/// A value that can be a partition key.
fn key() -> impl Strategy<Value = Option<Json>> {
    value().prop_filter("scalar", |value| !matches!(value, Some(Json::Array(_) | Json::Object(_))))
}

/// A document with keys `pk` and `pk2`, members `x` and `y`, and a list `tags` of objects.
pub(crate) fn document() -> impl Strategy<Value = Json> {
    let tag = value().prop_map(|n| n.map_or(json!({}), |n| json!({"n": n})));
    let tags = proptest::collection::vec(tag, 0..3).prop_map(|tags| Some(Json::Array(tags)));
    (key(), key(), value(), value(), tags).prop_map(|(pk, pk2, x, y, tags)| {
        let members = [("pk", pk), ("pk2", pk2), ("x", x), ("y", y), ("tags", tags)];
        let present = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Json::Object(present.collect::<Map<_, _>>())
    })
}

/// Documents with a `_rid` that orders them.
pub(crate) fn documents() -> impl Strategy<Value = Vec<Json>> {
    proptest::collection::vec(document(), 0..20).prop_map(|mut documents| {
        for (at, document) in documents.iter_mut().enumerate() {
            document["_rid"] = json!(format!("{at:04}"));
        }
        documents
    })
}

/// The text of a condition on such a document.
pub(crate) fn condition() -> impl Strategy<Value = String> {
    comparison().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.clone().prop_map(|a| format!("(NOT {a})")),
            inner.prop_map(|a| format!("EXISTS(SELECT VALUE 1 FROM c IN c.tags WHERE {a})")),
        ]
    })
}

fn comparison() -> impl Strategy<Value = String> {
    let path = || select(vec!["c.pk", "c.pk2", "c.x", "c.y", "c.n", "c.tags[0].n", "c['pk']"]);
    let constant = || {
        select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1",
            "-2.5",
            "''",
            "'a'",
            "'ab'",
            "'a%'",
            "undefined",
            "[]",
            "['a', 1]",
            "{'n': 1}",
            "@a",
            "c.y",
        ])
    };
    let operator = || select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let function = select(vec![
        "STARTSWITH",
        "CONTAINS",
        "ENDSWITH",
        "STRINGEQUALS",
        "ARRAY_CONTAINS",
        "ARRAY_CONTAINS_ANY",
        "ARRAY_CONTAINS_ALL",
    ]);
    let test = select(vec!["IS_DEFINED", "IS_NULL", "IS_BOOL", "IS_NUMBER", "IS_STRING", "IS_ARRAY"]);
    let flag = || select(vec!["", ", true", ", false"]);
    prop_oneof![
        3 => (path(), operator(), constant()).prop_map(|(p, op, v)| format!("{p} {op} {v}")),
        2 => (path(), operator(), constant()).prop_map(|(p, op, v)| format!("{v} {op} {p}")),
        2 => (path(), constant(), constant()).prop_map(|(p, a, b)| format!("{p} IN ({a}, {b})")),
        1 => (path(), constant()).prop_map(|(p, a)| format!("{p} NOT IN ({a})")),
        1 => (path(), constant(), constant()).prop_map(|(p, a, b)| format!("({p} BETWEEN {a} AND {b})")),
        1 => (path(), constant()).prop_map(|(p, a)| format!("{p} LIKE {a}")),
        1 => (path(), constant()).prop_map(|(p, a)| format!("{p} LIKE {a} ESCAPE 'a'")),
        2 => (function, path(), constant(), flag()).prop_map(|(f, p, v, flag)| format!("{f}({p}, {v}{flag})")),
        1 => (constant(), path()).prop_map(|(v, p)| format!("ARRAY_CONTAINS({v}, {p})")),
        1 => constant().prop_map(|v| format!("ARRAY_CONTAINS(c.tags, {v}, true)")),
        1 => (test, path()).prop_map(|(f, p)| format!("{f}({p})")),
        1 => path().prop_map(str::to_owned),
        1 => constant().prop_map(str::to_owned),
    ]
}
