//! Whatever matches a condition passes the filter derived for an index and lies in the ranges of the plan.

use std::ops::Bound;

use cosmonaut_query::access::{DocPath, DocSegment, IndexFilter, access};
use cosmonaut_query::search::{Language, Term, Words};
use cosmonaut_query::value::Value;
use cosmonaut_query::{Parameters, parse, plan};
use cosmonaut_wire::model::{PartitionKeyDefinition, QueryRange};
use cosmonaut_wire::{EffectivePartitionKey, PartitionKey, PartitionKeyValue};
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::generated::{condition, document};
use crate::spread::compile;

/// What a filter means, said plainly.
fn admits(filter: &IndexFilter, document: &Value) -> bool {
    let any = |path: &DocPath, test: &dyn Fn(&Value) -> bool| {
        reached(document, path.segments()).into_iter().any(test)
    };
    match filter {
        IndexFilter::And(all) => all.iter().all(|filter| admits(filter, document)),
        IndexFilter::Or(alternatives) => alternatives.iter().any(|filter| admits(filter, document)),
        IndexFilter::Equal(path, value) => any(path, &|found| found == value),
        IndexFilter::In(path, values) => any(path, &|found| values.contains(found)),
        IndexFilter::Range { path, low, high } => any(path, &|found| within(found, low, high)),
        IndexFilter::Prefix(path, prefix) => {
            any(path, &|found| matches!(found, Value::String(text) if text.starts_with(&**prefix)))
        }
        IndexFilter::Defined(path) => any(path, &|_| true),
        // Generated conditions have no shapes.
        IndexFilter::Near(..) => unreachable!("a condition on shapes"),
        IndexFilter::Text { path, terms, all } => any(path, &|found| {
            let Value::String(text) = found else { return false };
            let words = Words::of(text, Language::English);
            let has = |term: &Value| matches!(term, Value::String(term) if Term::new(term, Language::English).count_in(&words, |_| Ok::<(), ()>(())) > Ok(0));
            if *all { terms.iter().all(has) } else { terms.iter().any(has) }
        }),
    }
}

fn reached<'v>(value: &'v Value, path: &[DocSegment]) -> Vec<&'v Value> {
    let Some((first, rest)) = path.split_first() else { return vec![value] };
    let next: Vec<&Value> = match (first, value) {
        (DocSegment::Member(name), value) => value.get(name).into_iter().collect(),
        (DocSegment::Element, Value::Array(elements)) => elements.iter().collect(),
        (DocSegment::Element, _) => Vec::new(),
    };
    next.into_iter().flat_map(|value| reached(value, rest)).collect()
}

fn within(found: &Value, low: &Bound<Value>, high: &Bound<Value>) -> bool {
    let kinds = [low, high].into_iter().all(|bound| match bound {
        Bound::Included(value) | Bound::Excluded(value) => value.kind() == found.kind(),
        Bound::Unbounded => true,
    });
    let above = match low {
        Bound::Included(value) => found.total_cmp(value).is_ge(),
        Bound::Excluded(value) => found.total_cmp(value).is_gt(),
        Bound::Unbounded => true,
    };
    let below = match high {
        Bound::Included(value) => found.total_cmp(value).is_le(),
        Bound::Excluded(value) => found.total_cmp(value).is_lt(),
        Bound::Unbounded => true,
    };
    kinds && above && below
}

fn effective(document: &Json, definition: &PartitionKeyDefinition) -> EffectivePartitionKey {
    let component = |path: &String| match document.get(path.trim_start_matches('/')) {
        None => PartitionKeyValue::Undefined,
        Some(value) => PartitionKeyValue::from_json(value).unwrap(),
    };
    PartitionKey::hierarchical(definition.paths.iter().map(component)).effective(definition).unwrap()
}

fn holds(range: &QueryRange, key: &EffectivePartitionKey) -> bool {
    range.min <= *key && (*key < range.max || range.is_max_inclusive && *key == range.max)
}

/// Integers beside the first that no double holds.
fn wide() -> impl Strategy<Value = i64> {
    let edge = 1_i64 << 53;
    (prop_oneof![Just(edge), Just(-edge), Just(1), Just(0), Just(1 << 62)], -3..=3_i64)
        .prop_map(|(near, by)| near + by)
}

/// Documents as others draw them; some have such an integer.
fn wide_document() -> impl Strategy<Value = Json> {
    (document(), proptest::option::of(wide())).prop_map(|(mut document, x)| {
        x.into_iter().for_each(|x| document["x"] = x.into());
        document
    })
}

fn wide_condition() -> impl Strategy<Value = String> {
    let operator = proptest::sample::select(vec!["=", "<", "<=", ">", ">="]);
    prop_oneof![
        4 => condition(),
        1 => wide().prop_map(|size| format!("ABS(c.x) = {size}")),
        1 => (operator, wide()).prop_map(|(operator, size)| format!("c.x {operator} {size}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn matching_documents_are_never_left_out(condition in wide_condition(), documents in proptest::collection::vec(wide_document(), 8)) {
        let text = format!("SELECT * FROM c WHERE {condition}");
        let query = parse(&text).unwrap();
        let mut parameters = Parameters::new();
        parameters.insert("@a", "a");
        let program = compile(&query, &parameters);
        let filter = access(&query, &parameters).filter;
        let definitions = [
            PartitionKeyDefinition::from("/pk"),
            PartitionKeyDefinition { version: Some(1), .."/pk".into() },
            PartitionKeyDefinition::from(["/pk", "/pk2"]),
        ];
        let plans = definitions.map(|definition| (plan(&query, &parameters, &definition).unwrap(), definition));
        for document in documents {
            let bytes = document.to_string().into_bytes();
            if !program.matches(&bytes).unwrap() {
                continue;
            }
            if let Some(filter) = &filter {
                prop_assert!(admits(filter, &Value::from_json(&bytes).unwrap()), "{text}\n{filter:?}\n{document}");
            }
            for (plan, definition) in &plans {
                let key = effective(&document, definition);
                let held = plan.query_ranges.iter().any(|range| holds(range, &key));
                prop_assert!(held, "{text}\n{document}\n{key} is not in {:?}", plan.query_ranges);
            }
        }
    }
}
