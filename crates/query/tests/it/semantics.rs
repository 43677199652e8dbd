//! What operators make of values, undefined above all.

use crate::harness::{check, compile_in, query, value_in};
use cosmonaut_query::Parameters;
use cosmonaut_query::eval::Limits;
use cosmonaut_query::value::Value;

#[test]
fn equality_is_false_between_kinds_and_undefined_only_with_undefined() {
    check(&[
        ("1 = 1", "true"),
        ("1 = '1'", "false"),
        ("1 != '1'", "true"),
        ("null = null", "true"),
        ("null = false", "false"),
        ("undefined = undefined", "undefined"),
        ("undefined != 1", "undefined"),
        ("1 <> 2", "true"),
        ("-0 = 0", "true"),
        ("'a' = 'A'", "false"),
        ("[1, {a: 2}] = [1, {a: 2}]", "true"),
        ("{a: 1, b: 2} = {b: 2, a: 1}", "true"),
        ("[1, 2] = [2, 1]", "false"),
        ("[1] != [1]", "false"),
        ("{} = []", "false"),
    ]);
}

#[test]
fn order_is_undefined_between_kinds_and_for_arrays_and_objects() {
    check(&[
        ("1 < 2", "true"),
        ("2 <= 2", "true"),
        ("'a' < 'b'", "true"),
        ("'b' >= 'a'", "true"),
        ("'Z' < 'a'", "true"),
        ("'é' > 'z'", "true"),
        ("false < true", "true"),
        ("null <= null", "true"),
        ("null < null", "false"),
        ("1 < '2'", "undefined"),
        ("null < 1", "undefined"),
        ("[1] < [2]", "undefined"),
        ("{} > {}", "undefined"),
        ("undefined < 1", "undefined"),
    ]);
}

#[test]
fn logic_has_three_values() {
    check(&[
        ("false AND undefined", "false"),
        ("undefined AND false", "false"),
        ("true AND undefined", "undefined"),
        ("true OR undefined", "true"),
        ("undefined OR true", "true"),
        ("false OR undefined", "undefined"),
        ("NOT undefined", "undefined"),
        ("NOT true", "false"),
        ("NOT 1", "undefined"),
        ("1 AND true", "undefined"),
        ("1 AND false", "false"),
        ("null OR true", "true"),
        ("true AND true AND true", "true"),
        ("false OR false OR true", "true"),
    ]);
    for (condition, kept) in [
        ("true", 1),
        ("false", 0),
        ("undefined", 0),
        ("1", 0),
        ("'true'", 0),
        ("null", 0),
        ("c.missing = 1", 0),
    ] {
        assert_eq!(query(&format!("SELECT * FROM c WHERE {condition}"), &["{}"]).len(), kept, "{condition}");
    }
}

#[test]
fn coalesce_and_choice() {
    check(&[
        ("undefined ?? 1", "1"),
        ("null ?? 1", "null"),
        ("undefined ?? undefined ?? 2", "2"),
        ("true ? 1 : 2", "1"),
        ("false ? 1 : 2", "2"),
        ("undefined ? 1 : 2", "2"),
        ("1 ? 1 : 2", "2"),
        ("IIF(true, 1, 2)", "1"),
        ("IIF('x', 1, 2)", "2"),
        ("IIF(undefined, 1, 2)", "2"),
    ]);
    assert_eq!(value_in("c.a ?? c.b", r#"{"b":2}"#), "2");
}

#[test]
fn in_and_between() {
    check(&[
        ("1 IN (1, 2)", "true"),
        ("3 IN (1, 2)", "false"),
        ("3 NOT IN (1, 2)", "true"),
        ("'1' IN (1, 2)", "false"),
        ("undefined IN (1, 2)", "undefined"),
        ("undefined NOT IN (1, 2)", "undefined"),
        ("null IN (null, 1)", "true"),
        ("3 IN (1, undefined)", "undefined"),
        ("1 IN (1, undefined)", "true"),
        ("[1] IN ([1], 2)", "true"),
        ("[1] IN (1, 2)", "false"),
        ("2 BETWEEN 1 AND 3", "true"),
        ("1 BETWEEN 1 AND 3", "true"),
        ("4 BETWEEN 1 AND 3", "false"),
        ("4 NOT BETWEEN 1 AND 3", "true"),
        ("'b' BETWEEN 'a' AND 'c'", "true"),
        ("2 BETWEEN '1' AND 3", "undefined"),
        ("4 BETWEEN '1' AND 3", "false"),
        ("undefined BETWEEN 1 AND 2", "undefined"),
    ]);
    let document = r#"{"x":5,"s":"b","l":[1]}"#;
    for (expression, expected) in [
        ("c.x IN (9, 7, 5, 3, 1)", "true"),
        ("c.x IN (9, 'b', null, true)", "false"),
        ("c.s IN (9, 'b', null, true)", "true"),
        ("c.l IN (9, 'b')", "false"),
        ("c.missing IN (1)", "undefined"),
        ("c.x IN (c.y, c.x)", "true"),
    ] {
        assert_eq!(value_in(expression, document), expected, "{expression}");
    }
}

#[test]
fn arithmetic_is_for_numbers() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("7 / 2", "3.5"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("5.5 % 2", "1.5"),
        ("-(2)", "-2"),
        ("+'2'", "undefined"),
        ("1 + '2'", "undefined"),
        ("'a' + 'b'", "undefined"),
        ("1 + null", "undefined"),
        ("1 - undefined", "undefined"),
        ("true * 2", "undefined"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("9007199254740992 + 1", "9007199254740992"),
        ("6 & 3", "2"),
        ("6 | 3", "7"),
        ("6 ^ 3", "5"),
        ("~5", "-6"),
        ("~5.9", "-6"),
        ("4294967297 & 1", "1"),
        ("4294967296 | 0", "0"),
        ("2147483648 | 0", "-2147483648"),
        ("-1 >>> 0", "4294967295"),
        ("-8 >> 1", "-4"),
        ("1 << 31", "-2147483648"),
        ("1 << 32", "1"),
        ("1 << 33", "2"),
        ("1e300 | 0", "0"),
        ("1 | '1'", "undefined"),
    ]);
}

#[test]
fn undefined_vanishes_from_what_is_built() {
    check(&[
        ("[1, undefined, 2]", "[1,2]"),
        ("[undefined]", "[]"),
        ("{a: undefined, b: 1}", r#"{"b":1}"#),
        ("{a: undefined}", "{}"),
        ("undefined", "undefined"),
        ("[c.missing, c]", "[{}]"),
    ]);
    assert_eq!(query("SELECT c.a, c.b FROM c", &[r#"{"b":1}"#, "{}"]), [r#"{"b":1}"#, "{}"]);
    assert!(query("SELECT VALUE c.a FROM c", &["{}"]).is_empty());
}

#[test]
fn paths_read_members_and_elements() {
    let document = r#" {"a":{"b":[10,{"c":"x\u00e9"}]},"n":null,"k":"a","i":1,"d":1,"d":2} "#;
    for (expression, expected) in [
        ("c.a.b[0]", "10"),
        ("c.a.b[1].c", "\"xé\""),
        ("c['a']['b'][0]", "10"),
        ("c.a.b[2]", "undefined"),
        ("c.a.b.c", "undefined"),
        ("c.a[0]", "undefined"),
        ("c.n", "null"),
        ("c.n.x", "undefined"),
        ("c[c.k].b[0]", "10"),
        ("c.a.b[c.i].c", "\"xé\""),
        ("c.a.b[-1]", "undefined"),
        ("c.a.b[0.5]", "undefined"),
        ("c.a.b[null]", "undefined"),
        ("c.d", "2"),
        ("{x: {y: 5}}.x.y", "5"),
        ("[7, 8][1]", "8"),
        ("'abc'[0]", "undefined"),
    ] {
        assert_eq!(value_in(expression, document), expected, "{expression}");
    }
}

#[test]
fn parameters_stand_for_values_of_any_kind() {
    let parameters: Parameters = [
        ("@n", Value::Number(2.0)),
        ("@s", Value::from("é")),
        ("@l", Value::from_json(b"[1, {\"a\":2}]").unwrap()),
        ("@u", Value::Undefined),
    ]
    .into_iter()
    .collect();
    for (expression, expected) in [
        ("c.x = @n", "true"),
        ("@s", "\"é\""),
        ("@l[1].a", "2"),
        ("ARRAY_CONTAINS(@l, 1)", "true"),
        ("c.x IN (@n, 5)", "true"),
        ("@u", "undefined"),
        ("c[@k]", ""),
    ] {
        let text = format!("SELECT VALUE {expression} FROM c");
        let program = compile_in(&text, &parameters, &[], Limits::default());
        match program {
            Ok(program) => {
                let rows = crate::harness::run(&program, &[r#"{"x":2}"#]).unwrap();
                assert_eq!(rows.first().map_or("undefined", |row| row), expected, "{expression}");
            }
            Err(error) => assert!(error.to_string().contains("@k has no value"), "{error}"),
        }
    }
}

#[test]
fn a_constant_that_is_too_large_fails_only_where_it_is_asked_for() {
    let limits = Limits { value_bytes: 1000, ..Limits::default() };
    let big = "REPLICATE('a', 900) || REPLICATE('b', 900)";
    for (expression, expected) in [(format!("c.x ? {big} : 1"), Some("1")), (big.to_owned(), None)] {
        let program =
            compile_in(&format!("SELECT VALUE {expression} FROM c"), &Parameters::new(), &[], limits)
                .unwrap();
        let rows = crate::harness::run(&program, &["{}"]);
        assert_eq!(rows.ok().and_then(|rows| rows.into_iter().next()).as_deref(), expected);
    }
}

#[test]
fn subqueries_stand_for_values_in_several_ways() {
    let document = r#"{"t":[1,2,3],"e":[],"n":{"name":"x"}}"#;
    for (expression, expected) in [
        ("EXISTS(SELECT VALUE undefined)", "false"),
        ("EXISTS(SELECT undefined)", "true"),
        ("ALL(SELECT VALUE t > 0 FROM t IN c.t)", "true"),
        ("ALL(SELECT VALUE t > 1 FROM t IN c.t)", "false"),
        ("ALL(SELECT VALUE t > 1 FROM t IN c.e)", "true"),
        ("FIRST(SELECT VALUE t FROM t IN c.t)", "1"),
        ("LAST(SELECT VALUE t FROM t IN c.t)", "3"),
        ("FIRST(SELECT VALUE t FROM t IN c.e)", "undefined"),
        ("LAST(SELECT VALUE t FROM t IN c.e)", "undefined"),
        ("first(SELECT t FROM t IN c.t WHERE t > 1)", r#"{"t":2}"#),
        ("(SELECT c.n.name WHERE c.n.name = 'x').name", "\"x\""),
        ("(SELECT c.n.name WHERE c.n.name = 'y').name", "undefined"),
        ("(SELECT COUNT(1) AS a, SUM(t) AS b FROM t IN c.t)", r#"{"a":3,"b":6}"#),
        ("ARRAY(SELECT VALUE m FROM m IN (SELECT VALUE [5, 6]))", "[5,6]"),
        ("ARRAY(SELECT VALUE 1 FROM t IN c.t JOIN (SELECT VALUE u FROM u IN c.t WHERE u > t))", "[1,1,1]"),
    ] {
        assert_eq!(value_in(expression, document), expected, "{expression}");
    }
    assert_eq!(
        query(
            "SELECT c.id FROM c JOIN (SELECT VALUE t FROM t IN c.t WHERE t > 1)",
            &[r#"{"id":"a","t":[1,2,3]}"#]
        ),
        [r#"{"id":"a"}"#, r#"{"id":"a"}"#]
    );
    assert_eq!(query("SELECT * FROM (SELECT VALUE c.t FROM c)", &[document]), ["[1,2,3]"]);
}
