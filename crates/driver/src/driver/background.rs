//! What runs for a driver in the background: refreshing the account, bringing back partitions and endpoints.

use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use cosmonaut_policy::{
    ACCOUNT_REFRESH_INTERVAL, CosmosEndpoint, Deadline, ENDPOINT_PROBE_INTERVAL, ENDPOINT_PROBE_TIMEOUT,
    TransportOutcome,
};

use super::DriverCore;
use crate::tasks::BackgroundTaskManager;
use crate::transport::BoxFuture;

impl DriverCore {
    /// Starts what looks after the account and its partitions.
    pub(crate) fn start(self: &Arc<Self>, tasks: &BackgroundTaskManager) {
        let sweep = self.location.partition_config().failback_sweep_interval;
        tasks.spawn_recurring(
            "account refresh",
            self.every(ACCOUNT_REFRESH_INTERVAL, |core| async move {
                if core.location.load().is_some() {
                    // A failure leaves what is known; the next round tries again.
                    let _ = core.refresh_account().await;
                }
            }),
        );
        tasks.spawn_recurring(
            "partition failback sweep",
            self.every(sweep, |core| async move { core.location.sweep(core.platform.now()) }),
        );
        tasks.spawn_recurring(
            "endpoint probe",
            self.every(ENDPOINT_PROBE_INTERVAL, |core| async move {
                core.check_lost_endpoints();
                core.probe_gateways(true);
            }),
        );
    }

    /// What starts doing this work at intervals.
    fn every<F>(
        self: &Arc<Self>,
        interval: Duration,
        work: impl Fn(Arc<Self>) -> F + Copy + Send + 'static,
    ) -> impl FnMut() -> BoxFuture<'static, ()> + Send + 'static
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let core = Arc::clone(self);
        move || {
            let core = Arc::clone(&core);
            Box::pin(async move {
                loop {
                    core.platform.sleep(interval).await;
                    work(Arc::clone(&core)).await;
                }
            })
        }
    }

    /// Finds out in the background which Gateways 2.0 answer, of those that do not or of those that have failed.
    pub(crate) fn probe_gateways(&self, lost_alone: bool) {
        let Some(location) = self.location.load() else { return };
        for gateway in location.account.gateways_to_probe(lost_alone, self.platform.now()) {
            self.probe_gateway(gateway);
        }
    }

    /// Finds out in the background whether a Gateway 2.0 that has been silent answers, unless it is in use still or is
    /// left alone. The silence says nothing about other lost ones, whose turn comes at intervals.
    pub(crate) fn probe_silent_gateway(&self, silent: &CosmosEndpoint) {
        let Some(location) = self.location.load() else { return };
        if location.account.gateways_to_probe(true, self.platform.now()).any(|gateway| gateway == silent) {
            self.probe_gateway(silent);
        }
    }

    fn probe_gateway(&self, gateway: &CosmosEndpoint) {
        let Some((tried, tasks)) = self.begin_try(gateway.clone()) else { return };
        tasks.spawn("gateway probe", async move {
            let Tried { core, endpoint } = &tried;
            if core.transport.probe_gateway(endpoint).await {
                core.location.gateway_answered(endpoint, core.platform.now());
            }
        });
    }

    /// One try at a time for each endpoint; `None` if one is under way.
    fn begin_try(&self, endpoint: CosmosEndpoint) -> Option<(Tried, Arc<BackgroundTaskManager>)> {
        let (core, tasks) = (self.this.upgrade()?, self.tasks.upgrade()?);
        let mut probing = self.lock_probing();
        if probing.contains(&endpoint) {
            return None;
        }
        probing.push(endpoint.clone());
        drop(probing);
        // Made here: a task that is dropped before it has begun lets the endpoint go too.
        Some((Tried { core, endpoint }, tasks))
    }

    fn check_lost_endpoints(&self) {
        let Some(location) = self.location.load() else { return };
        for endpoint in location.account.endpoints_to_probe(self.platform.now()) {
            self.check_endpoint(endpoint.clone());
        }
    }

    /// Tries in the background whether an endpoint can be reached. One try at a time for each.
    pub(crate) fn check_endpoint(&self, endpoint: CosmosEndpoint) {
        let Some((tried, tasks)) = self.begin_try(endpoint) else { return };
        tasks.spawn("endpoint check", async move {
            let Tried { core, endpoint } = &tried;
            let deadline = Deadline::after(core.platform.now(), ENDPOINT_PROBE_TIMEOUT);
            // Any answer will do: what is asked is whether there is a way there.
            let (result, _) = core.ask(endpoint, Some(deadline), false).await;
            let reachable = match result.outcome {
                TransportOutcome::Success { .. } | TransportOutcome::HttpError { .. } => true,
                TransportOutcome::TransportError { .. } | TransportOutcome::DeadlineExceeded { .. } => false,
                // This side failed, which says nothing about the endpoint.
                TransportOutcome::LocalFailure { .. } => return,
            };
            core.location.probed(endpoint, reachable, core.platform.now());
            let core = Arc::clone(core);
            drop(tried);
            if !reachable {
                // The service may have moved on without it.
                core.read_account_for(core.platform.now());
            }
        });
    }

    fn lock_probing(&self) -> std::sync::MutexGuard<'_, Vec<CosmosEndpoint>> {
        self.probing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An endpoint that is being tried. However the try ends, by a panic too, the endpoint can be tried again.
struct Tried {
    core: Arc<DriverCore>,
    endpoint: CosmosEndpoint,
}

impl Drop for Tried {
    fn drop(&mut self) {
        self.core.lock_probing().retain(|endpoint| *endpoint != self.endpoint);
    }
}
