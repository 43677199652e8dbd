//! Plans of searches as the service makes them. Line breaks are not compared.

use cosmonaut_wire::model::{HybridSearchQueryInfo, QueryInfo, SortOrder};

use super::{PlanError, plan_in};
use crate::parameters::Parameters;
use crate::search::Metric;
use crate::value::Value;
use crate::{Setting, VectorPath, parse};

fn setting(metric: Metric) -> Setting {
    let vectors = vec![VectorPath { path: vec!["image".to_owned()], metric }];
    Setting { vectors, ..Setting::default() }
}

fn parameters() -> Parameters {
    let mut parameters = Parameters::new();
    parameters.insert("@one", Value::Array(vec![Value::Number(1.0)]));
    parameters.insert("@two", Value::Array(vec![Value::Number(1.0), Value::Number(-0.5)]));
    parameters.insert("@terms", Value::Array(vec![Value::from("swim"), Value::from("run")]));
    parameters.insert("@n", 7.0);
    parameters
}

fn hybrid(text: &str) -> Result<HybridSearchQueryInfo, PlanError> {
    let plan = plan_in(&parse(text).unwrap(), &parameters(), &"/pk".into(), &setting(Metric::Cosine))?;
    assert_eq!(plan.query_info, None, "{text}");
    Ok(plan.hybrid_search_query_info.unwrap())
}

const TEXT: &str = r#"_FullTextScore(c.text, ["swim", "run"], {documentdb-formattablehybridsearchquery-totaldocumentcount}, {documentdb-formattablehybridsearchquery-totalwordcount-0}, {documentdb-formattablehybridsearchquery-hitcountsarray-0})"#;
const VECTOR: &str = "_VectorScore(c.image, [1, 2, 3])";
const BOTH: &str = r#"RRF(FullTextScore(c.text, "swim", "run"), VectorDistance(c.image, [1,2,3]))"#;

#[test]
fn a_hybrid_search_is_planned_as_the_service_plans_it() {
    let plan = hybrid(&format!("SELECT TOP 10 * FROM c ORDER BY RANK {BOTH}")).unwrap();
    assert_eq!(
        plan.global_statistics_query,
        r#"SELECT COUNT(1) AS documentCount, [{"totalWordCount": SUM(_FullTextWordCount(c.text)), "hitCounts": [COUNTIF(FullTextContains(c.text, "swim")), COUNTIF(FullTextContains(c.text, "run"))]}] AS fullTextStatistics FROM c"#
    );
    let component = |score: &str, order: &str| QueryInfo {
        top: Some(120),
        order_by: vec![SortOrder::Descending],
        order_by_expressions: vec![score.to_owned()],
        has_non_streaming_order_by: true,
        rewritten_query: format!(
            r#"SELECT TOP 120 c._rid, [{{"item": {score}}}] AS orderByItems, {{"payload": c, "componentScores": [({TEXT} ?? -1), ({VECTOR} ?? -1.79769e+308)]}} AS payload FROM c WHERE ({{documentdb-formattableorderbyquery-filter}}) ORDER BY {score}{order}"#
        ),
        ..QueryInfo::default()
    };
    assert_eq!(plan.component_query_infos, [component(TEXT, " DESC"), component(VECTOR, "")]);
    assert_eq!((plan.skip, plan.take, plan.requires_global_statistics), (None, Some(10), true));
    assert!(plan.component_weights.is_empty());
}

#[test]
fn a_negative_weight_turns_its_score_around() {
    let weighted = BOTH.replace("[1,2,3]))", "[1,2,3]), [1, -0.3])");
    let plan = hybrid(&format!("SELECT * FROM c ORDER BY RANK {weighted}")).unwrap();
    assert_eq!(plan.component_weights, [1.0, 0.3]);
    let turned = &plan.component_query_infos[1];
    assert_eq!(turned.order_by, [SortOrder::Ascending]);
    assert!(
        turned.rewritten_query.ends_with(&format!("ORDER BY {VECTOR} ASC")),
        "{}",
        turned.rewritten_query
    );
    assert!(turned.rewritten_query.contains(&format!("({VECTOR} ?? 1.79769e+308)")));
    assert!(turned.rewritten_query.starts_with("SELECT c._rid"));
    assert_eq!((plan.skip, plan.take), (None, None));
}

#[test]
fn windows_ask_for_twice_as_many_and_a_hundred_and_twenty_at_least() {
    for (select, end, top, limit, skip, take) in [
        ("TOP 100 *", "", Some(200), None, None, Some(100)),
        ("TOP @n *", "", Some(120), None, None, Some(7)),
        ("*", " OFFSET 10 LIMIT 30", None, Some(120), Some(10), Some(30)),
        ("*", " OFFSET 50 LIMIT 30", None, Some(160), Some(50), Some(30)),
    ] {
        let plan =
            hybrid(&format!("SELECT {select} FROM c WHERE c.x = 1 ORDER BY RANK {BOTH}{end}")).unwrap();
        assert_eq!((plan.skip, plan.take), (skip, take), "{select}{end}");
        for component in &plan.component_query_infos {
            assert_eq!((component.top, component.limit), (top, limit), "{select}{end}");
            assert_eq!(component.offset, limit.map(|_| 0));
            let text = &component.rewritten_query;
            assert!(
                text.contains("WHERE c.x = 1 AND ({documentdb-formattableorderbyquery-filter})"),
                "{text}"
            );
            assert!(limit.is_none_or(|limit| text.ends_with(&format!("OFFSET 0 LIMIT {limit}"))), "{text}");
        }
        assert!(!plan.global_statistics_query.contains("WHERE"));
    }
}

#[test]
fn one_score_is_one_component() {
    let plan = hybrid("SELECT TOP 5 c.id FROM c ORDER BY RANK VectorDistance(c.image, [1, 2, 3])").unwrap();
    assert!(!plan.requires_global_statistics);
    assert_eq!(
        plan.global_statistics_query,
        "SELECT COUNT(1) AS documentCount, [] AS fullTextStatistics FROM c"
    );
    let [only] = &plan.component_query_infos[..] else { panic!("{plan:?}") };
    assert!(only.rewritten_query.contains(r#"{"payload": {"id": c.id}, "componentScores": [("#), "{only:?}");
    let plan = hybrid("SELECT TOP 5 * FROM c ORDER BY RANK FullTextScore(c.text, @terms)").unwrap();
    assert!(plan.global_statistics_query.contains("FullTextContains(c.text, @terms[1])"), "{plan:?}");
    assert!(plan.component_query_infos[0].rewritten_query.contains("[@terms[0], @terms[1]]"), "{plan:?}");
}

#[test]
fn values_of_parameters_decide_where_the_text_does_not() {
    let scores = BOTH.strip_suffix(')').unwrap();
    for (end, expected) in [
        (", @two)", Ok(vec![1.0, 0.5])),
        (", @one)", Err(PlanError::Weights)),
        (", @n)", Err(PlanError::Weights)),
        (", @missing)", Err(PlanError::MissingParameter("@missing".to_owned()))),
    ] {
        let found = hybrid(&format!("SELECT * FROM c ORDER BY RANK {scores}{end}"));
        assert_eq!(found.map(|plan| plan.component_weights), expected, "{end}");
    }
    let wrong = hybrid("SELECT * FROM c ORDER BY RANK FullTextScore(c.text, @n)");
    assert_eq!(wrong, Err(PlanError::Terms("@n".to_owned())));
    for (count, is_planned) in [(1000, true), (1001, false)] {
        let mut parameters = Parameters::new();
        parameters.insert("@many", Value::Array(vec![Value::from("swim"); count]));
        let query = parse("SELECT * FROM c ORDER BY RANK FullTextScore(c.text, @many)").unwrap();
        let planned = plan_in(&query, &parameters, &"/pk".into(), &Setting::default());
        assert_eq!(planned.is_ok(), is_planned, "{count}");
    }
}

#[test]
fn an_order_by_distance_is_no_stream() {
    for (options, metric, order) in [
        ("", Metric::Cosine, SortOrder::Descending),
        ("", Metric::DotProduct, SortOrder::Descending),
        ("", Metric::Euclidean, SortOrder::Ascending),
        (", false, {'distanceFunction': 'Euclidean'}", Metric::Cosine, SortOrder::Ascending),
        (", false, {'distanceFunction': 'dotProduct'}", Metric::Euclidean, SortOrder::Descending),
        (", true, {}", Metric::Cosine, SortOrder::Descending),
    ] {
        let call = format!("VectorDistance(c.image, [1, 2]{options})");
        for (select, end, window, inner) in [
            ("TOP 10 c.id", "", [Some(10), None, None], "SELECT TOP 10 c._rid"),
            ("c.id", " OFFSET 5 LIMIT 7", [None, Some(5), Some(7)], "SELECT c._rid"),
            ("c.id", "", [None, None, None], "SELECT c._rid"),
        ] {
            let text = format!("SELECT {select} FROM c ORDER BY {call}{end}");
            let plan = plan_in(&parse(&text).unwrap(), &Parameters::new(), &"/pk".into(), &setting(metric));
            let info = plan.unwrap().query_info.unwrap();
            assert!(info.has_non_streaming_order_by, "{text}");
            assert_eq!(info.order_by, [order], "{text}");
            assert_eq!([info.top, info.offset, info.limit], window, "{text}");
            let printed = &info.order_by_expressions[0];
            let cut = if end.is_empty() { "" } else { " OFFSET 0 LIMIT 12" };
            assert_eq!(
                info.rewritten_query,
                format!(
                    "{inner}, [{{\"item\": {printed}}}] AS orderByItems, {{\"id\": c.id}} AS payload FROM c \
                     WHERE ({{documentdb-formattableorderbyquery-filter}}) ORDER BY {printed}{cut}"
                )
            );
        }
    }
}
