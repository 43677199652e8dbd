//! Stands between a runtime and its provider, passes everything on, and notes which activities the runtime was given, and
//! which of their results it was told are kept. It changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, WorkItem,
};
use duroxide::{Event, SystemStats};

use crate::network::ProcessId;
use crate::recorder::Recorder;

/// By how much two processes may be wrong about the server's time together: it is told in whole seconds.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3);

/// A provider whose answers are noted.
pub(crate) struct Witness {
    provider: Arc<dyn Provider>,
    recorder: Recorder,
    process: ProcessId,
    /// The inputs of the activities that this process has, and their places among what was given, by their lock tokens.
    inputs: Mutex<BTreeMap<String, (String, usize)>>,
}

impl Witness {
    /// Notes what this provider says to the runtime of a process.
    pub(crate) fn new(provider: impl Provider + 'static, recorder: &Recorder, process: ProcessId) -> Self {
        let (provider, inputs) = (Arc::new(provider), Mutex::default());
        Self { provider, recorder: recorder.clone(), process, inputs }
    }

    fn inputs(&self) -> MutexGuard<'_, BTreeMap<String, (String, usize)>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Provider for Witness {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn version(&self) -> &str {
        self.provider.version()
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.provider.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await
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
        let turn = self.provider.ack_orchestration_item(
            lock_token,
            execution_id,
            history_delta,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled_activities,
        );
        turn.await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.provider.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.provider.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.provider.enqueue_for_orchestrator(item, delay).await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.provider.read(instance).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.provider.read_with_execution(instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.provider.append_with_execution(instance, execution_id, new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.provider.enqueue_for_worker(item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let from = self.recorder.tick();
        let fetched = self.provider.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter).await?;
        if let Some((WorkItem::ActivityExecute { input, .. }, token, _)) = &fetched
            && let Some((instance, step)) = input.split_once('|')
        {
            let place = self.recorder.given(from, self.process, instance, step);
            self.inputs().insert(token.clone(), (input.clone(), place));
        }
        Ok(fetched)
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError> {
        let from = self.recorder.tick();
        let is_done = matches!(completion, Some(WorkItem::ActivityCompleted { .. }));
        self.provider.ack_work_item(token, completion).await?;
        let Some((input, place)) = self.inputs().remove(token) else { return Ok(()) };
        if let Some((instance, step)) = input.split_once('|').filter(|_| is_done) {
            // Only who has the lock is told that.
            self.recorder.held(place, from);
            self.recorder.kept(from, self.process, instance, step);
        }
        Ok(())
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        let from = self.recorder.tick();
        self.provider.renew_work_item_lock(token, extend_for).await?;
        let place = self.inputs().get(token).map(|(_, place)| *place);
        if let Some(place) = place {
            let lasts = extend_for.saturating_sub(CLOCKS_DIFFER).as_micros() as u64;
            self.recorder.held(place, from.saturating_add(lasts));
        }
        Ok(())
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.provider.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.provider.renew_session_lock(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError> {
        self.provider.cleanup_orphaned_sessions(idle_timeout).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        self.provider.as_management_capability()
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.provider.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError> {
        self.provider.get_kv_value(instance, key).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError> {
        self.provider.get_kv_all_values(instance).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        self.provider.get_instance_stats(instance).await
    }
}
