//! Groups of calls that share a limit on what they use of a container's throughput.
//!
//! The limit is kept here, by what answers say that they have cost; the service knows nothing of it. What may be sent is
//! decided by `Budget`, which knows neither clocks nor tasks.

mod budget;
mod turn;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{CosmosDriver, OperationOptions, OperationType};
use cosmonaut_wire::{PriorityLevel, ResourcePath};
use tokio::sync::{Mutex as Turnstile, Notify};

use crate::{ContainerClient, Error, ErrorKind, Result};

use budget::Budget;
use turn::Waiting;

/// Calls that together use no more than some request units a second of a container, so that a report or an import
/// leaves the rest to others.
///
/// Calls wait for their turn, in order, before they are sent. What a call costs is known only afterwards: until then it is
/// taken to cost what the last ones of its kind did, and the first of a kind is sent alone. So what is used may pass the
/// limit for a moment by as much as calls under way turn out to be dearer than expected; those after them wait for it.
///
/// All calls on items and conflicts count, bulk and queries included; what is done with the container itself does not.
/// The limit is one of this process: processes that are to share one use the service's throughput buckets
/// ([`throughput_bucket`](Self::throughput_bucket)). Clones are one group.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use cosmonaut::{FeedScope, PriorityLevel, ThroughputControlGroup};
///
/// let reports = ThroughputControlGroup::share("reports", 0.2).priority(PriorityLevel::Low);
/// let orders = orders.with_throughput_control(&reports);
/// let all = orders.query_items::<serde_json::Value>("SELECT * FROM c", FeedScope::Container).collect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ThroughputControlGroup {
    name: Arc<str>,
    limit: Limit,
    max_wait: Duration,
    priority: Option<PriorityLevel>,
    throughput_bucket: Option<usize>,
    /// By the account's endpoint and the container's path.
    queues: Arc<Mutex<Queues>>,
}

type Queues = HashMap<(String, String), Arc<Queue>>;

#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Request units a second.
    Amount(f64),
    /// Of what is provisioned.
    Share(f64),
}

/// The calls of a group on one container.
#[derive(Default)]
struct Queue {
    /// Whose turn it is next holds this; the others wait for it in order. Only tasks wait, never a call itself: one that
    /// nobody polls would keep all others from their turn.
    turnstile: Turnstile<()>,
    /// Held while what is provisioned is read.
    learning: Arc<Turnstile<()>>,
    /// Something may be left that was not before.
    settled: Notify,
    budget: Mutex<Budget>,
}

impl Queue {
    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThroughputControlGroup {
    /// A group that uses at most so many request units a second of each container.
    pub fn limit(name: impl Into<Arc<str>>, request_units_per_second: f64) -> Self {
        Self::new(name.into(), Limit::Amount(request_units_per_second))
    }

    /// A group that uses at most this share, between 0 and 1, of what is provisioned for each container. That is read
    /// when a container is first used, and every minute, so the credential has to be allowed to: a key is, a role for
    /// data alone is not.
    pub fn share(name: impl Into<Arc<str>>, share: f64) -> Self {
        Self::new(name.into(), Limit::Share(share))
    }

    fn new(name: Arc<str>, limit: Limit) -> Self {
        const MAX_WAIT: Duration = Duration::from_secs(120);
        Self {
            name,
            limit,
            max_wait: MAX_WAIT,
            priority: None,
            throughput_bucket: None,
            queues: Arc::default(),
        }
    }

    /// How long a call waits for its turn at most, and never longer than its own timeout, before it ends in
    /// [`ErrorKind::Throttled`] without having been sent; two minutes if nothing is said. Reading what is provisioned is
    /// part of that, but a call waits a second for it in any case. Bulk runs wait as long as it takes.
    #[must_use]
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// The priority of its calls, unless they have one of their own.
    #[must_use]
    pub fn priority(mut self, priority: PriorityLevel) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The service's throughput bucket of its calls, unless they have one of their own.
    #[must_use]
    pub fn throughput_bucket(mut self, bucket: usize) -> Self {
        self.throughput_bucket = Some(bucket);
        self
    }

    fn check(&self) -> Result<()> {
        let (is_right, remedy) = match self.limit {
            Limit::Amount(amount) => (amount.is_finite() && amount > 0.0, "a limit is above 0"),
            Limit::Share(share) => (share > 0.0 && share <= 1.0, "a share is above 0 and at most 1"),
        };
        if is_right {
            return Ok(());
        }
        let message = format!("throughput control group {:?} has {:?} ({remedy})", self.name, self.limit);
        Err(Error::new(ErrorKind::Configuration, message))
    }

    fn queue(&self, applicant: &Applicant<'_>) -> Arc<Queue> {
        let key = (applicant.driver.endpoint().to_string(), applicant.container.to_string());
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(queues.entry(key).or_default())
    }
}

impl fmt::Debug for ThroughputControlGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThroughputControlGroup")
            .field("name", &self.name)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl ContainerClient {
    /// The same container, whose calls are in a group with a limit, instead of the group that they were in.
    #[must_use]
    pub fn with_throughput_control(&self, group: &ThroughputControlGroup) -> Self {
        self.controlled(Arc::new(group.clone()))
    }
}

/// A call that waits for its turn.
pub(crate) struct Applicant<'a> {
    pub(crate) driver: &'a CosmosDriver,
    pub(crate) container: &'a Arc<ResourcePath>,
    pub(crate) operation: OperationType,
    pub(crate) options: &'a OperationOptions,
    /// Whether it waits as long as it takes.
    pub(crate) is_patient: bool,
}

impl Applicant<'_> {
    /// The time of day: the same for all clients of a process, whichever runtime they are of.
    fn now(&self) -> Duration {
        self.driver.platform().time_of_day()
    }
}

/// A call whose turn it is: its options, and whom to tell what it has cost.
pub(crate) struct Admitted {
    pub(crate) options: OperationOptions,
    pub(crate) sent: Box<dyn Bill>,
}

/// Who says when a container's calls are sent. A trait, so that an application without groups does not carry them.
pub(crate) trait Admission: Send + Sync {
    /// Waits for a call's turn. Whoever waits no longer gives back what is held for it.
    fn admit<'a>(&'a self, applicant: Applicant<'a>) -> BoxFuture<'a, Result<Admitted>>;
}

/// A call that is on its way. Unless it is paid, it is taken to have cost what was expected.
pub(crate) trait Bill: Send {
    /// Settles what the call has cost, as far as that is known.
    fn pay(self: Box<Self>, charge: Charge);
}

/// What a call has cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Charge {
    Known(f64),
    /// At least this.
    AtLeast(f64),
}

impl Admission for ThroughputControlGroup {
    fn admit<'a>(&'a self, applicant: Applicant<'a>) -> BoxFuture<'a, Result<Admitted>> {
        Box::pin(async move {
            self.check()?;
            let (platform, queue) = (applicant.driver.platform(), self.queue(&applicant));
            let own = applicant.options.request.end_to_end_timeout;
            let began = platform.now();
            let sent = match queue.turn_at_once(applicant.operation, applicant.now()) {
                Some(sent) => sent,
                None => Waiting::new(self, queue, &applicant).turn().await?,
            };
            let mut options = applicant.options.clone();
            let request = &mut options.request;
            request.priority = request.priority.or(self.priority);
            request.throughput_bucket = request.throughput_bucket.or(self.throughput_bucket);
            if !applicant.is_patient {
                // What was waited is part of the time that the call has.
                request.end_to_end_timeout = own.map(|own| own.saturating_sub(platform.now().since(began)));
            }
            Ok(Admitted { options, sent: Box::new(sent) })
        })
    }
}

/// A call that is on its way, and what is held for it.
struct Sent {
    queue: Arc<Queue>,
    operation: OperationType,
    reserved: f64,
}

impl Bill for Sent {
    fn pay(self: Box<Self>, charge: Charge) {
        self.queue.budget().settle(self.operation, self.reserved, charge);
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.queue.budget().ended(self.operation);
        self.queue.settled.notify_one();
    }
}
