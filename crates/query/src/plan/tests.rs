//! Rewritten queries, what clients are told about them, and the ranges they are sent to.

use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionedQueryExecutionInfo, QueryRange};
use serde_json::{Value as Json, json};

use super::{PlanError, plan};
use crate::parameters::Parameters;
use crate::value::Value;
use crate::{check, parse};

fn parameters() -> Parameters {
    let mut parameters = Parameters::new();
    parameters.insert("@n", 5.0);
    parameters.insert("@text", "a");
    parameters.insert("@list", Value::Array(vec![Value::from("a"), Value::from("b")]));
    parameters
}

fn planned(text: &str, key: &PartitionKeyDefinition) -> Result<PartitionedQueryExecutionInfo, PlanError> {
    let query = parse(text).unwrap_or_else(|error| panic!("{error}"));
    check(&query, text).unwrap_or_else(|error| panic!("{error}"));
    plan(&query, &parameters(), key)
}

/// The rewritten query, and the members of the plan that are not as in a plan for a plain query.
fn summary(text: &str) -> (String, Json) {
    let plan = planned(text, &"/pk".into()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let plain = json!({
        "distinctType": "None", "top": null, "offset": null, "limit": null, "orderBy": [],
        "orderByExpressions": [], "groupByExpressions": [], "groupByAliases": [], "aggregates": [],
        "groupByAliasToAggregateType": {}, "hasSelectValue": false, "hasNonStreamingOrderBy": false,
        "dCountInfo": null,
    });
    let mut info = serde_json::to_value(&plan).unwrap()["queryInfo"].take();
    let members = info.as_object_mut().unwrap();
    let rewritten = members.remove("rewrittenQuery").unwrap();
    members.retain(|name, value| plain[name] != *value);
    (rewritten.as_str().unwrap().to_owned(), info)
}

#[test]
fn queries_are_rewritten_for_partitions() {
    let filter = "({documentdb-formattableorderbyquery-filter})";
    for (text, rewritten, info) in [
        ("SELECT * FROM c", "", json!({})),
        ("SELECT TOP @n * FROM c", "", json!({"top": 5})),
        ("SELECT VALUE c.x FROM c", "", json!({"hasSelectValue": true})),
        (
            "SELECT c.x FROM c OFFSET 3 LIMIT @n",
            "SELECT c.x FROM c OFFSET 0 LIMIT 8",
            json!({"offset": 3, "limit": 5}),
        ),
        (
            "SELECT * FROM c ORDER BY c.x",
            &format!(
                "SELECT c._rid, [{{\"item\": c.x}}] AS orderByItems, c AS payload FROM c WHERE {filter} \
                 ORDER BY c.x ASC"
            ),
            json!({"orderBy": ["Ascending"], "orderByExpressions": ["c.x"]}),
        ),
        (
            "SELECT TOP 3 r.a, r.b.d AS x, r.a || 'z' FROM root r WHERE r.a = @text OR r.b ORDER BY r.x DESC, r['order']",
            &format!(
                "SELECT TOP 3 r._rid, [{{\"item\": r.x}}, {{\"item\": r[\"order\"]}}] AS orderByItems, \
                 {{\"a\": r.a, \"x\": r.b.d, \"$1\": r.a || \"z\"}} AS payload FROM root AS r \
                 WHERE (r.a = @text OR r.b) AND {filter} ORDER BY r.x DESC, r[\"order\"] ASC"
            ),
            json!({
                "top": 3, "orderBy": ["Descending", "Ascending"], "orderByExpressions": ["r.x", "r[\"order\"]"],
            }),
        ),
        (
            "SELECT VALUE c.y FROM c ORDER BY c.x OFFSET 1 LIMIT 2",
            &format!(
                "SELECT c._rid, [{{\"item\": c.x}}] AS orderByItems, c.y AS payload FROM c WHERE {filter} \
                 AND IS_DEFINED(c.y) ORDER BY c.x ASC OFFSET 0 LIMIT 3"
            ),
            json!({
                "orderBy": ["Ascending"], "orderByExpressions": ["c.x"], "offset": 1, "limit": 2,
                "hasSelectValue": true,
            }),
        ),
        ("SELECT DISTINCT c.x FROM c", "", json!({"distinctType": "Unordered"})),
        ("SELECT DISTINCT VALUE null", "", json!({"hasSelectValue": true})),
        (
            "SELECT DISTINCT VALUE c.x FROM c OFFSET 1 LIMIT 1",
            "SELECT DISTINCT VALUE c.x FROM c",
            json!({"distinctType": "Unordered", "offset": 1, "limit": 1, "hasSelectValue": true}),
        ),
        (
            "SELECT DISTINCT TOP 2 c.x FROM c ORDER BY c.x",
            &format!(
                "SELECT c._rid, [{{\"item\": c.x}}] AS orderByItems, {{\"x\": c.x}} AS payload FROM c \
                 WHERE {filter} ORDER BY c.x ASC"
            ),
            json!({
                "distinctType": "Ordered", "top": 2, "orderBy": ["Ascending"], "orderByExpressions": ["c.x"],
            }),
        ),
        (
            "SELECT DISTINCT c.y FROM c ORDER BY c.x",
            &format!(
                "SELECT c._rid, [{{\"item\": c.x}}] AS orderByItems, {{\"y\": c.y}} AS payload FROM c \
                 WHERE {filter} ORDER BY c.x ASC"
            ),
            json!({"distinctType": "Unordered", "orderBy": ["Ascending"], "orderByExpressions": ["c.x"]}),
        ),
    ] {
        assert_eq!(summary(text), (rewritten.to_owned(), info), "{text}");
    }
}

#[test]
fn aggregates_are_rewritten_as_parts() {
    for (text, rewritten, info) in [
        (
            "SELECT VALUE COUNT(1) FROM c WHERE c.x = 1",
            "SELECT VALUE [{\"item\": COUNT(1)}] FROM c WHERE c.x = 1",
            json!({"aggregates": ["Count"], "hasSelectValue": true}),
        ),
        (
            "SELECT VALUE COUNT(1) FROM c ORDER BY c.v",
            "SELECT VALUE [{\"item\": COUNT(1)}] FROM c ORDER BY c.v ASC",
            json!({"aggregates": ["Count"], "hasSelectValue": true}),
        ),
        (
            "SELECT c.a FROM c GROUP BY c.a ORDER BY c.a",
            "SELECT [{\"item\": c.a}] AS groupByItems, {\"a\": c.a} AS payload FROM c GROUP BY c.a ORDER BY c.a ASC",
            json!({
                "groupByExpressions": ["c.a"], "groupByAliases": ["a"], "groupByAliasToAggregateType": {"a": null},
            }),
        ),
        (
            "SELECT VALUE avg(c.x) FROM c",
            "SELECT VALUE [{\"item\": {\"sum\": SUM(c.x), \"count\": COUNT(c.x)}}] FROM c",
            json!({"aggregates": ["Average"], "hasSelectValue": true}),
        ),
        (
            "SELECT VALUE MIN(c.x) FROM c",
            "SELECT VALUE [{\"item\": MIN(c.x), \"item2\": {\"min\": MIN(c.x), \"count\": COUNT(c.x)}}] FROM c",
            json!({"aggregates": ["Min"], "hasSelectValue": true}),
        ),
        (
            "SELECT COUNT(1), SUM(c.x) AS s, 5 AS five FROM c",
            "SELECT {\"$1\": {\"item\": COUNT(1)}, \"s\": {\"item\": SUM(c.x)}, \"five\": 5} AS payload FROM c",
            json!({
                "groupByAliases": ["$1", "s", "five"],
                "groupByAliasToAggregateType": {"$1": "Count", "s": "Sum", "five": null},
            }),
        ),
        (
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a OFFSET 1 LIMIT 2",
            "SELECT [{\"item\": c.a}] AS groupByItems, {\"a\": c.a, \"n\": {\"item\": COUNT(1)}} AS payload \
             FROM c GROUP BY c.a",
            json!({
                "groupByExpressions": ["c.a"], "groupByAliases": ["a", "n"], "offset": 1, "limit": 2,
                "groupByAliasToAggregateType": {"a": null, "n": "Count"},
            }),
        ),
        (
            "SELECT VALUE MakeSet(c.x) FROM c GROUP BY c.a, LOWER(c.b)",
            "SELECT [{\"item\": c.a}, {\"item\": LOWER(c.b)}] AS groupByItems, [{\"item\": MakeSet(c.x)}] AS payload \
             FROM c GROUP BY c.a, LOWER(c.b)",
            json!({
                "groupByExpressions": ["c.a", "LOWER(c.b)"], "aggregates": ["MakeSet"], "hasSelectValue": true,
            }),
        ),
        (
            "SELECT VALUE c.a FROM c GROUP BY c.a",
            "SELECT [{\"item\": c.a}] AS groupByItems, c.a AS payload FROM c GROUP BY c.a",
            json!({"groupByExpressions": ["c.a"], "hasSelectValue": true}),
        ),
        (
            "SELECT COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.x FROM c)AS d",
            "SELECT DISTINCT VALUE c.x FROM c",
            json!({"distinctType": "Unordered", "dCountInfo": {"dCountAlias": "n"}, "hasSelectValue": true}),
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.x FROM c) AS d",
            "SELECT DISTINCT c.x FROM c",
            json!({"distinctType": "Unordered", "dCountInfo": {"dCountAlias": ""}}),
        ),
        (
            "SELECT VALUE COUNT(1) FROM (SELECT c.x FROM c) AS d",
            "SELECT VALUE [{\"item\": COUNT(1)}] FROM (SELECT c.x FROM c) AS d",
            json!({"aggregates": ["Count"], "hasSelectValue": true}),
        ),
        ("SELECT (SELECT VALUE COUNT(1) FROM t IN c.tags) AS n FROM c", "", json!({})),
    ] {
        assert_eq!(summary(text), (rewritten.to_owned(), info), "{text}");
    }
}

#[test]
fn rewritten_queries_are_queries() {
    for text in [
        "SELECT c.a, c.b[0] FROM c WHERE c.x LIKE 'a%' ORDER BY c.a DESC OFFSET 1 LIMIT 1",
        "SELECT c.a, AVG(c.x), MAX(c['group'].y) AS m FROM c JOIN t IN c.tags WHERE t = @text GROUP BY c.a",
        "SELECT VALUE MAX(c.x) FROM c",
        "SELECT VALUE c FROM c ORDER BY c.a",
        "SELECT VALUE @n FROM c ORDER BY c.a",
        "SELECT VALUE {\"a\": [c.a, c.b]} FROM c WHERE c.a OR c.b ORDER BY c.a",
        "SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.tags) FROM c ORDER BY c.a",
        "SELECT VALUE c.a ?? c.b FROM c ORDER BY c.a",
        "SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.tags) FROM c ORDER BY c.a",
    ] {
        let (rewritten, _) = summary(text);
        let started = rewritten.replace(super::FILTER_PLACEHOLDER, "true");
        let query = parse(&started).unwrap_or_else(|error| panic!("{error}"));
        check(&query, &started).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn what_cannot_be_spread_is_refused() {
    let refusal = |text: &str| planned(text, &"/pk".into()).expect_err(text);
    let composed = PlanError::Composition("COUNT(1) + 1".to_owned());
    assert_eq!(refusal("SELECT VALUE COUNT(1) + 1 FROM c"), composed);
    assert_eq!(refusal("SELECT COUNT(1) + 1 AS n FROM c"), composed);
    assert!(matches!(refusal("SELECT VALUE {\"n\": COUNT(1)} FROM c"), PlanError::Composition(_)));
    for text in [
        "SELECT VALUE {'s': SUM(c.x)} FROM c",
        "SELECT VALUE [SUM(c.x)] FROM c",
        "SELECT VALUE FLOOR(AVG(c.x)) FROM c",
    ] {
        assert_eq!(
            refusal(text).wording().to_json(text),
            r#"{"Errors":["Compositions of aggregates and other expressions are not allowed."]}"#,
            "{text}"
        );
    }
    assert_eq!(refusal("SELECT x FROM (SELECT DISTINCT c.a FROM c) AS x"), PlanError::Subquery);
    assert_eq!(refusal("SELECT TOP @m * FROM c"), PlanError::MissingParameter("@m".to_owned()));
    assert_eq!(refusal("SELECT TOP @text * FROM c"), PlanError::NotACount("@text".to_owned()));
    let key = PartitionKeyDefinition::from("pk");
    assert!(matches!(planned("SELECT * FROM c", &key), Err(PlanError::Key(_))));
}

fn ranges(condition: &str, key: &PartitionKeyDefinition) -> Vec<QueryRange> {
    planned(&format!("SELECT * FROM c WHERE {condition}"), key).unwrap().query_ranges
}

/// The ranges of these keys, each a JSON array; shorter ones are prefixes.
fn expected(keys: &[&str], definition: &PartitionKeyDefinition) -> Vec<QueryRange> {
    let mut ranges: Vec<QueryRange> = keys
        .iter()
        .map(|key| {
            let key: PartitionKey = key.parse().unwrap();
            let range = key.range(definition).unwrap();
            match key.components().len() == definition.paths.len() {
                true => QueryRange::point(range.min),
                false => QueryRange { is_max_inclusive: true, ..range.into() },
            }
        })
        .collect();
    ranges.sort_by(|a, b| a.min.cmp(&b.min));
    ranges
}

#[test]
fn partition_key_conditions_become_ranges() {
    let full: Vec<&str> = Vec::new();
    for (condition, keys) in [
        ("c.pk = 'a'", vec![r#"["a"]"#]),
        ("'a' = c['pk'] AND c.x > 1", vec![r#"["a"]"#]),
        ("c.pk = @text", vec![r#"["a"]"#]),
        ("c.pk IN ('a', 'b', 'a')", vec![r#"["a"]"#, r#"["b"]"#]),
        ("ARRAY_CONTAINS(@list, c.pk)", vec![r#"["a"]"#, r#"["b"]"#]),
        ("c.pk = 'a' OR c.pk = null AND c.x = 1", vec![r#"["a"]"#, "[null]"]),
        ("c.pk IN ('a', 'b') AND c.pk IN ('b', 'c')", vec![r#"["b"]"#]),
        ("c.pk = true", vec!["[true]"]),
        ("c.pk = -1.5", vec!["[-1.5]"]),
        ("c.pk", vec!["[true]"]),
        ("ABS(c.pk) = 1", vec!["[1]", "[-1]"]),
        ("0.5 = abs(c.pk)", vec!["[0.5]", "[-0.5]"]),
        ("c.pk IN ('a', [1], {})", vec![r#"["a"]"#, "[{}]"]),
        ("c.pk = [1, 2]", vec!["[{}]"]),
        ("c.pk = {\"a\": 1}", vec!["[{}]"]),
        ("c.pk LIKE 'a'", vec![r#"["a"]"#]),
        ("c.pk LIKE 'a!%' ESCAPE '!'", vec![r#"["a%"]"#]),
        ("c.pk LIKE 'a%'", full.clone()),
        ("c.pk = @missing", full.clone()),
        ("c.pk = 'a' OR c.x = 1", full.clone()),
        ("c.pk > 'a'", full.clone()),
        ("c.pk != 'a'", full.clone()),
        ("NOT (c.pk = 'a')", full.clone()),
        ("c.x.pk = 'a'", full.clone()),
        ("LOWER(c.pk) = 'a'", full.clone()),
        ("true", full),
    ] {
        for version in [1, 2] {
            let definition = PartitionKeyDefinition { version: Some(version), .."/pk".into() };
            let expected = match keys.is_empty() {
                true => vec![QueryRange::full()],
                false => expected(&keys, &definition),
            };
            assert_eq!(ranges(condition, &definition), expected, "{condition}, version {version}");
        }
    }
}

#[test]
fn hierarchical_keys_are_narrowed_by_their_outermost_levels() {
    let definition = PartitionKeyDefinition::from(["/a", "/b/x", "/d"]);
    for (condition, keys) in [
        ("c.a = 1 AND c.b.x = 'y' AND c.d = 2", vec![r#"[1,"y",2]"#]),
        ("c.a = 1", vec!["[1]"]),
        ("c.a = 1 AND c.b.x = 'y'", vec![r#"[1,"y"]"#]),
        ("c.a = 1 AND c.d = 2", vec!["[1]"]),
        ("c.a IN (1, 2) AND c.b.x = 'y'", vec![r#"[1,"y"]"#, r#"[2,"y"]"#]),
        ("(c.a = 1 AND c.b.x = 'y') OR c.a = 1", vec!["[1]"]),
    ] {
        assert_eq!(ranges(condition, &definition), expected(&keys, &definition), "{condition}");
    }
    assert_eq!(ranges("c.b.x = 'y'", &definition), [QueryRange::full()]);
    assert_eq!(ranges("c.a = 1 OR c.d = 2", &definition), [QueryRange::full()]);
}

#[test]
fn the_service_plans_no_window_for_one_partition_or_without_values() {
    let filter = "({documentdb-formattableorderbyquery-filter})";
    let ordered =
        "SELECT c._rid, [{\"item\": c.x}] AS orderByItems, c AS payload FROM c WHERE c.pk = \"a\" AND";
    for (text, rewritten, window) in [
        ("SELECT TOP 3 * FROM c WHERE c.pk = 'a'", "", [None, None, None]),
        ("SELECT TOP @missing * FROM c WHERE c.x = @other", "", [None, None, None]),
        ("SELECT * FROM c OFFSET @missing LIMIT @other", "", [None, None, None]),
        (
            "SELECT * FROM c WHERE c.x = 1 OFFSET 1 LIMIT @n",
            "SELECT * FROM c WHERE c.x = 1 OFFSET 0 LIMIT 6",
            [None, Some(1), Some(5)],
        ),
        ("SELECT * FROM c WHERE c.pk = 'a' OFFSET 1 LIMIT 2", "", [None, None, None]),
        (
            "SELECT * FROM c WHERE c.pk = 'a' ORDER BY c.x OFFSET 1 LIMIT 2",
            &*format!("{ordered} {filter} ORDER BY c.x ASC OFFSET 1 LIMIT 2"),
            [None, None, None],
        ),
        ("SELECT TOP 3 * FROM c WHERE c.pk IN ('a', 'b')", "", [Some(3), None, None]),
        (
            "SELECT DISTINCT TOP 3 c.x FROM c WHERE c.pk = 'a'",
            "SELECT DISTINCT c.x FROM c WHERE c.pk = \"a\"",
            [Some(3), None, None],
        ),
    ] {
        let plan =
            super::service_plan(&parse(text).unwrap(), &parameters(), &"/pk".into(), &Default::default());
        let plan = plan.unwrap();
        let info = plan.query_info.unwrap();
        assert_eq!(
            (&*info.rewritten_query, [info.top, info.offset, info.limit]),
            (rewritten, window),
            "{text}"
        );
    }
}

#[test]
fn a_plan_says_that_it_is_no_hybrid_search() {
    let plan = serde_json::to_value(planned("SELECT * FROM c", &"/pk".into()).unwrap()).unwrap();
    assert_eq!(plan.get("hybridSearchQueryInfo"), Some(&Json::Null));
}

#[test]
fn queries_that_find_nothing_are_sent_to_one_place() {
    for condition in ["c.pk = 'a' AND c.pk = 'b'", "false", "c.pk = undefined"] {
        let ranges = ranges(condition, &"/pk".into());
        assert_eq!(ranges.len(), 1, "{condition}");
        assert_eq!(ranges[0].min, ranges[0].max, "{condition}");
    }
    let plan = planned("SELECT 1", &"/pk".into()).unwrap();
    assert_eq!(plan.query_ranges[0].min, plan.query_ranges[0].max);
}

#[test]
fn the_condition_of_a_query_in_from_counts() {
    let counted = "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c WHERE c.pk = 'a') AS d";
    let ranges = planned(counted, &"/pk".into()).unwrap().query_ranges;
    assert_eq!(ranges, expected(&[r#"["a"]"#], &"/pk".into()));
}

#[test]
fn too_many_keys_are_not_listed() {
    let list: Vec<String> = (0..1500).map(|n| n.to_string()).collect();
    let condition = format!("c.pk IN ({})", list.join(", "));
    assert_eq!(ranges(&condition, &"/pk".into()), [QueryRange::full()]);
}
