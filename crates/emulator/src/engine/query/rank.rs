//! `ORDER BY RANK` over one partition: its plan is run here, as a client runs it over many.
//!
//! What texts are compared with is counted in the whole container, whichever part of it the query may see.

use cosmonaut_query::Setting;
use cosmonaut_query::eval::Rows;
use cosmonaut_query::merge::{Fusion, MergeError, Statistics};
use cosmonaut_query::plan::FILTER_PLACEHOLDER;
use cosmonaut_wire::model::{ContainerProperties, HybridSearchQueryInfo, QuerySpec};
use serde_json::value::RawValue;

use super::page::Work;
use super::parts::Parts;
use super::plan::needs_client;
use super::request::{PageSize, QueryPage, QueryRequest};
use super::token::Token;
use super::{compiled, run_plain};
use crate::engine::{FeedScope, Layout, RegionId};
use crate::{Failure, World};

/// Where a query is run.
#[derive(Clone, Copy)]
pub(super) struct Place<'c> {
    pub(super) properties: &'c ContainerProperties,
    pub(super) layout: &'c Layout,
    pub(super) region: RegionId,
    pub(super) world: &'c dyn World,
}

/// Answers one page.
pub(super) fn run(place: Place<'_>, request: &QueryRequest) -> Result<QueryPage, Failure> {
    let (query, parameters) = compiled::read(&request.spec)?;
    let key = &place.properties.partition_key;
    let plan = compiled::planned(&query, &parameters, key, &Setting::of(place.properties))?;
    let given = request.continuation.as_deref().map(Token::read).transpose()?.map_or(0, |token| token.given);
    let resolved = request.scope.resolve(place.layout, key)?;
    let parts = Parts::new(resolved, Some(&plan), None, true);
    if parts.partitions > 1 {
        return Err(needs_client(request, Ok(plan)));
    }
    let Some(mut search) = plan.hybrid_search_query_info else {
        return Err(Failure::bad_request("the query is not ranked"));
    };
    let mut pages = Pages::default();
    if search.requires_global_statistics {
        let statistics = count(place, request, &search, &mut pages)?;
        statistics.fill(&mut search.component_query_infos);
    }
    let mut fusion = Fusion::new(&search);
    for component in &search.component_query_infos {
        let text = component.rewritten_query.replace(FILTER_PLACEHOLDER, "true");
        let asked = request_for(request, text, request.scope.clone());
        pages.each_row(place, asked, &mut |row| fusion.add(row))?;
    }
    pages.finish(&fusion.finish(), given, request)
}

/// Counts documents and words in all partitions.
fn count(
    place: Place<'_>,
    request: &QueryRequest,
    search: &HybridSearchQueryInfo,
    pages: &mut Pages,
) -> Result<Statistics, Failure> {
    let mut statistics = Statistics::default();
    for range in place.layout.ranges() {
        let scope = FeedScope::Range(range.id.clone());
        let asked = QueryRequest {
            // What a session has seen need not be in a partition that it does not read.
            session: None,
            ..request_for(request, search.global_statistics_query.clone(), scope)
        };
        pages.each_row(place, asked, &mut |row| statistics.add(row))?;
    }
    Ok(statistics)
}

fn request_for(request: &QueryRequest, text: String, scope: FeedScope) -> QueryRequest {
    QueryRequest {
        spec: QuerySpec { query: text, parameters: request.spec.parameters.clone() },
        scope,
        // Each page of an order by a score sorts all documents again.
        page_size: PageSize::All,
        continuation: None,
        // What is said of all of them is said once.
        populate_metrics: false,
        index_metrics: None,
        ..request.clone()
    }
}

/// What the pages of all queries say together.
#[derive(Default)]
struct Pages {
    last: Option<QueryPage>,
    work: Work,
}

impl Pages {
    /// Runs a query to its end.
    fn each_row(
        &mut self,
        place: Place<'_>,
        mut request: QueryRequest,
        take: &mut dyn FnMut(&RawValue) -> Result<(), MergeError>,
    ) -> Result<(), Failure> {
        loop {
            let (mut page, work) =
                run_plain(place.properties, place.layout, place.region, &request, place.world)?;
            self.work.add(work);
            for row in std::mem::take(&mut page.rows).iter() {
                let row: &RawValue = serde_json::from_slice(row).map_err(|error| unmerged(&error))?;
                take(row).map_err(|error| unmerged(&error))?;
            }
            request.continuation = page.continuation.take();
            if let Some(before) = self.last.take() {
                page.charge += before.charge;
                page.commits.extend(before.commits);
                // Tokens of partitions of one account name the same regions.
                let _ = page.session.merge(&before.session);
            }
            self.last = Some(page);
            if request.continuation.is_none() {
                return Ok(());
            }
        }
    }

    /// The page of the result that follows so many rows.
    fn finish(
        self,
        found: &[Box<RawValue>],
        given: u64,
        request: &QueryRequest,
    ) -> Result<QueryPage, Failure> {
        let size = request.page_size;
        let Some(page) = self.last else { return Err(Failure::bad_request("the query ranks by nothing")) };
        let given = usize::try_from(given).unwrap_or(usize::MAX);
        let most = if size == PageSize::Unasked { usize::MAX } else { size.rows() };
        let mut rows = Rows::new();
        for row in found.iter().skip(given).take(most) {
            let bytes = row.get().as_bytes();
            if !rows.is_empty() && rows.byte_len() + bytes.len() > PageSize::MAX_BYTES {
                break;
            }
            rows.push(bytes);
        }
        let reached = given.saturating_add(rows.len());
        let continuation =
            (reached < found.len()).then(|| Token { given: reached as u64, ..Token::default() }.write());
        let metrics = self.work.metrics(request, &rows);
        let index_utilization = self.work.index_utilization(request);
        Ok(QueryPage { rows, continuation, metrics, index_utilization, ..page })
    }
}

fn unmerged(error: &dyn std::fmt::Display) -> Failure {
    Failure::bad_request(format!("rows of a ranked query cannot be put together: {error}"))
}
