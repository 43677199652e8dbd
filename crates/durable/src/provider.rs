//! [`CosmosProvider`]: duroxide's `Provider`, as a thin layer over what does the work.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cosmonaut::CosmosClient;
use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WorkItem,
};
use duroxide::{Event, SystemStats};

use crate::admin::{Admin, Backlog};
use crate::codec::Texts;
use crate::config::CosmosProviderConfig;
use crate::connect::connect;
use crate::connect_error::ConnectError;
use crate::core::{Core, Settings};
use crate::hub::Hub;
use crate::lease::LeaseProvider;
use crate::metrics::{self, Ending, Metrics, QueueName};
use crate::model::Fetched;
use crate::names;
use crate::orchestration::{self, Turn};
use crate::retention::{Sweeper, Swept};
use crate::store::Usage;
use crate::work;

/// A duroxide provider that keeps its state in one container of a Cosmos DB account.
///
/// Cheap to clone; clones share queues, connections and what is held in memory.
#[derive(Clone)]
pub struct CosmosProvider {
    pub(crate) core: Arc<Core>,
    sweeper: Sweeper,
    leases: Arc<dyn LeaseProvider>,
    metrics: Arc<dyn Metrics>,
}

impl CosmosProvider {
    /// Connects to an account, and makes the database and the container if they are not there; see
    /// [`create_if_absent`](CosmosProviderConfig::create_if_absent).
    ///
    /// # Errors
    /// If the account cannot be reached, does not let this identity do what it needs to, or if orchestrations would be
    /// lost, repeated or stuck there: [`ConnectError::findings`] then says why.
    pub async fn connect(config: CosmosProviderConfig) -> Result<Self, ConnectError> {
        /// How long a call that holds no lock goes on while the service cannot answer.
        const CALL_TIMEOUT: Duration = Duration::from_secs(30);
        config.codecs.check().map_err(ConnectError::new)?;
        let hub = Hub::new(config.hub.as_deref()).map_err(ConnectError::new)?;
        config.leases.check(&hub)?;
        let texts = Texts::new(config.compression, config.codecs.clone()).describing(config.describe_encoded);
        let container = connect(&config).await?;
        let settings = Settings {
            history_cache_bytes: config.history_cache_bytes,
            rescan: config.reconciler_interval,
            owed: config.reconciler_age_threshold,
            call_timeout: CALL_TIMEOUT,
        };
        let leases = config.leases.provider(&container, &hub);
        let archive = match &config.retention.archive {
            Some(name) if *name == config.container => {
                return Err(ConnectError::new(format!("the archive of {name:?} must be another container")));
            }
            Some(name) => {
                Some(connect(&CosmosProviderConfig { container: name.clone(), ..config.clone() }).await?)
            }
            None => None,
        };
        let sweeper = Sweeper::new(config.retention.clone(), archive, Arc::clone(&leases));
        let core = Core::new(container, Arc::clone(&leases), settings, (texts, hub));
        core.store.learn_time().await.map_err(|error| ConnectError::new(error.to_string()))?;
        let metrics = metrics::listener(&config, &core);
        Ok(Self { core, sweeper, leases, metrics })
    }

    /// Connects to an emulator on this machine, at its usual address and with its well-known key.
    ///
    /// # Errors
    /// If there is none; `cosmonaut up` starts one.
    pub async fn emulator() -> Result<Self, ConnectError> {
        let client = CosmosClient::emulator().map_err(|error| ConnectError::new(error.to_string()))?;
        Self::connect(CosmosProviderConfig::with_client(client)).await
    }

    /// Connects as the environment says; see [`CosmosProviderConfig::from_env`].
    ///
    /// # Errors
    /// As for [`connect`](Self::connect), and if a variable is missing.
    pub async fn from_env() -> Result<Self, ConnectError> {
        Self::connect(CosmosProviderConfig::from_env()?).await
    }

    /// Starts what goes on in the background, at the first fetch of a runtime: a client alone needs none of it.
    fn start(&self) {
        self.core.start();
        self.sweeper.start(&self.core);
        self.metrics.start(&self.core, &self.leases);
    }

    /// Tells of something that is handed out, and gives it as the runtime takes it.
    fn fetched<T>(&self, queue: QueueName, fetched: Fetched<T>) -> (T, String, u32) {
        let Fetched { item, token, attempts, waited } = fetched;
        self.metrics.fetched(queue, attempts, waited);
        (item, token, attempts)
    }

    /// The partition of an instance.
    ///
    /// # Errors
    /// Permanent, if no instance may have this name.
    pub(crate) fn key<'a>(&self, operation: &str, instance: &'a str) -> Result<Cow<'a, str>, ProviderError> {
        names::check(operation, instance)?;
        Ok(self.core.hub().key(instance))
    }

    pub(crate) fn admin(&self) -> Admin<'_> {
        self.core.admin()
    }

    /// What the calls of this provider have cost so far, without what it does in the background; see
    /// [`background_usage`](Self::background_usage).
    pub fn usage(&self) -> Usage {
        self.core.store.usage()
    }

    /// What waiting has cost so far: the change feed, and searches for what was left half done.
    pub fn background_usage(&self) -> Usage {
        self.core.background_usage()
    }

    /// Removes instances and executions that need not be kept by [`CosmosProviderConfig::retention`], as happens by itself
    /// from time to time. A sweep looks at a hundred instances at most, and the next goes on behind them.
    ///
    /// # Errors
    /// If the container cannot be read or written.
    pub async fn sweep(&self) -> Result<Swept, ProviderError> {
        self.sweeper.sweep(&self.core).await
    }

    /// What waits to be worked on, in the whole container. Four queries over all partitions: for once a minute, not for
    /// every second.
    ///
    /// # Errors
    /// If the container cannot be read.
    pub async fn backlog(&self) -> Result<Backlog, ProviderError> {
        let found = self.admin().backlog().await?;
        self.metrics.counted(found);
        Ok(found)
    }

    /// Waits until what the instances of this process have delivered lately is checked, as tests want it.
    #[doc(hidden)]
    pub async fn checked_deliveries(&self) {
        self.core.checked().await;
    }

    /// Gives up the dispatch slots of this process, so that others take over its instances at once and not when
    /// its leases end. Call it when the runtime has been shut down.
    ///
    /// # Errors
    /// If the leases cannot be given up now; they then end by themselves.
    pub async fn release(&self) -> Result<(), ProviderError> {
        self.core.dispatch.release().await
    }
}

impl fmt::Debug for CosmosProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CosmosProvider").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for CosmosProvider {
    fn name(&self) -> &str {
        env!("CARGO_PKG_NAME")
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.start();
        let fetched = orchestration::fetch(&self.core, lock_timeout, poll_timeout, filter).await?;
        Ok(fetched.map(|fetched| self.fetched(QueueName::Orchestrator, fetched)))
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        names::check_items("ack_orchestration_item", &orchestrator_items)?;
        names::check_items("ack_orchestration_item", &worker_items)?;
        let turn = Turn {
            execution: execution_id,
            events: history_delta,
            work: worker_items,
            messages: orchestrator_items,
            metadata,
            cancelled: cancelled_activities,
        };
        let acked = orchestration::ack(&self.core, lock_token, turn).await;
        self.metrics.ended(QueueName::Orchestrator, metrics::ending(&acked));
        acked
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        orchestration::abandon(&self.core, lock_token, delay, ignore_attempt).await?;
        self.metrics.ended(QueueName::Orchestrator, Ending::Abandoned);
        Ok(())
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let renewed = orchestration::renew(&self.core, token, extend_for).await;
        self.metrics.renewed(QueueName::Orchestrator, &renewed);
        renewed
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        names::check_items("enqueue_for_orchestrator", std::slice::from_ref(&item))?;
        orchestration::send(&self.core, &item, delay).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        let instance = self.key("read", instance)?;
        orchestration::latest_history(&self.core, &instance).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let instance = self.key("read_with_execution", instance)?;
        orchestration::history(&self.core, &instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        let instance = self.key("append_with_execution", instance)?;
        orchestration::append(&self.core, &instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        names::check_items("enqueue_for_worker", std::slice::from_ref(&item))?;
        work::enqueue(&self.core, &item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        self.start();
        let fetched = work::fetch(&self.core, lock_timeout, poll_timeout, session, tag_filter).await?;
        Ok(fetched.map(|fetched| self.fetched(QueueName::Worker, fetched)))
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        let acked = work::ack(&self.core, token, completion).await;
        self.metrics.ended(QueueName::Worker, metrics::ending(&acked));
        acked
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        let renewed = work::renew(&self.core, token, extend_for).await;
        self.metrics.renewed(QueueName::Worker, &renewed);
        renewed
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        work::abandon(&self.core, token, delay, ignore_attempt).await?;
        self.metrics.ended(QueueName::Worker, Ending::Abandoned);
        Ok(())
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        work::renew_all(&self.core, owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, _idle_timeout: Duration) -> Result<usize, ProviderError> {
        work::clean_up(&self.core).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let instance = self.key("get_custom_status", instance)?;
        orchestration::custom_status(&self.core, &instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        let instance = self.key("get_kv_value", instance)?;
        orchestration::kv_value(&self.core, &instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        let instance = self.key("get_kv_all_values", instance)?;
        orchestration::kv_values(&self.core, &instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        let instance = self.key("get_instance_stats", instance)?;
        orchestration::instance_stats(&self.core, &instance).await
    }
}
