//! Management: what there is, how much of it, and getting rid of it.
//!
//! Everything here is asked of the container; nothing depends on what this process has in memory.

mod archive;
mod children;
mod cleanup;
mod dead;
mod deletion;
mod deletion_record;
mod erasing;
mod executions;
mod freezing;
mod instances;
mod lost_deletion;
mod metrics;
mod preparing;
mod pruning;
mod summaries;
mod sweeping;
mod unborn;

use std::time::Duration;

use async_trait::async_trait;
use cosmonaut::{FeedScope, Query};
use duroxide::Event;
use duroxide::providers::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, Provider, ProviderAdmin,
    ProviderError, PruneOptions, PruneResult, QueueDepths, SystemMetrics,
};

use crate::codec::{Unreadable, encoded_by};
use crate::core::Core;
use crate::hub::told;
use crate::model::{Document, HEAD, Head, SEALED_FORMAT};
use crate::provider::CosmosProvider;
use crate::store::Call;

pub(crate) use cleanup::RECORDS;
pub use dead::{DeadCause, DeadLetter};
pub use instances::InstancePage;
pub use metrics::Backlog;
pub use summaries::{InstanceSearch, InstanceSummary, SummaryPage};

/// How long a management call tries: no lock waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many instances a bulk operation takes on if nothing is said.
const BULK_LIMIT: u32 = 1000;

/// What management needs.
pub(crate) struct Admin<'a> {
    pub(crate) core: &'a Core,
}

impl Admin<'_> {
    fn call(&self, operation: &'static str) -> Call {
        self.core.store.call(operation, PATIENCE)
    }

    /// The head of an instance that has had a turn.
    async fn head(&self, call: &Call, instance: &str) -> Result<Option<Document<Head>>, ProviderError> {
        let head = self.core.store.read::<Head>(call, instance, HEAD).await?;
        Ok(head.filter(|head| head.content.state.exists))
    }

    async fn existing_head(&self, call: &Call, instance: &str) -> Result<Document<Head>, ProviderError> {
        self.head(call, instance).await?.ok_or_else(|| {
            ProviderError::permanent(call.operation(), format!("Instance {} not found", told(instance)))
        })
    }

    /// A text of a document of some format, for a list: one that cannot be read must not end the list.
    fn shown(&self, format: u32, stored: String) -> String {
        if format < SEALED_FORMAT {
            return stored;
        }
        match self.core.store.texts().open(stored) {
            Ok(text) => text,
            Err(Unreadable::Encoded { codec }) => encoded_by(&codec),
            Err(Unreadable::Refused(why) | Unreadable::Damaged(why)) => format!("(cannot be read: {why})"),
        }
    }

    /// All rows of a query over the container.
    async fn everywhere<T: serde::de::DeserializeOwned + Send>(
        &self,
        call: &Call,
        query: Query,
    ) -> Result<Vec<T>, ProviderError> {
        self.core.store.query(call, &query, &FeedScope::Container).await
    }

    /// All rows of a query over an instance.
    async fn within<T: serde::de::DeserializeOwned + Send>(
        &self,
        call: &Call,
        instance: &str,
        query: Query,
    ) -> Result<Vec<T>, ProviderError> {
        self.core.store.query(call, &query, &FeedScope::from(instance)).await
    }
}

impl CosmosProvider {
    /// The names of instances, the newest first, `size` at a time: all, or those with a status such as `Running`.
    ///
    /// ```no_run
    /// # async fn run(store: duroxide_cosmonaut::CosmosProvider) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut page = store.list_instances_page(Some("Failed"), 100, None).await?;
    /// while let Some(continuation) = page.continuation.take() {
    ///     page = store.list_instances_page(Some("Failed"), 100, Some(continuation)).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Permanent, if the continuation is of another list.
    pub async fn list_instances_page(
        &self,
        status: Option<&str>,
        size: u32,
        continuation: Option<String>,
    ) -> Result<InstancePage, ProviderError> {
        let mut page = self.admin().list_page(status, size, continuation).await?;
        page.instances = self.names(page.instances);
        Ok(page)
    }

    /// As [`list_instances_page`](Self::list_instances_page), with what is known of each instance in short.
    ///
    /// ```no_run
    /// # async fn run(store: duroxide_cosmonaut::CosmosProvider) -> Result<(), Box<dyn std::error::Error>> {
    /// for found in store.list_summaries_page(None, 20, None).await?.summaries {
    ///     println!("{} is {}", found.instance, found.status);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Permanent, if the continuation is of another list.
    pub async fn list_summaries_page(
        &self,
        status: Option<&str>,
        size: u32,
        continuation: Option<String>,
    ) -> Result<SummaryPage, ProviderError> {
        let search = InstanceSearch { status: status.map(str::to_owned), ..InstanceSearch::default() };
        self.search_page(&search, size, continuation).await
    }

    /// As [`list_summaries_page`](Self::list_summaries_page), of those instances that a search is about.
    ///
    /// # Errors
    /// Permanent, if the continuation is of another list.
    pub async fn search_page(
        &self,
        search: &InstanceSearch,
        size: u32,
        continuation: Option<String>,
    ) -> Result<SummaryPage, ProviderError> {
        let mut page = self.admin().summaries_page(search, size, continuation).await?;
        page.summaries = self.named_summaries(page.summaries);
        Ok(page)
    }

    /// An instance and all that it has started: itself first, then level by level, in each the oldest first.
    /// Empty if there is no such instance.
    ///
    /// # Errors
    /// If the container cannot be read.
    pub async fn tree_summaries(&self, root: &str) -> Result<Vec<InstanceSummary>, ProviderError> {
        let root = self.key("tree_summaries", root)?;
        Ok(self.named_summaries(self.admin().tree_summaries(&root).await?))
    }

    /// The instances of these partitions.
    fn names(&self, keys: Vec<String>) -> Vec<String> {
        keys.into_iter().map(|key| self.core.hub().named(key)).collect()
    }

    fn named_summaries(&self, mut summaries: Vec<InstanceSummary>) -> Vec<InstanceSummary> {
        let hub = self.core.hub();
        for summary in &mut summaries {
            summary.instance = hub.named(std::mem::take(&mut summary.instance));
            summary.parent = summary.parent.take().map(|parent| hub.named(parent));
        }
        summaries
    }

    /// A filter as the container is asked: by partitions.
    fn keyed(&self, mut filter: InstanceFilter) -> InstanceFilter {
        let key = |name: String| self.core.hub().key(&name).into_owned();
        filter.instance_ids = filter.instance_ids.map(|names| names.into_iter().map(key).collect());
        filter
    }
}

#[async_trait]
impl ProviderAdmin for CosmosProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        Ok(self.names(self.admin().list(None).await?))
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        Ok(self.names(self.admin().list(Some(status)).await?))
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        let instance = self.key("list_executions", instance)?;
        self.admin().executions(&instance).await
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.read_with_execution(instance, execution_id).await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.read(instance).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        let instance = self.key("latest_execution_id", instance)?;
        self.admin().latest_execution(&instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        let key = self.key("get_instance_info", instance)?;
        let mut info = self.admin().instance_info(&key).await?;
        let hub = self.core.hub();
        info.instance_id = hub.named(info.instance_id);
        info.parent_instance_id = info.parent_instance_id.map(|parent| hub.named(parent));
        Ok(info)
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        let instance = self.key("get_execution_info", instance)?;
        self.admin().execution_info(&instance, execution_id).await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.admin().metrics().await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.admin().queue_depths().await
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        let instance = self.key("list_children", instance_id)?;
        Ok(self.names(self.admin().children(&instance).await?))
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        let instance = self.key("get_parent_id", instance_id)?;
        let parent = self.admin().parent(&instance).await?;
        Ok(parent.map(|parent| self.core.hub().named(parent)))
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let instance = self.key("get_instance_tree", instance_id)?;
        let InstanceTree { all_ids, .. } = self.admin().tree(&instance).await?;
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids: self.names(all_ids) })
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let keys = ids.iter().map(|id| Ok(self.key("delete_instances_atomic", id)?.into_owned()));
        let keys = keys.collect::<Result<Vec<String>, ProviderError>>()?;
        self.admin().delete(&keys, force).await
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.admin().delete_bulk(self.keyed(filter)).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let instance = self.key("prune_executions", instance_id)?;
        self.admin().prune(&instance, &options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.admin().prune_bulk(self.keyed(filter), &options).await
    }
}
