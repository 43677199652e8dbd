//! Bulk: many operations on items of any partition key, as fast as the container takes them.
//!
//! `operation` is what is given and `result` what comes back. `backlog` and `pace` decide, without doing anything, what
//! is sent when; `request` sends; `run` is the loop around them, and `under_way` what goes on beside it.

mod backlog;
mod operation;
mod pace;
mod request;
mod result;
mod results;
mod run;
mod under_way;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cosmonaut_driver::OperationOptions;
use cosmonaut_driver::platform::Task;
use cosmonaut_options::{RequestOptions, RetryLimitOptions};
use cosmonaut_wire::model::MAX_BATCH_OPERATIONS;
use futures_core::Stream;
use tokio::runtime::Handle;

use crate::{ContainerClient, Error, ErrorKind, Result};
use backlog::Bounds;
use results::{Taker, way};
use run::{ProgressHandler, Run, Settings};

pub use operation::BulkOperation;
pub use result::{BulkProgress, BulkResult, BulkSummary};

/// Failures that a summary keeps.
const KEPT_FAILURES: usize = 100;

/// A bulk run that is being set up: see [`ContainerClient::bulk`].
#[must_use = "nothing is done until the run is given operations"]
pub struct Bulk {
    container: ContainerClient,
    request: RequestOptions,
    buffer: usize,
    per_partition: usize,
    requests: usize,
    patience: Duration,
    returns_items: bool,
    progress: Option<ProgressHandler>,
}

impl ContainerClient {
    /// Runs many operations on items of any partition key, as fast as the container takes them.
    ///
    /// Operations of one partition travel together, up to 100 in a request, several requests at once. Each partition
    /// is sent as much as it takes: what is throttled is sent again, when the service says. Operations on one item are
    /// applied in their order, as far as outcomes are known; those on different items in any. A partition may split
    /// meanwhile. What is in hand is bounded for all partitions together, so that one which takes very little holds up
    /// the rest once all that is in hand is its own. So does one item with more operations than a request each can keep
    /// up with.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::BulkOperation;
    /// use serde_json::json;
    ///
    /// let items = (0..1_000_000).map(|n| {
    ///     let customer = format!("customer-{}", n % 5000);
    ///     let order = json!({"id": n.to_string(), "customer": customer, "total": n});
    ///     BulkOperation::create(customer, order)
    /// });
    /// let mut results = orders
    ///     .bulk()
    ///     .on_progress(|progress| println!("{} of {}", progress.succeeded, progress.taken))
    ///     .run_all(items)?;
    /// while let Some(result) = results.next().await {
    ///     if let Err(error) = result.outcome() {
    ///         println!("order {:?}: {error}", result.id());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn bulk(&self) -> Bulk {
        Bulk {
            container: self.clone(),
            request: RequestOptions::default(),
            buffer: 32 << 20,
            per_partition: 50 * MAX_BATCH_OPERATIONS,
            requests: 128,
            patience: Duration::from_secs(60),
            returns_items: false,
            progress: None,
        }
    }
}

impl Bulk {
    /// How many bytes of operations are in hand at most, waiting or under way; 32 MB if nothing is said.
    ///
    /// Once that many are, no more are taken until some are done.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = bytes.max(1);
        self
    }

    /// How many requests are under way at once at most; 128 if nothing is said.
    pub fn max_concurrency(mut self, requests: usize) -> Self {
        self.requests = requests.max(1);
        self
    }

    /// How long a partition may throttle everything before its operations fail; a minute if nothing is said. One operation
    /// fails when it was throttled for ten times as long, though its partition has taken others meanwhile.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Whether results hold the items that were written. They do not unless this says so; what is read they always hold.
    pub fn content_response(mut self, wanted: bool) -> Self {
        self.returns_items = wanted;
        self
    }

    /// What each request carries, and how long it may take.
    pub fn request(mut self, options: RequestOptions) -> Self {
        self.request = options;
        self
    }

    /// Hears how far the run has come, after each request.
    pub fn on_progress(mut self, handler: impl FnMut(&BulkProgress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(handler));
        self
    }

    /// Runs the operations of a stream, which is read as far as there is room for what it gives.
    ///
    /// # Errors
    /// A name of a container that cannot be one; no Tokio runtime. Everything else is in the results.
    pub fn run(self, operations: impl Stream<Item = BulkOperation> + Send + 'static) -> Result<BulkRun> {
        let Self { container, request, buffer, per_partition, requests, patience, returns_items, progress } =
            self;
        let platform = Arc::clone(container.handle()?.driver.platform());
        if Handle::try_current().is_err() {
            let message = "a bulk run needs a Tokio runtime (call it where one is running)";
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        // What is throttled comes back at once: how much is sent then is decided here.
        let retry_limits = RetryLimitOptions { max_throttling_retries: Some(0), ..Default::default() };
        let options = OperationOptions { request, retry_limits, ..Default::default() };
        let bounds = Bounds { bytes: buffer, per_partition, requests, patience };
        let settings = Settings { options, bounds, returns_items, progress };
        let (giver, results) = way(buffer);
        let (source, clock) = (Box::pin(operations), Arc::clone(&platform));
        let run = Run::new(container, clock, settings, source, giver);
        let task = platform.spawn(Box::pin(run.run()));
        Ok(BulkRun { results, _task: task })
    }

    /// Runs the operations of an iterator, which must not block: the run waits for it.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_all<I>(self, operations: I) -> Result<BulkRun>
    where
        I: IntoIterator<Item = BulkOperation>,
        I::IntoIter: Send + 'static,
    {
        self.run(Iterated(operations.into_iter()))
    }
}

/// An iterator whose operations are there at once.
struct Iterated<I>(I);

// Nothing in it is pinned.
impl<I> Unpin for Iterated<I> {}

impl<I: Iterator> Stream for Iterated<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.0.next())
    }
}

/// The results of a bulk run, as they come; a [`Stream`] of them. When it has ended, every operation has its result.
///
/// Dropping it stops the run: of what is under way nobody knows then whether it was done.
#[must_use = "dropping the results stops the run"]
pub struct BulkRun {
    results: Taker,
    _task: Task,
}

impl BulkRun {
    /// The next result; `None` when every operation has had one, or the run has ended before
    /// ([`is_over`](Self::is_over)).
    pub async fn next(&mut self) -> Option<BulkResult> {
        Some(self.results.results.recv().await?.result)
    }

    /// Whether every operation has had its result. Once there are no more results, this is false only if what gave the
    /// operations, or heard of progress, has panicked.
    pub fn is_over(&self) -> bool {
        self.results.state().is_over
    }

    /// How far the run has come.
    pub fn progress(&self) -> BulkProgress {
        self.results.state().progress
    }

    /// Waits for the end, and sums up.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient, old: Vec<(String, String)>) -> cosmonaut::Result<()> {
    /// use cosmonaut::BulkOperation;
    ///
    /// let deletions = old.into_iter().map(|(customer, id)| BulkOperation::delete(customer, id));
    /// let summary = orders.bulk().run_all(deletions)?.finish().await;
    /// println!("{} deleted, for {:.0} RU", summary.progress.succeeded, summary.progress.request_charge);
    /// for failure in &summary.failures {
    ///     println!("{:?}: {:?}", failure.id(), failure.outcome());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn finish(mut self) -> BulkSummary {
        let mut failures = Vec::new();
        while let Some(result) = self.next().await {
            if result.outcome.is_err() && failures.len() < KEPT_FAILURES {
                failures.push(result);
            }
        }
        BulkSummary { progress: self.progress(), failures, is_over: self.is_over() }
    }
}

impl Stream for BulkRun {
    type Item = BulkResult;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<BulkResult>> {
        self.results.results.poll_recv(context).map(|waiting| Some(waiting?.result))
    }
}
