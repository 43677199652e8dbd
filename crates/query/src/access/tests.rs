//! What of a condition an index is asked, and what it must not be asked.

use super::access;
use crate::parameters::Parameters;
use crate::parse;
use crate::value::Value;

/// The filter in short: `eq /a 1`, `and(…)`, `or()`; `-` for no restriction.
fn filter(condition: &str) -> String {
    filter_from("c", condition)
}

fn filter_from(from: &str, condition: &str) -> String {
    let query =
        parse(&format!("SELECT VALUE 1 FROM {from} WHERE {condition}")).unwrap_or_else(|e| panic!("{e}"));
    let mut parameters = Parameters::new();
    parameters.insert("@five", 5.0);
    parameters.insert("@here", Value::from_json(br#"{"type":"P"}"#).unwrap());
    parameters.insert("@ids", Value::Array(vec![Value::from("x"), Value::from("y")]));
    access(&query, &parameters).filter.map_or_else(|| "-".to_owned(), |filter| short(&filter))
}

fn short(filter: &super::IndexFilter) -> String {
    use super::IndexFilter::*;
    use std::ops::Bound::*;
    let json =
        |value: &Value| String::from_utf8(value.to_json().unwrap_or_else(|| b"-inf".to_vec())).unwrap();
    let list = |filters: &[super::IndexFilter]| filters.iter().map(short).collect::<Vec<_>>().join(", ");
    match filter {
        And(all) => format!("and({})", list(all)),
        Or(any) => format!("or({})", list(any)),
        Equal(path, value) => format!("{path} = {}", json(value)),
        In(path, values) => format!("{path} in {}", values.iter().map(json).collect::<Vec<_>>().join(" ")),
        Range { path, low, high } => {
            let low = match low {
                Included(value) => format!("[{}", json(value)),
                Excluded(value) => format!("({}", json(value)),
                Unbounded => "(".to_owned(),
            };
            let high = match high {
                Included(value) => format!("{}]", json(value)),
                Excluded(value) => format!("{})", json(value)),
                Unbounded => ")".to_owned(),
            };
            format!("{path} {low}..{high}")
        }
        Prefix(path, prefix) => format!("{path} ^ {prefix:?}"),
        Defined(path) => format!("{path} ?"),
        Near(path, shape, distance) => format!("{path} within {distance} of {}", json(shape)),
        Text { path, terms, all } => {
            let joined = terms.iter().map(json).collect::<Vec<_>>().join(if *all { " & " } else { " | " });
            format!("{path} ~ {joined}")
        }
    }
}

#[test]
fn conditions_become_filters() {
    for (condition, expected) in [
        ("c.a = 1", "/a = 1"),
        ("'x' = c.a.b", "/a/b = \"x\""),
        ("c.a = @five", "/a = 5"),
        ("c.a = @unknown", "-"),
        ("c.a = undefined", "or()"),
        ("c.a = [1]", "/a = [1]"),
        ("FullTextContains(c.a, 'x')", "/a ~ \"x\""),
        ("FullTextContainsAll(c.a, 'x', @five)", "/a ~ \"x\" & 5"),
        ("fulltextcontainsany(c.a, 'x', 'y z')", "/a ~ \"x\" | \"y z\""),
        ("FullTextContains(c.a, c.b)", "-"),
        ("NOT FullTextContains(c.a, 'x')", "-"),
        ("c.a = c.b", "-"),
        ("c.a != 1", "/a ?"),
        ("c.a > -1", "/a (-1..)"),
        ("5 > c.a", "/a (..5)"),
        ("c.a >= 1 AND c.a < 9", "/a [1..9)"),
        ("c.a > 1 AND c.b = 2 AND c.a >= 3", "and(/a [3..), /b = 2)"),
        ("c.a > 1 AND c.a > 'x'", "or()"),
        ("c.a > null", "/a ?"),
        ("c.a BETWEEN 1 AND 2", "/a [1..2]"),
        ("c.a BETWEEN 1 AND 'x'", "or()"),
        ("c.a NOT BETWEEN 1 AND 2", "-"),
        ("c.a IN (1, 'x', undefined)", "/a in 1 \"x\""),
        ("c.a IN (1)", "/a = 1"),
        ("c.a IN (1, c.b)", "/a ?"),
        ("c.a NOT IN (1, 2)", "/a ?"),
        ("c.a LIKE 'ab%c'", "/a ^ \"ab\""),
        ("c.a LIKE 'ab'", "/a = \"ab\""),
        ("c.a LIKE '10!%_' ESCAPE '!'", "/a ^ \"10%\""),
        ("c.a LIKE c.b", "-"),
        ("STARTSWITH(c.a, 'x')", "/a ^ \"x\""),
        ("startswith(c.a, 'x', true)", "/a ^ \"\""),
        ("STRINGEQUALS(c.a, 'x')", "/a = \"x\""),
        ("CONTAINS(c.a, 'x')", "/a ^ \"\""),
        ("IS_DEFINED(c.a)", "/a ?"),
        ("NOT IS_DEFINED(c.a)", "-"),
        ("IS_NUMBER(c.a)", "/a [-inf..)"),
        ("c.a", "/a = true"),
        ("NOT c.a", "/a = false"),
        ("true", "-"),
        ("false", "or()"),
        ("1", "or()"),
        ("c.a = 1 AND LENGTH(c.b) = 2", "/a = 1"),
        ("c.a = 1 OR LENGTH(c.b) = 2", "-"),
        ("c.a = 1 OR c.a = 2 OR c.a = 3", "/a in 1 2 3"),
        ("c.a = 1 OR c.b = 2", "or(/a = 1, /b = 2)"),
        ("c.a = 1 OR false", "/a = 1"),
        ("c.a = 1 AND false", "or()"),
        ("(c.a = 1 OR c.b = 2) AND c.d = 3", "and(or(/a = 1, /b = 2), /d = 3)"),
        ("c.a[0] = 1", "/a/[] = 1"),
        ("c.a[0] > 1 AND c.a[1] < 0", "and(/a/[] (1..), /a/[] (..0))"),
        ("c['x y'] = 1", "/\"x y\" = 1"),
        ("ARRAY_CONTAINS(c.a, 'x')", "/a/[] = \"x\""),
        ("ARRAY_CONTAINS(c.a, {\"n\": 1, \"m\": [2]}, true)", "and(/a/[]/n = 1, /a/[]/m = [2])"),
        ("ARRAY_CONTAINS(c.a, {\"n\": 1})", "/a/[] = {\"n\":1}"),
        ("ARRAY_CONTAINS(@ids, c.id)", "/id in \"x\" \"y\""),
        ("ARRAY_CONTAINS_ANY(c.a, 1, 2)", "/a/[] in 1 2"),
        ("ARRAY_CONTAINS_ALL(c.a, 1, 2)", "and(/a/[] = 1, /a/[] = 2)"),
        (
            "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t.n = 1 AND t.m > 2)",
            "and(/tags/[]/n = 1, /tags/[]/m (2..))",
        ),
        ("EXISTS(SELECT VALUE COUNT(1) FROM t IN c.tags WHERE t.n = 1)", "-"),
        ("EXISTS(SELECT VALUE c FROM c IN c.kids WHERE c.n = 1)", "/kids/[]/n = 1"),
        ("EXISTS(SELECT VALUE c FROM (SELECT 1 AS n) AS c WHERE c.n = 1)", "-"),
        ("(SELECT VALUE 1) = 1", "-"),
    ] {
        assert_eq!(filter(condition), expected, "{condition}");
    }
}

#[test]
fn names_lead_where_their_sources_do() {
    for (from, condition, expected) in [
        ("root r", "r.a = 1", "/a = 1"),
        ("c.x.y", "y.a = 1", "/x/y/a = 1"),
        ("t IN c.tags", "t = 1", "/tags/[] = 1"),
        ("c JOIN t IN c.tags JOIN u IN t.us", "t.n = 1 AND u = 2", "and(/tags/[]/n = 1, /tags/[]/us/[] = 2)"),
        ("c JOIN (SELECT VALUE 1) AS t", "t = 1 AND c.a = 2", "/a = 2"),
        ("(SELECT c.a FROM c) AS t", "t.a = 1", "-"),
    ] {
        assert_eq!(filter_from(from, condition), expected, "{from} WHERE {condition}");
    }
}

#[test]
fn an_order_is_offered_if_all_its_paths_are_single() {
    let order = |text: &str| {
        let order = access(&parse(text).unwrap(), &Parameters::new()).order;
        order.map(|keys| keys.iter().map(|key| (key.path.to_string(), key.descending)).collect::<Vec<_>>())
    };
    let expected = vec![("/a/b".to_owned(), false), ("/d".to_owned(), true)];
    assert_eq!(order("SELECT * FROM c ORDER BY c.a.b, c.d DESC"), Some(expected));
    assert_eq!(order("SELECT * FROM c ORDER BY c.a[0]"), None);
    assert_eq!(order("SELECT * FROM c"), None);
}

#[test]
fn conditions_on_shapes_say_where_to_look() {
    let near = |distance: &str| format!(r#"/p within {distance} of {{"type":"P"}}"#);
    for (condition, expected) in [
        ("ST_WITHIN(c.p, {'type':'P'})", near("0")),
        ("ST_WITHIN(@here, c.p)", near("0")),
        ("st_intersects(c.p, @here)", near("0")),
        ("ST_INTERSECTS(@here, c.p)", near("0")),
        ("ST_DISTANCE(c.p, @here) < 7", near("7")),
        ("ST_DISTANCE(@here, c.p) <= @five", near("5")),
        ("7 > ST_DISTANCE(c.p, @here)", near("7")),
        ("7 = ST_DISTANCE(c.p, @here)", near("7")),
        ("ST_DISTANCE(c.p, @here) BETWEEN 1 AND 7", near("7")),
        ("ST_DISTANCE(c.p, @here) < 7 AND c.a = 1", format!("and({}, /a = 1)", near("7"))),
        ("ST_DISTANCE(c.p, @here) > 7", "-".to_owned()),
        ("ST_DISTANCE(c.p, @here) != 7", "-".to_owned()),
        ("ST_DISTANCE(c.p, @here) < c.a", "-".to_owned()),
        ("ST_DISTANCE(c.p, c.q) < 7", "-".to_owned()),
        ("NOT ST_WITHIN(c.p, @here)", "-".to_owned()),
        ("ST_WITHIN(c.p, 5)", "or()".to_owned()),
        ("ST_ISVALID(c.p)", "-".to_owned()),
    ] {
        assert_eq!(filter(condition), expected, "{condition}");
    }
    assert_eq!(
        filter_from("c JOIN x IN c.list", "ST_WITHIN(x.p, @here)"),
        r#"/list/[]/p within 0 of {"type":"P"}"#
    );
}
