//! How a query is run over partitions: planned here or, if this client does not understand it, by the service.

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, OperationOptions, OperationType};
use cosmonaut_query::merge::Window;
use cosmonaut_query::plan::{FILTER_PLACEHOLDER, depends_on_setting};
use cosmonaut_query::{Parameters, check, parse, plan};
use cosmonaut_wire::model::{
    DistinctType, HybridSearchQueryInfo, PartitionKeyDefinition, PartitionedQueryExecutionInfo, QueryInfo,
    QueryParameter, QueryRange, QuerySpec, from_json,
};
use cosmonaut_wire::{EpkRange, headers};
use http::HeaderValue;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::container::ContainerHandle;
use crate::feed_scope::ResolvedScope;
use crate::{Error, ErrorKind, Result};

/// What this client can put together from the answers of partitions, by the service's names.
const FEATURES: &str = "Aggregate, CompositeAggregate, CountIf, DCount, Distinct, GroupBy, \
     ListAndSetAggregate, HybridSearch, MultipleAggregates, MultipleOrderBy, NonStreamingOrderBy, \
     NonValueAggregate, OffsetAndLimit, OrderBy, Top, WeightedRankFusion";

/// How a query is run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) info: QueryInfo,
    /// The queries of an `ORDER BY RANK`, which are run instead of the one that was asked.
    pub(super) search: Option<HybridSearchQueryInfo>,
    /// What partitions are asked, with a placeholder for the condition that resumes it.
    asked: QuerySpec,
    ranges: Vec<EpkRange>,
    /// Why this client could not plan the query.
    problem: Option<String>,
}

impl Plan {
    /// Plans a query over a part of a container.
    pub(super) async fn new(
        handle: &ContainerHandle,
        spec: QuerySpec,
        scope: &ResolvedScope,
        key: &PartitionKeyDefinition,
        options: &OperationOptions,
    ) -> Result<Self> {
        match (locally(&spec, key), &scope.key) {
            // One partition puts together by itself what it can answer page by page.
            (Local::Planned(planned), Some(_)) if is_answered_as_it_is(&planned) => {
                Ok(Self::untouched(spec, None))
            }
            (Local::Planned(planned), _) => Self::following(spec, *planned),
            (Local::Undecided, Some(_)) => Ok(Self::untouched(spec, None)),
            (Local::Undecided, None) => {
                let planned = by_the_service(handle, &spec, options).await?;
                Self::following(spec, planned)
            }
            (Local::Refused(problem), Some(_)) => Ok(Self::untouched(spec, Some(problem))),
            (Local::Refused(problem), None) => match by_the_service(handle, &spec, options).await {
                Ok(planned) => Ok(Self { problem: Some(problem), ..Self::following(spec, planned)? }),
                Err(error) => Err(explained(Some(&problem), error)),
            },
        }
    }

    fn untouched(asked: QuerySpec, problem: Option<String>) -> Self {
        let ranges = vec![EpkRange::FULL];
        Self { info: QueryInfo::default(), search: None, asked, ranges, problem }
    }

    fn following(mut asked: QuerySpec, planned: PartitionedQueryExecutionInfo) -> Result<Self> {
        let search = planned.hybrid_search_query_info;
        let mut info = match (planned.query_info, &search) {
            (Some(info), None) => info,
            (None, Some(_)) => QueryInfo::default(),
            (Some(_), Some(_)) | (None, None) => {
                let message = "the service's plan of this query is neither one of rows nor one of ranks";
                return Err(Error::new(ErrorKind::InvalidResponse, message));
            }
        };
        if !info.rewritten_query.is_empty() {
            asked.query = std::mem::take(&mut info.rewritten_query);
        }
        let ranges = planned.query_ranges.into_iter().map(half_open).collect();
        Ok(Self { info, search, asked, ranges, problem: None })
    }

    /// Whether partitions' rows are the result's rows, so that nothing has to be merged.
    pub(super) fn is_streamed(&self) -> bool {
        self.info.order_by.is_empty() && rows_are_answered_as_they_are(&self.info)
    }

    /// `OFFSET`, `LIMIT` and `TOP` before the first row.
    pub(super) fn window(&self) -> Window {
        let take = [self.info.limit, self.info.top].into_iter().flatten().min().unwrap_or(u64::MAX);
        Window { skip: self.info.offset.unwrap_or(0), take }
    }

    /// Whether a part of the container can have results.
    pub(super) fn concerns(&self, part: &EpkRange) -> bool {
        self.ranges.iter().any(|range| range.overlaps(part))
    }

    /// The request to a partition, with the condition that resumes it.
    pub(super) fn body(&self, filter: &str) -> Result<Bytes> {
        self.request(self.asked.query.replace(FILTER_PLACEHOLDER, filter), None)
    }

    /// The request to a partition, with the place behind which it goes on as JSON.
    pub(super) fn body_behind(&self, place: String) -> Result<Bytes> {
        let place = RawValue::from_string(place).map_err(|error| {
            let message = format!("where the query goes on cannot be written: {error}");
            Error::caused_by(ErrorKind::Serialization, message, error)
        })?;
        self.request(self.text(), Some(&place))
    }

    /// The request to a partition for another query of this one's plan, from its beginning.
    pub(super) fn body_of(&self, query: &str) -> Result<Bytes> {
        self.request(query.replace(FILTER_PLACEHOLDER, "true"), None)
    }

    fn request(&self, query: String, resume_filter: Option<&RawValue>) -> Result<Bytes> {
        #[derive(Serialize)]
        struct Asked<'a> {
            query: String,
            parameters: &'a [QueryParameter],
            #[serde(rename = "resumeFilter", skip_serializing_if = "Option::is_none")]
            resume_filter: Option<&'a RawValue>,
        }
        let asked = Asked { query, parameters: &self.asked.parameters, resume_filter };
        let body = serde_json::to_vec(&asked).map_err(|error| {
            Error::caused_by(ErrorKind::Serialization, format!("the query cannot be written: {error}"), error)
        })?;
        Ok(body.into())
    }

    /// What partitions are asked from the beginning.
    pub(super) fn text(&self) -> String {
        self.asked.query.replace(FILTER_PLACEHOLDER, "true")
    }

    /// Why this client could not plan the query, so that the service did.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// An error of the service in this client's words, if the query is why.
    pub(super) fn explained(&self, error: Error) -> Error {
        explained(self.problem.as_deref(), error)
    }
}

/// What this client makes of a query by itself.
enum Local {
    /// Its plan.
    Planned(Box<PartitionedQueryExecutionInfo>),
    /// The container decides what the plan is.
    Undecided,
    /// Why it has none.
    Refused(String),
}

/// Plans a query without asking.
fn locally(spec: &QuerySpec, key: &PartitionKeyDefinition) -> Local {
    let planned = || -> Result<Local, Box<dyn std::error::Error>> {
        let parameters = Parameters::from_request(&spec.parameters)?;
        let query = parse(&spec.query)?;
        check(&query, &spec.query)?;
        if depends_on_setting(&query, &parameters) {
            return Ok(Local::Undecided);
        }
        Ok(Local::Planned(Box::new(plan(&query, &parameters, key)?)))
    };
    planned().unwrap_or_else(|problem| Local::Refused(problem.to_string()))
}

async fn by_the_service(
    handle: &ContainerHandle,
    spec: &QuerySpec,
    options: &OperationOptions,
) -> Result<PartitionedQueryExecutionInfo> {
    let body = serde_json::to_vec(spec).map_err(|error| {
        Error::caused_by(ErrorKind::Serialization, format!("the query cannot be written: {error}"), error)
    })?;
    let operation = CosmosOperation::new(OperationType::QueryPlan, handle.items.clone())
        .with_header(headers::SUPPORTED_QUERY_FEATURES, HeaderValue::from_static(FEATURES))
        .with_header(headers::QUERY_VERSION, HeaderValue::from_static("1.0"))
        .with_body(body);
    let response = handle.run(&operation, options).await?;
    from_json("query plan", response.body()).map_err(|error| {
        Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error).found_in(response)
    })
}

/// A refusal with the place in the text that this client stumbled over too.
fn explained(problem: Option<&str>, error: Error) -> Error {
    match problem {
        Some(problem) if error.kind() == ErrorKind::BadRequest => error.in_words(ErrorKind::Query, problem),
        Some(_) | None => error,
    }
}

/// Whether one partition answers the query page by page, with nothing left to do here.
fn is_answered_as_it_is(planned: &PartitionedQueryExecutionInfo) -> bool {
    planned.query_info.as_ref().is_none_or(rows_are_answered_as_they_are)
}

/// Whether nothing is left to do with the rows of one partition.
fn rows_are_answered_as_they_are(info: &QueryInfo) -> bool {
    info.distinct_type == DistinctType::None
        && info.d_count_info.is_none()
        && info.aggregates.is_empty()
        && info.group_by_expressions.is_empty()
        && info.group_by_alias_to_aggregate_type.is_empty()
}

fn half_open(range: QueryRange) -> EpkRange {
    let max = if range.is_max_inclusive { EpkRange::of_prefix(&range.max).max } else { range.max };
    EpkRange { min: range.min, max }
}
