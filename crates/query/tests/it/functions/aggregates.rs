//! Aggregates over the values of a path.

use crate::harness::{compile_in, query};
use cosmonaut_query::Parameters;
use cosmonaut_query::eval::Limits;

#[test]
fn aggregates_gather_what_is_defined() {
    let numbers = ["{\"x\":1}", "{\"x\":3}", "{}", "{\"x\":3}"];
    let mixed = ["{\"x\":1}", "{\"x\":\"a\"}", "{\"x\":null}", "{\"x\":true}"];
    let nested = ["{\"x\":1}", "{\"x\":[1]}", "{\"x\":{\"a\":1}}"];
    let rows: &[(&str, [&str; 4])] = &[
        ("COUNT(1)", ["4", "4", "3", "0"]),
        ("COUNT(c.x)", ["3", "4", "3", "0"]),
        ("SUM(c.x)", ["7", "", "", "0"]),
        ("AVG(c.x)", ["2.3333333333333335", "", "", ""]),
        ("MIN(c.x)", ["1", "null", "", ""]),
        ("MAX(c.x)", ["3", "\"a\"", "", ""]),
        ("COUNTIF(c.x > 1)", ["2", "0", "0", "0"]),
        ("MakeList(c.x)", ["[1,3,3]", "[1,\"a\",null,true]", "[1,[1],{\"a\":1}]", "[]"]),
        ("MakeSet(c.x)", ["[1,3]", "[1,\"a\",null,true]", "[1,[1],{\"a\":1}]", "[]"]),
        ("COUNT(1) + SUM(c.x)", ["11", "", "", "0"]),
        ("{n: COUNT(1), s: SUM(c.x)}", ["{\"n\":4,\"s\":7}", "{\"n\":4}", "{\"n\":3}", "{\"n\":0,\"s\":0}"]),
    ];
    for (aggregate, expected) in rows {
        let text = format!("SELECT VALUE {aggregate} FROM c");
        for (documents, expected) in [&numbers[..], &mixed, &nested, &[]].into_iter().zip(expected) {
            assert_eq!(query(&text, documents).join("\n"), *expected, "{text} {documents:?}");
        }
    }
}

#[test]
fn the_forms_that_a_client_merges_are_expressions_like_others() {
    let documents = ["{\"a\":1,\"x\":2}", "{\"a\":1,\"x\":4}", "{\"a\":2}"];
    assert_eq!(
        query(r#"SELECT VALUE [{"item": {"sum": SUM(c.x), "count": COUNT(c.x)}}] FROM c"#, &documents),
        [r#"[{"item":{"sum":6,"count":2}}]"#]
    );
    assert_eq!(
        query(
            r#"SELECT [{"item": c.a}] AS groupByItems, {"a": c.a, "n": {"item": COUNT(1)}} AS payload FROM c GROUP BY c.a"#,
            &documents
        ),
        [
            r#"{"groupByItems":[{"item":1}],"payload":{"a":1,"n":{"item":2}}}"#,
            r#"{"groupByItems":[{"item":2}],"payload":{"a":2,"n":{"item":1}}}"#
        ]
    );
}

#[test]
fn misplaced_aggregates_are_refused() {
    for (text, part) in [
        ("SELECT * FROM c WHERE COUNT(1) > 1", "WHERE"),
        ("SELECT VALUE SUM(COUNT(1)) FROM c", "inside each other"),
        ("SELECT c.x, COUNT(1) FROM c", "GROUP BY"),
        ("SELECT COUNT(1) FROM c GROUP BY c.x ORDER BY c.x", "ORDER BY"),
        ("SELECT VALUE COUNT() FROM c", "COUNT takes 1 arguments"),
    ] {
        let error = compile_in(text, &Parameters::new(), &[], Limits::default()).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
