//! Pages of a feed, and the streams that give them: page by page, or item by item.
//!
//! This is for feeds that the service pages by itself, such as databases; queries over partitions are merged
//! in `query`.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use cosmonaut_driver::{
    CosmosDriver, CosmosOperation, CosmosResponse, DiagnosticsContext, OperationOptions, OperationType,
};
use cosmonaut_wire::model::{FeedEnvelope, QuerySpec, from_json};
use cosmonaut_wire::{ResourcePath, headers};
use futures_core::Stream;
use http::HeaderValue;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::container::run;
use crate::metadata::json_body;
use crate::{Error, ErrorKind};

/// Some of the items of a feed, and where it goes on.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// let mut pages = client.list_databases(None).into_pages();
/// while let Some(page) = pages.next().await {
///     let page = page?;
///     println!("{} databases for {:.2} RU", page.items.len(), page.request_charge);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items; there may be none although the feed goes on.
    pub items: Vec<T>,
    /// Where the feed goes on; `None` at its end.
    pub continuation: Option<String>,
    /// What the page cost, in request units.
    pub request_charge: f64,
    /// What was tried for the page, request by request.
    pub diagnostics: Vec<DiagnosticsContext>,
}

/// A feed as a stream of pages.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing. An error
/// ends it.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// use cosmonaut::options::QueryDatabasesOptions;
///
/// let first = client.list_databases(None).into_pages().next().await.transpose()?;
/// let continuation = first.and_then(|page| page.continuation);
/// let rest = client.list_databases(Some(QueryDatabasesOptions { continuation, ..Default::default() }));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked until it is polled"]
pub struct Pages<T> {
    state: State,
    items: PhantomData<fn() -> T>,
}

/// A feed as a stream of items. An error ends it.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// let mut databases = client.list_databases(None);
/// while let Some(database) = databases.next().await {
///     println!("{}", database?.id);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked until it is polled"]
pub struct Pager<T> {
    pages: Pages<T>,
    buffered: VecDeque<T>,
}

/// What is asked for each page.
pub(crate) struct Feed {
    driver: CosmosDriver,
    operation: CosmosOperation,
    options: OperationOptions,
}

enum State {
    /// The next page begins here.
    Idle(Arc<Feed>, Option<HeaderValue>),
    /// The page that begins here is on its way.
    Fetching(Arc<Feed>, Option<HeaderValue>, Fetch),
    /// The feed cannot be asked for at all.
    Failed(Error),
    /// There is no next page.
    End,
}

type Fetch = Pin<Box<dyn Future<Output = Result<CosmosResponse, Error>> + Send>>;

impl Feed {
    /// All resources at `path`, or those for which a query holds.
    pub(crate) fn new(
        driver: &CosmosDriver,
        path: ResourcePath,
        query: Option<&QuerySpec>,
        options: OperationOptions,
    ) -> Result<Self, Error> {
        let operation = match query {
            Some(query) => CosmosOperation::new(OperationType::Query, path).with_body(json_body(query)?),
            None => CosmosOperation::new(OperationType::ReadFeed, path),
        };
        Ok(Self { driver: driver.clone(), operation, options })
    }

    /// The feed from its beginning, or from a continuation, in pages of at most `max_item_count`.
    pub(crate) fn start(
        mut self,
        max_item_count: Option<u32>,
        continuation: Option<String>,
    ) -> Result<Start, Error> {
        if let Some(count) = max_item_count {
            self.operation = self.operation.with_header(headers::MAX_ITEM_COUNT, HeaderValue::from(count));
        }
        let continuation = continuation.map(HeaderValue::try_from).transpose().map_err(|_| {
            let message = "the continuation is none that a page was given with (pass `Page::continuation`)";
            Error::new(ErrorKind::Configuration, message)
        })?;
        Ok(Start(State::Idle(Arc::new(self), continuation)))
    }

    fn fetch(self: &Arc<Self>, continuation: Option<HeaderValue>) -> Fetch {
        let feed = Arc::clone(self);
        Box::pin(async move {
            let mut operation = feed.operation.clone();
            if let Some(continuation) = continuation {
                operation = operation.with_header(headers::CONTINUATION, continuation);
            }
            run(&feed.driver, &operation, &feed.options).await
        })
    }

    /// What the answer holds, and where the feed goes on.
    fn page<T: DeserializeOwned>(
        &self,
        response: CosmosResponse,
        from: Option<&HeaderValue>,
    ) -> Result<(Page<T>, Option<HeaderValue>), Error> {
        let from = from.and_then(|from| from.to_str().ok());
        let items = self.items(response.body()).and_then(|items: Vec<T>| {
            check_progress(items.len(), from, response.continuation()).map(|()| items)
        });
        let items = match items {
            Ok(items) => items,
            Err(error) => return Err(error.found_in(response)),
        };
        let page = Page {
            items,
            continuation: response.continuation().map(str::to_owned),
            request_charge: response.request_charge(),
            diagnostics: vec![response.diagnostics().clone()],
        };
        Ok((page, response.headers().get(headers::CONTINUATION).cloned()))
    }

    fn items<T: DeserializeOwned>(&self, body: &[u8]) -> Result<Vec<T>, Error> {
        let path = self.operation.path();
        let envelope = FeedEnvelope::parse(path.kind(), body).map_err(|error| {
            Error::caused_by(ErrorKind::InvalidResponse, format!("the page of {path}: {error}"), error)
        })?;
        let read = |item: &&RawValue| {
            from_json("item", item.get().as_bytes())
                .map_err(|error| Error::unreadable::<T>(format_args!("a row of {path}"), error))
        };
        envelope.items.iter().map(read).collect()
    }
}

/// An error if a page has no rows and goes on where it began: asking for the next one would never end.
pub(crate) fn check_progress(rows: usize, from: Option<&str>, next: Option<&str>) -> Result<(), Error> {
    if rows > 0 || next.is_none() || from != next {
        return Ok(());
    }
    let message = "a page without rows goes on where it began, so that asking again would never end";
    Err(Error::new(ErrorKind::InvalidResponse, message))
}

/// Where a [`Pager`] begins.
pub(crate) struct Start(State);

impl<T> Pager<T> {
    /// A pager from there; what keeps it from beginning is what it gives first.
    pub(crate) fn from(start: Result<Start, Error>) -> Self {
        let state = start.map_or_else(State::Failed, |start| start.0);
        Self { pages: Pages { state, items: PhantomData }, buffered: VecDeque::new() }
    }

    /// The feed page by page, from the next page on that no item was taken of.
    pub fn into_pages(self) -> Pages<T> {
        self.pages
    }
}

impl<T: DeserializeOwned> Pager<T> {
    /// The next item; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<T: DeserializeOwned> Pages<T> {
    /// The next page; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Page<T>, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<T: DeserializeOwned> Stream for Pages<T> {
    type Item = Result<Page<T>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match mem::replace(&mut self.state, State::End) {
                State::End => return Poll::Ready(None),
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::Idle(feed, continuation) => {
                    let fetch = feed.fetch(continuation.clone());
                    self.state = State::Fetching(feed, continuation, fetch);
                }
                State::Fetching(feed, from, mut fetch) => {
                    let Poll::Ready(response) = fetch.as_mut().poll(context) else {
                        self.state = State::Fetching(feed, from, fetch);
                        return Poll::Pending;
                    };
                    let page = response.and_then(|response| feed.page(response, from.as_ref()));
                    return Poll::Ready(Some(page.map(|(page, continuation)| {
                        if continuation.is_some() {
                            self.state = State::Idle(feed, continuation);
                        }
                        page
                    })));
                }
            }
        }
    }
}

// Items are only ever moved, so where a pager stands in memory does not matter to them.
impl<T> Unpin for Pager<T> {}

impl<T: DeserializeOwned> Stream for Pager<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.buffered.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                Some(Ok(page)) => self.buffered.extend(page.items),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
