//! The condition for what is left of an ordered query passes exactly the rows that sort behind a place, by the order that
//! is known of the service: undefined, null, false, true, numbers, strings by their UTF-16 code units, arrays, objects.

use cosmonaut_query::merge::{Remaining, filters_behind, resume_filter, resume_place};
use cosmonaut_query::value::Value;
use cosmonaut_wire::model::SortOrder;

use crate::harness::query;

use SortOrder::{Ascending, Descending};

/// Rising, each a member `x` of a document; none for undefined.
const LADDER: &[Option<&str>] = &[
    None,
    Some("null"),
    Some("false"),
    Some("true"),
    Some("-9223372036854775808"),
    Some("-2.5"),
    Some("0"),
    Some("1e-9"),
    Some("9007199254740992"),
    Some("9007199254740993"),
    Some("1e300"),
    Some("\"\""),
    Some("\"a\""),
    Some("\"a\\\"b\""),
    Some("\"\u{1F600}\""),
    Some("\"\u{FB01}\""),
    Some("[1]"),
    Some("{\"a\":1}"),
];

fn value(json: Option<&str>) -> Value {
    json.map_or(Value::Undefined, |json| Value::from_json(json.as_bytes()).unwrap())
}

fn document(id: &str, members: &[(&str, Option<&str>)]) -> String {
    let members = members.iter().filter_map(|(name, json)| Some(format!(",\"{name}\":{}", (*json)?)));
    format!("{{\"id\":\"{id}\"{}}}", members.collect::<String>())
}

/// The ids of the documents that pass.
fn passing(filter: &str, documents: &[String]) -> Vec<String> {
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let rows = query(&format!("SELECT VALUE c.id FROM c WHERE {filter}"), &documents);
    rows.into_iter().map(|row| row.trim_matches('"').to_owned()).collect()
}

#[test]
fn one_key_passes_what_sorts_behind_a_value() {
    let documents: Vec<String> =
        (0..LADDER.len()).map(|at| document(&at.to_string(), &[("x", LADDER[at])])).collect();
    for (place, json) in LADDER.iter().enumerate() {
        for direction in [Ascending, Descending] {
            for remaining in [Remaining::After, Remaining::FromIt] {
                let filter = resume_filter(&["c.x".to_owned()], &[direction], &[value(*json)], remaining);
                let behind = |at: &usize| match direction {
                    Ascending => *at > place,
                    Descending => *at < place,
                };
                // The dialect cannot compare arrays or objects: there the rows that sort alike pass, and are left out by
                // the merger.
                let alike =
                    remaining == Remaining::FromIt || json.is_some_and(|json| json.starts_with(['[', '{']));
                let left = (0..LADDER.len()).filter(|at| behind(at) || alike && *at == place);
                let left: Vec<String> = left.map(|at| at.to_string()).collect();
                assert_eq!(
                    passing(&filter, &documents),
                    left,
                    "{json:?} {direction:?} {remaining:?}: {filter}"
                );
            }
        }
    }
}

#[test]
fn what_sorts_behind_a_value_comes_kind_by_kind_and_once() {
    let documents: Vec<String> =
        (0..LADDER.len()).map(|at| document(&at.to_string(), &[("x", LADDER[at])])).collect();
    for (place, json) in LADDER.iter().enumerate() {
        for direction in [Ascending, Descending] {
            let filters = filters_behind("c.x", direction, &value(*json));
            assert!((1..=2).contains(&filters.len()), "{filters:?}");
            let ids = filters.iter().flat_map(|filter| passing(filter, &documents));
            let mut found: Vec<usize> = ids.map(|id| id.parse().unwrap()).collect();
            found.sort_unstable();
            let alike = json.is_some_and(|json| json.starts_with(['[', '{']));
            let left = (0..LADDER.len()).filter(|at| match direction {
                Ascending => *at > place || alike && *at == place,
                Descending => *at < place || alike && *at == place,
            });
            assert_eq!(found, left.collect::<Vec<_>>(), "{json:?} {direction:?}: {filters:?}");
            if let (Some(json), [within, _]) = (json, &filters[..]) {
                let same_kind = |id: &String| {
                    value(LADDER[id.parse::<usize>().unwrap()]).kind() == value(Some(json)).kind()
                };
                assert!(passing(within, &documents).iter().all(same_kind), "{within}");
            }
        }
    }
}

#[test]
fn several_keys_pass_what_sorts_behind_by_each_in_its_direction() {
    let values = [None, Some("null"), Some("1"), Some("2"), Some("\"a\"")];
    let places: Vec<(usize, usize)> =
        (0..values.len()).flat_map(|x| (0..values.len()).map(move |y| (x, y))).collect();
    let id = |(x, y): &(usize, usize)| format!("{x} {y}");
    let documents: Vec<String> =
        places.iter().map(|at| document(&id(at), &[("x", values[at.0]), ("y", values[at.1])])).collect();
    let keys = ["c.x".to_owned(), "c.y".to_owned()];
    for directions in
        [[Ascending, Ascending], [Ascending, Descending], [Descending, Ascending], [Descending; 2]]
    {
        let compare = |a: &(usize, usize), b: &(usize, usize)| {
            let turned = |order: std::cmp::Ordering, direction| match direction {
                Ascending => order,
                Descending => order.reverse(),
            };
            turned(a.0.cmp(&b.0), directions[0]).then(turned(a.1.cmp(&b.1), directions[1]))
        };
        for place in &places {
            for remaining in [Remaining::After, Remaining::FromIt] {
                let order = [value(values[place.0]), value(values[place.1])];
                let filter = resume_filter(&keys, &directions, &order, remaining);
                let left = places.iter().filter(|at| match remaining {
                    Remaining::After => compare(at, place).is_gt(),
                    Remaining::FromIt => compare(at, place).is_ge(),
                });
                let left: Vec<String> = left.map(id).collect();
                assert_eq!(
                    passing(&filter, &documents),
                    left,
                    "{directions:?} {order:?} {remaining:?}: {filter}"
                );
            }
        }
    }
}

/// The two halves of a hash as the service publishes it, 16 little-endian bytes.
fn halves(hex: &str) -> (i64, i64) {
    let half = |hex: &str| {
        let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        i64::from_le_bytes(std::array::from_fn(byte))
    };
    (half(&hex[..16]), half(&hex[16..]))
}

#[test]
fn a_place_among_arrays_or_objects_is_told_by_their_hash() {
    for (json, kind, hex) in [
        ("[]", "array", "82805359a33cefa2ff634aff29f7547d"),
        ("{}", "object", "d865b9803e74381438a701aa606ab814"),
        ("[1,\"a\"]", "array", "f9dcea90144f1c2da14e5ad8d1c43906"),
        ("{\"a\":1}", "object", "e7674dbbaad7f65b25322ec11aa9f02e"),
    ] {
        let (low, high) = halves(hex);
        let hashed = format!(r#"{{"type":"{kind}","low":{low},"high":{high}}}"#);
        let place =
            |remaining| resume_place(&[value(Some(json)), value(Some("\"x\"")), value(None)], remaining);
        let expected = |exclude| Some(format!(r#"{{"value":[{hashed},"x",[]],"exclude":{exclude}}}"#));
        assert_eq!(place(Remaining::FromIt), expected(false), "{json}");
        assert_eq!(place(Remaining::After), expected(true), "{json}");
    }
    for json in LADDER.iter().filter(|json| json.is_none_or(|json| !json.starts_with(['[', '{']))) {
        assert_eq!(resume_place(&[value(*json)], Remaining::After), None, "a condition says it: {json:?}");
    }
}
