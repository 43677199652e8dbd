//! Orchestrations that fan out to some activities and wait for all, so many at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use tokio::task::JoinSet;

use super::report::Cost;
use super::signals::Signals;
use super::store::Store;
use crate::Result;
use crate::usage::Usage;

pub const ORCHESTRATION: &str = "FanOut";
const ACTIVITY: &str = "Work";
/// After this long an orchestration counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How callers learn that an orchestration has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As applications do: they ask for the status every 5 to 100 ms.
    Polling,
    /// The orchestration tells them as it returns; what became of it is checked when nothing is measured any more.
    Signal,
}

/// The load.
#[derive(Clone, Copy, Debug)]
pub struct FanOut {
    pub at_once: usize,
    pub activities: usize,
    /// How long an activity takes.
    pub activity: Duration,
    /// Of orchestrations and of activities, each.
    pub dispatchers: usize,
    pub wait: Wait,
}

impl fmt::Display for FanOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_once, activities, activity, dispatchers, wait } = self;
        let wait = match wait {
            Wait::Polling => "callers poll",
            Wait::Signal => "callers do not poll",
        };
        let took = activity.as_millis();
        write!(
            f,
            "{at_once} at once, {activities} activities of {took} ms, {dispatchers} + {dispatchers} dispatchers, {wait}"
        )
    }
}

/// What a run measured.
pub struct Measured {
    pub completed: u64,
    pub failed: u64,
    pub time: Duration,
    /// Processor time of the whole process, the emulator's included.
    pub cpu: Duration,
    pub cost: Option<Cost>,
}

impl FanOut {
    /// Runs orchestrations whose names begin so, for some time.
    pub async fn measure(self, store: &Store, names: &str, time: Duration) -> Result<Measured> {
        let signals = Arc::new(Signals::default());
        let runtime = self.start(Arc::clone(&store.provider), &signals).await;
        let callers = Callers {
            client: Client::new(Arc::clone(&store.provider)),
            load: self,
            names: names.to_owned(),
            next: AtomicU64::new(0),
            signals,
        };
        let measured = Arc::new(callers).run(store, time).await;
        runtime.shutdown(None).await;
        measured
    }

    /// Starts what runs the orchestrations.
    pub async fn start(self, provider: Arc<dyn Provider>, signals: &Arc<Signals>) -> Arc<Runtime> {
        let activities = ActivityRegistry::builder().register(
            ACTIVITY,
            move |_: ActivityContext, input: String| async move {
                if !self.activity.is_zero() {
                    tokio::time::sleep(self.activity).await;
                }
                Ok(input)
            },
        );
        let signals = Arc::clone(signals);
        let orchestrations = OrchestrationRegistry::builder().register(
            ORCHESTRATION,
            move |context: OrchestrationContext, _: String| {
                let signals = Arc::clone(&signals);
                async move {
                    let work = (0..self.activities)
                        .map(|n| context.schedule_activity(ACTIVITY, format!("task-{n}")));
                    let results = context.join(work.collect()).await;
                    signals.raise(&context.instance_id());
                    results.into_iter().collect::<std::result::Result<Vec<_>, _>>().map(|done| done.join(" "))
                }
            },
        );
        let options = RuntimeOptions {
            orchestration_concurrency: self.dispatchers,
            worker_concurrency: self.dispatchers,
            ..RuntimeOptions::default()
        };
        Runtime::start_with_options(provider, activities.build(), orchestrations.build(), options).await
    }
}

/// Those who start orchestrations and wait for them.
struct Callers {
    client: Client,
    load: FanOut,
    names: String,
    next: AtomicU64,
    signals: Arc<Signals>,
}

impl Callers {
    async fn run(self: Arc<Self>, store: &Store, time: Duration) -> Result<Measured> {
        // The first makes connections, and is not counted.
        let first = self.one().await?;
        if !first.has_ended || !self.has_completed(&first.instance).await {
            return Err("the first orchestration does not complete".into());
        }
        let (cost, usage, started) = (store.cost(), Usage::now()?, Instant::now());
        let ended = Arc::clone(&self).all(started, time).await?;
        let time = started.elapsed();
        let cpu = (Usage::now()? - usage).cpu;
        let cost = store.cost().zip(cost).map(|(now, before)| now - before);
        let mut completed = 0;
        for one in ended.iter().filter(|one| one.has_ended) {
            completed += u64::from(self.has_completed(&one.instance).await);
        }
        Ok(Measured { completed, failed: ended.len() as u64 - completed, time, cpu, cost })
    }

    /// Starts one orchestration after the other, so many at once, until the time is over and all have ended.
    async fn all(self: Arc<Self>, started: Instant, time: Duration) -> Result<Vec<One>> {
        let mut callers = JoinSet::new();
        for _ in 0..self.load.at_once {
            let caller = Arc::clone(&self);
            callers.spawn(async move {
                let mut ended = Vec::new();
                while started.elapsed() < time {
                    ended.push(caller.one().await?);
                }
                Result::Ok(ended)
            });
        }
        let mut ended = Vec::new();
        while let Some(caller) = callers.join_next().await {
            ended.extend(caller??);
        }
        Ok(ended)
    }

    /// Starts an orchestration and waits for its end, or long enough.
    async fn one(&self) -> Result<One> {
        let instance = format!("{}-{}", self.names, self.next.fetch_add(1, Ordering::Relaxed));
        let signal = self.signals.expect(&instance);
        self.client.start_orchestration(&*instance, ORCHESTRATION, "").await?;
        let has_ended = match self.load.wait {
            Wait::Polling => self.client.wait_for_orchestration(&instance, PATIENCE).await.is_ok(),
            Wait::Signal => tokio::time::timeout(PATIENCE, signal).await.is_ok(),
        };
        Ok(One { instance, has_ended })
    }

    async fn has_completed(&self, instance: &str) -> bool {
        /// How long the commit of a last turn may take.
        const COMMIT: Duration = Duration::from_secs(5);
        let status = self.client.wait_for_orchestration(instance, COMMIT).await;
        matches!(status, Ok(OrchestrationStatus::Completed { .. }))
    }
}

/// An orchestration that was started.
struct One {
    instance: String,
    /// Whether it has, and not just been given up.
    has_ended: bool,
}
