//! How far a processor is behind, lease by lease.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::PartitionTarget;

use super::engine::partitions;
use super::lag;
use super::lease::Lease;
use super::split_plan::{Partition, range_of};
use super::store::{LeaseStore, LeaseTimeouts, in_session_or_not};
use crate::change_feed::{ChangesRequest, Mode, ReadFrom, changes_in};
use crate::container::ContainerHandle;
use crate::feeds::in_flight::try_all;
use crate::feeds::place::has_moved;
use crate::options::FeedOptions;
use crate::{ContainerClient, Error, ErrorKind, FeedRange, Result};

/// How many leases are asked about at once.
const AT_ONCE: usize = 10;
/// How long a request about the leases may take.
const TIMEOUT: Duration = Duration::from_secs(65);

/// Says how far a processor is behind, whichever instances run it. Cheap to clone.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient, leases: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// let estimator = orders.change_feed_processor("billing", &leases).estimator();
/// let lag = estimator.lag().await?;
/// println!("about {} changes behind", lag.total());
/// for lease in &lag.leases {
///     println!("{} of {:?}: {}", lease.lease, lease.owner, lease.lag);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ChangeFeedEstimator {
    container: ContainerClient,
    name: String,
    leases: ContainerClient,
}

/// How far a processor is behind, lease by lease.
///
/// ```
/// # fn show(lag: &cosmonaut::ProcessorLag) {
/// println!("{} leases, {} behind", lag.leases.len(), lag.total());
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessorLag {
    /// Each lease.
    pub leases: Vec<LeaseLag>,
    /// Why documents say nothing that should be leases, or how far they were read. Each error names its document.
    pub unreadable: Vec<Error>,
}

/// How far a lease is behind.
///
/// ```
/// # fn is_idle(lease: &cosmonaut::LeaseLag) -> bool {
/// lease.lag > 0 && lease.owner.is_none()
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeaseLag {
    /// The token of the lease.
    pub lease: String,
    /// The part of the container that it covers, where that is known.
    pub feed_range: Option<FeedRange>,
    /// The instance that reads it.
    pub owner: Option<String>,
    /// About how many changes were not read yet, counted in transactions. It is 1 where nothing was read at all, to say
    /// that there may be something to do.
    pub lag: u64,
}

impl ProcessorLag {
    /// The lag of all leases together; 1 if there are none yet, and 1 for each document that cannot be read, to say that
    /// there may be something to do.
    pub fn total(&self) -> u64 {
        if self.leases.is_empty() && self.unreadable.is_empty() {
            return lag::UNKNOWN;
        }
        let known = self.leases.iter().map(|lease| lease.lag);
        known.chain(self.unreadable.iter().map(|_| lag::UNKNOWN)).fold(0, u64::saturating_add)
    }
}

impl ChangeFeedEstimator {
    pub(super) fn new(container: &ContainerClient, name: &str, leases: &ContainerClient) -> Self {
        Self { container: container.clone(), name: name.to_owned(), leases: leases.clone() }
    }

    /// How far each lease is behind now. It costs one request for each, of one change. A document that is no lease, or
    /// does not say in a way that the service understands how far it was read, hides nothing of the others.
    ///
    /// With the feature `opentelemetry` the total is also reported as the metric `azure.cosmosdb.client.change_feed.lag`,
    /// with the processor's name in `azure.cosmosdb.change_feed.processor.name`.
    ///
    /// # Errors
    /// What listing the leases and reading changes can end in.
    pub async fn lag(&self) -> Result<ProcessorLag> {
        let monitored = self.container.handle()?;
        let names = super::names(monitored, &self.name).await?;
        let timeouts = LeaseTimeouts { held: TIMEOUT, other: TIMEOUT };
        let store = LeaseStore::open(&self.leases, names, timeouts).await?;
        let partitions = Arc::new(partitions(monitored, false).await?);
        let (mut ask, mut lag) = (Vec::new(), ProcessorLag { leases: Vec::new(), unreadable: Vec::new() });
        for lease in store.list().await? {
            match lease {
                Ok(lease) => ask.push(lease_lag(monitored, Arc::clone(&partitions), lease)),
                Err(error) => lag.unreadable.push(error),
            }
        }
        for asked in try_all(ask, AT_ONCE).await? {
            match asked {
                Ok(lease) => lag.leases.push(lease),
                Err(error) => lag.unreadable.push(error),
            }
        }
        lag.leases.sort_by(|a, b| a.lease.cmp(&b.lease));
        #[cfg(feature = "opentelemetry")]
        monitored.driver.record_change_feed_lag(&monitored.path, &self.name, lag.total());
        Ok(lag)
    }

    /// Reports the lag at intervals, for a metric, for as long as the future is polled. What cannot be known is
    /// reported as an error, and asked again.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient, leases: cosmonaut::ContainerClient) {
    /// use std::time::Duration;
    ///
    /// let estimator = orders.change_feed_processor("billing", &leases).estimator();
    /// tokio::spawn(async move {
    ///     let gauge = |total: u64| println!("lag {total}");
    ///     estimator.report(Duration::from_secs(5), |lag| gauge(lag.map_or(1, |lag| lag.total()))).await;
    /// });
    /// # }
    /// ```
    pub async fn report(&self, interval: Duration, mut report: impl FnMut(Result<ProcessorLag>)) {
        loop {
            report(self.lag().await);
            match self.container.handle() {
                Ok(handle) => handle.driver.platform().sleep(interval).await,
                // The name of the container makes no sense, and never will.
                Err(_) => return,
            }
        }
    }
}

/// How far a lease is behind. The inner error is about what the lease says, and nobody else's.
async fn lease_lag(
    monitored: &ContainerHandle,
    partitions: Arc<Vec<Partition>>,
    lease: Lease,
) -> Result<Result<LeaseLag>> {
    let id = lease.id.clone();
    match known_lag(monitored, &partitions, lease).await {
        Err(error) if matches!(error.kind(), ErrorKind::Query | ErrorKind::BadRequest) => {
            let message = format!("how far the lease {id:?} was read is not understood: {error}");
            Ok(Err(Error::caused_by(error.kind(), message, error)))
        }
        result => result.map(Ok),
    }
}

async fn known_lag(monitored: &ContainerHandle, partitions: &[Partition], lease: Lease) -> Result<LeaseLag> {
    let range = range_of(&lease, partitions);
    let lag = match &lease.continuation {
        None => lag::UNKNOWN,
        Some(at) => {
            let target = match &range {
                Some(range) if lease.version > 0 => {
                    PartitionTarget::Epk { range: range.clone(), partition: None }
                }
                _ => PartitionTarget::Range(lease.token().into()),
            };
            let request = ChangesRequest {
                mode: Mode::LatestVersion,
                target,
                from: ReadFrom::Etag(at.clone()),
                max_item_count: Some(1),
                container: None,
            };
            let operation = request.operation(monitored)?;
            let answer = in_session_or_not(|session_token| {
                let options = FeedOptions { session_token, ..Default::default() };
                let operation = &operation;
                async move { monitored.run(operation, &options.operation_layer()).await }
            });
            match answer.await {
                Ok(answer) => {
                    let changes = changes_in(&answer)?;
                    lag::of_page(answer.session_token(), changes.front().map(|change| &**change))
                }
                Err(error) if has_moved(&error) => lag::UNKNOWN,
                Err(error) => return Err(error),
            }
        }
    };
    let feed_range = range.map(FeedRange::of);
    Ok(LeaseLag { lease: lease.token().to_owned(), feed_range, owner: lease.owner, lag })
}
