//! How a call of a group comes by its turn: at once, or in order behind others.
//!
//! Whoever waits does so in a task of its own. A page that is asked for ahead may be polled by nobody for long; its place in
//! the order must not keep others from theirs.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::{CosmosDriver, OperationType};
use cosmonaut_options::RequestOptions;
use cosmonaut_wire::ResourcePath;
use cosmonaut_wire::model::ThroughputProperties;
use tokio::sync::oneshot;

use super::{Applicant, Limit, Queue, Sent, ThroughputControlGroup};
use crate::options::ThroughputOptions;
use crate::throughput::Throughput;
use crate::waiting::unless;
use crate::{Error, ErrorKind, Result};

/// What is provisioned is read within the time that a call waits, but this long in any case: otherwise a group that does
/// not wait could send nothing before that is known.
const LEAST_LEARNING: Duration = Duration::from_secs(1);

/// A call that waits, by itself.
pub(super) struct Waiting {
    group: ThroughputControlGroup,
    queue: Arc<Queue>,
    driver: CosmosDriver,
    container: Arc<ResourcePath>,
    operation: OperationType,
    request: RequestOptions,
    is_patient: bool,
}

impl Queue {
    /// A turn without a wait. Nobody gets one who would have to wait, or would overtake others.
    pub(super) fn turn_at_once(self: &Arc<Self>, operation: OperationType, now: Duration) -> Option<Sent> {
        let _turn = self.turnstile.try_lock().ok()?;
        let mut budget = self.budget();
        if budget.is_outdated(now) {
            return None;
        }
        let reserved = budget.reserve(operation, now).ok()?;
        Some(Sent { queue: Arc::clone(self), operation, reserved })
    }
}

impl Waiting {
    pub(super) fn new(group: &ThroughputControlGroup, queue: Arc<Queue>, applicant: &Applicant<'_>) -> Self {
        Self {
            group: group.clone(),
            queue,
            driver: applicant.driver.clone(),
            container: Arc::clone(applicant.container),
            operation: applicant.operation,
            request: applicant.options.request.clone(),
            is_patient: applicant.is_patient,
        }
    }

    /// Waits for the turn, for as long as the caller does.
    pub(super) async fn turn(self) -> Result<Sent> {
        let (give, given) = oneshot::channel();
        let platform = Arc::clone(self.driver.platform());
        let _stopped_with_the_caller = platform.spawn(Box::pin(async move {
            // If nobody takes it, what is held is given back.
            give.send(self.in_order().await).ok();
        }));
        given.await.unwrap_or_else(|_| {
            let message = "waiting for a turn has ended without one (is the runtime shutting down?)";
            Err(Error::new(ErrorKind::Throttled, message))
        })
    }

    async fn in_order(&self) -> Result<Sent> {
        let began = self.platform().now();
        let own = self.request.end_to_end_timeout;
        let most = own.map_or(self.group.max_wait, |own| own.min(self.group.max_wait));
        let least = own.map_or(LEAST_LEARNING, |own| own.min(LEAST_LEARNING));
        match self.within(most.max(least), self.learned()).await {
            Some(learned) => learned?,
            None => return Err(self.late("what is provisioned was not read", most)),
        }
        let left = most.saturating_sub(self.platform().now().since(began));
        match self.within(left, self.reserved()).await {
            Some(sent) => Ok(sent),
            None => Err(self.late("there were no request units for the call", most)),
        }
    }

    fn platform(&self) -> &Arc<dyn Platform> {
        self.driver.platform()
    }

    /// The time of day: the same for all clients of a process, whichever runtime they are of.
    fn now(&self) -> Duration {
        self.platform().time_of_day()
    }

    async fn within<T>(&self, most: Duration, work: impl Future<Output = T>) -> Option<T> {
        let end = async {
            match self.is_patient {
                true => std::future::pending().await,
                // Whatever is there at once is had without a wait.
                false if most.is_zero() => tokio::task::yield_now().await,
                false => self.platform().sleep(most).await,
            }
        };
        unless(end, work).await
    }

    fn late(&self, what: &str, most: Duration) -> Error {
        let message = format!(
            "throughput control group {:?}: {what} within {most:?} (send less, or raise its limit or `max_wait`); the \
             call was not sent",
            self.group.name
        );
        Error::new(ErrorKind::Throttled, message)
    }

    /// Takes what the call is expected to cost as soon as it is there.
    async fn reserved(&self) -> Sent {
        let _turn = self.queue.turnstile.lock().await;
        loop {
            let settled = self.queue.settled.notified();
            let wait = match self.queue.budget().reserve(self.operation, self.now()) {
                Ok(reserved) => {
                    return Sent { queue: Arc::clone(&self.queue), operation: self.operation, reserved };
                }
                Err(wait) => wait,
            };
            unless(self.platform().sleep(wait), settled).await;
        }
    }

    /// Learns what is provisioned, if that is not known or was learned long ago. One call does it; the others wait for
    /// that only if nothing is known yet.
    async fn learned(&self) -> Result<()> {
        if !self.queue.budget().is_outdated(self.now()) {
            return Ok(());
        }
        let learning = match Arc::clone(&self.queue.learning).try_lock_owned() {
            Ok(learning) => learning,
            Err(_) if self.queue.budget().has_rate() => return Ok(()),
            Err(_) => Arc::clone(&self.queue.learning).lock_owned().await,
        };
        if !self.queue.budget().is_outdated(self.now()) {
            return Ok(());
        }
        let share = match self.group.limit {
            Limit::Amount(amount) => {
                self.queue.budget().set_rate(amount, self.now());
                return Ok(());
            }
            Limit::Share(share) => share,
        };
        // It goes on when this call has no more time, so that the next one finds what was read.
        let (give, given) = oneshot::channel();
        let (driver, container) = (self.driver.clone(), Arc::clone(&self.container));
        let request = RequestOptions { end_to_end_timeout: None, ..self.request.clone() };
        let queue = Arc::clone(&self.queue);
        self.platform().spawn_detached(Box::pin(async move {
            let rate = provisioned(&driver, &container, request).await.map(|provisioned| provisioned * share);
            let now = driver.platform().time_of_day();
            let learned = match rate {
                Ok(rate) => {
                    queue.budget().set_rate(rate, now);
                    Ok(())
                }
                // What was provisioned a minute ago is better than nothing.
                Err(error) => {
                    if queue.budget().keep_rate(now) {
                        Ok(())
                    } else {
                        Err(error)
                    }
                }
            };
            drop(learning);
            // The call may have no more time.
            give.send(learned).ok();
        }));
        match given.await {
            Ok(learned) => learned,
            Err(_) => {
                let message =
                    "reading what is provisioned has ended without an answer (is the runtime shutting down?)";
                Err(Error::new(ErrorKind::Throttled, message))
            }
        }
    }
}

/// What is provisioned for a container, in request units a second.
async fn provisioned(
    driver: &CosmosDriver,
    container: &Arc<ResourcePath>,
    request: RequestOptions,
) -> Result<f64> {
    let options = ThroughputOptions { request };
    match Throughput::of(driver, container, Some(&options)).read().await?.into_value() {
        Some(ThroughputProperties::Manual { throughput }) => Ok(f64::from(throughput)),
        Some(ThroughputProperties::Autoscale { max_throughput, .. }) => Ok(f64::from(max_throughput)),
        None => {
            let message = format!(
                "{container} has no throughput of its own to take a share of (use `ThroughputControlGroup::limit`)"
            );
            Err(Error::new(ErrorKind::Configuration, message))
        }
    }
}
