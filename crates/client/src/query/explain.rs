//! Explaining a query: its plan, the partitions it goes to, the indexes it uses, and what a page of each costs.
//!
//! The rows themselves are not kept; [`ContainerClient::query_items`] gives them.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::DiagnosticsContext;
use cosmonaut_wire::headers;
use cosmonaut_wire::model::QueryInfo;

use super::Query;
use super::fetch::{Fetcher, PageRequest};
use super::metrics::{IndexUse, QueryMetrics};
use super::planning::Plan;
use super::run::page_size;
use crate::feed_scope::ResolvedScope;
use crate::feeds::in_flight::try_all;
use crate::feeds::place::{MOST_MOVES, Place, has_moved, places};
use crate::options::FeedOptions;
use crate::{ContainerClient, FeedRange, FeedScope, Request, Result};

/// How a query is run: see [`ContainerClient::explain_query`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueryExplanation {
    /// What each partition is asked.
    pub sent: String,
    /// What is done with the answers. Its `rewritten_query` is empty: that is `sent`.
    pub plan: QueryInfo,
    /// Whether rows are put together here; if not, they are given on as partitions answer.
    pub is_merged: bool,
    /// Why this client could not plan the query, so that the service did; `None` if it could.
    pub not_understood: Option<String>,
    /// The partitions that can have results, in the order of the key space.
    pub partitions: Vec<PartitionExplanation>,
    /// How many partitions of the scope are not asked, because the filter rules them out.
    pub ruled_out: usize,
}

/// The first page of one partition.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PartitionExplanation {
    /// The partition's name, if the service says it.
    pub id: Option<String>,
    /// The part of the container that it answers for.
    pub range: FeedRange,
    /// How many rows the page has.
    pub rows: usize,
    /// Whether there are more pages.
    pub has_more: bool,
    /// What the page cost, in request units.
    pub request_charge: f64,
    /// What was tried for the page.
    pub diagnostics: DiagnosticsContext,
    /// What it took the service to make it.
    pub metrics: Option<QueryMetrics>,
    /// The indexes.
    pub indexes: Option<IndexUse>,
}

impl QueryExplanation {
    /// The indexes of all partitions together; `None` if the service does not say.
    pub fn indexes(&self) -> Option<IndexUse> {
        let mut told = self.partitions.iter().filter_map(|partition| partition.indexes.as_ref());
        let mut all = told.next()?.clone();
        told.for_each(|more| all.merge(more));
        Some(all)
    }

    /// What explaining cost, in request units.
    pub fn request_charge(&self) -> f64 {
        self.partitions.iter().fold(0.0, |sum, partition| sum + partition.request_charge)
    }
}

impl ContainerClient {
    /// Explains how [`query_items`](Self::query_items) runs a query: the plan, the partitions, the indexes.
    ///
    /// The first page is asked of every partition that can have results, because the service tells about indexes
    /// and cost only beside an answer. So this costs request units: as much as the whole query if each partition
    /// answers it with one page, else a part of that. [`max_item_count`](FeedOptions::max_item_count) makes these
    /// pages smaller.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::FeedScope;
    ///
    /// let text = "SELECT * FROM c WHERE c.city = 'Oslo' ORDER BY c.total";
    /// let explained = orders.explain_query(text, FeedScope::Container).await?;
    /// println!("{} partitions are asked: {}", explained.partitions.len(), explained.sent);
    /// for index in explained.indexes().unwrap_or_default().potential {
    ///     println!("an index on {} would help", index.paths.join(", "));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Query`](crate::ErrorKind::Query) for a text that is no query, with the place; and what a read
    /// can end in.
    pub fn explain_query(
        &self,
        query: impl Into<Query>,
        scope: impl Into<FeedScope>,
    ) -> Request<FeedOptions, QueryExplanation> {
        let (container, query, scope) = (self.clone(), query.into(), scope.into());
        Request::new(async move |options: Option<FeedOptions>| {
            container.explain(query, scope, options.unwrap_or_default()).await
        })
    }

    async fn explain(
        &self,
        query: Query,
        scope: FeedScope,
        options: FeedOptions,
    ) -> Result<QueryExplanation> {
        let handle = Arc::clone(self.handle()?);
        options.refuse(Some("only first pages are asked for"), None)?;
        let (page_size, concurrency) = (page_size(&options)?, options.concurrency());
        let layer = options.operation_layer();
        let container = handle.info(&layer).await?;
        let scope = ResolvedScope::new(&scope, &container.partition_key)?;
        let plan = Plan::new(&handle, query.into_spec()?, &scope, &container.partition_key, &layer).await?;
        let body = plan.body("true")?;
        let survey = Survey {
            fetcher: Fetcher { handle, container: None, options: layer, is_measured: true },
            plan,
            scope,
            body,
            page_size,
            concurrency,
        };
        survey.explain().await
    }
}

/// The questions that an explanation takes.
struct Survey {
    fetcher: Fetcher,
    plan: Plan,
    scope: ResolvedScope,
    body: Bytes,
    page_size: u32,
    concurrency: usize,
}

impl Survey {
    /// Asks all partitions, and all of them again if some are not there any more.
    async fn explain(self) -> Result<QueryExplanation> {
        let mut moves = 0;
        let (partitions, ruled_out) = loop {
            match self.ask_all(moves > 0).await {
                Err(error) if has_moved(&error) && moves < MOST_MOVES => moves += 1,
                Err(error) => return Err(self.plan.explained(error)),
                Ok(asked) => break asked,
            }
        };
        Ok(QueryExplanation {
            sent: self.plan.text(),
            is_merged: !self.plan.is_streamed(),
            not_understood: self.plan.problem().map(str::to_owned),
            plan: self.plan.info,
            partitions,
            ruled_out,
        })
    }

    /// The partitions that can have results, and how many cannot.
    async fn ask_all(&self, refresh: bool) -> Result<(Vec<PartitionExplanation>, usize)> {
        let Fetcher { handle, options, .. } = &self.fetcher;
        let all = places(handle, &self.scope, &self.scope.range, refresh, options).await?;
        let total = all.len();
        let concerned: Vec<Place> =
            all.into_iter().filter(|place| self.plan.concerns(&place.range)).collect();
        let ruled_out = total - concerned.len();
        let asks = concerned.into_iter().enumerate().map(|(nth, place)| async move {
            let partition = self.ask(place).await?;
            Ok((nth, partition))
        });
        let mut answered = try_all(asks, self.concurrency).await?;
        answered.sort_by_key(|(nth, _)| *nth);
        Ok((answered.into_iter().map(|(_, partition)| partition).collect(), ruled_out))
    }

    async fn ask(&self, place: Place) -> Result<PartitionExplanation> {
        let request = PageRequest {
            target: place.target,
            body: self.body.clone(),
            continuation: None,
            most: Some(self.page_size),
        };
        let (page, response) = self.fetcher.page(request).await?;
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        Ok(PartitionExplanation {
            id: header(headers::PARTITION_KEY_RANGE_ID).map(str::to_owned),
            range: FeedRange::of(place.range),
            rows: page.rows.len(),
            has_more: page.continuation.is_some(),
            request_charge: response.request_charge(),
            metrics: header(headers::QUERY_METRICS).map(QueryMetrics::parse),
            indexes: header(headers::INDEX_UTILIZATION).and_then(IndexUse::parse),
            diagnostics: response.diagnostics().clone(),
        })
    }
}
