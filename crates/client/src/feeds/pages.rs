//! A feed page by page.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::Page;
use super::raw_pages::RawPages;
use crate::{FromItem, Result};

/// A list, the rows of a query or the changes of a container, page by page. [`Items::into_pages`](crate::Items::into_pages)
/// gives it.
///
/// Nothing is asked before it is polled, and dropping what [`next`](Self::next) returns loses nothing.
///
/// An error ends a list or a query. A [change feed](crate::ContainerClient::change_feed) does not end with it: the next
/// page is the one that was not given.
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
    pages: RawPages,
    items: PhantomData<fn() -> T>,
}

impl<T> Pages<T> {
    pub(super) fn new(pages: RawPages) -> Self {
        Self { pages, items: PhantomData }
    }
}

impl<T: FromItem> Pages<T> {
    /// The next page; `None` at the end, behind which a change feed goes on when it is asked again.
    ///
    /// # Errors
    /// What a read can end in, and [`ErrorKind::Serialization`](crate::ErrorKind::Serialization) if an item is no `T`.
    /// Where such items are to be passed, take [`Items`](crate::Items), which gives those around them, or pages of
    /// [`RawItem`](crate::RawItem).
    pub async fn next(&mut self) -> Option<Result<Page<T>>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<T: FromItem> Stream for Pages<T> {
    type Item = Result<Page<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let read = ready!(self.pages.poll_next(context)).map(|page| {
            page?.read().map_err(|(page, error)| {
                self.pages.refused(page);
                error
            })
        });
        Poll::Ready(read)
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("state", &self.pages.state_name()).finish()
    }
}
