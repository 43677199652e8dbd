//! What is sent to each partition instead of the user's query, so that a client can put the parts together.

use cosmonaut_wire::model::{AggregateKind, DCountInfo, DistinctType, QueryInfo, SortOrder};

use super::aggregate::{aggregate, partial};
use super::build::{array, call, expr, first_rows, item, items, member, name, verbatim, with_select};
use super::window::Window;
use super::{FILTER_PLACEHOLDER, PlanError};
use crate::Setting;
use crate::access::member_names;
use crate::ast::{
    BinaryOp, Collection, Expr, ExprKind, Literal, OrderBy, OrderKey, Query, SelectItem, SelectSpec,
};
use crate::check::is_aggregate;
use crate::parameters::Parameters;
use crate::search::metric_of;
use crate::walk::item_names;

/// What a query's text leaves open.
#[derive(Clone, Copy)]
pub(super) struct Values<'p> {
    pub(super) parameters: &'p Parameters,
    pub(super) setting: &'p Setting,
}

/// Everything about the plan of a query without `ORDER BY RANK` but its ranges.
pub(super) fn query_info(query: &Query, values: Values<'_>) -> Result<QueryInfo, PlanError> {
    if let Some((inner, alias)) = distinct_count(query) {
        let info = query_info(inner, values)?;
        return Ok(QueryInfo {
            rewritten_query: if info.rewritten_query.is_empty() {
                inner.to_string()
            } else {
                info.rewritten_query
            },
            d_count_info: Some(DCountInfo { alias }),
            ..info
        });
    }
    refuse_collecting_source(query)?;
    let window = Window::new(query, values.parameters)?;
    let info = QueryInfo {
        distinct_type: distinct_type(query),
        top: window.top,
        offset: window.offset,
        limit: window.limit,
        has_select_value: matches!(query.select.spec, SelectSpec::Value(_)),
        ..QueryInfo::default()
    };
    match &query.order_by {
        // What is put together from groups has no order that a client could follow; the clause stays where it is.
        Some(_) | None if is_grouped(query) => grouped(query, info),
        Some(OrderBy::Keys(keys)) => Ok(ordered(query, keys, window, values, info)),
        Some(OrderBy::Rank(_)) | None => Ok(streamed(query, window, info)),
    }
}

/// Whether rows are put together to groups: by `GROUP BY`, or all of them by an aggregate.
pub(super) fn is_grouped(query: &Query) -> bool {
    !query.group_by.is_empty() || selected(query).iter().any(|expr| expr.any(&is_aggregate))
}

/// What is said of a query whose window the partition applies.
pub(super) fn uncut(query: &Query, values: Values<'_>) -> Result<QueryInfo, PlanError> {
    let mut whole = query.clone();
    (whole.select.top, whole.offset_limit) = (None, None);
    let mut info = query_info(&whole, values)?;
    if let Some(OrderBy::Keys(keys)) = &query.order_by {
        let mut rewritten = ordered_query(query, keys);
        rewritten.select.top.clone_from(&query.select.top);
        rewritten.offset_limit.clone_from(&query.offset_limit);
        info.rewritten_query = rewritten.to_string();
    }
    Ok(info)
}

/// Rows as they are; only a window that starts further on has to be moved to the client.
fn streamed(query: &Query, window: Window, info: QueryInfo) -> QueryInfo {
    let mut rewritten = query.clone();
    match (info.distinct_type, window.rows_per_partition()) {
        // Duplicates are only recognised by the client: a partition may give a row again with its next page.
        (DistinctType::Ordered | DistinctType::Unordered, _) if is_cut(query) => {
            (rewritten.select.top, rewritten.offset_limit) = (None, None);
        }
        (DistinctType::None, Some(rows)) => rewritten.offset_limit = Some(first_rows(rows)),
        (DistinctType::None | DistinctType::Ordered | DistinctType::Unordered, _) => return info,
    }
    QueryInfo { rewritten_query: rewritten.to_string(), ..info }
}

/// Whether the query has a window.
pub(super) fn is_cut(query: &Query) -> bool {
    query.select.top.is_some() || query.offset_limit.is_some()
}

/// Rows with what they are sorted by and a place for the filter that resumes them.
fn ordered(
    query: &Query,
    keys: &[OrderKey],
    window: Window,
    values: Values<'_>,
    info: QueryInfo,
) -> QueryInfo {
    let mut rewritten = ordered_query(query, keys);
    // Duplicates are only recognised by the client, so a partition must not stop counting at them.
    if !query.select.distinct {
        rewritten.select.top.clone_from(&query.select.top);
        rewritten.offset_limit = window.rows_per_partition().map(first_rows);
    }
    let direction = |key: &OrderKey| {
        let falling =
            if key.by_similarity { nearest_is_greatest(query, &key.expr, values) } else { key.descending };
        if falling { SortOrder::Descending } else { SortOrder::Ascending }
    };
    QueryInfo {
        has_non_streaming_order_by: keys.iter().any(OrderKey::is_score),
        order_by: keys.iter().map(direction).collect(),
        order_by_expressions: keys.iter().map(|key| key.expr.to_string()).collect(),
        rewritten_query: rewritten.to_string(),
        ..info
    }
}

/// Whether the nearest documents have the greatest values of a distance.
pub(super) fn nearest_is_greatest(query: &Query, distance: &Expr, values: Values<'_>) -> bool {
    let ExprKind::Call(_, arguments) = &distance.kind else { return true };
    let path = |argument: &Expr| member_names(query, argument);
    metric_of(arguments, values.parameters, values.setting, path).is_greatest_nearest()
}

/// The query for rows with what they are sorted by, without a window.
fn ordered_query(query: &Query, keys: &[OrderKey]) -> Query {
    let source = source_name(query);
    let payload = payload(query);
    let spec = SelectSpec::List(vec![
        item(member(name(source), "_rid"), None),
        item(items(keys.iter().map(|key| &key.expr)), Some("orderByItems")),
        item(payload, Some("payload")),
    ]);
    let mut rewritten = with_select(query, spec);
    let filter = resumable(query.filter.as_ref());
    rewritten.filter = Some(match &query.select.spec {
        // A row without a value is none, so a window of the partition must not count it.
        SelectSpec::Value(value) => and(filter, call("IS_DEFINED", std::slice::from_ref(value))),
        SelectSpec::Star | SelectSpec::List(_) => filter,
    });
    rewritten
}

/// The name that documents go by.
pub(super) fn source_name(query: &Query) -> &str {
    query.from.as_ref().and_then(|from| from.source.binding()).unwrap_or_default()
}

/// What is selected, as one value.
pub(super) fn payload(query: &Query) -> Expr {
    match &query.select.spec {
        SelectSpec::Star => name(source_name(query)),
        SelectSpec::Value(value) => value.clone(),
        SelectSpec::List(selected) => {
            let named = item_names(selected).into_iter().zip(selected);
            expr(ExprKind::Object(named.map(|(name, item)| (name, item.expr.clone())).collect()))
        }
    }
}

/// The condition and the placeholder that clients replace by theirs.
pub(super) fn resumable(filter: Option<&Expr>) -> Expr {
    let placeholder = verbatim(format!("({FILTER_PLACEHOLDER})"));
    match filter {
        None => placeholder,
        Some(filter) => and(filter.clone(), placeholder),
    }
}

fn and(left: Expr, right: Expr) -> Expr {
    expr(ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(right)))
}

/// Groups with their keys, and aggregates as parts. The window applies to whole groups, so it is the client's.
fn grouped(query: &Query, mut info: QueryInfo) -> Result<QueryInfo, PlanError> {
    let payload = match &query.select.spec {
        SelectSpec::Star => return Err(PlanError::Composition("*".to_owned())),
        SelectSpec::Value(value) => match aggregate(value)? {
            None => value.clone(),
            Some(kind) => {
                info.aggregates = vec![kind];
                array(vec![partial(value, kind)])
            }
        },
        SelectSpec::List(selected) => grouped_members(selected, &mut info)?,
    };
    let rewritten = match (&query.select.spec, query.group_by.is_empty()) {
        (SelectSpec::Value(_), true) => with_select(query, SelectSpec::Value(payload)),
        (_, true) => with_select(query, SelectSpec::List(vec![item(payload, Some("payload"))])),
        (_, false) => {
            let keys = item(items(&query.group_by), Some("groupByItems"));
            with_select(query, SelectSpec::List(vec![keys, item(payload, Some("payload"))]))
        }
    };
    info.group_by_expressions = query.group_by.iter().map(ToString::to_string).collect();
    info.rewritten_query = rewritten.to_string();
    Ok(info)
}

fn grouped_members(selected: &[SelectItem], info: &mut QueryInfo) -> Result<Expr, PlanError> {
    let mut members = Vec::with_capacity(selected.len());
    for (name, item) in item_names(selected).into_iter().zip(selected) {
        let kind: Option<AggregateKind> = aggregate(&item.expr)?;
        let value = kind.map_or_else(|| item.expr.clone(), |kind| partial(&item.expr, kind));
        info.group_by_aliases.push(name.clone());
        info.group_by_alias_to_aggregate_type.insert(name.clone(), kind);
        members.push((name, value));
    }
    Ok(expr(ExprKind::Object(members)))
}

/// Whether equal rows follow one another, because rows are sorted by what is selected.
fn distinct_type(query: &Query) -> DistinctType {
    // Without FROM there is but one row.
    if !query.select.distinct || query.from.is_none() {
        return DistinctType::None;
    }
    let Some(OrderBy::Keys(keys)) = &query.order_by else { return DistinctType::Unordered };
    let mut selected: Vec<String> = selected(query).into_iter().map(ToString::to_string).collect();
    selected.sort();
    selected.dedup();
    let mut sorted: Vec<String> = keys.iter().take(selected.len()).map(|key| key.expr.to_string()).collect();
    sorted.sort();
    match !selected.is_empty() && selected == sorted {
        true => DistinctType::Ordered,
        false => DistinctType::Unordered,
    }
}

fn selected(query: &Query) -> Vec<&Expr> {
    match &query.select.spec {
        SelectSpec::Star => Vec::new(),
        SelectSpec::Value(expr) => vec![expr],
        SelectSpec::List(items) => items.iter().map(|item| &item.expr).collect(),
    }
}

/// `SELECT [VALUE] COUNT(1) FROM (SELECT DISTINCT …)`: the inner query, and the name that its count goes by.
fn distinct_count(query: &Query) -> Option<(&Query, String)> {
    let Query {
        select, from: Some(from), filter: None, group_by, order_by: None, offset_limit: None, ..
    } = query
    else {
        return None;
    };
    let Collection::Subquery(inner) = &from.source.collection else { return None };
    let plain = from.joins.is_empty() && group_by.is_empty() && !select.distinct && select.top.is_none();
    let countable = inner.select.distinct && !from.source.iterate;
    let (counted, alias) = match &select.spec {
        SelectSpec::Value(expr) => (expr, String::new()),
        SelectSpec::List(items) => match items.as_slice() {
            [only] => (&only.expr, item_names(items).pop().unwrap_or_default()),
            _ => return None,
        },
        SelectSpec::Star => return None,
    };
    let every_row = matches!(&counted.kind, ExprKind::Call(function, arguments)
        if function.eq_ignore_ascii_case("COUNT")
            && matches!(arguments.as_slice(), [Expr { kind: ExprKind::Literal(literal), .. }]
                if *literal != Literal::Undefined));
    (plain && countable && every_row).then_some((inner, alias))
}

/// A first source that is itself a query over the container can only be asked partition by partition if it
/// looks at one document at a time.
fn refuse_collecting_source(query: &Query) -> Result<(), PlanError> {
    let Some(Collection::Subquery(inner)) = query.from.as_ref().map(|from| &from.source.collection) else {
        return Ok(());
    };
    let collects = inner.select.distinct
        || inner.select.top.is_some()
        || !inner.group_by.is_empty()
        || inner.order_by.is_some()
        || inner.offset_limit.is_some()
        || selected(inner).iter().any(|expr| expr.any(&is_aggregate));
    match collects {
        true => Err(PlanError::Subquery),
        false => refuse_collecting_source(inner),
    }
}
