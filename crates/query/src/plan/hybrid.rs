//! `ORDER BY RANK`: a query for each score, and one that counts what scores of texts are compared with.

use cosmonaut_wire::model::{HybridSearchQueryInfo, QueryInfo, SortOrder};

use super::build::{
    array, call, expr, first_rows, item, items, member, name, number, object, verbatim, with_select,
};
use super::rewrite::{Values, nearest_is_greatest, payload, resumable, source_name};
use super::window::Window;
use super::{PlanError, STATISTICS_PLACEHOLDER};
use crate::ast::{
    Count, Expr, ExprKind, LARGEST_COUNT, OrderBy, OrderKey, Query, Rank, SelectItem, SelectSpec,
};
use crate::constant::constant;
use crate::search::ScoreCall;
use crate::value::Value;

/// The fewest documents that each score is asked for where there is a window.
const FEWEST: u64 = 120;

/// The most terms that a parameter may hold. The plan names each of them in the query of each score.
pub(super) const MOST_TERMS: usize = 1000;

/// What a document without a score has instead: the worst, in either direction.
const LEAST: &str = "-1.79769e+308";
const GREATEST: &str = "1.79769e+308";

/// One of the scores.
struct Component {
    key: OrderKey,
    falling: bool,
    /// What stands for a score that there is not.
    fallback: &'static str,
}

/// The plan of a query that is ranked, but for its ranges.
pub(super) fn search(
    query: &Query,
    rank: &Rank,
    values: Values<'_>,
) -> Result<HybridSearchQueryInfo, PlanError> {
    let (scores, weights) = scores(&rank.score, values)?;
    let window = Window::new(query, values.parameters)?;
    let (mut components, mut counted) = (Vec::new(), Vec::new());
    for (nth, score) in scores.iter().enumerate() {
        let turned = weights.get(nth).is_some_and(|weight| *weight < 0.0);
        components.push(match ScoreCall::of(score) {
            Some(ScoreCall::Text(arguments)) => text_component(arguments, turned, &mut counted, values)?,
            Some(ScoreCall::Vector(arguments)) => vector_component(query, score, arguments, turned, values),
            None => return Err(PlanError::Subquery),
        });
    }
    let component_query_infos =
        components.iter().map(|component| component_query(query, component, &components, window)).collect();
    Ok(HybridSearchQueryInfo {
        global_statistics_query: statistics_query(query, &counted).to_string(),
        component_query_infos,
        component_weights: weights.iter().map(|weight| weight.abs()).collect(),
        skip: window.offset,
        take: window.limit.or(window.top),
        requires_global_statistics: !counted.is_empty(),
        ..HybridSearchQueryInfo::default()
    })
}

/// The scores that are distances.
pub(super) fn distances(rank: &Rank) -> impl Iterator<Item = &Expr> {
    let scores = match &rank.score.kind {
        ExprKind::Call(function, arguments) if function.eq_ignore_ascii_case("RRF") => &arguments[..],
        _ => std::slice::from_ref(&rank.score),
    };
    scores.iter().filter(|score| matches!(ScoreCall::of(score), Some(ScoreCall::Vector(_))))
}

/// The scores, and their weights if there are any.
fn scores<'q>(rank: &'q Expr, values: Values<'_>) -> Result<(&'q [Expr], Vec<f64>), PlanError> {
    let ExprKind::Call(function, arguments) = &rank.kind else { return Ok((&[], Vec::new())) };
    if !function.eq_ignore_ascii_case("RRF") {
        return Ok((std::slice::from_ref(rank), Vec::new()));
    }
    let is_weights = |last: &Expr| !matches!(last.kind, ExprKind::Call(..));
    let (scores, weights) = match arguments.split_last() {
        Some((last, scores)) if is_weights(last) => (scores, last),
        _ => return Ok((arguments, Vec::new())),
    };
    let weights = match (constant(weights, values.parameters), &weights.kind) {
        (Some(Value::Array(weights)), _) => weights.iter().map(Value::as_f64).collect::<Option<Vec<_>>>(),
        (None, ExprKind::Parameter(name)) => return Err(PlanError::MissingParameter(name.clone())),
        _ => None,
    };
    let weights = weights.filter(|weights| weights.len() == scores.len()).ok_or(PlanError::Weights)?;
    Ok((scores, weights))
}

/// A score of a text. Its terms are counted by the statistics query.
fn text_component(
    arguments: &[Expr],
    turned: bool,
    counted: &mut Vec<(Expr, Vec<Expr>)>,
    values: Values<'_>,
) -> Result<Component, PlanError> {
    let Some((path, given)) = arguments.split_first() else { return Err(PlanError::Subquery) };
    let mut terms = Vec::new();
    for term in given {
        add_terms(term, values, &mut terms)?;
    }
    let nth = counted.len();
    let placeholder = |what: &str| verbatim(format!("{STATISTICS_PLACEHOLDER}{what}}}"));
    let score = call(
        "_FullTextScore",
        &[
            path.clone(),
            array(terms.clone()),
            placeholder("totaldocumentcount"),
            placeholder(&format!("totalwordcount-{nth}")),
            placeholder(&format!("hitcountsarray-{nth}")),
        ],
    );
    counted.push((path.clone(), terms));
    let fallback = if turned { GREATEST } else { "-1" };
    let key = OrderKey { expr: score, descending: !turned, by_similarity: false };
    Ok(Component { key, falling: !turned, fallback })
}

/// The terms that an argument is: one, or an array of them.
fn add_terms(argument: &Expr, values: Values<'_>, terms: &mut Vec<Expr>) -> Result<(), PlanError> {
    match &argument.kind {
        ExprKind::Array(elements) => terms.extend(elements.iter().cloned()),
        ExprKind::Parameter(parameter) => match values.parameters.get(parameter) {
            Some(Value::Array(elements)) if elements.len() <= MOST_TERMS => {
                let element = |at| expr(ExprKind::Index(Box::new(argument.clone()), Box::new(number(at))));
                terms.extend((0..elements.len() as u64).map(element));
            }
            Some(Value::String(_) | Value::Object(_)) | None => terms.push(argument.clone()),
            Some(_) => return Err(PlanError::Terms(parameter.clone())),
        },
        _ => terms.push(argument.clone()),
    }
    Ok(())
}

fn vector_component(
    query: &Query,
    distance: &Expr,
    arguments: &[Expr],
    turned: bool,
    values: Values<'_>,
) -> Component {
    let falling = nearest_is_greatest(query, distance, values) != turned;
    let key = OrderKey { expr: call("_VectorScore", arguments), descending: falling, by_similarity: !turned };
    Component { key, falling, fallback: if falling { LEAST } else { GREATEST } }
}

/// The query for the documents that are first by one score, each with all of its scores.
fn component_query(
    query: &Query,
    component: &Component,
    components: &[Component],
    window: Window,
) -> QueryInfo {
    let score =
        |component: &Component| verbatim(format!("({} ?? {})", component.key.expr, component.fallback));
    let scores = array(components.iter().map(score).collect());
    let spec = SelectSpec::List(vec![
        item(member(name(source_name(query)), "_rid"), None),
        item(items([&component.key.expr]), Some("orderByItems")),
        item(object([("payload", payload(query)), ("componentScores", scores)]), Some("payload")),
    ]);
    let mut rewritten = with_select(query, spec);
    rewritten.filter = Some(resumable(query.filter.as_ref()));
    rewritten.order_by = Some(OrderBy::Keys(vec![component.key.clone()]));
    let enough = |rows: u64| rows.saturating_mul(2).clamp(FEWEST, LARGEST_COUNT);
    let (top, limit) = (window.top.map(enough), window.rows_per_partition().map(enough));
    rewritten.select.top = top.map(Count::Literal);
    rewritten.offset_limit = limit.map(first_rows);
    QueryInfo {
        top,
        offset: limit.map(|_| 0),
        limit,
        order_by: vec![if component.falling { SortOrder::Descending } else { SortOrder::Ascending }],
        order_by_expressions: vec![component.key.expr.to_string()],
        rewritten_query: rewritten.to_string(),
        has_non_streaming_order_by: true,
        ..QueryInfo::default()
    }
}

/// The query that counts documents, and for each text its words and how many documents have each term.
fn statistics_query(query: &Query, counted: &[(Expr, Vec<Expr>)]) -> Query {
    let one = |(path, terms): &(Expr, Vec<Expr>)| {
        let words = call("SUM", &[call("_FullTextWordCount", std::slice::from_ref(path))]);
        let hits = terms
            .iter()
            .map(|term| call("COUNTIF", &[call("FullTextContains", &[path.clone(), term.clone()])]));
        object([("totalWordCount", words), ("hitCounts", array(hits.collect()))])
    };
    let selected: Vec<SelectItem> = vec![
        item(call("COUNT", &[number(1)]), Some("documentCount")),
        item(array(counted.iter().map(one).collect()), Some("fullTextStatistics")),
    ];
    let counting = with_select(query, SelectSpec::List(selected));
    Query { filter: None, order_by: None, ..counting }
}
