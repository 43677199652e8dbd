//! The load: a runtime, and callers that start one orchestration after the other and wait for its end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, Usage};
use hdrhistogram::Histogram;
use tokio::sync::watch;

use crate::runtime;
use crate::signal::StopSignal;

/// How long an orchestration may take. One that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(120);
const ORCHESTRATION: &str = "Stress";
const ACTIVITY: &str = "Work";

/// What runs, and by how many hands.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) activities: u32,
    pub(super) activity_time: Duration,
    pub(super) dispatchers: usize,
    pub(super) workers: usize,
}

/// A runtime under load.
pub(super) struct Load {
    store: Arc<CosmosProvider>,
    runtime: Arc<Runtime>,
    starter: Client,
    waiter: Client,
    next: AtomicU64,
    tally: Mutex<Tally>,
}

/// What has come of the orchestrations so far.
struct Tally {
    /// In microseconds; only of those that succeeded.
    latencies: Histogram<u64>,
    failures: BTreeMap<String, u64>,
}

/// What came of a run.
pub(super) struct Outcome {
    pub(super) time: Duration,
    pub(super) latencies: Histogram<u64>,
    pub(super) failures: BTreeMap<String, u64>,
    /// What orchestrations asked of the account.
    pub(super) calls: Usage,
    /// What waiting for work asked of it.
    pub(super) background: Usage,
    pub(super) is_stopped: bool,
}

impl Load {
    pub(super) async fn start(store: Arc<CosmosProvider>, caller: Arc<CosmosProvider>, shape: Shape) -> Self {
        let activities = ActivityRegistry::builder()
            .register(ACTIVITY, move |_: ActivityContext, input: String| async move {
                runtime::sleep(shape.activity_time).await;
                Ok(input)
            })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register(ORCHESTRATION, move |context: OrchestrationContext, _: String| async move {
                let activity = |n: u32| context.schedule_activity(ACTIVITY, n.to_string());
                let results = context.join((0..shape.activities).map(activity).collect()).await;
                results.into_iter().try_for_each(|result| result.map(drop)).map(|()| String::new())
            })
            .build();
        let options = RuntimeOptions {
            orchestration_concurrency: shape.dispatchers,
            worker_concurrency: shape.workers,
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        let longest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
        let latencies =
            Histogram::new_with_bounds(1, 2 * longest, 3).expect("the bounds are apart and the digits few");
        Self {
            starter: Client::new(store.clone()),
            waiter: Client::new(caller),
            store,
            runtime,
            next: AtomicU64::new(0),
            tally: Mutex::new(Tally { latencies, failures: BTreeMap::new() }),
        }
    }

    /// Keeps so many orchestrations under way until the time is up, `limit` were started, or somebody stops it.
    pub(super) async fn run(
        self: &Arc<Self>,
        concurrency: usize,
        time: Duration,
        limit: u64,
        stop: &mut StopSignal,
    ) -> Outcome {
        let began = runtime::now();
        let (stopper, stopped) = watch::channel(false);
        let caller = |_| {
            let (load, stopped) = (Arc::clone(self), stopped.clone());
            runtime::spawn(async move { load.call(began + time, limit, &stopped).await })
        };
        let callers: Vec<_> = (0..concurrency).map(caller).collect();
        let ended = async {
            for caller in callers {
                // A caller that panicked has said so; the others go on.
                let _ = caller.await;
            }
        };
        tokio::pin!(ended);
        let is_stopped = tokio::select! {
            () = &mut ended => false,
            () = stop.heard() => true,
        };
        if is_stopped {
            stopper.send_replace(true);
            tokio::select! {
                () = ended => {}
                // Asked twice: what is under way does not count.
                () = stop.heard() => {}
            }
        }
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        Outcome {
            time: runtime::now().saturating_duration_since(began),
            latencies: tally.latencies.clone(),
            failures: tally.failures.clone(),
            calls: self.store.usage(),
            background: self.store.background_usage(),
            is_stopped,
        }
    }

    pub(super) async fn end(&self) {
        Arc::clone(&self.runtime).shutdown(None).await;
    }

    async fn call(&self, until: Instant, limit: u64, stopped: &watch::Receiver<bool>) {
        while runtime::now() < until && !*stopped.borrow() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= limit {
                return;
            }
            let began = runtime::now();
            let ended = self.orchestration(&format!("stress-{number}")).await;
            let latency = runtime::now().saturating_duration_since(began);
            let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
            match ended {
                Ok(()) => {
                    let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
                    tally.latencies.saturating_record(micros);
                }
                Err(why) => *tally.failures.entry(why).or_default() += 1,
            }
        }
    }

    async fn orchestration(&self, instance: &str) -> Result<(), String> {
        self.starter
            .start_orchestration(instance, ORCHESTRATION, "")
            .await
            .map_err(|error| format!("not started: {error}"))?;
        match self.waiter.wait_for_orchestration(instance, LONGEST).await {
            Ok(OrchestrationStatus::Completed { .. }) => Ok(()),
            Ok(OrchestrationStatus::Failed { details, .. }) => Err(format!("failed: {}", details.category())),
            Ok(OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound) => {
                Err("did not end".to_owned())
            }
            Err(error) => Err(format!("not seen to end: {error}")),
        }
    }
}
