//! The driver of one account: the only way in is to execute an operation.

mod account;
mod background;
mod core;

use std::fmt;
use std::sync::Arc;

use cosmonaut_options::GroupReport;
use cosmonaut_policy::{
    CosmosEndpoint, CosmosOperation, LocationSnapshot, PartitionId, SessionView as _, ShardStats,
};
use cosmonaut_wire::model::{AccountProperties, PartitionKeyDefinition};
use cosmonaut_wire::{EpkRange, PartitionKeyRangeId, ResourceId, ResourcePath, SessionToken};

use crate::cache::container_path;
use crate::error::{Error, ErrorKind};
use crate::options::OperationOptions;
use crate::platform::Platform;
use crate::response::CosmosResponse;
use crate::tasks::{BackgroundTaskManager, TaskPanics};
use crate::telemetry::Observed;

pub(crate) use account::{AccountRead, AccountReader};
pub(crate) use core::DriverCore;

/// The driver of one account. Cheap to clone; the last clone that is dropped stops what runs for it.
#[derive(Clone)]
pub struct CosmosDriver {
    core: Arc<DriverCore>,
    tasks: Arc<BackgroundTaskManager>,
    #[cfg(feature = "opentelemetry")]
    _instance: Arc<crate::telemetry::ActiveInstance>,
}

/// A container as the driver knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerInfo {
    /// The resource id.
    pub rid: ResourceId,
    /// How its items are partitioned.
    pub partition_key: PartitionKeyDefinition,
}

/// A physical partition as the driver knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Which one it is.
    pub id: PartitionId,
    /// The part of the key space that it holds.
    pub range: EpkRange,
    /// The partitions that it was split from, oldest first.
    pub parents: Vec<PartitionKeyRangeId>,
}

impl CosmosDriver {
    /// A driver whose background tasks run for as long as it is held.
    pub(crate) fn start(core: Arc<DriverCore>, tasks: Arc<BackgroundTaskManager>) -> Self {
        core.start(&tasks);
        Self {
            #[cfg(feature = "opentelemetry")]
            _instance: Arc::new(crate::telemetry::ActiveInstance::new(&core)),
            core,
            tasks,
        }
    }

    /// Runs an operation: routes it, sends it, and retries as far as that is safe and the options allow.
    ///
    /// Dropping the future cancels whatever is under way.
    ///
    /// # Errors
    /// Whatever is not the answer that was asked for, and options that allow no answer; see
    /// [`ErrorKind`](crate::ErrorKind).
    pub async fn execute_operation(
        &self,
        operation: &CosmosOperation,
        options: &OperationOptions,
    ) -> Result<CosmosResponse, Error> {
        options.validate()?;
        let core = &*self.core;
        let now = core.platform.now();
        let binary = core.in_binary(operation, options);
        let operation = binary.as_deref().unwrap_or(operation);
        let deadline = core.deadline(options, now);
        let run = core.run(operation, options, deadline, now);
        let observed = Observed { core, operation, options, started: now };
        #[cfg(any(feature = "opentelemetry", feature = "tracing"))]
        let run = crate::telemetry::observe(observed, run);
        let result = run.await;
        if let Some(reporter) = &core.reporter {
            reporter.report(&observed, &result);
        }
        result
    }

    /// Reads the account, so that a wrong endpoint or key shows now and not at the first operation.
    ///
    /// # Errors
    /// If the account cannot be read.
    pub async fn initialize(&self) -> Result<(), Error> {
        self.core.read_location().await.map(drop)
    }

    /// The account as it last described itself; asks if it has not.
    ///
    /// # Errors
    /// If the account cannot be read.
    pub async fn account(&self) -> Result<Arc<AccountProperties>, Error> {
        self.core.read_account().await
    }

    /// The endpoint that the driver was made with.
    pub fn endpoint(&self) -> &CosmosEndpoint {
        self.core.location.default_endpoint()
    }

    /// Where this driver's time, chance and tasks come from, for what is built on it.
    pub fn platform(&self) -> &Arc<dyn Platform> {
        &self.core.platform
    }

    /// Which endpoints and partitions are in service; `None` until the account has been read.
    pub fn location(&self) -> Option<Arc<LocationSnapshot>> {
        self.core.location.load()
    }

    /// What is known about a container, by name or resource id; asks if nothing is.
    ///
    /// # Errors
    /// A path that is no container's, or a container that cannot be read.
    pub async fn container(&self, path: &ResourcePath) -> Result<ContainerInfo, Error> {
        let container = self.core.container_of(container_of(path)?).await?;
        Ok(ContainerInfo { rid: container.rid, partition_key: container.definition.clone() })
    }

    /// As [`container`](Self::container), for an operation with these options: within the time that it has. What was
    /// begun goes on, and the next one finds it.
    ///
    /// # Errors
    /// As there, and if the time is up.
    pub async fn container_within(
        &self,
        path: &ResourcePath,
        options: &OperationOptions,
    ) -> Result<ContainerInfo, Error> {
        self.within(options, self.container(path)).await
    }

    /// The partitions of a container, in the order of the key space. `refresh` asks even if they are known.
    ///
    /// # Errors
    /// A path that is no container's, or partitions that cannot be read.
    pub async fn partitions(&self, path: &ResourcePath, refresh: bool) -> Result<Vec<PartitionInfo>, Error> {
        let map = self.core.ranges_of(container_of(path)?, refresh).await?;
        let info = |range: &crate::cache::PartitionRange| PartitionInfo {
            id: range.id.clone(),
            range: range.range.clone(),
            parents: range.parents().to_vec(),
        };
        Ok(map.ranges().iter().map(info).collect())
    }

    /// As [`partitions`](Self::partitions), for an operation with these options: within the time that it has. What was
    /// begun goes on, and the next one finds it.
    ///
    /// # Errors
    /// As there, and if the time is up.
    pub async fn partitions_within(
        &self,
        path: &ResourcePath,
        refresh: bool,
        options: &OperationOptions,
    ) -> Result<Vec<PartitionInfo>, Error> {
        self.within(options, self.partitions(path, refresh)).await
    }

    async fn within<T>(
        &self,
        options: &OperationOptions,
        work: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let deadline = self.core.deadline(options, self.core.platform.now());
        self.core.within(deadline, Box::pin(work)).await
    }

    /// Every option with its value, as long as an operation sets nothing, and whose value that is.
    pub fn explain_options(&self) -> Vec<GroupReport> {
        self.core.options.explain()
    }

    /// All that this driver has seen of a container, for passing on to another.
    pub fn session_token(&self, container: ResourceId) -> SessionToken {
        self.core.sessions.of_container(container)
    }

    /// Continues a session from elsewhere: reads will see at least what the token has.
    pub fn adopt_session_token(&self, container: ResourceId, token: &SessionToken) {
        self.core.sessions.adopt(container, token);
    }

    /// Forgets what this driver has seen of a container: reads may be older than what was seen before.
    ///
    /// After a forced failover that has lost writes, no region ever has what a session has seen that saw them.
    pub fn forget_session(&self, container: ResourceId) {
        self.core.sessions.forget(container);
    }

    /// The HTTP/2 connections to an endpoint; none if it does not speak HTTP/2.
    pub fn shards(&self, endpoint: &CosmosEndpoint) -> Vec<ShardStats> {
        self.core.transport.transport.shards(endpoint)
    }

    /// Reports how far a change-feed processor of a container is behind, as the metric
    /// `azure.cosmosdb.client.change_feed.lag`.
    #[cfg(feature = "opentelemetry")]
    pub fn record_change_feed_lag(&self, container: &ResourcePath, processor: &str, lag: u64) {
        self.core.record_change_feed_lag(container, processor, lag);
    }

    /// Looks over all HTTP/2 connections now, as is done at intervals anyway.
    pub fn sweep_shards(&self) {
        self.core.transport.transport.sweep();
    }

    /// Looks over endpoints and partitions now, as is done at intervals anyway.
    pub fn sweep_partitions(&self) {
        self.core.location.sweep(self.core.platform.now());
    }

    /// The panics of what runs in the background, for this driver and for the connections that it shares with
    /// others. What panicked was started again.
    pub fn background_panics(&self) -> TaskPanics {
        self.tasks.panics().and(self.core.transport.transport.panics())
    }

    /// Stops what runs in the background, and returns when it has. Operations still work, but nothing is
    /// refreshed.
    pub async fn shutdown(&self) {
        self.core.transport.signer.stop();
        self.tasks.shutdown().await;
    }
}

fn container_of(path: &ResourcePath) -> Result<&str, Error> {
    container_path(path).ok_or_else(|| {
        let message =
            format!("{} is not in a container (a container's path is /dbs/x/colls/y)", path.as_str());
        Error::new(ErrorKind::Configuration, message)
    })
}

impl fmt::Debug for CosmosDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CosmosDriver")
            .field("endpoint", self.core.location.default_endpoint())
            .finish_non_exhaustive()
    }
}
