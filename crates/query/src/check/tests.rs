//! Each refusal, by its words and its place; and what must not be refused.

use super::check;
use crate::parse;

fn checked(text: &str) -> Result<(), super::CheckError> {
    check(&parse(text).unwrap_or_else(|error| panic!("{error}")), text)
}

#[test]
fn meaningful_queries_pass() {
    for text in [
        "SELECT 1",
        "SELECT * FROM c",
        "SELECT * FROM c.children",
        "SELECT * FROM anything AS x WHERE x.a = 1 ORDER BY x.a, x[\"b\"][0] DESC",
        "SELECT c.a, t FROM c JOIN t IN c.tags JOIN u IN t.us WHERE u = c.x",
        "SELECT VALUE x FROM (SELECT c.a FROM c) AS x",
        "SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = c.a)",
        "SELECT ARRAY(SELECT VALUE c FROM c IN c.children) AS kids FROM c",
        "SELECT (SELECT VALUE COUNT(1) FROM t IN c.tags) AS n, c.id FROM c",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT COUNT(1) FROM c ORDER BY c.a",
        "SELECT c.a FROM c GROUP BY c.a ORDER BY c.a",
        "SELECT COUNT(1), SUM(c.x) AS s, 5 AS five FROM c",
        "SELECT c.a, LOWER(c.b) AS b, COUNT(1) FROM c GROUP BY c.a, LOWER(c.b)",
        "SELECT c.a.b, c.a FROM c GROUP BY c.a",
        "SELECT VALUE {\"a\": c.a, \"n\": MAX(c.n)} FROM c GROUP BY c.a",
        "SELECT TOP 5 * FROM c",
        "SELECT UPPER(c.a), UPPER(c.b) FROM c",
        "SELECT * FROM (SELECT 1)",
        "SELECT c.id FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t = 'a')",
        "SELECT VALUE m FROM c JOIN m IN (SELECT VALUE [1, 2])",
        "SELECT (SELECT c.name WHERE c.x).name FROM c",
        "SELECT ALL(SELECT VALUE t = 1 FROM t IN c.tags), FIRST(SELECT 1), LAST(SELECT 1) FROM c",
        "SELECT FIRST.a, FIRST[\"all\"] AS last FROM FIRST IN c.all",
        "SELECT c.a[0], c.a[-1], c[\"b\"], c[@p] FROM c",
        "SELECT udf.FIRST(1), udf.ALL(1, 2)",
    ] {
        if let Err(error) = checked(text) {
            panic!("{text}\n{error}");
        }
    }
}

#[test]
fn meaningless_queries_are_refused_at_their_place() {
    for (text, column, message) in [
        ("SELECT c.x", 8, "`c` is not known here: there is no FROM clause"),
        ("SELECT d.x FROM c", 8, "`d` is not known here (known: `c`)"),
        ("SELECT c.x FROM c AS d", 8, "`c` is not known here (known: `d`)"),
        ("SELECT 1 FROM c JOIN t IN x.tags", 27, "`x` is not known here"),
        ("SELECT 1 FROM c JOIN c IN c.tags", 22, "the alias `c` is given to two sources"),
        ("SELECT * FROM c.a[0]", 15, "this source needs a name"),
        ("SELECT *", 8, "SELECT * needs a FROM clause"),
        ("SELECT * FROM c JOIN t IN c.tags", 22, "SELECT * needs exactly one source"),
        ("SELECT c.a, c.b AS a FROM c", 13, "the name `a` is selected twice"),
        ("SELECT FOO(1)", 8, "there is no function FOO"),
        ("SELECT STARTWITH('a', 'b')", 8, "there is no function STARTWITH (did you mean STARTSWITH?)"),
        ("SELECT c.a[c.b] FROM c", 12, "an index must be a number, a string or a parameter"),
        ("SELECT SUM((SELECT VALUE 1)) FROM c", 12, "a subquery stands inside an aggregate"),
        ("SELECT lower()", 8, "LOWER takes 1 argument, not 0"),
        (
            "SELECT [udf.f(), udf.f(), udf.f(), udf.f(), udf.f(), udf.f(), udf.f(), udf.f(), udf.f(), udf.f(), udf.f()]",
            99,
            "at most 10 times",
        ),
        ("SELECT SUM(COUNT(1)) FROM c", 12, "the aggregate COUNT stands inside another one"),
        ("SELECT * FROM c WHERE COUNT(1) > 1", 23, "the aggregate COUNT cannot stand in WHERE"),
        ("SELECT 1 FROM c GROUP BY MAX(c.x)", 26, "the aggregate MAX cannot stand in GROUP BY"),
        ("SELECT c.x, COUNT(1) FROM c", 8, "`c` is used outside of an aggregate"),
        ("SELECT c.b, COUNT(1) FROM c GROUP BY c.a", 8, "`c` is used outside of an aggregate"),
        ("SELECT * FROM c GROUP BY c.a", 8, "SELECT * cannot be combined with GROUP BY"),
        ("SELECT * FROM c ORDER BY LOWER(c.a)", 26, "ORDER BY takes paths into the document"),
        ("SELECT * FROM c ORDER BY c", 26, "ORDER BY takes paths into the document"),
        ("SELECT t FROM c JOIN t IN c.tags ORDER BY t.x", 43, "ORDER BY takes paths into the document"),
        ("SELECT ARRAY(SELECT VALUE c.x FROM c ORDER BY c.x) FROM c", 38, "not supported in subqueries"),
        ("SELECT (SELECT TOP 1 VALUE t FROM t IN c.tags) FROM c", 16, "TOP is not supported in subqueries"),
        (
            "SELECT * FROM c ORDER BY RANK c.x",
            17,
            "must be followed by a VectorDistance and/or a FullTextScore",
        ),
        ("SELECT TOP 1 c.a FROM c OFFSET 0 LIMIT 1", 25, "TOP cannot be combined with OFFSET and LIMIT"),
    ] {
        let error = checked(text).expect_err(text);
        assert_eq!(error.place().column, column, "{text}\n{error}");
        assert!(error.message().contains(message), "{text}\n{error}");
    }
}

/// The codes, texts and places are the service's.
#[test]
fn the_service_has_its_own_words() {
    let coded = |start: usize, end: usize, code: &str, message: &str| {
        format!(
            r#"{{"errors":[{{"severity":"Error","location":{{"start":{start},"end":{end}}},"code":"{code}","message":"{message}"}}]}}"#
        )
    };
    for (text, expected) in [
        ("SELECT FROM c", coded(7, 11, "SC1001", "Syntax error, incorrect syntax near 'FROM'.")),
        ("SELECT TOP -1 * FROM c", coded(11, 12, "SC1001", "Syntax error, incorrect syntax near '-'.")),
        ("SELECT * FROM c OFFSET 0 LIMIT -1", coded(31, 32, "SC1001", "Syntax error, incorrect syntax near '-'.")),
        (r#"SELECT "a FROM c"#, coded(7, 8, "SC1012", r#"Syntax error, invalid string literal token '\"'."#)),
        ("SELECT 'é', d.x FROM c", coded(12, 13, "SC2001", "Identifier 'd' could not be resolved.")),
        ("SELECT BADFUNC(c.a) FROM c", coded(7, 14, "SC2005", "'BADFUNC' is not a recognized built-in function name.")),
        ("SELECT * FROM c GROUP BY c.a", coded(7, 8, "SC2041", "'SELECT *' is not allowed with GROUP BY.")),
        ("SELECT STARTSWITH('a')", coded(7, 22, "SC2050", "The STARTSWITH function requires 2 to 3 argument(s).")),
        ("SELECT LOWER()", coded(7, 14, "SC2050", "The LOWER function requires 1 argument(s).")),
        ("SELECT CONCAT('a')", coded(7, 18, "SC2050", "The CONCAT function requires at least 2 argument(s).")),
        (
            "SELECT TOP 4294967296 * FROM c",
            coded(11, 21, "SC2060", "The count value provided for a TOP clause must be an integer."),
        ),
        (
            "SELECT * FROM c OFFSET 0 LIMIT 4294967296",
            coded(31, 41, "SC2061", "The LIMIT count value exceeds the maximum allowed value."),
        ),
        (
            "SELECT * FROM c OFFSET 9223372036854775807 LIMIT 1",
            coded(23, 42, "SC2062", "The OFFSET count value exceeds the maximum allowed value."),
        ),
        (
            "SELECT SUM(COUNT(1)) FROM c",
            coded(
                7,
                20,
                "SC2101",
                "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
            ),
        ),
        (
            "SELECT s.score, COUNT(1) FROM s",
            coded(
                7,
                14,
                "SC2102",
                "Property reference 's.score' is invalid in the select list because it is not contained in either an \
                 aggregate function or the GROUP BY clause.",
            ),
        ),
        (
            "SELECT COUNT(ARRAY(SELECT VALUE 1)) FROM c",
            coded(
                7,
                35,
                "SC2101",
                "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
            ),
        ),
        (
            "SELECT 1 FROM c JOIN t IN ü.tags",
            coded(26, 27, "SC2001", "Identifier 'ü' could not be resolved."),
        ),
        (
            "SELECT STARTWITH('a', 'b')",
            coded(
                7,
                16,
                "SC2005",
                "'STARTWITH' is not a recognized built-in function name. Did you mean 'STARTSWITH'?",
            ),
        ),
        ("SELECT FIRST(1, 2)", coded(7, 12, "SC2005", "'FIRST' is not a recognized built-in function name.")),
        (
            "SELECT ARRAY_CONTAINS_ANY([1])",
            coded(7, 30, "SC2050", "The ARRAY_CONTAINS_ANY function requires at least 2 argument(s)."),
        ),
        (
            "SELECT ARRAY(SELECT VALUE t FROM t IN c.tags ORDER BY t.x DESC) FROM c",
            coded(45, 62, "SC2202", "'ORDER BY' is not supported in subqueries."),
        ),
        (
            "SELECT (SELECT TOP 1 VALUE t FROM t IN c.tags) FROM c",
            coded(15, 20, "SC2203", "'TOP' is not supported in subqueries."),
        ),
        (
            "SELECT (SELECT VALUE t FROM t IN c.tags OFFSET 0 LIMIT 1) FROM c",
            coded(40, 56, "SC2204", "'OFFSET LIMIT' clause is not supported in subqueries."),
        ),
        (
            "SELECT c.a[c.b] FROM c",
            coded(
                7,
                15,
                "SC2990",
                "The specified query includes 'member indexer' which is currently not supported.",
            ),
        ),
        (
            "SELECT [udf.a(), udf.a(), udf.a(), udf.a(), udf.a(), udf.a(), udf.a(), udf.a(), udf.a(), udf.a(), udf.a()]",
            coded(
                0,
                106,
                "SC3005",
                "The SQL query exceeded the maximum number of user-defined function calls. The allowed limit is 10.",
            ),
        ),
        (
            "SELECT DOCUMENTID(c) FROM c ORDER BY DOCUMENTID(c)",
            r#"{"errors":[{"severity":"Error","code":2206,"message":"Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."}]}"#.to_owned(),
        ),
        (
            "SELECT * FROM c ORDER BY LOWER(c.a)",
            r#"{"errors":[{"severity":"Error","code":2206,"message":"Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."}]}"#.to_owned(),
        ),
        (
            "SELECT t FROM c JOIN t IN c.tags ORDER BY t.x",
            r#"{"Errors":["Order-by over correlated collections is not supported."]}"#.to_owned(),
        ),
    ] {
        let wording = match parse(text) {
            Err(error) => error.wording().clone(),
            Ok(query) => check(&query, text).expect_err(text).wording().clone(),
        };
        assert_eq!(wording.to_json(text), expected, "{text}");
    }
}

#[test]
fn counts_from_2_to_the_31st_pass_below_2_to_the_32nd() {
    for text in ["SELECT TOP 2147483648 * FROM c", "SELECT * FROM c OFFSET 4294967295 LIMIT 4294967295"] {
        assert!(checked(text).is_ok(), "{text}");
    }
}

#[test]
fn an_error_tells_all_that_is_wrong_but_no_more_than_anybody_reads() {
    let text = "SELECT d.x, NOFUNC(e) FROM c";
    let error = checked(text).unwrap_err();
    let located = |start: usize, end: usize, code: &str, message: &str| {
        format!(
            r#"{{"severity":"Error","location":{{"start":{start},"end":{end}}},"code":"{code}","message":"{message}"}}"#
        )
    };
    let listed = [
        located(7, 8, "SC2001", "Identifier 'd' could not be resolved."),
        located(12, 18, "SC2005", "'NOFUNC' is not a recognized built-in function name."),
        located(19, 20, "SC2001", "Identifier 'e' could not be resolved."),
    ];
    assert_eq!(error.wording().to_json(text), format!(r#"{{"errors":[{}]}}"#, listed.join(",")));
    let shown = error.to_string();
    assert!(shown.contains("`d` is not known here") && shown.contains("no function NOFUNC"), "{shown}");
    let names = vec!["d.x AND NOFUNC()"; 1000].join(" AND ");
    let error = checked(&format!("SELECT {names} FROM c")).unwrap_err();
    let told = error.wording().to_json("").matches("severity").count();
    assert_eq!(told, super::MAX_PROBLEMS);
}

#[test]
fn joins_are_limited() {
    let joined = |count: usize| {
        let joins: String = (0..count).map(|n| format!(" JOIN t{n} IN c.tags")).collect();
        checked(&format!("SELECT VALUE 1 FROM c{joins}"))
    };
    assert!(joined(10).is_ok());
    assert!(joined(11).unwrap_err().message().contains("at most 10 JOINs"));
}
