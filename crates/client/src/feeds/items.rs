//! A feed item by item.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::raw_pages::RawPages;
use super::source::Source;
use super::{Pages, RawPage};
use crate::options::FeedOptions;
use crate::{FromItem, Result};

/// A list, the rows of a query or the changes of a container, as a stream of items.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing. Items are read
/// as any type that `serde` knows, or as [`RawItem`](crate::RawItem).
///
/// An item that is no `T` is an error in its place, and the stream goes on behind it. Any other error ends a list or a
/// query; a [change feed](crate::ContainerClient::change_feed) goes on behind the last page when it is asked again.
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
    pages: RawPages,
    /// What is left of the page that items are taken of.
    begun: Option<RawPage>,
    /// Where to go on behind the last page that was taken to its end.
    continuation: Option<String>,
    items: PhantomData<fn() -> T>,
}

impl<T> Items<T> {
    /// Items of what `begin` makes with the options, once the first is asked for.
    pub(crate) fn new(begin: impl FnOnce(FeedOptions) -> Result<Box<dyn Source>> + Send + 'static) -> Self {
        let pages = RawPages::new(Box::new(begin));
        Self { pages, begun: None, continuation: None, items: PhantomData }
    }

    /// Options by themselves, instead of all that were given before. Like all options they are given before the first
    /// item is asked for; later the stream ends with an error.
    pub fn options(mut self, options: impl Into<Option<FeedOptions>>) -> Self {
        *self.options_mut() = options.into().unwrap_or_default();
        self
    }

    /// The options, for their setters.
    pub(crate) fn options_mut(&mut self) -> &mut FeedOptions {
        self.pages.options_mut()
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
        if let Some(left) = self.begun.filter(|page| !page.items.is_empty()) {
            self.pages.put_back(left);
        }
        Pages::new(self.pages)
    }

    /// Where to go on so that no item is missed: behind the last page all of whose items were taken. Items that
    /// were taken of a page begun since come again. `None` before the first page was taken, and at the end of a list or a
    /// query. A change feed can always go on.
    pub fn continuation(&self) -> Option<&str> {
        self.continuation.as_deref()
    }

    /// All items of the page were taken.
    fn end_page(&mut self) {
        self.continuation = self.begun.take().and_then(|page| page.continuation);
    }
}

impl<T: FromItem> Items<T> {
    /// The next item; `None` at the end, behind which a change feed goes on when it is asked again.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// All items that are left. A change feed that is followed never ends, and neither does this.
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

impl<T: FromItem> Stream for Items<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(page) = &mut self.begun {
                let Some(json) = page.items.pop_front() else {
                    // Its last item could not be read, and is passed now.
                    self.end_page();
                    continue;
                };
                let item = T::from_json(&json, &page.item);
                if item.is_ok() && page.items.is_empty() {
                    self.end_page();
                }
                return Poll::Ready(Some(item));
            }
            match ready!(self.pages.poll_next(context)) {
                Some(Ok(page)) if page.items.is_empty() => self.continuation = page.continuation,
                Some(Ok(page)) => self.begun = Some(page),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items")
            .field("state", &self.pages.state_name())
            .field("left", &self.begun.as_ref().map_or(0, |page| page.items.len()))
            .field("continuation", &self.continuation)
            .finish()
    }
}
