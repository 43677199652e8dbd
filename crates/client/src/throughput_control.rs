//! Groups of calls that share a limit on what they use of a container's throughput.
//!
//! The limit is kept here, by what answers say that they have cost; the service knows nothing of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{CosmosDriver, OperationOptions};
use cosmonaut_wire::model::ThroughputProperties;
use cosmonaut_wire::{PriorityLevel, ResourcePath};

use crate::throughput::Throughput;
use crate::{ContainerClient, Error, ErrorKind, Result};

/// Calls that together use no more than some request units a second of a container, so that a report or an import
/// leaves the rest to others.
///
/// Calls wait for their turn, in order, before they are sent. What they cost is known only afterwards, so one expensive
/// query may overdraw; those after it wait longer. The limit is one of this process: several that are to share one use
/// the service's throughput buckets ([`throughput_bucket`](Self::throughput_bucket)). Clones are one group.
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
    /// By the container's path.
    budgets: Arc<Mutex<HashMap<String, Arc<Mutex<Budget>>>>>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Request units a second.
    Amount(f64),
    /// Of what is provisioned.
    Share(f64),
}

impl ThroughputControlGroup {
    /// A group that uses at most so many request units a second of each container.
    pub fn limit(name: impl Into<Arc<str>>, request_units_per_second: f64) -> Self {
        Self::new(name.into(), Limit::Amount(request_units_per_second))
    }

    /// A group that uses at most this share, between 0 and 1, of what is provisioned for each container. That is read
    /// when a container is first used, and every minute.
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
            budgets: Arc::default(),
        }
    }

    /// How long a call waits for its turn at most, before it ends in [`ErrorKind::Throttled`] without having been sent;
    /// two minutes if nothing is said.
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

    /// The options of a call in this group.
    fn apply(&self, mut options: OperationOptions) -> OperationOptions {
        options.request.priority = options.request.priority.or(self.priority);
        options.request.throughput_bucket = options.request.throughput_bucket.or(self.throughput_bucket);
        options
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
    /// The same container, whose calls are in a group with a limit.
    #[must_use]
    pub fn with_throughput_control(&self, group: &ThroughputControlGroup) -> Self {
        self.controlled(Arc::new(group.clone()))
    }
}

/// Who says when a container's calls are sent. A trait, so that an application without groups does not carry them.
pub(crate) trait Control: Send + Sync {
    /// Waits for a call's turn; gives what is to be paid for it, and its options.
    fn turn<'a>(
        &'a self,
        driver: &'a CosmosDriver,
        container: &'a Arc<ResourcePath>,
        options: &'a OperationOptions,
    ) -> BoxFuture<'a, Result<(Box<dyn Paid>, OperationOptions)>>;
}

/// A call that is on its way. Unless it says what it has cost, it is taken to have cost what was expected.
pub(crate) trait Paid: Send {
    /// Settles what the call has cost; `None` if that is not known.
    fn pay(&self, charge: Option<f64>);
}

impl Control for ThroughputControlGroup {
    fn turn<'a>(
        &'a self,
        driver: &'a CosmosDriver,
        container: &'a Arc<ResourcePath>,
        options: &'a OperationOptions,
    ) -> BoxFuture<'a, Result<(Box<dyn Paid>, OperationOptions)>> {
        Box::pin(async move {
            let sent = self.wait_for_turn(driver, container).await?;
            Ok((Box::new(sent) as Box<dyn Paid>, self.apply(options.clone())))
        })
    }
}

impl ThroughputControlGroup {
    async fn wait_for_turn(&self, driver: &CosmosDriver, container: &Arc<ResourcePath>) -> Result<Sent> {
        self.check()?;
        let budget = {
            let mut budgets = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(budgets.entry(container.to_string()).or_default())
        };
        let now = || driver.platform().now().since_start();
        if lock(&budget).is_outdated(now()) {
            match self.rate(driver, container).await {
                Ok(rate) => lock(&budget).set_rate(rate, now()),
                // What was provisioned a minute ago is better than nothing.
                Err(error) if !lock(&budget).keep_rate(now()) => return Err(error),
                Err(_) => {}
            }
        }
        let Some((estimate, wait)) = lock(&budget).reserve(now(), self.max_wait) else {
            let message = format!(
                "throughput control group {:?} has no request units left for longer than {:?} (send less, or raise its \
                 limit or `max_wait`); the call was not sent",
                self.name, self.max_wait
            );
            return Err(Error::new(ErrorKind::Throttled, message));
        };
        let turn = Turn { budget, reserved: Some(estimate) };
        if !wait.is_zero() {
            driver.platform().sleep(wait).await;
        }
        Ok(turn.send())
    }

    /// The limit in request units a second.
    async fn rate(&self, driver: &CosmosDriver, container: &Arc<ResourcePath>) -> Result<f64> {
        let share = match self.limit {
            Limit::Amount(amount) => return Ok(amount),
            Limit::Share(share) => share,
        };
        let provisioned = Throughput::of(driver, container, None).read().await?.into_value();
        match provisioned {
            Some(ThroughputProperties::Manual { throughput }) => Ok(f64::from(throughput) * share),
            Some(ThroughputProperties::Autoscale { max_throughput, .. }) => {
                Ok(f64::from(max_throughput) * share)
            }
            None => {
                let message = format!(
                    "{container} has no throughput of its own to take a share of (use `ThroughputControlGroup::limit`)"
                );
                Err(Error::new(ErrorKind::Configuration, message))
            }
        }
    }
}

/// A call that waits for its turn. What is held for it is given back if it does not wait to the end.
struct Turn {
    budget: Arc<Mutex<Budget>>,
    reserved: Option<f64>,
}

/// A call that is on its way, and what is held for it.
struct Sent {
    budget: Arc<Mutex<Budget>>,
    reserved: f64,
}

impl Turn {
    fn send(mut self) -> Sent {
        Sent { budget: Arc::clone(&self.budget), reserved: self.reserved.take().unwrap_or(0.0) }
    }
}

impl Paid for Sent {
    fn pay(&self, charge: Option<f64>) {
        if let Some(charge) = charge {
            lock(&self.budget).settle(self.reserved, charge);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(reserved) = self.reserved.take() {
            lock(&self.budget).balance += reserved;
        }
    }
}

fn lock(budget: &Mutex<Budget>) -> MutexGuard<'_, Budget> {
    budget.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a group may use of a container: request units that grow with time, up to those of a second.
///
/// Whoever comes takes what a call is expected to cost, and waits until the balance would be back at zero. So calls are
/// sent in the order in which they came, and in the long run no more is used than the rate.
#[derive(Debug)]
struct Budget {
    /// Request units a second; 0 until it is known.
    rate: f64,
    rate_since: Duration,
    balance: f64,
    at: Duration,
    /// What a call is expected to cost.
    estimate: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { rate: 0.0, rate_since: Duration::ZERO, balance: 0.0, at: Duration::ZERO, estimate: 1.0 }
    }
}

impl Budget {
    fn is_outdated(&self, now: Duration) -> bool {
        const VALID: Duration = Duration::from_secs(60);
        self.rate == 0.0 || now.saturating_sub(self.rate_since) >= VALID
    }

    fn set_rate(&mut self, rate: f64, now: Duration) {
        let is_first = self.rate == 0.0;
        self.grow(now);
        (self.rate, self.rate_since) = (rate, now);
        if is_first {
            self.balance += rate;
        }
    }

    /// Goes on with the rate for another while; false if there is none.
    fn keep_rate(&mut self, now: Duration) -> bool {
        self.rate_since = now;
        self.rate > 0.0
    }

    fn grow(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.balance = (self.balance + passed * self.rate).min(self.rate);
        self.at = self.at.max(now);
    }

    /// Takes what a call is expected to cost; gives that, and how long the call has to wait. `None`, and nothing taken,
    /// if that is too long.
    fn reserve(&mut self, now: Duration, max_wait: Duration) -> Option<(f64, Duration)> {
        self.grow(now);
        let missing = (-self.balance).max(0.0);
        let wait = Duration::try_from_secs_f64(missing / self.rate).unwrap_or(Duration::MAX);
        if wait > max_wait {
            return None;
        }
        self.balance -= self.estimate;
        Some((self.estimate, wait))
    }

    fn settle(&mut self, reserved: f64, charge: f64) {
        /// How much of the newest charge there is in the estimate.
        const NEWEST: f64 = 0.2;
        if !charge.is_finite() || charge < 0.0 {
            return;
        }
        self.balance += reserved - charge;
        self.estimate += (charge - self.estimate) * NEWEST;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn budget(rate: f64) -> Budget {
        let mut budget = Budget::default();
        budget.set_rate(rate, Duration::ZERO);
        budget
    }

    #[test]
    fn calls_wait_in_order_until_there_is_something_left() {
        let mut budget = budget(10.0);
        let seconds = Duration::from_secs;
        for (now, max_wait, expected) in [
            // A second's worth is there at once, one unit a call.
            (0, 0, Some(0)),
            (0, 0, Some(0)),
            (10, 0, Some(0)),
        ] {
            let wait = budget.reserve(seconds(now), seconds(max_wait)).map(|(_, wait)| wait.as_secs());
            assert_eq!(wait, expected, "{now}");
        }
        budget.settle(1.0, 60.0);
        // 10 at most, less one held and 59 more than was expected: 50 are missing, 5 seconds' worth.
        assert_eq!(budget.reserve(seconds(10), seconds(4)), None);
        let (_, wait) = budget.reserve(seconds(10), seconds(60)).unwrap();
        assert_eq!(wait, seconds(5));
        let (_, wait) = budget.reserve(seconds(10), seconds(60)).unwrap();
        assert!(wait > seconds(5), "the next one waits longer");
    }

    #[test]
    fn what_was_not_sent_is_given_back_and_an_unknown_charge_is_what_was_expected() {
        let shared = Arc::new(Mutex::new(budget(10.0)));
        let turn = || {
            let (reserved, _) = lock(&shared).reserve(Duration::ZERO, Duration::MAX).unwrap();
            Turn { budget: Arc::clone(&shared), reserved: Some(reserved) }
        };
        drop(turn());
        assert_eq!(lock(&shared).balance, 10.0);
        turn().send().pay(None);
        drop(turn().send());
        assert_eq!(lock(&shared).balance, 8.0);
        turn().send().pay(Some(3.0));
        assert_eq!(lock(&shared).balance, 5.0);
    }

    proptest! {
        /// Whatever calls cost, no more is sent by any moment than the rate allows, a second's worth to begin with, and
        /// the one call that overdraws.
        #[test]
        fn no_more_is_used_than_the_rate_allows(
            rate in 1.0..1000.0f64,
            calls in prop::collection::vec((0..500u64, 0.0..200.0f64), 1..200),
        ) {
            let mut budget = budget(rate);
            let (mut now, mut used) = (Duration::ZERO, 0.0);
            for (pause, charge) in calls {
                now += Duration::from_millis(pause);
                let (reserved, wait) = budget.reserve(now, Duration::MAX).unwrap();
                now += wait;
                let allowed = rate * (now.as_secs_f64() + 1.0);
                prop_assert!(used <= allowed + 1e-6 * allowed, "{used} of {allowed}");
                used += charge;
                budget.settle(reserved, charge);
            }
        }
    }
}
