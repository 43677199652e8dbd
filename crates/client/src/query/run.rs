//! A query from its request to its pages of rows, which are not read into types here.

use std::sync::Arc;

use cosmonaut_wire::EpkRange;
use cosmonaut_wire::model::{HybridSearchQueryInfo, QuerySpec};
use serde_json::value::RawValue;

use super::fetch::Fetcher;
use super::merged::{Merged, beginning};
use super::planning::Plan;
use super::ranked;
use super::streamed::Streamed;
use super::token::{self, At, Binding, outdated};
use crate::container::ContainerHandle;
use crate::feed_scope::ResolvedScope;
use crate::feeds::place::{Place, places};
use crate::feeds::tally::Tally;
use crate::options::FeedOptions;
use crate::{Error, FeedScope, Result};

/// What is asked for.
#[derive(Clone)]
pub(super) struct QueryRequest {
    pub(super) handle: Arc<ContainerHandle>,
    pub(super) spec: QuerySpec,
    pub(super) scope: FeedScope,
    pub(super) options: FeedOptions,
}

/// A query under way.
pub(super) struct Run {
    context: Context,
    assembly: Assembly,
}

/// How the rows of partitions become rows of the result.
enum Assembly {
    Streamed(Streamed),
    Merged(Box<Merged>),
    /// Of several scores; `None` once it was given.
    Ranked(Option<Box<HybridSearchQueryInfo>>),
}

/// What both ways need.
pub(super) struct Context {
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) plan: Plan,
    pub(super) scope: ResolvedScope,
    pub(super) page_size: u32,
    pub(super) concurrency: usize,
    pub(super) tally: Tally,
    binding: Binding,
}

/// The rows of one page.
pub(super) struct Rows {
    pub(super) rows: Vec<Box<RawValue>>,
    pub(super) continuation: Option<String>,
    pub(super) tally: Tally,
}

impl Context {
    pub(super) fn handle(&self) -> &ContainerHandle {
        &self.fetcher.handle
    }

    /// The places that hold a part of the container now.
    pub(super) async fn places(&self, range: &EpkRange, refresh: bool) -> Result<Vec<Place>> {
        places(self.handle(), &self.scope, range, refresh, &self.fetcher.options).await
    }

    /// The places that hold a part of the container now and can have results.
    pub(super) async fn concerned(&self, range: &EpkRange, refresh: bool) -> Result<Vec<Place>> {
        let mut places = self.places(range, refresh).await?;
        places.retain(|place| self.plan.concerns(&place.range));
        Ok(places)
    }

    /// An error of the service in this client's words.
    pub(super) fn explained(&self, error: Error) -> Error {
        self.plan.explained(error)
    }
}

impl Run {
    /// Plans a query and finds its partitions.
    pub(super) async fn start(request: QueryRequest) -> Result<Self> {
        let QueryRequest { handle, spec, scope, options } = request;
        let (page_size, concurrency) = (page_size(&options)?, options.concurrency());
        let layer = options.operation_layer();
        let container = handle.info(&layer).await?;
        let scope = ResolvedScope::new(&scope, &container.partition_key)?;
        let binding = Binding::new(&spec, &scope, container.rid);
        let resumed = options.continuation.as_deref().map(|text| token::read(&binding, text)).transpose()?;
        let plan = Plan::new(&handle, spec, &scope, &container.partition_key, &layer).await?;
        let container = Some(container.rid);
        let fetcher = Arc::new(Fetcher { handle, container, options: layer, is_measured: false });
        let tally = Tally::default();
        let context = Context { fetcher, plan, scope, page_size, concurrency, tally, binding };
        let window = context.plan.window();
        let search = context.plan.search.clone().map(Box::new);
        if let (Some(_), Some(_)) = (&search, &resumed) {
            return Err(outdated());
        }
        let assembly = match (context.plan.is_streamed(), resumed) {
            _ if search.is_some() => Assembly::Ranked(search),
            (true, None) => {
                let everything = vec![(context.scope.range.clone(), None)];
                Assembly::Streamed(Streamed::start(&context, window, everything).await?)
            }
            (true, Some(progress)) => match progress.at {
                At::Pieces(pieces) => {
                    Assembly::Streamed(Streamed::start(&context, progress.window, pieces).await?)
                }
                At::Start | At::Ordered { .. } | At::Marked(_) => return Err(outdated()),
            },
            (false, resumed) => {
                let progress = resumed.unwrap_or_else(|| beginning(window));
                Assembly::Merged(Box::new(Merged::start(&context, progress, false).await?))
            }
        };
        Ok(Self { context, assembly })
    }

    /// The next page; `None` if there is nothing more to say.
    pub(super) async fn next_page(&mut self) -> Result<Option<Rows>> {
        let Self { context, assembly } = self;
        let (rows, progress) = loop {
            let (rows, progress) = match assembly {
                Assembly::Streamed(streamed) => (streamed.next_rows(context).await?, streamed.progress()),
                Assembly::Merged(merged) => (merged.next_rows(context).await?, merged.progress()),
                Assembly::Ranked(search) => match search.take() {
                    Some(search) => (ranked::rows(context, &search).await?, None),
                    None => (Vec::new(), None),
                },
            };
            // An empty page in the midst of a result is of no use to anyone.
            if !rows.is_empty() || progress.is_none() {
                break (rows, progress);
            }
        };
        let tally = std::mem::take(&mut context.tally);
        if rows.is_empty() && tally.diagnostics.is_empty() {
            return Ok(None);
        }
        let continuation = progress.and_then(|progress| token::write(&context.binding, &progress));
        Ok(Some(Rows { rows, continuation, tally }))
    }
}

/// How many rows a page of a query has at most, and each partition's answer to an ordered one.
pub(super) fn page_size(options: &FeedOptions) -> Result<u32> {
    const DEFAULT: u32 = 1000;
    options.check_page()?;
    options.refuse(None, None)?;
    Ok(options.max_item_count.unwrap_or(DEFAULT))
}
