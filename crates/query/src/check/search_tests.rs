//! What the service says of searches that it refuses: its codes, its words, and the place.

use super::check;
use crate::parse;

/// The error of a query, or nothing.
fn said(text: &str) -> String {
    let wording = match parse(text) {
        Err(error) => error.wording().to_json(text),
        Ok(query) => match check(&query, text) {
            Err(error) => error.wording().to_json(text),
            Ok(()) => String::new(),
        },
    };
    wording.replace('\\', "")
}

#[test]
fn searches_are_refused_in_the_services_words() {
    const SCORE: &str = "FullTextScore(c.t, 'a')";
    const SCORES: &str = "FullTextScore(c.t, 'a'), VectorDistance(c.v, [1])";
    let clause = |text: &str, from: &str| {
        let start = text.find(from).unwrap();
        format!(r#""start":{start},"end":{}"#, text.len())
    };
    for (text, code, message, place) in [
        (
            "SELECT * FROM c ORDER BY RANK c.x".to_owned(),
            "SC2221",
            "must be followed by a VectorDistance",
            "ORDER",
        ),
        (format!("SELECT * FROM c ORDER BY RANK RRF({SCORE})"), "SC2221", "and/or a FullTextScore", "ORDER"),
        ("SELECT * FROM c ORDER BY RANK RRF([1])".to_owned(), "SC2221", "must be followed by", "ORDER"),
        ("SELECT * FROM c ORDER BY RANK LOWER(c.a)".to_owned(), "SC2221", "must be followed by", "ORDER"),
        (
            format!("SELECT * FROM c ORDER BY RANK RRF({SCORES}, [1])"),
            "SC2229",
            "one for each of the component",
            "ORDER",
        ),
        (
            format!("SELECT * FROM c ORDER BY RANK RRF({SCORES}, [1, 'a'])"),
            "SC2229",
            "array of weights",
            "ORDER",
        ),
        (format!("SELECT * FROM c ORDER BY RANK RRF({SCORES}, 1)"), "SC2229", "array of weights", "ORDER"),
        (format!("SELECT * FROM c ORDER BY RANK RRF({SCORES}, [1, 2], [1, 2])"), "SC2229", "array", "ORDER"),
        (format!("SELECT VALUE {SCORE} FROM c"), "SC2240", "only allowed in the ORDER BY RANK clause.", ""),
        (
            format!("SELECT * FROM c WHERE {SCORE} > 1"),
            "SC2240",
            "only allowed in the ORDER BY RANK clause.",
            "",
        ),
        (
            format!("SELECT * FROM c ORDER BY {SCORE}"),
            "SC2240",
            "only allowed in the ORDER BY RANK clause.",
            "",
        ),
        (
            format!("SELECT RRF({SCORES}) FROM c"),
            "SC2005",
            "'RRF' is not a recognized built-in function name.",
            "",
        ),
        (
            format!("SELECT c.a FROM c JOIN t IN c.t ORDER BY RANK {SCORE}"),
            "SC2224",
            "The JOIN operator is not allowed",
            "",
        ),
        (
            "SELECT t FROM t IN c.t ORDER BY RANK FullTextScore(t.t, 'a')".to_owned(),
            "SC2223",
            "with the IN operator",
            "",
        ),
        (
            format!("SELECT c FROM (SELECT * FROM d) AS c ORDER BY RANK {SCORE}"),
            "SC2225",
            "Subqueries in the FROM clause",
            "",
        ),
        (
            format!("SELECT ARRAY(SELECT VALUE c FROM c ORDER BY RANK {SCORE}) FROM c"),
            "SC2228",
            "not supported in subqueries.",
            "",
        ),
        (
            "SELECT * FROM c ORDER BY VectorDistance(c.v, [1], false, {'searchListSizeMultiplier': -100})"
                .to_owned(),
            "SC2213",
            "The 'searchListSizeMultiplier' value -100 specified in the VectorDistance function is outside the supported range. The value must be between 1 and 100.",
            "",
        ),
        ("SELECT VectorDistance(c.v) FROM c".to_owned(), "SC2050", "requires 2 to 4 argument(s).", ""),
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t)".to_owned(),
            "SC2050",
            "requires at least 2 argument(s).",
            "",
        ),
    ] {
        let found = said(&text);
        assert!(found.contains(code) && found.contains(message), "{text}\n{found}");
        if !place.is_empty() {
            assert!(found.contains(&clause(&text, place)), "{text}\n{found}");
        }
    }
}

/// The codes and the places of all errors of a query, as pieces of its text.
fn places(text: &str) -> Vec<(String, String)> {
    let said: serde_json::Value = match parse(text) {
        Err(error) => serde_json::from_str(&error.wording().to_json(text)).unwrap(),
        Ok(query) => serde_json::from_str(&check(&query, text).unwrap_err().wording().to_json(text)).unwrap(),
    };
    let place = |error: &serde_json::Value| {
        let at = |end: &str| error["location"][end].as_u64().unwrap() as usize;
        (error["code"].as_str().unwrap().to_owned(), text[at("start")..at("end")].to_owned())
    };
    said["errors"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn what_is_refused_of_a_search_is_pointed_at() {
    const SCORE: &str = "FullTextScore(c.t, 'a')";
    const OPTIONS: &str = "{'quantizedVectorListMultiplier': 101}";
    for (text, expected) in [
        (format!("SELECT {SCORE}, {SCORE} FROM c"), vec![("SC2240", SCORE), ("SC2240", SCORE)]),
        (format!("SELECT RRF({SCORE}) FROM c"), vec![("SC2005", "RRF"), ("SC2240", SCORE)]),
        (
            format!("SELECT VALUE u FROM t IN c.t JOIN u IN t.u ORDER BY RANK {SCORE}")
                .replace("(c.t", "(t.t"),
            vec![("SC2224", "t IN c.t JOIN u IN t.u"), ("SC2223", "t IN c.t")],
        ),
        (
            format!("SELECT VALUE c FROM (SELECT VALUE d FROM d) AS c ORDER BY RANK {SCORE}"),
            vec![("SC2225", "(SELECT VALUE d FROM d) AS c")],
        ),
        (
            format!("SELECT ARRAY(SELECT VALUE c FROM c ORDER BY RANK {SCORE}) FROM c"),
            vec![("SC2228", "ORDER BY RANK FullTextScore(c.t, 'a')")],
        ),
        (format!("SELECT VectorDistance(c.v, [1], false, {OPTIONS}) FROM c"), vec![("SC2213", OPTIONS)]),
        ("SELECT s.a, s.b, COUNT(1) FROM s".to_owned(), vec![("SC2102", "s.a"), ("SC2102", "s.b")]),
    ] {
        let found = places(&text);
        let found: Vec<_> = found.iter().map(|(code, place)| (code.as_str(), place.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn directions_and_other_orders_are_refused() {
    for (text, message) in [
        (
            "SELECT * FROM c ORDER BY VectorDistance(c.v, [1]) DESC",
            "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported.",
        ),
        (
            "SELECT * FROM c ORDER BY VectorDistance(c.v, [1]) asc",
            "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported.",
        ),
        (
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a') DESC",
            "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.",
        ),
        ("SELECT * FROM c ORDER BY c.a, VectorDistance(c.v, [1])", "\"code\":2206"),
        ("SELECT * FROM c ORDER BY FullTextContains(c.t, 'a')", "\"code\":2206"),
        ("SELECT DISTINCT c.a FROM c ORDER BY RANK FullTextScore(c.t, 'a')", "DISTINCT"),
    ] {
        assert!(said(text).contains(message), "{text}\n{}", said(text));
    }
}

#[test]
fn so_many_scores_are_refused_that_nobody_could_hold_the_plan() {
    let ranked = |count: usize| {
        let scores = vec!["FullTextScore(c.t, 'a')"; count].join(", ");
        said(&format!("SELECT * FROM c ORDER BY RANK RRF({scores})"))
    };
    assert_eq!(ranked(32), "");
    assert!(ranked(33).contains("RRF takes at most 32 scores, not 33"), "{}", ranked(33));
    assert!(ranked(10_000).contains("not 10000"));
}

#[test]
fn searches_that_mean_something_pass() {
    for text in [
        "SELECT VectorDistance(c.v, [1, 2]) AS d FROM c WHERE VectorDistance(c.v, [1, 2]) > 0.5",
        "SELECT c.a FROM c GROUP BY c.a, VectorDistance(c.v, [1])",
        "SELECT TOP 3 * FROM c ORDER BY VectorDistance([1], c.v, true, {})",
        "SELECT * FROM c ORDER BY VectorDistance(c.v, @v, false, {'distanceFunction': 'euclidean', 'searchListSizeMultiplier': 100})",
        "SELECT * FROM c WHERE FullTextContains(c.t, 'a') AND FullTextContainsAll(c.t, 'a', @b) OR FullTextContainsAny(c.t, 'a')",
        "SELECT FullTextContains(c.t, 'a') FROM c",
        "SELECT TOP 10 * FROM c WHERE c.x > 1 ORDER BY RANK FullTextScore(c.t, 'a', 'b')",
        "SELECT * FROM c ORDER BY RANK VectorDistance(c.v, [1]) OFFSET 1 LIMIT 2",
        "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), VectorDistance(c.v, [1]), [1, -0.5])",
        "SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, @a), FullTextScore(c.u, 'b'), @weights)",
        "SELECT * FROM c ORDER BY rank",
    ] {
        let expected = if text.ends_with("rank") { "SC2001" } else { "" };
        assert!(
            said(text).contains(expected) && said(text).is_empty() == expected.is_empty(),
            "{text}\n{}",
            said(text)
        );
    }
}
