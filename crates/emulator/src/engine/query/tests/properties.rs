//! Over generated documents and queries: what the index answers equals a plain run, and many partitions equal one.

use cosmonaut_query::value::Value;
use proptest::prelude::*;

use super::store::{Store, unordered};
use crate::engine::FeedScope;
use crate::index::tests::{any_value, document};

/// Documents with members `a` to `c`, some under few logical partitions.
fn any_documents() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::collection::vec(any_value(), 3..4), 0..14).prop_map(|documents| {
        documents.iter().map(|values| String::from_utf8(document(values)).unwrap()).collect()
    })
}

/// A scalar as it is written in a query.
fn any_literal() -> impl Strategy<Value = String> {
    any_value().prop_filter_map("a literal", |value| match value {
        Value::Undefined => Some("undefined".to_owned()),
        Value::Array(_) | Value::Object(_) => None,
        scalar => scalar.to_json().and_then(|text| String::from_utf8(text).ok()),
    })
}

fn any_path() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("c.a"), Just("c.b"), Just("c.c"), Just("c.a.a"), Just("c.b[0]"), Just("c.a[\"c d\"]")]
}

fn any_condition() -> impl Strategy<Value = String> {
    let operator = prop_oneof![Just("="), Just("!="), Just("<"), Just("<="), Just(">"), Just(">=")];
    let text = prop_oneof![Just("''"), Just("'a'"), Just("'ab'"), Just("'é'")];
    let atom = prop_oneof![
        4 => (any_path(), operator, any_literal()).prop_map(|(path, op, value)| format!("{path} {op} {value}")),
        1 => (any_path(), any_literal(), any_literal()).prop_map(|(path, a, b)| format!("{path} IN ({a}, {b})")),
        1 => (any_path(), any_literal(), any_literal()).prop_map(|(path, a, b)| format!("{path} BETWEEN {a} AND {b}")),
        1 => (any_path(), text).prop_map(|(path, text)| format!("STARTSWITH({path}, {text})")),
        1 => any_path().prop_map(|path| format!("IS_DEFINED({path})")),
        1 => (any_path(), any_literal()).prop_map(|(path, value)| format!("ARRAY_CONTAINS({path}, {value})")),
        1 => any_path().prop_map(|path| format!("{path} LIKE 'a%'")),
        1 => any_path().prop_map(str::to_owned),
        1 => Just("c.a = c.b".to_owned()),
    ];
    atom.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.prop_map(|a| format!("NOT ({a})")),
        ]
    })
}

fn any_order() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(" ORDER BY c.a"),
        Just(" ORDER BY c.a DESC"),
        Just(" ORDER BY c.b"),
        Just(" ORDER BY c.a, c.b DESC"),
        Just(" ORDER BY c.a DESC, c.b"),
    ]
}

fn any_select() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("SELECT * FROM c"),
        Just("SELECT VALUE c.id FROM c"),
        Just("SELECT TOP 3 c.id, c.a FROM c"),
        Just("SELECT c.id, t FROM c JOIN t IN c.c"),
    ]
}

/// Queries that come to the same whatever the order of the documents.
fn any_summary() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("SELECT VALUE COUNT(1) FROM c"),
        Just("SELECT VALUE MIN(c.a) FROM c"),
        Just("SELECT VALUE MAX(c.b) FROM c"),
        Just("SELECT VALUE COUNT(c.a) FROM c"),
        Just("SELECT DISTINCT VALUE c.a FROM c"),
    ]
}

fn filtered(select: &str, condition: Option<&String>, order: &str) -> String {
    let filter = condition.map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
    format!("{select}{filter}{order}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_index_answers_as_a_plain_run_does_in_pages_of_any_size(
        documents in any_documents(), select in any_select(), condition in prop::option::of(any_condition()),
        order in any_order(), size in 1usize..6,
    ) {
        let store = Store::with(1, documents.iter().map(String::as_str));
        let text = filtered(select, condition.as_ref(), order);
        let plain = store.plain(&text).unwrap();
        let rows = store.rows(&text, FeedScope::Container, size).unwrap();
        if order.is_empty() && select.contains("TOP") {
            // Which ones come first is not promised, only how many and from what.
            let all = store.plain(&text.replace("TOP 3 ", "")).unwrap();
            prop_assert_eq!(rows.len(), plain.len(), "{}", text);
            prop_assert!(rows.iter().all(|row| all.contains(row)), "{}", text);
        } else if order.is_empty() {
            prop_assert_eq!(unordered(rows), unordered(plain), "{}", text);
        } else {
            prop_assert_eq!(rows, plain, "{}", text);
        }
    }

    #[test]
    fn many_partitions_answer_as_one_does(
        documents in any_documents(), condition in prop::option::of(any_condition()), order in any_order(),
        summary in any_summary(), size in 1usize..6, partitions in 2u8..5,
    ) {
        let one = Store::with(1, documents.iter().map(String::as_str));
        let many = Store::with(partitions, documents.iter().map(String::as_str));
        let streamed = filtered("SELECT c.id, c.a FROM c", condition.as_ref(), "");
        let rows = many.rows(&streamed, FeedScope::Container, size).unwrap();
        prop_assert_eq!(unordered(rows), unordered(one.plain(&streamed).unwrap()), "{}", streamed);

        let grouped = filtered("SELECT c.a, COUNT(1) AS n FROM c", condition.as_ref(), " GROUP BY c.a");
        let rows = many.merged(&grouped, size).unwrap();
        prop_assert_eq!(unordered(rows), unordered(one.plain(&grouped).unwrap()), "{}", grouped);

        let summary = filtered(summary, condition.as_ref(), "");
        let rows = many.merged(&summary, size).unwrap();
        prop_assert_eq!(unordered(rows), unordered(one.plain(&summary).unwrap()), "{}", summary);

        // Equal keys come in the order of their partitions, so only the keys are the same.
        let ordered = filtered("SELECT VALUE [c.a, c.b ?? 0] FROM c", condition.as_ref(), order);
        let rows = many.merged(&ordered, size).unwrap();
        let plain = one.plain(&ordered).unwrap();
        prop_assert_eq!(unordered(rows.clone()), unordered(plain.clone()), "{}", ordered);
        if order.contains(',') {
            prop_assert_eq!(rows, plain, "{}", ordered);
        }
    }
}
