//! Reading changes: every part is asked in turn, several at once, and each remembers where it goes on.
//!
//! In each round each part is asked once. A round that brings nothing says that all changes were read; the reader then
//! ends for now, or waits and asks again.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{CosmosResponse, OperationOptions};
use cosmonaut_wire::ResourceId;
use http::StatusCode;

use super::request::{CHANGE, ChangesRequest, Mode, ReadFrom, changes_in, next_etag};
use super::start::Opening;
use super::token::{self, Progress};
use crate::container::ContainerHandle;
use crate::feed_range::ResolvedScope;
use crate::feeds::RawPage;
use crate::feeds::parts::{Arrival, Part, Parts};
use crate::feeds::place::places;
use crate::feeds::source::{Made, Making, Source};
use crate::feeds::tally::Tally;
use crate::options::FeedOptions;
use crate::{Error, ErrorKind, FeedScope, Result};

/// A change feed as a source of pages.
pub(super) struct Reader {
    pub(super) handle: Arc<ContainerHandle>,
    pub(super) mode: Mode,
    pub(super) scope: FeedScope,
    pub(super) start: Opening,
    pub(super) options: FeedOptions,
    /// What is known once the container is.
    pub(super) begun: Option<Begun>,
    pub(super) last: Last,
}

/// What came of the last page.
#[derive(Default)]
pub(super) enum Last {
    /// There was none yet, or it had changes.
    #[default]
    Changes,
    /// All changes were read.
    CaughtUp,
    /// An error, and how long the service asks to wait.
    Failed(Option<Duration>),
}

/// What is known once the container is.
pub(super) struct Begun {
    container: ResourceId,
    scope: ResolvedScope,
    opening: Opening,
    parts: Parts<Turn, CosmosResponse>,
    /// Whether this round has brought anything, or may not have.
    is_news: bool,
    tally: Tally,
}

/// How far a part has come in this round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Due,
    Over,
}

impl Source for Reader {
    fn next(mut self: Box<Self>) -> Making {
        Box::pin(async move {
            let page = self.next_page().await;
            let Err(error) = &page else { return Made { page, rest: Some(self) } };
            self.last = Last::Failed(error.retry_after());
            // What is asked for makes no sense, and never will.
            let is_refused =
                matches!(error.kind(), ErrorKind::Query | ErrorKind::Configuration | ErrorKind::BadRequest);
            let rest = if is_refused && self.begun.is_none() { None } else { Some(self as Box<dyn Source>) };
            Made { page, rest }
        })
    }

    fn outlasts_errors(&self) -> bool {
        true
    }
}

impl Reader {
    /// The next page; `None` if the last one said that all changes were read, and nobody wants to wait for others.
    async fn next_page(&mut self) -> Result<Option<RawPage>> {
        match (mem::take(&mut self.last), self.options.poll_interval) {
            (Last::Changes, _) | (Last::Failed(_), None) => {}
            (Last::CaughtUp, None) => return Ok(None),
            (Last::CaughtUp, Some(interval)) => self.pause(interval).await,
            (Last::Failed(wait), Some(interval)) => {
                self.pause(wait.map_or(interval, |wait| wait.max(interval))).await;
            }
        }
        let begun = match &mut self.begun {
            Some(begun) => begun,
            None => {
                let begun = self.begin().await?;
                self.begun.insert(begun)
            }
        };
        let asking = Asking {
            handle: &self.handle,
            mode: self.mode,
            max_item_count: self.options.max_item_count,
            concurrency: self.options.concurrency(),
            layer: Arc::new(self.options.operation_layer()),
        };
        let items = begun.changes(&asking).await?;
        if items.is_empty() {
            self.last = Last::CaughtUp;
        }
        Ok(Some(begun.page(self.mode, items)))
    }

    fn pause(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.handle.driver.platform().sleep(time)
    }

    async fn begin(&mut self) -> Result<Begun> {
        let handle = &self.handle;
        let container = handle.driver.container(&handle.path).await?;
        let scope = ResolvedScope::new(&self.scope, &container.partition_key)?;
        let progress = match &self.options.continuation {
            Some(text) => token::read(text, container.rid, self.mode, &scope)?,
            None => Progress { opening: self.start, parts: vec![(scope.range.clone(), None)] },
        };
        let mut parts = Parts::new();
        for (range, at) in progress.parts {
            for place in places(handle, &scope, &range, false).await? {
                parts.push(place, at.clone(), Turn::Due);
            }
        }
        let (opening, tally) = (progress.opening, Tally::default());
        Ok(Begun { container: container.rid, scope, opening, parts, is_news: false, tally })
    }
}

/// What requests are made with.
struct Asking<'a> {
    handle: &'a Arc<ContainerHandle>,
    mode: Mode,
    max_item_count: Option<u32>,
    concurrency: usize,
    layer: Arc<OperationOptions>,
}

impl Asking<'_> {
    fn request(
        &self,
        part: &Part<Turn>,
        opening: Opening,
    ) -> impl Future<Output = Result<CosmosResponse>> + Send + 'static {
        let request = ChangesRequest {
            mode: self.mode,
            target: part.place.target.clone(),
            from: part.at.clone().map_or(ReadFrom::Opening(opening), ReadFrom::Etag),
            max_item_count: self.max_item_count,
        };
        let (handle, layer) = (Arc::clone(self.handle), Arc::clone(&self.layer));
        async move {
            let operation = request.operation(&handle)?;
            handle.run(&operation, &layer).await
        }
    }
}

impl Begun {
    /// The next changes, which are of one part; none if no part has any.
    async fn changes(&mut self, asking: &Asking<'_>) -> Result<VecDeque<Bytes>> {
        self.parts.begin_page();
        loop {
            self.ask(asking);
            match self.parts.next().await {
                Some(Arrival::Answered(at, response)) => match self.receive(at, response) {
                    Ok(changes) if changes.is_empty() => {}
                    Ok(changes) => return Ok(changes),
                    Err(error) => return self.fail(at, error),
                },
                Some(Arrival::Failed(at, error)) => return self.fail(at, error),
                Some(Arrival::Moved(at)) => {
                    let range = self.parts[at].place.range.clone();
                    let found = places(asking.handle, &self.scope, &range, true);
                    let found = self.parts.during(found).await?;
                    self.parts.replace(at, found, || Turn::Due);
                }
                Some(Arrival::Late) => {}
                None => {
                    self.parts.iter_mut().for_each(|part| part.state = Turn::Due);
                    if !mem::take(&mut self.is_news) {
                        return Ok(VecDeque::new());
                    }
                }
            }
        }
    }

    /// Asks parts whose turn it is, as many as may be under way at once.
    fn ask(&mut self, asking: &Asking<'_>) {
        for at in 0..self.parts.len() {
            let part = &self.parts[at];
            if part.state == Turn::Over || part.is_asked {
                continue;
            }
            if self.parts.under_way() >= asking.concurrency {
                return;
            }
            let request = asking.request(part, self.opening);
            self.parts.ask(at, request);
        }
    }

    /// Moves a part on behind an answer, and gives the changes in it. An answer without changes need not be the last.
    fn receive(&mut self, at: usize, response: CosmosResponse) -> Result<VecDeque<Bytes>> {
        self.tally.add(response.diagnostics());
        let part = &mut self.parts[at];
        let read =
            next_etag(&response, part.at.as_deref()).and_then(|etag| Ok((etag, changes_in(&response)?)));
        let (etag, changes) = match read {
            Ok(read) => read,
            Err(error) => return Err(error.found_in(response)),
        };
        self.is_news |= response.status().code() != StatusCode::NOT_MODIFIED;
        (part.at, part.state) = (Some(etag), Turn::Over);
        Ok(changes)
    }

    /// Leaves a part to the next round, so that the others are read meanwhile. Whether it has changes is not known.
    fn fail<T>(&mut self, at: usize, error: Error) -> Result<T> {
        self.is_news = true;
        self.parts[at].state = Turn::Over;
        Err(error)
    }

    /// A page of changes, with what was spent since the last one.
    fn page(&mut self, mode: Mode, items: VecDeque<Bytes>) -> RawPage {
        let part = |part: &Part<Turn>| (part.place.range.clone(), part.at.clone());
        let progress = Progress { opening: self.opening, parts: self.parts.iter().map(part).collect() };
        let continuation = Some(token::write(self.container, mode, &self.scope, &progress));
        RawPage { items, item: CHANGE.into(), continuation, tally: mem::take(&mut self.tally) }
    }
}
