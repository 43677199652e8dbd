//! A process as an application has it, a provider with a runtime on it, and ways to wait for what it does.
//!
//! Which orchestrations run is up to each test.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::registry::{ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};
use duroxide::{
    ActivityContext, AppErrorKind, Client, ErrorDetails, Event, EventKind, OrchestrationRegistry,
};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};
use tokio::sync::Semaphore;

use crate::harness::{Account, Home, Server};

/// How long a test waits for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) store: Arc<CosmosProvider>,
    pub(crate) client: Client,
    runtime: Arc<Runtime>,
}

impl World {
    /// In a container of its own.
    pub(crate) async fn start(
        activities: ActivityRegistryBuilder,
        orchestrations: OrchestrationRegistryBuilder,
    ) -> Self {
        Self::start_on(Account::OneRegion, options(), activities, orchestrations).await
    }

    pub(crate) async fn start_on(
        account: Account,
        options: RuntimeOptions,
        activities: ActivityRegistryBuilder,
        orchestrations: OrchestrationRegistryBuilder,
    ) -> Self {
        let home = Server::shared(account).home();
        Self::join(home, options, activities.build(), orchestrations.build()).await
    }

    /// In a container that may have been worked in before.
    pub(crate) async fn join(
        home: Home,
        options: RuntimeOptions,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
    ) -> Self {
        let store = Arc::new(home.provider().await);
        Self::on(home, store, options, activities, orchestrations).await
    }

    /// In a container that other processes work in at the same time.
    pub(crate) async fn share(
        home: Home,
        name: &str,
        options: RuntimeOptions,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
    ) -> Self {
        let leases = Leases::Container { name: name.into(), lease: Duration::from_secs(1) };
        let config = CosmosProviderConfig { leases, ..home.config() };
        let store = Arc::new(CosmosProvider::connect(config).await.unwrap());
        Self::on(home, store, options, activities, orchestrations).await
    }

    /// On a provider that others may use too.
    pub(crate) async fn on(
        home: Home,
        store: Arc<CosmosProvider>,
        options: RuntimeOptions,
        activities: ActivityRegistry,
        orchestrations: OrchestrationRegistry,
    ) -> Self {
        let runtime = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        Self { home, client: Client::new(store.clone()), store, runtime }
    }

    /// Ends the runtime; what is stored stays.
    pub(crate) async fn stop(self) -> Home {
        self.runtime.shutdown(None).await;
        self.home
    }

    pub(crate) async fn begin(&self, instance: &str, orchestration: &str, input: &str) {
        self.client.start_orchestration(instance, orchestration, input).await.unwrap();
    }

    /// The output, or why it failed.
    pub(crate) async fn end(&self, instance: &str) -> Result<String, String> {
        match self.client.wait_for_orchestration(instance, LONG).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => Ok(output),
            Ok(OrchestrationStatus::Failed { details, .. }) => Err(details.display_message()),
            other => panic!("{instance}: {other:?}"),
        }
    }

    pub(crate) async fn run(&self, orchestration: &str, input: &str) -> Result<String, String> {
        let instance = format!("{orchestration}-{input}");
        self.begin(&instance, orchestration, input).await;
        self.end(&instance).await
    }

    /// Why an instance was cancelled, which it must be.
    pub(crate) async fn cancelled(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, LONG).await.unwrap() {
            OrchestrationStatus::Failed { details, .. } => reason(&details).expect(instance).to_owned(),
            other => panic!("{instance}: {other:?}"),
        }
    }

    /// The events of the current execution.
    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.store.read(instance).await.unwrap()
    }

    pub(crate) async fn until_history(&self, instance: &str, what: &str, holds: impl Fn(&EventKind) -> bool) {
        let holds = &holds;
        until(format!("{instance}: {what}"), async || {
            self.history(instance).await.iter().any(|event| holds(&event.kind))
        })
        .await;
    }

    /// Waits until an orchestration waits for an event or for a message of a queue.
    pub(crate) async fn until_waiting(&self, instance: &str, awaited: &str) {
        let is_wait = |kind: &EventKind| match kind {
            EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => name == awaited,
            _ => false,
        };
        self.until_history(instance, awaited, is_wait).await;
    }

    /// Waits until no message is left that could still change anything.
    pub(crate) async fn until_quiet(&self) {
        until("no message is left", async || self.home.count("message").await == 0).await;
    }

    /// The values that an instance keeps.
    pub(crate) async fn kept(&self, instance: &str) -> BTreeMap<String, String> {
        self.client.get_kv_all_values(instance).await.unwrap().into_iter().collect()
    }
}

/// The options of a runtime on a busy machine: only a test that is about them lets locks run out.
pub(crate) fn options() -> RuntimeOptions {
    /// An activity learns that it is cancelled when its lock is renewed: as often as the runtime can.
    const RENEWAL: Duration = Duration::from_secs(1);
    RuntimeOptions {
        orchestrator_lock_timeout: LONG,
        worker_lock_timeout: LONG,
        worker_lock_renewal_buffer: LONG - RENEWAL,
        session_lock_timeout: LONG,
        activity_cancellation_grace_period: LONG,
        ..RuntimeOptions::default()
    }
}

/// Activities that many tests need: `Echo` gives back its input, `Double` twice the number, `Fail` fails with it.
pub(crate) fn activities() -> ActivityRegistryBuilder {
    ActivityRegistry::builder()
        .register("Echo", |_: ActivityContext, text: String| async move { Ok(text) })
        .register("Double", |_: ActivityContext, n: String| async move {
            n.parse::<u64>().map(|n| (n * 2).to_string()).map_err(|error| format!("{n:?}: {error}"))
        })
        .register("Fail", |_: ActivityContext, why: String| async move { Err::<String, _>(why) })
}

/// With one more, `Stop`, which waits at a gate.
pub(crate) fn activities_with_stop(gate: &Gate) -> ActivityRegistryBuilder {
    let gate = gate.clone();
    activities().register("Stop", move |_: ActivityContext, _: String| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok(String::new())
        }
    })
}

pub(crate) fn orchestrations() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
}

/// Asks again and again until something holds.
pub(crate) async fn until(what: impl Display, mut holds: impl AsyncFnMut() -> bool) {
    const PACE: Duration = Duration::from_millis(10);
    let held = async {
        while !holds().await {
            crate::waiting::sleep(PACE).await;
        }
    };
    let waited = crate::waiting::timeout(LONG, held).await;
    assert!(waited.is_ok(), "this never came: {what}");
}

/// Why something was cancelled, if it was.
pub(crate) fn reason(details: &ErrorDetails) -> Option<&str> {
    match details {
        ErrorDetails::Application { kind: AppErrorKind::Cancelled { reason }, .. } => Some(reason),
        _ => None,
    }
}

/// How many events are of a kind.
pub(crate) fn count(history: &[Event], is: impl Fn(&EventKind) -> bool) -> usize {
    history.iter().filter(|event| is(&event.kind)).count()
}

/// A number that a test has put into an input.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

/// A place where activities stop until the test lets them go on.
#[derive(Clone)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }

    /// An activity comes, and goes on when it may.
    pub(crate) async fn pass(&self) {
        self.arrive();
        self.open.acquire().await.unwrap().forget();
    }

    /// An activity comes, and goes on at once.
    pub(crate) fn arrive(&self) {
        self.arrived.add_permits(1);
    }

    /// Waits until one more has come.
    pub(crate) async fn reached(&self) {
        let reached = crate::waiting::timeout(LONG, self.arrived.acquire()).await;
        reached.expect("an activity comes to the gate").unwrap().forget();
    }

    /// How many have come that nobody has waited for.
    pub(crate) fn waiting(&self) -> usize {
        self.arrived.available_permits()
    }

    /// Lets one go on.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}
