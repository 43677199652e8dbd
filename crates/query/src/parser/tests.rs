//! What parses and what does not, with the place and the words of each refusal.

use super::{MAX_DEPTH, MAX_TEXT_LENGTH, parse};

/// Parses and prints again: the printer puts parentheses around every operation within another, which shows
/// how operators were grouped.
fn printed(text: &str) -> String {
    match parse(text) {
        Ok(query) => query.to_string(),
        Err(error) => panic!("{text}\n{error}"),
    }
}

fn grouping(expression: &str) -> String {
    printed(&format!("SELECT VALUE {expression}")).trim_start_matches("SELECT VALUE ").to_owned()
}

#[test]
fn operators_group_by_precedence() {
    for (written, grouped) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("'a' || 'b' || 'c'", r#"("a" || "b") || "c""#),
        ("1 | 2 ^ 3 & 4 << 5 + 6", "1 | (2 ^ (3 & (4 << (5 + 6))))"),
        ("8 >>> 1 >> 2 << 3", "((8 >>> 1) >> 2) << 3"),
        ("a = 1 AND b <> 2 OR c >= 3", "(a = 1 AND b != 2) OR c >= 3"),
        ("NOT a = 1 AND b", "(NOT (a = 1)) AND b"),
        ("NOT NOT a", "NOT (NOT a)"),
        ("a = NOT b", "a = (NOT b)"),
        ("- - ~ + 1", "-(-(~(+1)))"),
        ("-1 + 2", "(-1) + 2"),
        ("a ?? b ?? c", "(a ?? b) ?? c"),
        ("a OR b ?? c ? d : e ? f : g", "((a OR b) ?? c) ? d : (e ? f : g)"),
        ("a BETWEEN 1 AND 2 + 3 AND b", "(a BETWEEN 1 AND (2 + 3)) AND b"),
        ("a NOT BETWEEN 1 AND 2", "a NOT BETWEEN 1 AND 2"),
        ("a IN (1, 'x', @p) OR b NOT IN (c.d)", r#"a IN (1, "x", @p) OR b NOT IN (c.d)"#),
        ("a LIKE '%x!%' ESCAPE '!' AND b NOT LIKE c", r#"(a LIKE "%x!%" ESCAPE "!") AND (b NOT LIKE c)"#),
        ("(1 + 2) * 3", "(1 + 2) * 3"),
        ("a.b[\"c d\"]['e'][0].f", "a.b[\"c d\"].e[0].f"),
        ("a[b.c + 1]", "a[b.c + 1]"),
        ("[1, [2], {}]", "[1, [2], {}]"),
        ("{'a': 1, b: {\"c\": [] } }", r#"{"a": 1, "b": {"c": []}}"#),
        ("udf.f(1, udf.g())", "udf.f(1, udf.g())"),
        ("TRUE = true", "true = true"),
        ("[null, undefined, false]", "[null, undefined, false]"),
    ] {
        assert_eq!(grouping(written), grouped, "{written}");
    }
}

#[test]
fn literals_keep_their_values() {
    for (written, printed) in [
        ("0.5", "0.5"),
        (".5", "0.5"),
        ("1.", "1"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("9007199254740993", "9007199254740993"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e300", "1e300"),
        (r#"'it\'s "x"'"#, r#""it's \"x\"""#),
        (r#""a\n\t\\\/\u0041\ud83d\ude00""#, r#""a\u000a\u0009\\/A😀""#),
        ("'ü 漢'", "\"ü 漢\""),
    ] {
        assert_eq!(grouping(written), printed, "{written}");
    }
}

#[test]
fn clauses_are_read() {
    for (written, expected) in [
        ("select * from c", "SELECT * FROM c"),
        ("SELECT DISTINCT TOP 5 VALUE c.x FROM c", "SELECT DISTINCT TOP 5 VALUE c.x FROM c"),
        ("SELECT DISTINCT * FROM c", "SELECT DISTINCT * FROM c"),
        ("SELECT TOP @n c.a AS x, c.b y, c.z FROM c", "SELECT TOP @n c.a AS x, c.b AS y, c.z FROM c"),
        ("SELECT 1", "SELECT 1"),
        ("SELECT * FROM Families.children[0] AS k", "SELECT * FROM Families.children[0] AS k"),
        ("SELECT * FROM c.a['b c'] x", "SELECT * FROM c.a[\"b c\"] AS x"),
        (
            "SELECT t FROM c JOIN t IN c.tags JOIN u IN t.us WHERE t = 'a'",
            "SELECT t FROM c JOIN t IN c.tags JOIN u IN t.us WHERE t = \"a\"",
        ),
        ("SELECT * FROM t IN c.tags", "SELECT * FROM t IN c.tags"),
        (
            "SELECT x FROM c JOIN (SELECT VALUE t FROM t IN c.tags) AS x",
            "SELECT x FROM c JOIN (SELECT VALUE t FROM t IN c.tags) AS x",
        ),
        ("SELECT x FROM (SELECT c.a FROM c) x", "SELECT x FROM (SELECT c.a FROM c) AS x"),
        (
            "SELECT * FROM c WHERE EXISTS(SELECT VALUE 1 FROM t IN c.tags) AND ARRAY(SELECT 1) != (SELECT VALUE 2)",
            "SELECT * FROM c WHERE EXISTS(SELECT VALUE 1 FROM t IN c.tags) AND ARRAY(SELECT 1) != (SELECT VALUE 2)",
        ),
        (
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a, LOWER(c.b)",
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a, LOWER(c.b)",
        ),
        (
            "SELECT * FROM c ORDER BY c.a, c.b DESC, c.d ASC OFFSET 5 LIMIT @n",
            "SELECT * FROM c ORDER BY c.a ASC, c.b DESC, c.d ASC OFFSET 5 LIMIT @n",
        ),
        (
            "SELECT TOP 3 * FROM c ORDER BY RANK RRF(VectorDistance(c.v, [1]), FullTextScore(c.t, 'x'))",
            "SELECT TOP 3 * FROM c ORDER BY RANK RRF(VectorDistance(c.v, [1]), FullTextScore(c.t, \"x\"))",
        ),
        ("SELECT /* a * b */ 1 -- c\n", "SELECT 1"),
        ("SELECT 1 -- to the end", "SELECT 1"),
    ] {
        assert_eq!(printed(written), expected, "{written}");
    }
}

#[test]
fn keywords_are_names_where_nothing_else_can_stand() {
    for (written, expected) in [
        (
            "SELECT c.order, c.value, c.select FROM c",
            "SELECT c[\"order\"], c[\"value\"], c[\"select\"] FROM c",
        ),
        ("SELECT value FROM value", "SELECT (value) FROM value"),
        ("SELECT value.x, top FROM c", "SELECT (value).x, (top) FROM c"),
        ("SELECT top AS top FROM c", "SELECT (top) AS top FROM c"),
        ("SELECT VALUE value FROM c", "SELECT VALUE (value) FROM c"),
        ("SELECT c.x AS from FROM c", "SELECT c.x AS from FROM c"),
        ("SELECT * FROM c order ORDER BY order.x", "SELECT * FROM c AS order ORDER BY (order).x ASC"),
        ("SELECT * FROM c ORDER BY rank", "SELECT * FROM c ORDER BY (rank) ASC"),
        ("SELECT exists, array, udf.x FROM c", "SELECT (exists), (array), (udf).x FROM c"),
        ("SELECT {order: 1, \"by\": limit}", "SELECT {\"order\": 1, \"by\": (limit)}"),
        ("SELECT * FROM offset OFFSET 0 LIMIT 1", "SELECT * FROM offset OFFSET 0 LIMIT 1"),
        (
            "SELECT LEFT(c.x, 1), REPLACE(c.x, 'a', 'b') FROM c",
            "SELECT LEFT(c.x, 1), REPLACE(c.x, \"a\", \"b\") FROM c",
        ),
    ] {
        assert_eq!(printed(written), expected, "{written}");
    }
}

#[test]
fn errors_name_the_place_what_was_found_and_what_was_expected() {
    for (text, line, column, found, expected) in [
        ("", 1, 1, "the end of the query", "SELECT"),
        ("SELECT * FORM c", 1, 10, "`FORM`", "an operator, `,`, FROM or the end of the query"),
        ("SELECT FROM c", 1, 8, "`FROM`", "an expression"),
        ("SELECT *\nFROM c\nWHERE c.x ==  1", 3, 12, "`=`", "an expression"),
        ("SELECT * FROM c WHERE", 1, 22, "the end of the query", "an expression"),
        ("SELECT * FROM c WHERE c.x = 'abc", 1, 29, "a string without an end", "a closing '"),
        ("SELECT 'a\\q'", 1, 8, "the escape `\\\\q` in a string", "one of"),
        ("SELECT '\\ud800'", 1, 8, "the escape `\\\\ud800` in a string", "surrogates in pairs"),
        ("SELECT 1 /* x", 1, 10, "a comment without an end", "a closing `*/`"),
        ("SELECT # FROM c", 1, 8, "`#`", "a word, a number"),
        ("SELECT @ FROM c", 1, 8, "`@` alone", "a parameter name"),
        ("SELECT 12abc", 1, 8, "`12abc`", "a number"),
        ("SELECT 1e999", 1, 8, "the number 1e999", "range of a double"),
        ("SELECT c.5 FROM c", 1, 9, "the number .5", "an operator"),
        ("SELECT c.", 1, 10, "the end of the query", "a member name after `.`"),
        ("SELECT (1 FROM c", 1, 11, "`FROM`", "an operator or `)`"),
        ("SELECT [1, FROM c", 1, 12, "`FROM`", "an expression"),
        ("SELECT {1: 2}", 1, 9, "the number 1", "a member name"),
        ("SELECT {a 2}", 1, 11, "the number 2", "`:`"),
        ("SELECT * FROM c WHERE c.x IN ()", 1, 31, "`)`", "an expression in the list of IN"),
        ("SELECT * FROM c WHERE c.x BETWEEN 1 OR 2", 1, 37, "`OR`", "AND"),
        ("SELECT * FROM c WHERE c.x NOT 1", 1, 27, "`NOT`", "an operator, GROUP BY"),
        ("SELECT TOP 1.5 * FROM c", 1, 12, "the number 1.5", "a whole number or a parameter"),
        ("SELECT * FROM c OFFSET 1", 1, 25, "the end of the query", "LIMIT"),
        ("SELECT * FROM c GROUP c.x", 1, 23, "`c`", "JOIN, WHERE"),
        ("SELECT * FROM 'x'", 1, 15, "the string 'x'", "a container, an alias"),
        ("SELECT * FROM c[1.5]", 1, 17, "the number 1.5", "a member name in quotes or an array index"),
        ("SELECT * FROM c WHERE EXISTS(1)", 1, 30, "the number 1", "SELECT"),
        ("SELECT * FROM c; DROP", 1, 16, "`;`", "JOIN, WHERE"),
        ("SELECT c.x AS 5 FROM c", 1, 15, "the number 5", "a name after AS"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!((error.line(), error.column(), error.found()), (line, column, found), "{text}");
        assert!(error.expected().contains(expected), "{text}: expected {}", error.expected());
    }
}

#[test]
fn an_error_shows_the_line_and_a_caret() {
    let error = parse("SELECT *\nFROM c WHRE c.x = 1").unwrap_err().to_string();
    // `WHRE` reads as an alias, so the word after it is the first that fits nowhere.
    let expected = "syntax error at line 2, column 13: found `c`, expected JOIN, WHERE, GROUP BY, ORDER BY, OFFSET or \
                    the end of the query\n  FROM c WHRE c.x = 1\n              ^";
    assert_eq!(error, expected);
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!("SELECT {} # {}", "c.x + ".repeat(500), "c.y".repeat(500));
    let shown = parse(&text).unwrap_err().to_string();
    assert!(shown.len() < 400, "{shown}");
}

#[test]
fn depth_and_size_are_bounded() {
    let wrap = |open: &str, close: &str, n: usize| format!("SELECT {}1{}", open.repeat(n), close.repeat(n));
    let tall: Vec<String> = vec![
        wrap("(", ")", 100_000),
        wrap("[", "]", 100_000),
        wrap("{a:", "}", 100_000),
        wrap("- ", "", 100_000),
        wrap("NOT ", "", 100_000),
        wrap("f(", ")", 100_000),
        wrap("(SELECT ", ")", 50_000),
        wrap("1 ? 1 : ", "", 50_000),
        wrap("1 ?? ", "", 50_000),
        wrap("1 + ", "", 100_000),
        wrap("1 IN (", ")", 50_000),
        format!("SELECT c{}", ".a".repeat(100_000)),
        format!("SELECT c{}", "[0]".repeat(100_000)),
        format!("SELECT * FROM {}c{}", "(SELECT * FROM ".repeat(20_000), ")".repeat(20_000)),
        format!("SELECT 1{}", " IN (1)".repeat(50_000)),
    ];
    for text in tall {
        let error = parse(&text).expect_err(&text[..40]);
        assert!(error.found().contains("nesting"), "{error}");
    }
    let error = parse(&" ".repeat(MAX_TEXT_LENGTH + 1)).unwrap_err();
    assert!(error.found().contains("524289 bytes"), "{error}");
}

#[test]
fn nesting_up_to_the_limit_fits_a_thread_stack() {
    let levels = MAX_DEPTH - 2;
    let texts = [
        format!("SELECT {}1{}", "(".repeat(levels), ")".repeat(levels)),
        format!("SELECT {}1{}", "f(1, ".repeat(levels), ")".repeat(levels)),
        format!("SELECT {}1{}", "{a:[".repeat(levels / 2), "]}".repeat(levels / 2)),
        format!("SELECT {}1{}", "(SELECT VALUE ".repeat(levels / 2), ")".repeat(levels / 2)),
        format!("SELECT {}1", "1 ? 1 : ".repeat(levels)),
        format!("SELECT {}1", "NOT ".repeat(levels)),
    ];
    let parsed = std::thread::Builder::new()
        .stack_size(1024 * 1024)
        .spawn(move || {
            for text in texts {
                let query = parse(&text).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(parse(&query.to_string()).unwrap().to_string(), query.to_string());
            }
        })
        .unwrap();
    parsed.join().unwrap();
}

#[test]
fn long_chains_of_and_and_or_stay_shallow() {
    for operator in ["AND", "OR"] {
        let chain = vec!["c.x = 1"; 20_000].join(&format!(" {operator} "));
        let query = parse(&format!("SELECT * FROM c WHERE {chain}")).unwrap();
        assert_eq!(parse(&query.to_string()).unwrap().to_string(), query.to_string());
    }
}
