//! The rows of a query as streams: item by item, or page by page.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use cosmonaut_wire::model::from_json;
use futures_core::Stream;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::run::{RawPage, Request, Run};
use crate::{Error, Page, Result};

/// The rows of a query as a stream of `T`. An error ends it.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing.
#[must_use = "nothing is asked until it is polled"]
pub struct QueryItems<T> {
    pages: QueryPages<T>,
    buffered: VecDeque<T>,
    /// Where to go on behind the last row that was buffered.
    after_buffered: Option<String>,
    /// Where to go on behind the last page that was given to its end.
    continuation: Option<String>,
}

/// The rows of a query page by page. An error ends it.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing.
#[must_use = "nothing is asked until it is polled"]
pub struct QueryPages<T> {
    state: State,
    items: PhantomData<fn() -> T>,
}

type Making = Pin<Box<dyn Future<Output = (Option<Box<Run>>, Result<Option<RawPage>>)> + Send>>;

enum State {
    New(Box<Request>),
    Ready(Box<Run>),
    Making(Making),
    Failed(Error),
    End,
}

impl<T> QueryItems<T> {
    pub(super) fn new(request: Result<Request>) -> Self {
        let state = request.map_or_else(State::Failed, |request| State::New(Box::new(request)));
        Self {
            pages: QueryPages { state, items: PhantomData },
            buffered: VecDeque::new(),
            after_buffered: None,
            continuation: None,
        }
    }

    /// The rows page by page, from the next page on that no row was taken of.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # use cosmonaut::{FeedScope, options::QueryOptions};
    /// let text = "SELECT VALUE c.id FROM c ORDER BY c.total DESC";
    /// let options = QueryOptions { max_item_count: Some(50), ..Default::default() };
    /// let mut pages =
    ///     orders.query_items::<String>(text, FeedScope::Container, Some(options.clone())).into_pages();
    /// let first = pages.next().await.transpose()?.expect("there is at least one page");
    ///
    /// // Elsewhere, later:
    /// let options = QueryOptions { continuation: first.continuation, ..options };
    /// let mut pages = orders.query_items::<String>(text, FeedScope::Container, Some(options)).into_pages();
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_pages(self) -> QueryPages<T> {
        self.pages
    }

    /// Where to go on so that no row is missed: behind the last page all of whose rows were taken. Rows that
    /// were taken of a page begun since come again. `None` before the first page was taken, and after the last.
    pub fn continuation(&self) -> Option<&str> {
        self.continuation.as_deref()
    }
}

impl<T: DeserializeOwned> QueryItems<T> {
    /// The next row; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// The first error; the rows before it are lost.
    pub async fn collect(mut self) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        while let Some(row) = self.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }
}

impl<T: DeserializeOwned> QueryPages<T> {
    /// The next page; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Page<T>>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

fn begin(request: Request) -> Making {
    Box::pin(async move {
        match Run::start(request).await {
            Ok(run) => go_on(Box::new(run)).await,
            Err(error) => (None, Err(error)),
        }
    })
}

async fn go_on(mut run: Box<Run>) -> (Option<Box<Run>>, Result<Option<RawPage>>) {
    let page = run.next_page().await;
    (Some(run), page)
}

impl<T: DeserializeOwned> Stream for QueryPages<T> {
    type Item = Result<Page<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match mem::replace(&mut self.state, State::End) {
                State::End => return Poll::Ready(None),
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::New(request) => self.state = State::Making(begin(*request)),
                State::Ready(run) => self.state = State::Making(Box::pin(go_on(run))),
                State::Making(mut making) => {
                    let Poll::Ready((run, page)) = making.as_mut().poll(context) else {
                        self.state = State::Making(making);
                        return Poll::Pending;
                    };
                    let page = match page {
                        Ok(Some(page)) => read_page(page),
                        Ok(None) => return Poll::Ready(None),
                        Err(error) => Err(error),
                    };
                    if let (Ok(page), Some(run)) = (&page, run)
                        && page.continuation.is_some()
                    {
                        self.state = State::Ready(run);
                    }
                    return Poll::Ready(Some(page));
                }
            }
        }
    }
}

fn read_page<T: DeserializeOwned>(page: RawPage) -> Result<Page<T>> {
    let items = page.rows.iter().map(|row| read_row(row)).collect::<Result<_>>()?;
    let RawPage { continuation, request_charge, diagnostics, .. } = page;
    Ok(Page { items, continuation, request_charge, diagnostics })
}

fn read_row<T: DeserializeOwned>(row: &RawValue) -> Result<T> {
    serde_json::from_str(row.get()).or_else(|_| {
        // Again, for the sake of an error that names the member.
        from_json("row", row.get().as_bytes())
            .map_err(|error| Error::unreadable::<T>("a row of the query's result", error))
    })
}

// Rows are only ever moved, so where a stream stands in memory does not matter to them.
impl<T> Unpin for QueryItems<T> {}

impl<T: DeserializeOwned> Stream for QueryItems<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.buffered.pop_front() {
                if self.buffered.is_empty() {
                    self.continuation = self.after_buffered.take();
                }
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                Some(Ok(page)) => {
                    self.buffered.extend(page.items);
                    self.after_buffered = page.continuation;
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<T> fmt::Debug for QueryPages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::New(_) => "new",
            State::Ready(_) => "ready",
            State::Making(_) => "asking",
            State::Failed(_) => "failed",
            State::End => "ended",
        };
        f.debug_struct("QueryPages").field("state", &state).finish()
    }
}

impl<T> fmt::Debug for QueryItems<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, buffered, continuation, .. } = self;
        f.debug_struct("QueryItems")
            .field("pages", pages)
            .field("buffered", &buffered.len())
            .field("continuation", continuation)
            .finish()
    }
}
