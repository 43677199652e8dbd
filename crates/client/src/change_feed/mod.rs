//! The change feed: from the beginning, from now, from a time, or behind an earlier page.
//!
//! It is a feed like lists and queries; who reads which part is the application's business, or that of `processor`.

mod change;
mod reader;
mod request;
mod start;
mod token;
mod turn;

use crate::{ContainerClient, FeedScope, FromItem, Items};

pub use change::{Change, ChangeKind};
pub use start::ChangeFeedStart;

pub(crate) use request::{CHANGE, ChangesRequest, Mode, ReadFrom, changes_in, next_etag};
pub(crate) use start::Opening;

use reader::{Last, Reader};

impl ContainerClient {
    /// The latest versions of items that changed, as a stream of `T` or [page by page](Items::into_pages). Deletes are not
    /// in it, nor are versions that were overwritten before they were read.
    ///
    /// # What there is now
    ///
    /// The stream ends when each partition was read to its end. Asked again, it gives what came since. Its
    /// [continuation](Items::continuation) goes on there later, in any process:
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use cosmonaut::{ChangeFeedStart, FeedScope};
    ///
    /// let mut changes = orders.change_feed::<Order>(ChangeFeedStart::Beginning, FeedScope::Container);
    /// while let Some(order) = changes.next().await {
    ///     println!("{}", order?.id);
    /// }
    /// let token = changes.continuation().expect("a change feed can always go on").to_owned();
    ///
    /// // Elsewhere, later:
    /// let mut later =
    ///     orders.change_feed::<Order>(ChangeFeedStart::Beginning, FeedScope::Container).continue_from(token);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # What comes
    ///
    /// With a [`poll_interval`](Items::poll_interval) it never ends: a partition that has nothing new, or fails, is asked
    /// again after that time. Each page says where to go on behind it. A page without changes says that each partition was
    /// read to its end:
    ///
    /// ```no_run
    /// # async fn keep(_: Option<String>) {}
    /// # async fn run(orders: cosmonaut::ContainerClient, kept: Option<String>) {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use std::time::Duration;
    /// use cosmonaut::options::FeedOptions;
    /// use cosmonaut::{ChangeFeedStart, FeedScope};
    ///
    /// let options = FeedOptions { continuation: kept, ..Default::default() };
    /// let changes = orders.change_feed::<Order>(ChangeFeedStart::Now, FeedScope::Container);
    /// let mut pages = changes.options(options).poll_interval(Duration::from_secs(1)).into_pages();
    /// while let Some(page) = pages.next().await {
    ///     match page {
    ///         Ok(page) => {
    ///             page.items.iter().for_each(|order| println!("{}", order.id));
    ///             keep(page.continuation).await;
    ///         }
    ///         Err(error) => eprintln!("asked again in a second: {error}"),
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # By several readers
    ///
    /// Each reads a part of the container. A token goes on in what it covers or in a part of that, so work can be shared
    /// out anew between any number of readers. A [processor](Self::change_feed_processor) does that by itself.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use cosmonaut::ChangeFeedStart;
    ///
    /// for range in orders.feed_ranges().await? {
    ///     let mut changes = orders.change_feed::<Order>(ChangeFeedStart::Beginning, range);
    ///     tokio::spawn(async move {
    ///         while let Some(order) = changes.next().await {
    ///             println!("{}", order?.id);
    ///         }
    ///         Ok::<(), cosmonaut::Error>(())
    ///     });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Order
    ///
    /// Changes to the items of one partition key come in the order in which they were made. Partitions are asked side by
    /// side and in turn, and a page has changes of one of them. A partition that splits is
    /// replaced by its children, which go on where it was. No more is read ahead than one page of as many partitions as
    /// [`max_concurrency`](Items::max_concurrency) says.
    ///
    /// # Errors
    /// They are what the stream gives. [`ErrorKind::Query`](crate::ErrorKind::Query) for a token of something else and
    /// what else makes no sense are the end of it. After any other it goes on behind the last page when it is asked again.
    /// A change that is no `T` is an error in its place, behind which the stream goes on; of [pages](crate::Pages) it
    /// is one that comes again.
    pub fn change_feed<T: FromItem>(&self, start: ChangeFeedStart, scope: impl Into<FeedScope>) -> Items<T> {
        self.changes(Mode::LatestVersion, start, scope.into())
    }

    /// Every version of every item, and every delete; otherwise as [`change_feed`](Self::change_feed). The container has
    /// to keep them, by the change feed policy in its properties, and they can be read from now on or behind a page, as
    /// long as they are kept.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// # #[derive(serde::Deserialize)] struct Order { id: String }
    /// use std::time::Duration;
    /// use cosmonaut::{ChangeFeedStart, ChangeKind, FeedScope};
    ///
    /// let changes = orders.all_versions_and_deletes::<Order>(ChangeFeedStart::Now, FeedScope::Container);
    /// let mut changes = changes.poll_interval(Duration::from_secs(1));
    /// while let Some(change) = changes.next().await {
    ///     let change = change?;
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
    ) -> Items<Change<T>> {
        self.changes(Mode::AllVersionsAndDeletes, start, scope.into())
    }

    fn changes<C>(&self, mode: Mode, start: ChangeFeedStart, scope: FeedScope) -> Items<C> {
        let handle = self.handle().cloned();
        Items::new(move |options| {
            options.check_page()?;
            options.check_polling()?;
            let (handle, start) = (handle?, start.into());
            Ok(Box::new(Reader { handle, mode, scope, start, options, begun: None, last: Last::default() }))
        })
    }
}
