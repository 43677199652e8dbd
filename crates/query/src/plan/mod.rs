//! Spreading a query over partitions: what to send to each, where to send it, and how to merge the answers.
//!
//! The plan is the JSON that clients of the service understand. Following it is the work of
//! [`merge`](crate::merge) and of whoever sends the requests.

mod aggregate;
mod build;
mod error;
mod hybrid;
mod ranges;
#[cfg(test)]
mod recorded;
mod rewrite;
#[cfg(test)]
mod searches;
#[cfg(test)]
mod tests;
mod window;

pub use error::PlanError;

use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionedQueryExecutionInfo};

use crate::Setting;
use crate::access::access;
use crate::ast::{Collection, OrderBy, Query};
use crate::parameters::Parameters;
use crate::search::names_metric;
use rewrite::Values;

/// What stands in a rewritten `ORDER BY` query for the condition that resumes it; `true` to start from the
/// beginning. See [`resume_filter`](crate::merge::resume_filter).
pub const FILTER_PLACEHOLDER: &str = "{documentdb-formattableorderbyquery-filter}";

/// What begins a placeholder for a number that is known once all partitions have counted. See
/// [`Statistics`](crate::merge::Statistics).
pub const STATISTICS_PLACEHOLDER: &str = "{documentdb-formattablehybridsearchquery-";

/// Plans a query that was parsed and [checked](crate::check), over a container that says nothing of its values.
///
/// ```
/// use cosmonaut_query::{Parameters, parse, plan};
///
/// let query = parse("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'a'").unwrap();
/// let plan = plan::plan(&query, &Parameters::new(), &"/pk".into()).unwrap();
/// let info = plan.query_info.unwrap();
/// assert_eq!(info.rewritten_query, r#"SELECT VALUE [{"item": COUNT(1)}] FROM c WHERE c.pk = "a""#);
/// assert_eq!(plan.query_ranges.len(), 1);
/// assert_eq!(plan.query_ranges[0].min, plan.query_ranges[0].max);
/// ```
pub fn plan(
    query: &Query,
    parameters: &Parameters,
    key: &PartitionKeyDefinition,
) -> Result<PartitionedQueryExecutionInfo, PlanError> {
    plan_in(query, parameters, key, &Setting::default())
}

/// Plans a query over a container, which decides how distances are measured.
pub fn plan_in(
    query: &Query,
    parameters: &Parameters,
    key: &PartitionKeyDefinition,
    setting: &Setting,
) -> Result<PartitionedQueryExecutionInfo, PlanError> {
    let values = Values { parameters, setting };
    let innermost = over_container(query);
    let ranges = match innermost.from {
        Some(_) => ranges::ranges(access(innermost, parameters).filter.as_ref(), key)?,
        None => vec![ranges::somewhere(key)],
    };
    match &query.order_by {
        Some(OrderBy::Rank(rank)) => {
            let search = hybrid::search(query, rank, values)?;
            Ok(PartitionedQueryExecutionInfo::hybrid(search, ranges))
        }
        Some(OrderBy::Keys(_)) | None => {
            Ok(PartitionedQueryExecutionInfo::new(rewrite::query_info(query, values)?, ranges))
        }
    }
}

/// Whether the plan of a query depends on how the container measures a distance, because the query does not say.
pub fn depends_on_setting(query: &Query, parameters: &Parameters) -> bool {
    match &query.order_by {
        Some(OrderBy::Keys(keys)) => {
            keys.iter().any(|key| key.by_similarity && !names_metric(&key.expr, parameters))
        }
        Some(OrderBy::Rank(rank)) => hybrid::distances(rank).any(|score| !names_metric(score, parameters)),
        None => false,
    }
}

/// The plan that the service gives: as [`plan`], but what one partition can cut by itself is left to it, and a window that
/// is not known because its parameters have no values is not in the plan.
///
/// A client that follows such a plan must go on with the continuations of the partition, because only they know how much
/// of the window was used.
pub fn service_plan(
    query: &Query,
    parameters: &Parameters,
    key: &PartitionKeyDefinition,
    setting: &Setting,
) -> Result<PartitionedQueryExecutionInfo, PlanError> {
    let values = Values { parameters, setting };
    if let Some(OrderBy::Rank(_)) = &query.order_by {
        return plan_in(query, parameters, key, setting);
    }
    let mut planned = match plan_in(query, parameters, key, setting) {
        Err(PlanError::MissingParameter(_)) => {
            let mut whole = query.clone();
            (whole.select.top, whole.offset_limit) = (None, None);
            let planned = plan_in(&whole, parameters, key, setting)?;
            let query_info = Some(rewrite::uncut(query, values)?);
            return Ok(PartitionedQueryExecutionInfo { query_info, ..planned });
        }
        planned => planned?,
    };
    let one_key = matches!(&planned.query_ranges[..], [only] if only.min == only.max);
    if one_key && rewrite::is_cut(query) && !query.select.distinct && !rewrite::is_grouped(query) {
        planned.query_info = Some(rewrite::uncut(query, values)?);
    }
    Ok(planned)
}

/// The query that ranges over the container itself; the others range over its rows.
fn over_container(mut query: &Query) -> &Query {
    while let Some(Collection::Subquery(inner)) = query.from.as_ref().map(|from| &from.source.collection) {
        query = inner;
    }
    query
}
