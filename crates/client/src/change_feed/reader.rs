//! Reading changes: parts are asked in turn, several at once, and each remembers where it goes on.
//!
//! When each part was at its end, the reader ends for now, or waits and asks again. When a part is asked is said by `turn`.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{CosmosResponse, Moment, OperationOptions};
use cosmonaut_wire::ResourceId;
use http::StatusCode;

use super::request::{CHANGE, ChangesRequest, Mode, ReadFrom, changes_in, next_etag};
use super::start::Opening;
use super::token::{self, FeedPosition};
use super::turn::Turn;
use crate::container::ContainerHandle;
use crate::feed_scope::ResolvedScope;
use crate::feeds::RawPage;
use crate::feeds::parts::{Arrival, Part, Parts};
use crate::feeds::place::{is_of_another_container, places};
use crate::feeds::source::{Made, Making, Source};
use crate::feeds::tally::Tally;
use crate::feeds::token::refused_meanwhile;
use crate::options::FeedOptions;
use crate::waiting::unless;
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
    /// There was none yet, or it had changes, or a part has failed.
    #[default]
    Changes,
    /// Each part was at its end.
    AtEnd,
    /// The feed could not be begun, and the service asks to wait so long.
    NotBegun(Option<Duration>),
}

/// What is known once the container is.
pub(super) struct Begun {
    container: ResourceId,
    scope: ResolvedScope,
    opening: Opening,
    parts: Parts<Turn, CosmosResponse>,
    /// The part that is asked next, if it is its turn.
    next: usize,
    tally: Tally,
}

impl Source for Reader {
    fn next(mut self: Box<Self>) -> Making {
        Box::pin(async move {
            let page = self.next_page().await;
            let Err(error) = &page else { return Made { page, rest: Some(self) } };
            if self.begun.is_none() {
                // Some requests make no sense, and never will.
                if matches!(error.kind(), ErrorKind::Query | ErrorKind::Configuration | ErrorKind::BadRequest)
                {
                    return Made::last(page);
                }
                self.last = Last::NotBegun(error.retry_after());
            }
            Made { page, rest: Some(self) }
        })
    }

    fn outlasts_errors(&self) -> bool {
        true
    }
}

impl Reader {
    /// The next page; `None` if the last one was the end, and nobody wants to wait for others.
    async fn next_page(&mut self) -> Result<Option<RawPage>> {
        match (mem::take(&mut self.last), self.options.poll_interval) {
            (Last::Changes, _) | (Last::NotBegun(_), None) => {}
            (Last::AtEnd, None) => return Ok(None),
            (Last::AtEnd, Some(interval)) => self.pause(interval).await,
            (Last::NotBegun(wait), Some(interval)) => {
                self.pause(wait.unwrap_or_default().max(interval)).await;
            }
        }
        /// How often a container may be made anew before anything is read of it.
        const MOST_STARTS: u32 = 3;
        let layer = Arc::new(self.options.operation_layer());
        let mut starts = 0;
        loop {
            let begun = match &mut self.begun {
                Some(begun) => begun,
                None => {
                    starts += 1;
                    let begun = self.begin(&layer).await?;
                    self.begun.insert(begun)
                }
            };
            let asking = Asking {
                handle: &self.handle,
                container: begun.container,
                mode: self.mode,
                max_item_count: self.options.max_item_count,
                concurrency: self.options.concurrency(),
                interval: self.options.poll_interval,
                layer: Arc::clone(&layer),
            };
            let items = match begun.changes(&asking).await {
                Err(error) if is_of_another_container(&error) => {
                    let has_read = self.options.continuation.is_some() || begun.has_read();
                    // The parts are those of the old container.
                    self.begun = None;
                    if has_read || starts >= MOST_STARTS {
                        return Err(refused_meanwhile(token::KIND, error));
                    }
                    continue;
                }
                changes => changes?,
            };
            if items.is_empty() {
                self.last = Last::AtEnd;
            }
            return Ok(Some(begun.page(self.mode, items)));
        }
    }

    fn pause(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.handle.driver.platform().sleep(time)
    }

    async fn begin(&mut self, layer: &OperationOptions) -> Result<Begun> {
        let handle = &self.handle;
        let container = handle.info(layer).await?;
        let scope = ResolvedScope::new(&self.scope, &container.partition_key)?;
        let position = match &self.options.continuation {
            Some(text) => token::read(text, container.rid, self.mode, &scope)?,
            None => FeedPosition { opening: self.start, parts: vec![(scope.range.clone(), None)] },
        };
        let mut parts = Parts::new();
        for (range, at) in position.parts {
            for place in places(handle, &scope, &range, false, layer).await? {
                parts.push(place, at.clone(), Turn::default());
            }
        }
        let (opening, tally) = (position.opening, Tally::default());
        Ok(Begun { container: container.rid, scope, opening, parts, next: 0, tally })
    }
}

/// What requests are made with.
struct Asking<'a> {
    handle: &'a Arc<ContainerHandle>,
    container: ResourceId,
    mode: Mode,
    max_item_count: Option<u32>,
    concurrency: usize,
    interval: Option<Duration>,
    layer: Arc<OperationOptions>,
}

impl Asking<'_> {
    fn now(&self) -> Moment {
        self.handle.driver.platform().now()
    }

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
            container: Some(self.container),
        };
        let (handle, layer) = (Arc::clone(self.handle), Arc::clone(&self.layer));
        async move {
            let operation = request.operation(&handle)?;
            handle.run(&operation, &layer).await
        }
    }
}

impl Begun {
    /// Whether any part was read, so that reading goes on from a place in this container.
    fn has_read(&self) -> bool {
        self.parts.iter().any(|part| part.at.is_some())
    }

    /// The next changes, which are of one part; none when each part was at its end.
    async fn changes(&mut self, asking: &Asking<'_>) -> Result<VecDeque<Bytes>> {
        self.parts.begin_page();
        loop {
            if self.parts.under_way() == 0 && self.parts.iter().all(|part| part.state.was_at_end()) {
                self.parts.iter_mut().for_each(|part| part.state = Turn::default());
                return Ok(VecDeque::new());
            }
            self.ask(asking);
            match self.next(asking).await {
                Some(Arrival::Answered(at, response)) => match self.receive(asking, at, response) {
                    Ok(changes) if changes.is_empty() => {}
                    Ok(changes) => return Ok(changes),
                    Err(error) => return self.fail(asking, at, error),
                },
                Some(Arrival::Failed(at, error)) => return self.fail(asking, at, error),
                Some(Arrival::Moved(at, error)) => {
                    self.tally.add_failed(&error);
                    let range = self.parts[at].place.range.clone();
                    let found = places(asking.handle, &self.scope, &range, true, &asking.layer);
                    let found = self.parts.during(found).await?;
                    self.parts.replace(at, found, Turn::default);
                }
                Some(Arrival::Late) | None => {}
            }
        }
    }

    /// Asks parts whose turn it is, as many as may be under way at once.
    fn ask(&mut self, asking: &Asking<'_>) {
        let (now, count) = (asking.now(), self.parts.len());
        for at in (self.next..self.next + count).map(|at| at % count) {
            if self.parts.under_way() >= asking.concurrency {
                return;
            }
            let part = &self.parts[at];
            if !part.is_asked && part.state.rest_left(now).is_none() {
                let request = asking.request(part, self.opening);
                self.parts.ask(at, request);
                self.next = at + 1;
            }
        }
    }

    /// What has become of a part that was asked; `None` if one that has rested is to be asked first.
    async fn next(&mut self, asking: &Asking<'_>) -> Option<Arrival<CosmosResponse>> {
        let (now, may_ask) = (asking.now(), self.parts.under_way() < asking.concurrency);
        let resting = self.parts.iter().filter(|part| may_ask && !part.is_asked);
        let rest = resting.filter_map(|part| part.state.rest_left(now)).min();
        let rested = rest.map(|rest| asking.handle.driver.platform().sleep(rest));
        match rested {
            Some(rested) if self.parts.under_way() == 0 => {
                rested.await;
                None
            }
            Some(rested) => unless(rested, self.parts.next()).await.flatten(),
            None => self.parts.next().await,
        }
    }

    /// Moves a part on behind an answer, and gives the changes in it. An answer without changes need not be the last.
    fn receive(
        &mut self,
        asking: &Asking<'_>,
        at: usize,
        response: CosmosResponse,
    ) -> Result<VecDeque<Bytes>> {
        self.tally.add(response.diagnostics());
        let part = &mut self.parts[at];
        let read =
            next_etag(&response, part.at.as_deref()).and_then(|etag| Ok((etag, changes_in(&response)?)));
        let (etag, changes) = match read {
            Ok(read) => read,
            Err(error) => return Err(error.found_in(response)),
        };
        part.at = Some(etag);
        if response.status().code() == StatusCode::NOT_MODIFIED {
            part.state.rest(asking.interval, asking.now());
        }
        Ok(changes)
    }

    /// Leaves a part alone for a while, so that the others are read meanwhile.
    fn fail<T>(&mut self, asking: &Asking<'_>, at: usize, error: Error) -> Result<T> {
        if asking.interval.is_none() {
            // Whoever reads says when parts are asked again, and then all are.
            self.parts.iter_mut().for_each(|part| part.state.wake());
        }
        self.parts[at].state.fail(asking.interval, error.retry_after(), asking.now());
        Err(error)
    }

    /// A page of changes, with what was spent since the last one.
    fn page(&mut self, mode: Mode, items: VecDeque<Bytes>) -> RawPage {
        let part = |part: &Part<Turn>| (part.place.range.clone(), part.at.clone());
        let position = FeedPosition { opening: self.opening, parts: self.parts.iter().map(part).collect() };
        let continuation = Some(token::write(self.container, mode, &self.scope, &position));
        RawPage { items, item: CHANGE.into(), continuation, tally: mem::take(&mut self.tally) }
    }
}
