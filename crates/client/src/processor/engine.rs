//! What all tasks of one processor share.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{CosmosResponse, PartitionTarget};
use cosmonaut_wire::SessionToken;
use tokio::sync::watch;

use super::bootstrap::Bootstrap;
use super::delivery::Deliver;
use super::events::Listener;
use super::expiry::Now;
use super::settings::Settings;
use super::split_plan::Partition;
use super::store::LeaseStore;
use super::workers::Workers;
use crate::change_feed::{ChangesRequest, Opening, ReadFrom};
use crate::container::ContainerHandle;
use crate::{ContainerClient, Result};

/// What all tasks of one processor share.
pub(super) struct Engine {
    /// The name of the processor.
    pub(super) name: String,
    pub(super) monitored: Arc<ContainerHandle>,
    pub(super) leases: ContainerClient,
    /// The leases of the monitored container, as that was when it was last looked at.
    pub(super) store: watch::Sender<Arc<LeaseStore>>,
    /// Whether the monitored container was found to be another one since.
    pub(super) is_replaced: watch::Sender<bool>,
    pub(super) settings: Settings,
    /// Where leases start that say nothing.
    pub(super) opening: Opening,
    /// The name of this instance.
    pub(super) owner: Arc<str>,
    pub(super) platform: Arc<dyn Platform>,
    pub(super) delivery: Box<dyn Deliver>,
    pub(super) listener: Listener,
    pub(super) workers: Workers,
    pub(super) stopping: watch::Sender<bool>,
}

impl Engine {
    /// The leases of the monitored container.
    pub(super) fn store(&self) -> Arc<LeaseStore> {
        Arc::clone(&self.store.borrow())
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Ends when the processor is to stop.
    pub(super) async fn stopped(&self) {
        // The sender lives as long as this does.
        drop(self.stopping.subscribe().wait_for(|stopping| *stopping).await);
    }

    /// Ends when the monitored container was found to be another one.
    pub(super) async fn replaced(&self) {
        // The sender lives as long as this does.
        drop(self.is_replaced.subscribe().wait_for(|is_replaced| *is_replaced).await);
    }

    pub(super) fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.platform.sleep(time)
    }

    pub(super) fn now(&self) -> Now {
        Now { of_day: self.platform.time_of_day(), steady: self.platform.now().since_start() }
    }

    /// The partitions of the monitored container. `refresh` asks even if they are known.
    pub(super) async fn partitions(&self, refresh: bool) -> Result<Vec<Partition>> {
        partitions(&self.monitored, refresh).await
    }

    /// The second behind which leases are read that say nothing, where that depends on when this instance was started.
    pub(super) fn start(&self) -> Option<u64> {
        self.settings.start(self.opening)
    }

    /// What makes the first leases.
    pub(super) fn bootstrap(&self) -> Bootstrap<'_> {
        let (monitored, settings, listener) = (&*self.monitored, &self.settings, &self.listener);
        Bootstrap { monitored, settings, start: self.start(), listener }
    }

    /// One page of changes behind an etag, or from where the lease or the processor starts.
    pub(super) async fn read(
        &self,
        target: PartitionTarget,
        at: Option<&str>,
        start: Option<u64>,
        in_session: bool,
    ) -> Result<CosmosResponse> {
        let mut options = self.settings.request_options();
        if !in_session {
            options.session_token = Some(SessionToken::default());
        }
        // What another instance has begun goes on where that one began.
        let opening = start.filter(|_| self.start().is_some()).map_or(self.opening, Opening::Time);
        let from = at.map_or(ReadFrom::Opening(opening), |at| ReadFrom::Etag(at.to_owned()));
        let (mode, max_item_count) = (self.settings.mode, options.max_item_count);
        // Whose answer it is is checked with each answer.
        let request = ChangesRequest { mode, target, from, max_item_count, container: None };
        let operation = request.operation(&self.monitored)?;
        self.monitored.run(&operation, &options.operation_layer()).await
    }
}

/// The partitions of a container. `refresh` asks even if they are known.
pub(super) async fn partitions(container: &ContainerHandle, refresh: bool) -> Result<Vec<Partition>> {
    let known = container.driver.partitions(&container.path, refresh).await?;
    let partition = |info: cosmonaut_driver::PartitionInfo| Partition {
        id: info.id.range().clone(),
        range: info.range,
        parents: info.parents,
    };
    Ok(known.into_iter().map(partition).collect())
}
