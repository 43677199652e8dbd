//! Vector and full-text functions, and orders by scores.

use cosmonaut_query::eval::{Environment, Limits, Program};
use cosmonaut_query::search::{Language, Metric};
use cosmonaut_query::{Parameters, Setting, TextPath, VectorPath, parse};

use crate::harness::{query, run, value_in};

fn setting() -> Setting {
    let vector = |name: &str, metric| VectorPath { path: vec![name.to_owned()], metric };
    Setting {
        vectors: vec![vector("near", Metric::Euclidean), vector("dot", Metric::DotProduct)],
        texts: vec![TextPath { path: vec!["german".to_owned()], language: Language::Other }],
        language: Language::English,
        ..Setting::default()
    }
}

/// The rows of a query over a container that says something of its values.
fn rows(text: &str, documents: &[&str]) -> Vec<String> {
    let setting = setting();
    let environment = Environment {
        now_ticks: 0,
        random: &|| 0.5,
        limits: Limits::default(),
        computed: &[],
        setting: &setting,
    };
    let program = Program::compile(&parse(text).unwrap(), &Parameters::new(), &environment).unwrap();
    run(&program, documents).unwrap()
}

#[test]
fn distances_follow_options_then_policy_then_cosine() {
    const DOCUMENT: &str =
        r#"{"v":[1,2,3],"near":[1,2,3],"dot":[1,2,3],"text":"x","deep":[[1,2,3]],"n":[1,2,"3"]}"#;
    for (call, expected) in [
        ("VectorDistance(c.v, [2, 3, 4])", "0.9925833339709302"),
        ("VectorDistance([2, 3, 4], c.v)", "0.9925833339709302"),
        ("VectorDistance(c.near, [2, 3, 4])", "1.7320508075688772"),
        ("VectorDistance([2, 3, 4], c.near, true)", "1.7320508075688772"),
        ("VectorDistance(c.dot, [2, 3, 4], false, {})", "20"),
        ("VectorDistance(c.v, [2, 3, 4], false, {'distanceFunction': 'dotProduct'})", "20"),
        (
            "VectorDistance(c.near, [2, 3, 4], false, {'distanceFunction': 'Cosine', 'dataType': 'int8'})",
            "0.9925833339709302",
        ),
        ("_VectorScore(c.near, [2, 3, 4])", "1.7320508075688772"),
        ("VectorDistance([1, 2, 3], [2, 3, 4])", "0.9925833339709302"),
        ("VectorDistance(c.v, c.near)", "0"),
        ("VectorDistance(c.v, [2, 3])", ""),
        ("VectorDistance(c.text, [2, 3])", ""),
        ("VectorDistance(c.deep, [1])", ""),
        ("VectorDistance(c.n, [2, 3, 4])", ""),
        ("VectorDistance(c.missing, [2, 3, 4])", ""),
        ("VectorDistance(c.v, 'x')", ""),
    ] {
        assert_eq!(rows(&format!("SELECT VALUE {call} FROM c"), &[DOCUMENT]).concat(), expected, "{call}");
    }
}

#[test]
fn the_nearest_come_first_and_what_has_no_distance_last() {
    let documents = [
        r#"{"id":"far","near":[9,9],"v":[0,1],"dot":[1,1]}"#,
        r#"{"id":"none","near":"x"}"#,
        r#"{"id":"here","near":[1,0],"v":[1,0],"dot":[5,0]}"#,
        r#"{"id":"close","near":[1,1],"v":[1,1],"dot":[2,2]}"#,
    ];
    for (path, select, expected) in [
        ("near", "", r#""here""close""far""none""#),
        ("near", "TOP 2 ", r#""here""close""#),
        ("v", "", r#""here""close""far""none""#),
        ("dot", "TOP 3 ", r#""here""close""far""#),
    ] {
        let text = format!("SELECT {select}VALUE c.id FROM c ORDER BY VectorDistance(c.{path}, [1, 0])");
        assert_eq!(rows(&text, &documents).concat(), expected, "{text}");
    }
    let text = "SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.near, [1, 0]) OFFSET 1 LIMIT 2";
    assert_eq!(rows(text, &documents).concat(), r#""close""far""#);
    for (direction, expected) in
        [("ASC", r#""far""close""here""none""#), ("DESC", r#""here""close""far""none""#)]
    {
        let text = format!("SELECT VALUE c.id FROM c ORDER BY _VectorScore(c.v, [1, 0]) {direction}");
        assert_eq!(rows(&text, &documents).concat(), expected, "{text}");
    }
}

#[test]
fn texts_have_terms_phrases_and_words_that_are_almost_the_same() {
    const DOCUMENT: &str = r#"{"t":"The United States of America: mountain bicycles!","n":5,"german":"Die Räder","term":"bicycle"}"#;
    for (call, expected) in [
        ("FullTextContains(c.t, 'bicycle')", "true"),
        ("FullTextContains(c.t, 'BICYCLES')", "true"),
        ("FullTextContains(c.t, 'bi')", "false"),
        ("FullTextContains(c.t, 'united states')", "true"),
        ("FullTextContains(c.t, 'states united')", "false"),
        ("FullTextContains(c.t, 'the')", "false"),
        ("FullTextContains(c.t, c.term)", "true"),
        ("FullTextContains(c.t, {'term': 'bicycla', 'distance': 1})", "true"),
        ("FullTextContains(c.t, {'term': 'mauntein', 'distance': 1})", "false"),
        ("FullTextContains(c.t, {'term': 'mauntein', 'distance': 2})", "true"),
        ("FullTextContains(c.t, {'term': 'mauntein', 'distance': 3})", ""),
        ("FullTextContainsAll(c.t, 'mountain', 'united states')", "true"),
        ("FullTextContainsAll(c.t, 'mountain', 'river')", "false"),
        ("FullTextContainsAny(c.t, 'river', 'mountains')", "true"),
        ("FullTextContainsAny(c.t, 'river', 'lake')", "false"),
        ("FullTextContains(c.german, 'rad')", "false"),
        ("FullTextContains(c.german, 'RÄDER')", "true"),
        ("FullTextContains(c.german, 'die')", "true"),
        ("FullTextContains(c.n, '5')", ""),
        ("FullTextContains(c.missing, 'a')", ""),
        ("FullTextContains(c.t, 5)", ""),
        ("FullTextContains('Red bicycles', 'bicycle')", "true"),
        ("_FullTextWordCount(c.t)", "5"),
        ("_FullTextWordCount(c.n)", ""),
    ] {
        assert_eq!(rows(&format!("SELECT VALUE {call} FROM c"), &[DOCUMENT]).concat(), expected, "{call}");
    }
}

#[test]
fn scores_are_bm25_of_the_counts_that_are_given() {
    let document = r#"{"t":"red bicycle, red","n":1}"#;
    // ln(1 + (4 - 2 + 0.5) / (2 + 0.5)) · 2 · 2.2 / (2 + 1.2 · (0.25 + 0.75 · 3 / 2))
    let expected = 2f64.ln() * 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 1.5));
    let found: f64 =
        value_in("_FullTextScore(c.t, ['red', 'blue'], 4, 8, [2, 1])", document).parse().unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    assert_eq!(value_in("_FullTextScore(c.t, ['blue'], 4, 8, [1])", document), "0");
    assert_eq!(value_in("_FullTextScore(c.n, ['blue'], 4, 8, [1])", document), "undefined");
    assert_eq!(value_in("_FullTextScore(c.x, ['blue'], 4, 8, [1]) ?? -1", document), "-1");
}

#[test]
fn what_plans_ask_for_is_answered() {
    let documents =
        [r#"{"_rid":"a","t":"swim and run"}"#, r#"{"_rid":"b","t":"swimming swimmers"}"#, r#"{"_rid":"c"}"#];
    assert_eq!(
        query(
            r#"SELECT COUNT(1) AS documentCount, [{"totalWordCount": SUM(_FullTextWordCount(c.t)), "hitCounts": [COUNTIF(FullTextContains(c.t, "swim")), COUNTIF(FullTextContains(c.t, "run"))]}] AS fullTextStatistics FROM c"#,
            &documents
        ),
        [r#"{"documentCount":3,"fullTextStatistics":[{"totalWordCount":4,"hitCounts":[2,1]}]}"#]
    );
    let score = "_FullTextScore(c.t, ['swim', 'run'], 3, 4, [2,1])";
    let text = format!("SELECT VALUE c._rid FROM c WHERE (true) ORDER BY {score} DESC");
    assert_eq!(query(&text, &documents).concat(), r#""a""b""c""#);
    let text = format!("SELECT TOP 2 VALUE c._rid FROM c WHERE (true) ORDER BY {score} ASC");
    assert_eq!(query(&text, &documents).concat(), r#""b""a""#);
}
