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
        "SELECT COUNT(1), SUM(c.x) AS s, 5 AS five FROM c",
        "SELECT c.a, LOWER(c.b) AS b, COUNT(1) FROM c GROUP BY c.a, LOWER(c.b)",
        "SELECT c.a.b, c.a FROM c GROUP BY c.a",
        "SELECT VALUE {\"a\": c.a, \"n\": MAX(c.n)} FROM c GROUP BY c.a",
        "SELECT TOP 5 * FROM c",
        "SELECT UPPER(c.a), UPPER(c.b) FROM c",
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
        ("SELECT 1 FROM c JOIN t IN x.tags", 22, "`x` is not known here"),
        ("SELECT 1 FROM c JOIN c IN c.tags", 22, "the alias `c` is given to two sources"),
        ("SELECT * FROM (SELECT 1)", 15, "this source needs a name"),
        ("SELECT * FROM c.a[0]", 15, "this source needs a name"),
        ("SELECT *", 1, "SELECT * needs a FROM clause"),
        ("SELECT * FROM c JOIN t IN c.tags", 22, "SELECT * needs exactly one source"),
        ("SELECT c.a, c.b AS a FROM c", 13, "the name `a` is selected twice"),
        ("SELECT FOO(1)", 8, "there is no function FOO"),
        ("SELECT lower()", 8, "LOWER takes 1 argument, not 0"),
        ("SELECT ST_DISTANCE(1, 2)", 8, "the function ST_DISTANCE is not supported yet"),
        ("SELECT udf.f(1)", 8, "udf.f is not supported yet"),
        ("SELECT SUM(COUNT(1)) FROM c", 12, "the aggregate COUNT stands inside another one"),
        ("SELECT * FROM c WHERE COUNT(1) > 1", 23, "the aggregate COUNT cannot stand in WHERE"),
        ("SELECT 1 FROM c GROUP BY MAX(c.x)", 26, "the aggregate MAX cannot stand in GROUP BY"),
        ("SELECT c.x, COUNT(1) FROM c", 8, "`c` is used outside of an aggregate"),
        ("SELECT c.b, COUNT(1) FROM c GROUP BY c.a", 8, "`c` is used outside of an aggregate"),
        ("SELECT * FROM c GROUP BY c.a", 15, "SELECT * cannot be combined with GROUP BY"),
        ("SELECT c.a FROM c GROUP BY c.a ORDER BY c.a", 41, "ORDER BY cannot be combined with GROUP BY"),
        ("SELECT COUNT(1) FROM c ORDER BY c.a", 8, "aggregates cannot be combined with ORDER BY"),
        ("SELECT * FROM c ORDER BY LOWER(c.a)", 26, "ORDER BY takes paths into the document"),
        ("SELECT * FROM c ORDER BY c", 26, "ORDER BY takes paths into the document"),
        ("SELECT t FROM c JOIN t IN c.tags ORDER BY t.x", 43, "ORDER BY takes paths into the document"),
        ("SELECT ARRAY(SELECT VALUE c.x FROM c ORDER BY c.x) FROM c", 47, "not supported in subqueries"),
        ("SELECT * FROM c ORDER BY RANK c.x", 31, "ORDER BY RANK is not supported yet"),
        ("SELECT TOP 1 c.a FROM c OFFSET 0 LIMIT 1", 14, "TOP cannot be combined with OFFSET and LIMIT"),
    ] {
        let error = checked(text).expect_err(text);
        assert_eq!(error.place().column, column, "{text}\n{error}");
        assert!(error.message().contains(message), "{text}\n{error}");
    }
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
