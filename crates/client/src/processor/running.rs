//! A processor that runs.

use std::fmt;
use std::sync::Arc;

use super::balancer;
use super::engine::Engine;
use super::estimator::ChangeFeedEstimator;

/// A processor that runs in the background; see [`ContainerClient::change_feed_processor`].
///
/// Dropping it ends it where it is, as if the process were killed: the handler is not run to its end, and leases are
/// taken over when they expire. [`stop`](Self::stop) is better.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient, leases: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// # use cosmonaut::Changes;
/// let processor = orders
///     .change_feed_processor("billing", &leases)
///     .start(|changes: Changes<serde_json::Value>| async move { Ok(()) })
///     .await?;
/// println!("{} reads {} leases", processor.instance_name(), processor.leases().len());
/// processor.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// [`ContainerClient::change_feed_processor`]: crate::ContainerClient::change_feed_processor
#[must_use = "dropping a processor ends it"]
pub struct ChangeFeedProcessor {
    engine: Arc<Engine>,
    estimator: ChangeFeedEstimator,
}

impl ChangeFeedProcessor {
    pub(super) fn run(engine: Engine, estimator: ChangeFeedEstimator) -> Self {
        let engine = Arc::new(engine);
        if let Some(seat) = engine.workers.seat(balancer::SEAT) {
            let task = engine.platform.spawn(Box::pin(balancer::run(Arc::clone(&engine), seat)));
            engine.workers.keep(balancer::SEAT, task);
        }
        Self { engine, estimator }
    }

    /// The name of this instance.
    pub fn instance_name(&self) -> &str {
        &self.engine.owner
    }

    /// The tokens of the leases that this instance reads now, or is about to.
    pub fn leases(&self) -> Vec<String> {
        let prefix = self.engine.store().names.lease_prefix();
        let token = |id: &String| id.strip_prefix(&prefix).map(str::to_owned);
        let mut tokens: Vec<String> = self.engine.workers.ids().iter().filter_map(token).collect();
        tokens.sort();
        tokens
    }

    /// How far the processor is behind, over all instances.
    pub fn estimator(&self) -> &ChangeFeedEstimator {
        &self.estimator
    }

    /// Stops: pages that are being handled are handled to their end and checkpointed, and all leases are released, so
    /// that other instances can take them at once. Returns when that is done.
    pub async fn stop(self) {
        self.engine.stopping.send_replace(true);
        self.engine.workers.close();
        self.engine.workers.all_left().await;
    }
}

impl Drop for ChangeFeedProcessor {
    fn drop(&mut self) {
        self.engine.workers.abort();
    }
}

impl fmt::Debug for ChangeFeedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeFeedProcessor")
            .field("instance", &self.engine.owner)
            .field("leases", &self.leases())
            .finish_non_exhaustive()
    }
}
