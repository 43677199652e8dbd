//! What all operations on one account share, and the requests that the driver makes for its own sake.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;

use cosmonaut_policy::{CosmosEndpoint, CosmosOperation, Deadline, Moment, RetryLimits, ThrottleRetryState};
use cosmonaut_wire::model::AccountProperties;

use super::account::AccountReader;
use crate::activity_id::ActivityId;
use crate::cache::{ContainerCache, SingleFlight};
use crate::error::{Error, ErrorKind};
use crate::location::{LatencyBook, LocationStateStore};
use crate::options::{LayeredOptions, OperationOptions};
use crate::pipeline::{LeftWrites, OperationPipeline, TransportPipeline, out_of_time};
use crate::platform::Platform;
use crate::race::{Either, race};
use crate::response::CosmosResponse;
use crate::runtime::CosmosDriverRuntime;
use crate::session::SessionStore;
use crate::tasks::BackgroundTaskManager;
use crate::telemetry::DiagnosticsReporter;
#[cfg(feature = "opentelemetry")]
use crate::telemetry::OperationTelemetry;
use crate::transport::BoxFuture;

/// What all operations on one account share.
pub(crate) struct DriverCore {
    pub(crate) options: LayeredOptions,
    pub(crate) metadata_options: OperationOptions,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) transport: TransportPipeline,
    pub(crate) location: LocationStateStore,
    pub(crate) account: SingleFlight<AccountProperties>,
    pub(crate) account_reader: AccountReader,
    /// Other endpoints to find the account by.
    pub(crate) custom_endpoints: Vec<CosmosEndpoint>,
    pub(crate) containers: ContainerCache,
    pub(crate) sessions: SessionStore,
    pub(crate) latencies: LatencyBook,
    /// What is left for hedges, see [`HedgeBudget`](cosmonaut_policy::HedgeBudget).
    pub(crate) hedge_budget: AtomicI64,
    pub(crate) left_writes: Arc<LeftWrites>,
    /// Of operations that set none of their own.
    pub(crate) limits: RetryLimits,
    /// Of operations that set none of their own: the state before the first try.
    pub(crate) throttling: ThrottleRetryState,
    /// Shared by the drivers of a runtime; `None` if nobody wants to hear of operations.
    pub(crate) reporter: Option<Arc<DiagnosticsReporter>>,
    #[cfg(feature = "opentelemetry")]
    pub(crate) telemetry: Option<OperationTelemetry>,
    /// Held by the driver alone, so that tasks which hold this do not keep themselves alive.
    pub(crate) tasks: Weak<BackgroundTaskManager>,
    /// Endpoints that are being tried: few, if any.
    pub(crate) probing: Mutex<Vec<CosmosEndpoint>>,
    pub(crate) this: Weak<DriverCore>,
    /// Held so that a shared runtime lives as long as its drivers.
    pub(crate) _runtime: CosmosDriverRuntime,
}

impl DriverCore {
    /// Runs an operation that is to be over at the deadline.
    ///
    /// Boxed: an operation may need others to find its target, and each crate, and each part of it that is compiled
    /// by itself, would otherwise hold a copy of all that an operation does.
    pub(crate) fn run<'a>(
        &'a self,
        operation: &'a CosmosOperation,
        options: &'a OperationOptions,
        deadline: Option<Deadline>,
        now: Moment,
    ) -> BoxFuture<'a, Result<CosmosResponse, Error>> {
        Box::pin(OperationPipeline::new(self, operation, options, deadline, now).run())
    }

    /// Runs an operation for the driver's own sake.
    pub(crate) fn run_metadata<'a>(
        &'a self,
        operation: &'a CosmosOperation,
    ) -> BoxFuture<'a, Result<CosmosResponse, Error>> {
        let now = self.platform.now();
        self.run(operation, &self.metadata_options, self.deadline(&self.metadata_options, now), now)
    }

    /// When an operation that begins now must be over.
    pub(crate) fn deadline(&self, options: &OperationOptions, now: Moment) -> Option<Deadline> {
        Some(Deadline::after(now, self.options.request(options).end_to_end_timeout()))
    }

    /// How often an operation is retried.
    pub(crate) fn limits_of(&self, options: &OperationOptions) -> RetryLimits {
        match options.retry_limits == Default::default() {
            true => self.limits.clone(),
            false => RetryLimits::from_options(&self.options.retry(), &self.options.retry_limits(options)),
        }
    }

    /// What an operation may spend on throttling.
    pub(crate) fn throttling(&self, options: &OperationOptions) -> ThrottleRetryState {
        match options.retry_limits == Default::default() {
            true => self.throttling,
            false => {
                let throttling = self.options.retry();
                ThrottleRetryState::from_options(
                    &throttling.throttling(),
                    &self.options.retry_limits(options),
                )
            }
        }
    }

    /// This core, for work that outlives the caller.
    pub(crate) fn itself(&self) -> Result<Arc<Self>, Error> {
        self.this.upgrade().ok_or_else(|| {
            Error::new(
                ErrorKind::Configuration,
                "the driver is being dropped (keep it until it has answered)",
            )
        })
    }

    /// Waits for something until the deadline.
    pub(crate) async fn within<T>(
        &self,
        deadline: Option<Deadline>,
        mut work: BoxFuture<'_, Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(deadline) = deadline else { return work.await };
        // Ready at once in the usual case, which then needs no timer.
        let first = std::future::poll_fn(|context| {
            Poll::Ready(match work.as_mut().poll(context) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        });
        if let Some(result) = first.await {
            return result;
        }
        let remaining = deadline.remaining(self.platform.now());
        match race(work.as_mut(), self.platform.sleep(remaining).as_mut()).await {
            Either::First(result) => result,
            Either::Second(()) => Err(out_of_time()),
        }
    }

    /// A name for an operation.
    pub(crate) fn new_activity_id(&self) -> ActivityId {
        ActivityId::from_random(self.platform.random(), self.platform.random())
    }
}
