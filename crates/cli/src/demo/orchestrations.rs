//! Orders that are carried out durably while the account below them fails.
//!
//! Each is an orchestration of a few activities, a timer and an orchestration below it. Whether it ended, and as it
//! should, is asked of the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::CosmosProvider;
use tokio::task::JoinHandle;

use super::meter::Meter;
use crate::runtime;

/// How often one is started.
const PACE: Duration = Duration::from_millis(250);
/// How long the timer in each of them runs.
const TIMER: Duration = Duration::from_millis(200);
/// How long one may take.
const LONGEST: Duration = Duration::from_secs(120);

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) started: u64,
    /// Ended, and as they should.
    pub(crate) completed: u64,
}

/// When one began and when it was complete, from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    pub(crate) started: Duration,
    pub(crate) completed: Option<Duration>,
}

/// What carries orchestrations out. It takes a while to start, so that it is there before the run begins.
pub(crate) struct Engine {
    runtime: Arc<Runtime>,
    client: Client,
}

pub(crate) struct Orchestrations {
    runtime: Arc<Runtime>,
    shared: Arc<Shared>,
    starter: Mutex<Option<Starter>>,
}

/// Starts orchestrations; ends with those who wait for them.
type Starter = JoinHandle<Vec<JoinHandle<()>>>;

struct Shared {
    client: Client,
    meter: Arc<Meter>,
    courses: Mutex<Vec<Course>>,
}

impl Engine {
    pub(crate) async fn start(provider: CosmosProvider) -> Self {
        // The runtime would log to where the demo draws.
        let _ = tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::default());
        let options = RuntimeOptions {
            orchestration_concurrency: 8,
            worker_concurrency: 8,
            dispatcher_long_poll_timeout: Duration::from_secs(1),
            ..RuntimeOptions::default()
        };
        let store = Arc::new(provider);
        let runtime =
            Runtime::start_with_options(store.clone(), activities(), orchestrations(), options).await;
        Self { runtime, client: Client::new(store) }
    }
}

impl Orchestrations {
    /// Starts one orchestration after the other until the run is over.
    pub(crate) fn start(Engine { runtime, client }: Engine, meter: Arc<Meter>) -> Self {
        let shared = Arc::new(Shared { client, meter, courses: Mutex::default() });
        let starter = Mutex::new(Some(runtime::spawn(start_steadily(Arc::clone(&shared)))));
        Self { runtime, shared, starter }
    }

    pub(crate) fn counts(&self) -> Counts {
        let courses = self.shared.lock();
        let completed = courses.iter().filter(|course| course.completed.is_some()).count();
        Counts { started: courses.len() as u64, completed: completed as u64 }
    }

    /// Waits until those that were started have ended, or have taken too long.
    pub(crate) async fn ended(&self) {
        let starter = self.starter.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(starter) = starter else { return };
        // A task that panicked leaves its orchestration incomplete, which is told.
        for watcher in starter.await.unwrap_or_default() {
            let _ = watcher.await;
        }
    }

    /// Ends the runtime, and tells how each went.
    pub(crate) async fn finish(self) -> Vec<Course> {
        /// How long what is under way may take to end; by now there is nothing.
        const GRACE_MS: u64 = 500;
        self.runtime.shutdown(Some(GRACE_MS)).await;
        self.shared.lock().clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Course>> {
        self.courses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts one at a time; returns those who wait for their ends.
async fn start_steadily(shared: Arc<Shared>) -> Vec<JoinHandle<()>> {
    let mut due = runtime::interval(PACE);
    let mut watchers: Vec<JoinHandle<()>> = Vec::new();
    loop {
        due.tick().await;
        if shared.meter.is_over_at(shared.meter.elapsed()) {
            return watchers;
        }
        let number = watchers.len();
        // One that could not be started is started again under the same name, which makes it one and the same.
        if shared.client.start_orchestration(&name(number), "Order", number.to_string()).await.is_ok() {
            shared.lock().push(Course { started: shared.meter.elapsed(), completed: None });
            watchers.push(runtime::spawn(watch(Arc::clone(&shared), number)));
        }
    }
}

async fn watch(shared: Arc<Shared>, number: usize) {
    let deadline = runtime::now() + LONGEST;
    while runtime::now() < deadline {
        match shared.client.wait_for_orchestration(&name(number), LONGEST).await {
            Ok(OrchestrationStatus::Completed { output, .. }) if output == expected(number) => {
                shared.lock()[number].completed = Some(shared.meter.elapsed());
                return;
            }
            // It ended, and not as it should.
            Ok(_) => return,
            // The store could not say; it may later.
            Err(_) => runtime::sleep(PACE).await,
        }
    }
}

fn name(number: usize) -> String {
    format!("order-{number}")
}

fn expected(number: usize) -> String {
    format!("{number} reserved, {number} charged, {number} packed, {number} shipped")
}

fn activities() -> ActivityRegistry {
    let mut registry = ActivityRegistry::builder();
    for (name, done) in
        [("Reserve", "reserved"), ("Charge", "charged"), ("Pack", "packed"), ("Ship", "shipped")]
    {
        registry = registry.register(name, move |_: ActivityContext, order: String| async move {
            Ok(format!("{order} {done}"))
        });
    }
    registry.build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Order", |context: OrchestrationContext, order: String| async move {
            let steps = ["Reserve", "Charge"];
            let steps = steps.map(|step| context.schedule_activity(step, order.clone()));
            let mut done: Vec<String> =
                context.join(steps.into()).await.into_iter().collect::<Result<_, _>>()?;
            context.schedule_timer(TIMER).await;
            done.push(context.schedule_sub_orchestration("Delivery", order).await?);
            Ok(done.join(", "))
        })
        .register("Delivery", |context: OrchestrationContext, order: String| async move {
            let packed = context.schedule_activity("Pack", order.clone()).await?;
            let shipped = context.schedule_activity("Ship", order).await?;
            Ok(format!("{packed}, {shipped}"))
        })
        .build()
}
