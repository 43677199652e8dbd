//! The container, as the provider uses it: every request is counted, and repeated as long as its call allows.
//!
//! The driver below repeats requests where that is safe. What is left, such as throttling that lasts, is absorbed
//! here, because the runtime gives an orchestration up when an acknowledgement fails a few times. What a failure
//! means for the caller is decided by the caller.

mod batch;
mod call;
mod failure;
mod losses;
mod meter;
mod presence;
mod retry;
mod texts;
mod versions;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::{FeedOptions, ReadContainerOptions};
use cosmonaut::{ContainerClient, Etag, FeedScope, ItemOptions, ItemResponse, Patch, Query};
use duroxide::providers::ProviderError;
use serde::de::DeserializeOwned;

use crate::clock::Clock;
use crate::codec::Texts;
use crate::hub::Hub;
use crate::model::{Document, Kind, Row};

pub(crate) use batch::{Batch, Guard};
pub(crate) use call::Call;
pub(crate) use failure::{Cause, Failure};
pub(crate) use losses::{Failovers, Losses, Span};
pub use meter::Usage;
pub(crate) use presence::{Kinds, Presence};
pub(crate) use texts::TextFailure;

use meter::Meter;

/// The container of a provider.
#[derive(Clone)]
pub(crate) struct Store {
    container: ContainerClient,
    clock: Clock,
    losses: Losses,
    meter: Arc<Meter>,
    /// What goes on in the background is counted by itself.
    background: Arc<Meter>,
    texts: Texts,
    hub: Hub,
}

impl Store {
    pub(crate) fn new(container: ContainerClient, texts: Texts, hub: Hub) -> Self {
        let clock = Clock::default();
        let losses = Losses::new(container.clone(), clock.clone());
        Self { container, clock, losses, meter: Arc::default(), background: Arc::default(), texts, hub }
    }

    /// The hub whose documents are asked for.
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// A query about documents of the hub.
    fn qualified<'a>(&self, query: &'a Query) -> Cow<'a, Query> {
        match self.hub.qualified(query.text()) {
            Cow::Borrowed(_) => Cow::Borrowed(query),
            Cow::Owned(text) => Cow::Owned(query.clone().with_text(text)),
        }
    }

    /// What is known of writes that a forced failover has lost.
    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The clock that the answers of the container set.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The server's time, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Asks for the server's time, once, before anything is decided by it.
    pub(crate) async fn learn_time(&self) -> cosmonaut::Result<()> {
        let sent = self.clock.reading();
        let read = self.container.read().await?;
        if let Some(date) = read.headers().get("date").and_then(|date| date.to_str().ok()) {
            self.clock.learn(date, sent);
        }
        Ok(())
    }

    /// Asks for the server's time once more if the machine may have slept meanwhile, or its clock was set.
    pub(crate) async fn settle_time(&self, call: &Call) -> Result<(), ProviderError> {
        if !self.clock.is_in_doubt() {
            return Ok(());
        }
        let asked = call.run(|timeout| async move {
            // The call learns the time from the date of the answer.
            self.container.read().options(ReadContainerOptions::default().timeout(timeout)).await
        });
        asked.await.map(drop).map_err(|failure| {
            // Nothing is wrong with what the call is about.
            let message = failure.into_error(call).message;
            ProviderError::retryable(call.operation(), message)
        })
    }

    /// The server's time, for what other processes are to compare or what is not to be undone.
    pub(crate) async fn settled_ms(&self, call: &Call) -> Result<u64, ProviderError> {
        self.settle_time(call).await?;
        Ok(self.now_ms())
    }

    /// What all calls together have cost.
    pub(crate) fn usage(&self) -> Usage {
        self.meter.usage()
    }

    /// What calls in the background have cost.
    pub(crate) fn background_usage(&self) -> Usage {
        self.background.usage()
    }

    /// Begins a call of the provider that may go on for `time`.
    pub(crate) fn call(&self, operation: &'static str, time: Duration) -> Call {
        Call::new(operation, time, (self.clock.clone(), self.losses.clone()), Arc::clone(&self.meter))
    }

    /// As [`call`](Self::call), for looking in the background for what was lost.
    pub(crate) fn mending_call(&self, time: Duration) -> Call {
        let (clock, losses) = (self.clock.clone(), self.losses.clone());
        Call::new("mend", time, (clock, losses), Arc::clone(&self.background)).mending()
    }

    pub(crate) async fn create<T: Kind + Sync>(
        &self,
        call: &Call,
        document: &Document<T>,
    ) -> Result<Option<Etag>, Failure> {
        let done = call
            .run(|timeout| async move {
                let options = ItemOptions::default().timeout(timeout);
                self.container.create_item(&*document.instance_id, document).options(options).await
            })
            .await?;
        Ok(done.etag())
    }

    pub(crate) async fn upsert<T: Kind + Sync>(
        &self,
        call: &Call,
        document: &Document<T>,
    ) -> Result<Option<Etag>, Failure> {
        let done = call
            .run(|timeout| async move {
                let options = ItemOptions::default().timeout(timeout);
                self.container.upsert_item(&*document.instance_id, document).options(options).await
            })
            .await?;
        Ok(done.etag())
    }

    /// Replaces a document of the version that was read.
    pub(crate) async fn replace<T: Kind + Sync>(
        &self,
        call: &Call,
        document: &Document<T>,
    ) -> Result<Option<Etag>, Failure> {
        let done = call
            .run(|timeout| async move {
                let options = ItemOptions::default().timeout(timeout).if_match(&*document.etag);
                let (partition, id) = (&*document.instance_id, &*document.id);
                self.container.replace_item(partition, id, document).options(options).await
            })
            .await?;
        Ok(done.etag())
    }

    pub(crate) async fn delete(
        &self,
        call: &Call,
        partition: &str,
        id: &str,
        etag: Option<&str>,
    ) -> Result<(), Failure> {
        call.run(|timeout| async move {
            let options = ItemOptions::default().timeout(timeout);
            let options = match etag {
                Some(etag) => options.if_match(etag),
                None => options,
            };
            self.container.delete_item(partition, id).options(options).await
        })
        .await?;
        Ok(())
    }

    /// Changes parts of a document; with `content`, the answer holds it.
    pub(crate) async fn patch(
        &self,
        call: &Call,
        (partition, id): (&str, &str),
        patch: Patch,
        content: bool,
    ) -> Result<ItemResponse, Failure> {
        let patch = &patch;
        call.run(|timeout| async move {
            let options = ItemOptions::default().timeout(timeout).content_response(content);
            self.container.patch_item(partition, id, patch.clone()).options(options).await
        })
        .await
    }

    /// The document, if there is one.
    pub(crate) async fn read<T: Kind>(
        &self,
        call: &Call,
        partition: &str,
        id: &str,
    ) -> Result<Option<Document<T>>, ProviderError> {
        match self.read_row(call, partition, id).await? {
            Some(row) => row.read(call.operation()).map(Some),
            None => Ok(None),
        }
    }

    /// As [`read`](Self::read), for a document that may be of several kinds.
    pub(crate) async fn read_row(
        &self,
        call: &Call,
        partition: &str,
        id: &str,
    ) -> Result<Option<Row>, ProviderError> {
        let read = call
            .run(|timeout| async move {
                let options = ItemOptions::default().timeout(timeout);
                self.container.read_item::<Row>(partition, id).options(options).await
            })
            .await;
        match read {
            Ok(read) => Ok(Some(read.into_value())),
            Err(failure) if failure.cause() == Cause::NotFound => Ok(None),
            Err(failure) => Err(failure.into_error(call)),
        }
    }

    /// All rows of a query about the hub, of one partition or of the container.
    pub(crate) async fn query<T: DeserializeOwned + Send>(
        &self,
        call: &Call,
        query: &Query,
        scope: &FeedScope,
    ) -> Result<Vec<T>, ProviderError> {
        self.query_in_pages(call, (query, scope), None).await
    }

    /// As [`query`](Self::query), with so many rows to a page, if that is said.
    pub(crate) async fn query_in_pages<T: DeserializeOwned + Send>(
        &self,
        call: &Call,
        (query, scope): (&Query, &FeedScope),
        size: Option<u32>,
    ) -> Result<Vec<T>, ProviderError> {
        let (mut rows, mut continuation) = (Vec::new(), None);
        let query = &*self.qualified(query);
        loop {
            let page =
                call.page(|timeout| self.page::<T>((query, scope), timeout, size, &continuation)).await;
            let Some(page) = page.map_err(|failure| failure.into_error(call))? else { return Ok(rows) };
            rows.extend(page.items);
            continuation = page.continuation;
            if continuation.is_none() {
                return Ok(rows);
            }
        }
    }

    /// One page of a query about the hub, over the container or a part of it, and where it goes on.
    pub(crate) async fn query_page<T: DeserializeOwned + Send>(
        &self,
        call: &Call,
        (query, scope): (&Query, &FeedScope),
        size: u32,
        continuation: Option<String>,
    ) -> Result<(Vec<T>, Option<String>), ProviderError> {
        let query = &*self.qualified(query);
        let ask = |timeout| self.page::<T>((query, scope), timeout, Some(size), &continuation);
        let page = call.page(ask).await.map_err(|failure| failure.into_error(call))?;
        Ok(page.map_or_else(|| (Vec::new(), None), |page| (page.items, page.continuation)))
    }

    async fn page<T: DeserializeOwned>(
        &self,
        (query, scope): (&Query, &FeedScope),
        timeout: Duration,
        size: Option<u32>,
        continuation: &Option<String>,
    ) -> cosmonaut::Result<Option<cosmonaut::Page<T>>> {
        let options = FeedOptions { continuation: continuation.clone(), ..FeedOptions::default() };
        let mut options = match size {
            Some(size) => options.max_item_count(size),
            None => options,
        };
        options.request.end_to_end_timeout = Some(timeout);
        let items = self.container.query_items::<T>(query.clone(), scope.clone()).options(options);
        items.into_pages().next().await.transpose()
    }
}
