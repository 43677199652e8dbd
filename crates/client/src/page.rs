//! Pages of anything that is listed or queried, and the two streams that give them: item by item, or page by page.
//!
//! Where pages come from is a [`Source`]: `listing` for feeds that the service pages by itself, `query` for queries
//! over partitions.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use cosmonaut_driver::DiagnosticsContext;
use futures_core::Stream;

use crate::options::FeedOptions;
use crate::{Error, ErrorKind, FromItem, Result};

/// Some of the items of a feed, and where it goes on.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// let mut pages = client.list_databases().into_pages();
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

/// A list or the rows of a query as a stream of items. An error ends it.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing. Items are read
/// as any type that `serde` knows, or as [`RawItem`](crate::RawItem).
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// let mut databases = client.list_databases();
/// while let Some(database) = databases.next().await {
///     println!("{}", database?.id);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked until it is polled"]
pub struct Items<T> {
    pages: Pages<T>,
    /// What is left of the page that items are taken of.
    left: VecDeque<T>,
    /// That page without its items.
    taken_of: Option<Page<T>>,
    /// Where to go on behind the last page that was taken to its end.
    continuation: Option<String>,
}

/// A list or the rows of a query page by page. An error ends it.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// let first = client.list_databases().into_pages().next().await.transpose()?;
/// if let Some(continuation) = first.and_then(|page| page.continuation) {
///     let rest = client.list_databases().continue_from(continuation);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked until it is polled"]
pub struct Pages<T> {
    /// What was left of a page when items were no longer taken one by one.
    begun: Option<Page<T>>,
    state: State,
    options: FeedOptions,
    items: PhantomData<fn() -> T>,
}

/// What gives pages, one after the other.
pub(crate) trait Source: Send {
    /// Makes the next page.
    fn next(self: Box<Self>) -> Making;
}

/// A page that is being made; `None` if there is none.
pub(crate) type Making = Pin<Box<dyn Future<Output = Result<Option<Made>>> + Send>>;

/// A page, and what gives those after it, if there are any.
pub(crate) struct Made {
    pub(crate) page: RawPage,
    pub(crate) rest: Option<Box<dyn Source>>,
}

/// A page whose items are the JSON text that they came as.
pub(crate) struct RawPage {
    pub(crate) items: Vec<Bytes>,
    /// What the items are, as an error names one.
    pub(crate) item: Cow<'static, str>,
    pub(crate) continuation: Option<String>,
    pub(crate) request_charge: f64,
    pub(crate) diagnostics: Vec<DiagnosticsContext>,
}

enum State {
    New(Begin),
    Idle(Box<dyn Source>),
    Making(Making),
    Failed(Error),
    End,
}

/// What makes a source when the first page is asked for.
type Begin = Box<dyn FnOnce(FeedOptions) -> Result<Box<dyn Source>> + Send>;

impl RawPage {
    fn read<T: FromItem>(self) -> Result<Page<T>> {
        let Self { items, item, continuation, request_charge, diagnostics } = self;
        let items = items.iter().map(|json| T::from_json(json, &item)).collect::<Result<_>>()?;
        Ok(Page { items, continuation, request_charge, diagnostics })
    }
}

impl<T> Items<T> {
    /// Items of what `begin` makes with the options, once the first is asked for.
    pub(crate) fn new(begin: impl FnOnce(FeedOptions) -> Result<Box<dyn Source>> + Send + 'static) -> Self {
        let state = State::New(Box::new(begin));
        let pages = Pages { begun: None, state, options: FeedOptions::default(), items: PhantomData };
        Self { pages, left: VecDeque::new(), taken_of: None, continuation: None }
    }

    /// Options by themselves, instead of all that were given before. Like all options they are given before the first
    /// item is asked for; later the stream ends with an error.
    pub fn options(mut self, options: impl Into<Option<FeedOptions>>) -> Self {
        *self.options_mut() = options.into().unwrap_or_default();
        self
    }

    /// The options, for their setters.
    pub(crate) fn options_mut(&mut self) -> &mut FeedOptions {
        if !matches!(self.pages.state, State::New(_) | State::Failed(_)) {
            let message = "options are given after items were asked for (give them before)";
            self.pages.state = State::Failed(Error::new(ErrorKind::Configuration, message));
        }
        &mut self.pages.options
    }

    /// The same page by page. If items were taken already, the first page is what is left of theirs.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # use cosmonaut::FeedScope;
    /// let newest = || {
    ///     let text = "SELECT VALUE c.id FROM c ORDER BY c.total DESC";
    ///     orders.query_items::<String>(text, FeedScope::Container).max_item_count(50)
    /// };
    /// let first = newest().into_pages().next().await.transpose()?.expect("there is at least one page");
    ///
    /// // Elsewhere, later:
    /// if let Some(continuation) = first.continuation {
    ///     let mut pages = newest().continue_from(continuation).into_pages();
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_pages(mut self) -> Pages<T> {
        if !self.left.is_empty() {
            self.pages.begun = self.taken_of.map(|page| Page { items: self.left.into(), ..page });
        }
        self.pages
    }

    /// Where to go on so that no item is missed: behind the last page all of whose items were taken. Items that
    /// were taken of a page begun since come again. `None` before the first page was taken, and after the last.
    pub fn continuation(&self) -> Option<&str> {
        self.continuation.as_deref()
    }
}

impl<T: FromItem> Items<T> {
    /// The next item; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// All items that are left.
    ///
    /// # Errors
    /// The first error; the items before it are lost.
    pub async fn collect(mut self) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while let Some(item) = self.next().await {
            items.push(item?);
        }
        Ok(items)
    }
}

impl<T: FromItem> Pages<T> {
    /// The next page; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Page<T>>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

// Items are only ever moved, so where a stream stands in memory does not matter to them.
impl<T> Unpin for Pages<T> {}
impl<T> Unpin for Items<T> {}

impl<T: FromItem> Stream for Pages<T> {
    type Item = Result<Page<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(page) = self.begun.take() {
            return Poll::Ready(Some(Ok(page)));
        }
        loop {
            match mem::replace(&mut self.state, State::End) {
                State::End => return Poll::Ready(None),
                State::Failed(error) => return Poll::Ready(Some(Err(error))),
                State::New(begin) => {
                    let options = mem::take(&mut self.options);
                    self.state = begin(options).map_or_else(State::Failed, State::Idle);
                }
                State::Idle(source) => self.state = State::Making(source.next()),
                State::Making(mut making) => {
                    let Poll::Ready(made) = making.as_mut().poll(context) else {
                        self.state = State::Making(making);
                        return Poll::Pending;
                    };
                    let Some(Made { page, rest }) = made? else {
                        return Poll::Ready(None);
                    };
                    let page = page.read();
                    if let (Ok(_), Some(rest)) = (&page, rest) {
                        self.state = State::Idle(rest);
                    }
                    return Poll::Ready(Some(page));
                }
            }
        }
    }
}

impl<T: FromItem> Stream for Items<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.left.pop_front() {
                if self.left.is_empty() {
                    self.continuation = self.taken_of.take().and_then(|page| page.continuation);
                }
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                Some(Ok(page)) if page.items.is_empty() => self.continuation = page.continuation,
                Some(Ok(mut page)) => {
                    self.left.extend(mem::take(&mut page.items));
                    self.taken_of = Some(page);
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::New(_) => "new",
            State::Idle(_) => "idle",
            State::Making(_) => "asking",
            State::Failed(_) => "failed",
            State::End => "ended",
        };
        f.debug_struct("Pages").field("state", &state).finish()
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, left, continuation, .. } = self;
        f.debug_struct("Items")
            .field("pages", pages)
            .field("left", &left.len())
            .field("continuation", continuation)
            .finish()
    }
}
