//! How long ended instances and past executions are kept: a sweep in the background removes the others.
//!
//! One of the processes that share a container sweeps, the one that has the first dispatch slot. A sweep is of a bounded
//! size, so that it never takes the throughput of the orchestrations for long; what is left is for the next one.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cosmonaut::ContainerClient;
use duroxide::providers::ProviderError;

use crate::clock::{self, Task};
use crate::core::Core;
use crate::lease::LeaseProvider;

/// The shortest and the longest time between sweeps.
const SHORTEST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The slot whose owner sweeps.
const FIRST_SLOT: u8 = 0;

/// How long what has ended is kept: for ever, unless something is said.
///
/// ```
/// use std::time::Duration;
/// use duroxide_cosmonaut::{CosmosProviderConfig, Retention};
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let config = CosmosProviderConfig {
///     retention: Retention { ended_instances: Some(month), executions: Some(10), ..Retention::default() },
///     ..CosmosProviderConfig::default()
/// };
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// How long an instance is kept after its end. It is deleted with all that it has started, once all of that has
    /// ended; an instance that another one has started goes with that one.
    pub ended_instances: Option<Duration>,
    /// The container of the same database to which instances go instead of being deleted. It is made if it is not there
    /// and the provider may make containers. What is in it can be looked at like the container itself, by a provider
    /// that runs nothing; an instance that ends under a name that is there already takes its place.
    pub archive: Option<String>,
    /// How many executions of an instance are kept, the current one included: for orchestrations that go on as new for
    /// ever.
    pub executions: Option<u32>,
    /// How often is looked for what need not be kept. If nothing is said, ten times in the time that ended instances are
    /// kept, and between once a minute and once an hour.
    pub every: Option<Duration>,
}

impl Retention {
    /// How long to wait between sweeps; `None` if everything is kept.
    fn pause(&self) -> Option<Duration> {
        let usual = match (self.ended_instances, self.executions) {
            (None, None) => return None,
            (None, Some(_)) => LONGEST_PAUSE,
            (Some(time), _) => (time / 10).clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
        };
        Some(self.every.unwrap_or(usual))
    }
}

/// What a sweep has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many instances.
    pub instances: u64,
    /// How many past executions of instances that are still there.
    pub executions: u64,
}

/// What sweeps again and again, once it is started.
#[derive(Clone)]
pub(crate) struct Sweeper {
    retention: Retention,
    archive: Option<ContainerClient>,
    leases: Arc<dyn LeaseProvider>,
    task: Arc<OnceLock<Option<Task>>>,
}

impl Sweeper {
    pub(crate) fn new(
        retention: Retention,
        archive: Option<ContainerClient>,
        leases: Arc<dyn LeaseProvider>,
    ) -> Self {
        Self { retention, archive, leases, task: Arc::default() }
    }

    pub(crate) fn start(&self, core: &Arc<Core>) {
        self.task.get_or_init(|| {
            let pause = self.retention.pause()?;
            // The task must not own itself: what it sweeps with has a cell of its own.
            let sweeper = Self { task: Arc::default(), ..self.clone() };
            Some(Task::spawn(sweeper.run(Arc::downgrade(core), pause)))
        });
    }

    /// One sweep.
    pub(crate) async fn sweep(&self, core: &Core) -> Result<Swept, ProviderError> {
        core.admin().sweep(&self.retention, self.archive.as_ref()).await
    }

    async fn run(self, core: Weak<Core>, pause: Duration) {
        loop {
            clock::sleep(pause).await;
            let Some(core) = core.upgrade() else { return };
            if !self.leases.owned().contains(FIRST_SLOT) {
                continue;
            }
            if let Err(error) = self.sweep(&core).await {
                tracing::warn!(%error, "what has ended long ago cannot be removed now");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_comes_ten_times_in_the_time_that_is_kept_but_at_most_every_minute() {
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        for (ended_instances, executions, every, expected) in [
            (None, None, None, None),
            (None, None, Some(minute), None),
            (None, Some(3), None, Some(hour)),
            (Some(Duration::ZERO), None, None, Some(minute)),
            (Some(5 * hour), None, None, Some(hour / 2)),
            (Some(5 * hour), Some(3), None, Some(hour / 2)),
            (Some(1000 * hour), None, None, Some(hour)),
            (Some(1000 * hour), None, Some(minute), Some(minute)),
        ] {
            let retention = Retention { ended_instances, executions, every, archive: None };
            assert_eq!(retention.pause(), expected);
        }
    }
}
