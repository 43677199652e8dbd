//! The change feed, pulled page by page: from the beginning, from now, from a time, or from a token.
//!
//! Who reads which part, and how often, is the application's business.

mod change;
mod reader;
mod request;
mod start;
mod token;

use std::fmt;

use bytes::Bytes;
use cosmonaut_driver::DiagnosticsContext;
use serde_json::value::RawValue;

use crate::options::FeedOptions;
use crate::{ContainerClient, FeedScope, FromItem, Result};

pub use change::{Change, ChangeKind};
pub use start::ChangeFeedStart;

pub(crate) use request::{ChangesRequest, Mode, ReadFrom, changes_in, next_etag};
pub(crate) use start::Opening;

use reader::Reader;

/// The changes of a container or a part of it, page by page. It has no end: an empty page says that there is
/// nothing new at the moment.
///
/// Items are read as any type that `serde` knows, or as [`RawItem`](crate::RawItem).
///
/// Changes to the items of one partition key come in the order in which they were made. After an error, and if
/// what [`next_page`](Self::next_page) returns is dropped, the next call goes on behind the last page.
pub struct ChangeFeed<C> {
    reader: Box<Reader>,
    read: fn(&RawValue, &Bytes) -> Result<C>,
}

/// Some changes, and where to go on behind them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangeFeedPage<C> {
    /// The changes; none if there is nothing new.
    pub items: Vec<C>,
    /// Where to go on, for [`ChangeFeedStart::Token`]: it covers all that the feed covers.
    pub continuation: String,
    /// What the page cost, in request units.
    pub request_charge: f64,
    /// What was tried for the page, request by request.
    pub diagnostics: Vec<DiagnosticsContext>,
}

impl<C> ChangeFeed<C> {
    /// Options by themselves, instead of all that were given before. Like all options they hold from the next
    /// request on.
    #[must_use]
    pub fn options(mut self, options: impl Into<Option<FeedOptions>>) -> Self {
        *self.options_mut() = options.into().unwrap_or_default();
        self
    }

    /// The options, for their setters.
    pub(crate) fn options_mut(&mut self) -> &mut FeedOptions {
        self.reader.options_mut()
    }

    /// The next changes; an empty page, once every partition was asked, if there are none.
    ///
    /// Partitions are asked side by side, and a page has changes of one of them. One that splits is replaced by
    /// its children, which go on where it was.
    ///
    /// # Errors
    /// [`ErrorKind::Query`](crate::ErrorKind::Query) for a token of something else,
    /// [`ErrorKind::Serialization`](crate::ErrorKind::Serialization) for a change that is no `C`, and what a
    /// read can end in. The page is not lost: the next call tries again. [`next_results`](Self::next_results) passes
    /// what is no `C`.
    pub async fn next_page(&mut self) -> Result<ChangeFeedPage<C>> {
        self.next(|changes| changes.collect()).await
    }

    /// As [`next_page`](Self::next_page), but a change that is no `C` is an error in the page, in its place. The changes
    /// around it are read, and the feed goes on behind them.
    ///
    /// ```no_run
    /// # async fn run(mut changes: cosmonaut::ChangeFeed<String>) -> cosmonaut::Result<()> {
    /// for change in changes.next_results().await?.items {
    ///     match change {
    ///         Ok(change) => println!("{change}"),
    ///         Err(error) => eprintln!("passed over: {error}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`next_page`](Self::next_page), but for changes that are no `C`.
    pub async fn next_results(&mut self) -> Result<ChangeFeedPage<Result<C>>> {
        self.next(|changes| Ok(changes.collect())).await
    }

    async fn next<I>(
        &mut self,
        read: impl FnOnce(&mut dyn Iterator<Item = Result<C>>) -> Result<Vec<I>>,
    ) -> Result<ChangeFeedPage<I>> {
        let reader = &mut self.reader;
        let page = reader.next_page().await?;
        let items = page.read(|changes, body| read(&mut changes.map(|change| (self.read)(change, body))))?;
        let (request_charge, diagnostics) = reader.accept(page);
        Ok(ChangeFeedPage { items, continuation: reader.continuation()?, request_charge, diagnostics })
    }
}

impl<C> fmt::Debug for ChangeFeed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeFeed").finish_non_exhaustive()
    }
}

impl ContainerClient {
    /// The latest versions of items that changed. Deletes are not in it, nor are versions that were overwritten
    /// before they were read.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use cosmonaut::{ChangeFeedStart, FeedScope};
    ///
    /// let mut changes = orders.change_feed::<Order>(ChangeFeedStart::Beginning, FeedScope::Container);
    /// let token = loop {
    ///     let page = changes.next_page().await?;
    ///     if page.items.is_empty() {
    ///         break page.continuation; // caught up: keep the token, and ask again later
    ///     }
    ///     page.items.iter().for_each(|order| println!("{}", order.id));
    /// };
    /// let mut later = orders.change_feed::<Order>(ChangeFeedStart::Token(token), FeedScope::Container);
    /// # Ok(())
    /// # }
    /// ```
    pub fn change_feed<T: FromItem>(
        &self,
        start: ChangeFeedStart,
        scope: impl Into<FeedScope>,
    ) -> ChangeFeed<T> {
        ChangeFeed { reader: self.reader(Mode::LatestVersion, start, scope.into()), read: read_item }
    }

    /// Every version of every item, and every delete. The container has to keep them, by the change feed policy
    /// in its properties, and they can be read from now on or behind a token, as long as they are kept.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use cosmonaut::{ChangeFeedStart, ChangeKind, FeedScope};
    ///
    /// let mut changes =
    ///     orders.all_versions_and_deletes::<Order>(ChangeFeedStart::Now, FeedScope::Container);
    /// changes.next_page().await?; // "now" is when this is asked
    /// for change in changes.next_page().await?.items {
    ///     match change.kind {
    ///         ChangeKind::Create | ChangeKind::Replace => println!("written at {}", change.lsn),
    ///         ChangeKind::Delete => println!("deleted: {:?}", change.id),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn all_versions_and_deletes<T: FromItem>(
        &self,
        start: ChangeFeedStart,
        scope: impl Into<FeedScope>,
    ) -> ChangeFeed<Change<T>> {
        let reader = self.reader(Mode::AllVersionsAndDeletes, start, scope.into());
        ChangeFeed { reader, read: Change::read }
    }

    fn reader(&self, mode: Mode, start: ChangeFeedStart, scope: FeedScope) -> Box<Reader> {
        Box::new(Reader::new(self.handle().cloned(), mode, start, scope))
    }
}

/// Reads an item in the body of an answer.
pub(crate) fn read_item<T: FromItem>(item: &RawValue, body: &Bytes) -> Result<T> {
    T::from_json(&body.slice_ref(item.get().as_bytes()), "an item of the change feed")
}
