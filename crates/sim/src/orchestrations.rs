//! Orchestrations, the processes that run them, and who starts them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::CosmosClient;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};
use serde::{Deserialize, Serialize};

use crate::history::{Ending, Entry, Orchestration, Pause};
use crate::process::Process;
use crate::random::Random;
use crate::recorder::Recorder;
use crate::witness::Witness;

/// How long what a process has is its own.
pub(crate) const LOCK: Duration = Duration::from_secs(5);

/// What an orchestration does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Shape {
    /// One activity after the other.
    Chain,
    /// All activities at once.
    Fan,
    /// A pause between activities.
    Timer,
    /// An activity, an event from outside, another activity.
    Event,
    /// An event from outside in each of its executions, and an activity of its name.
    Mailbox,
    /// Children, at once.
    Parent,
    /// One activity in each of its executions.
    Eternal,
}

const SHAPES: [Shape; 8] = [
    Shape::Chain,
    Shape::Fan,
    Shape::Timer,
    Shape::Event,
    Shape::Mailbox,
    Shape::Parent,
    // What instances tell each other takes more than one request.
    Shape::Parent,
    Shape::Eternal,
];

/// The input of an orchestration.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Job {
    shape: Shape,
    /// The instance that the ledger knows.
    root: String,
    /// In front of the names of its steps.
    prefix: String,
    steps: u32,
    /// How long it pauses between two steps, in milliseconds.
    pause: u64,
    /// What earlier executions gave.
    done: Vec<String>,
}

impl Job {
    fn step(&self, nth: usize) -> String {
        format!("{}{nth}", self.prefix)
    }

    fn child(&self, nth: u32) -> Job {
        let prefix = format!("{}c{nth}.", self.prefix);
        Job { shape: Shape::Chain, root: self.root.clone(), prefix, steps: 2, pause: 0, done: Vec::new() }
    }

    /// The events that it waits for, in order.
    fn events(&self) -> Vec<String> {
        match self.shape {
            Shape::Event => vec!["now".to_owned()],
            Shape::Mailbox => self.all_steps(),
            Shape::Chain | Shape::Fan | Shape::Timer | Shape::Parent | Shape::Eternal => Vec::new(),
        }
    }

    /// How long lies between two of its steps at least.
    fn pauses(&self) -> Vec<Pause> {
        if !matches!(self.shape, Shape::Timer) {
            return Vec::new();
        }
        let least = self.pause.saturating_sub(CLOCKS_DIFFER).saturating_mul(1000);
        let pause = |nth: usize| Pause { after: self.step(nth), before: self.step(nth + 1), least };
        (0..self.steps as usize - 1).map(pause).collect()
    }

    /// The steps that it takes, in the order of its output.
    fn all_steps(&self) -> Vec<String> {
        match self.shape {
            Shape::Parent => (0..self.steps).flat_map(|nth| self.child(nth).all_steps()).collect(),
            _ => (0..self.steps as usize).map(|nth| self.step(nth)).collect(),
        }
    }
}

/// How many milliseconds a timer may come early: the date of an answer is in whole seconds, so whoever sets a timer and
/// whoever finds it due may each be wrong about the server's time by that much.
const CLOCKS_DIFFER: u64 = 3000;

/// For how long an orchestration is started, and told of its events: longer than all faults last together.
const PATIENCE: Duration = Duration::from_secs(900);

/// The name that orchestrations are registered under.
const NAME: &str = "Shape";
const STEP: &str = "Step";
const EVENT: &str = "go";

async fn orchestration(context: OrchestrationContext, input: String) -> Result<String, String> {
    let job: Job = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    let activity = |nth: usize| context.schedule_activity(STEP, format!("{}|{}", job.root, job.step(nth)));
    let mut given = job.done.clone();
    match job.shape {
        Shape::Chain | Shape::Timer | Shape::Event => {
            for nth in 0..job.steps as usize {
                match job.shape {
                    Shape::Timer if nth > 0 => context.schedule_timer(Duration::from_millis(job.pause)).await,
                    Shape::Event if nth == 1 => drop(context.dequeue_event(EVENT).await),
                    _ => {}
                }
                given.push(activity(nth).await?);
            }
        }
        Shape::Fan => {
            let all = (0..job.steps as usize).map(activity).collect();
            for result in context.join(all).await {
                given.push(result?);
            }
        }
        Shape::Parent => {
            let child = |nth: u32| {
                let input = serde_json::to_string(&job.child(nth)).unwrap_or_default();
                context.schedule_sub_orchestration(NAME, input)
            };
            for result in context.join((0..job.steps).map(child).collect()).await {
                given.push(result?);
            }
        }
        Shape::Eternal | Shape::Mailbox => {
            let step = match job.shape {
                Shape::Mailbox => context.dequeue_event(EVENT).await,
                _ => job.step(given.len()),
            };
            // An event that comes twice is told of, and means nothing.
            if !given.contains(&step) {
                context.schedule_activity(STEP, format!("{}|{step}", job.root)).await?;
            }
            given.push(step);
            if given.iter().collect::<BTreeSet<_>>().len() < job.steps as usize {
                let next = Job { done: given, ..job };
                let input = serde_json::to_string(&next).map_err(|error| error.to_string())?;
                return context.continue_as_new(input).await;
            }
        }
    }
    Ok(given.join(","))
}

/// Runs orchestrations in a process, until it is killed.
pub(crate) struct Worker {
    runtime: Arc<Runtime>,
    provider: CosmosProvider,
}

/// What a worker is started with.
pub(crate) struct WorkerPlan {
    /// Its client.
    pub(crate) client: CosmosClient,
    /// By how much its clock is wrong, in milliseconds.
    pub(crate) skew_ms: i64,
    /// A name that no other process has.
    pub(crate) name: String,
}

impl Worker {
    /// Starts once it can connect.
    pub(crate) async fn start(
        plan: WorkerPlan,
        process: &Arc<Process>,
        recorder: &Recorder,
        random: &Random,
    ) -> Self {
        let leases = Leases::Container { name: plan.name.clone(), lease: Duration::from_secs(10) };
        let provider = connected(&plan.client, leases).await;
        provider.skew_clock(plan.skew_ms);
        let witness = Witness::new(provider.clone(), recorder, process.id);
        let (recorder, random, process) = (recorder.clone(), random.clone(), Arc::clone(process));
        let activities = ActivityRegistry::builder()
            .register(STEP, move |_: ActivityContext, input: String| {
                run(process.clone(), recorder.clone(), random.clone(), input)
            })
            .build();
        let orchestrations = OrchestrationRegistry::builder().register(NAME, orchestration).build();
        let options = RuntimeOptions {
            orchestrator_lock_timeout: LOCK,
            orchestrator_lock_renewal_buffer: LOCK / 2,
            worker_lock_timeout: LOCK,
            worker_lock_renewal_buffer: LOCK / 2,
            max_attempts: 1000,
            ..RuntimeOptions::default()
        };
        let runtime =
            Runtime::start_with_options(Arc::new(witness), activities, orchestrations, options).await;
        Self { runtime, provider }
    }

    /// From now on its clock is wrong by so many milliseconds.
    pub(crate) fn set_clock(&self, skew_ms: i64) {
        self.provider.skew_clock(skew_ms);
    }

    /// Ends at once: what its process did is over, and nothing that it does from now on reaches anybody.
    pub(crate) fn kill(&self) {
        let runtime = Arc::clone(&self.runtime);
        // Its tasks end whoever waits for that.
        #[expect(clippy::disallowed_methods, reason = "it ends by itself")]
        tokio::spawn(async move { runtime.shutdown(Some(0)).await });
    }
}

/// A provider, as soon as the account lets one connect.
async fn connected(client: &CosmosClient, leases: Leases) -> CosmosProvider {
    let mut tries = 0;
    loop {
        tries += 1;
        let config = CosmosProviderConfig {
            database: "d".into(),
            container: "c".into(),
            leases: leases.clone(),
            ..CosmosProviderConfig::with_client(client.clone())
        };
        match CosmosProvider::connect(config).await {
            Ok(provider) => return provider,
            Err(error) if tries > 1000 => panic!("nobody can connect: {error}"),
            Err(_) => sleep(Duration::from_millis(500)).await,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "time is the world's")]
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The activity: it takes some time, and is written down.
async fn run(
    process: Arc<Process>,
    recorder: Recorder,
    random: Random,
    input: String,
) -> Result<String, String> {
    let (instance, step) = input.split_once('|').ok_or("no step")?;
    if process.is_dead() {
        return std::future::pending().await;
    }
    let place = recorder.enter(Entry {
        at: recorder.tick(),
        process: process.id,
        instance: instance.to_owned(),
        step: step.to_owned(),
        finished: false,
        disturbed: false,
    });
    // Some take longer than a lock lasts that is not renewed.
    let time =
        if random.percent(4) { 3 * LOCK } else { Duration::from_millis(*random.pick(&[0, 0, 5, 50, 400])) };
    sleep(time).await;
    if process.is_dead() {
        return std::future::pending().await;
    }
    recorder.lock().ledger[place].finished = true;
    Ok(step.to_owned())
}

/// Who starts orchestrations, and waits for them.
pub(crate) struct Starter {
    client: Client,
    recorder: Recorder,
    random: Random,
}

impl Starter {
    /// Connects, which makes the container.
    pub(crate) async fn connect(client: &CosmosClient, recorder: &Recorder, random: &Random) -> Self {
        let provider = connected(client, Leases::InMemory).await;
        Self { client: Client::new(Arc::new(provider)), recorder: recorder.clone(), random: random.clone() }
    }

    /// Starts an orchestration.
    pub(crate) async fn start(&self, nth: u32) {
        let shape = *self.random.pick(&SHAPES);
        let root = format!("{shape:?}-{nth}").to_lowercase();
        let steps = self.random.between(2, 5) as u32;
        let pause = *self.random.pick(&[700, 5000]);
        let job = Job { shape, root: root.clone(), prefix: "s".into(), steps, pause, done: Vec::new() };
        let place = {
            let invoked = self.recorder.tick();
            let mut history = self.recorder.lock();
            history.orchestrations.push(Orchestration {
                instance: root.clone(),
                invoked,
                started: None,
                ended: None,
                asked_again: None,
                is_running: false,
                waits: !job.events().is_empty(),
                steps: job.all_steps(),
                expected: job.all_steps().join(","),
                repeats: Vec::new(),
                pauses: job.pauses(),
            });
            history.orchestrations.len() - 1
        };
        let input = serde_json::to_string(&job).expect("a job is JSON");
        let mut started = self.client.start_orchestration(&root, NAME, input.clone()).await.is_ok();
        let since = self.recorder.tick();
        let is_too_long = || self.recorder.tick() - since > PATIENCE.as_micros() as u64;
        // Events to an instance that does not exist are lost.
        while !started && !job.events().is_empty() {
            if is_too_long() {
                return self.recorder.unended(&format!("the start of {root}"), since);
            }
            sleep(Duration::from_millis(500)).await;
            started = self.client.start_orchestration(&root, NAME, input.clone()).await.is_ok();
        }
        if started {
            self.recorder.lock().orchestrations[place].started = Some(true);
        }
        for event in job.events() {
            // An event that is not acknowledged may have come: it is sent until it is.
            while self.client.enqueue_event(&root, EVENT, &event).await.is_err() {
                if is_too_long() {
                    return self.recorder.unended(&format!("the event {event} to {root}"), since);
                }
                self.recorder.lock().orchestrations[place].repeats.push(event.clone());
                sleep(Duration::from_millis(500)).await;
            }
        }
    }

    /// Notes which orchestrations have ended. Says whether all that were started have.
    pub(crate) async fn look(&self) -> bool {
        let open: Vec<(usize, String)> = {
            let history = self.recorder.lock();
            let open = history.orchestrations.iter().enumerate().filter(|(_, one)| one.ended.is_none());
            open.map(|(place, one)| (place, one.instance.clone())).collect()
        };
        let mut all = true;
        for (place, instance) in open {
            let status = self.client.get_orchestration_status(&instance).await;
            if let Ok(status) = &status {
                let is_running = matches!(status, OrchestrationStatus::Running { .. });
                self.recorder.lock().orchestrations[place].is_running = is_running;
            }
            match status {
                Ok(OrchestrationStatus::NotFound) => {
                    all &= self.recorder.lock().orchestrations[place].started != Some(true);
                }
                Ok(status) => match ending_of(status) {
                    Some(ending) => {
                        let now = self.recorder.tick();
                        self.recorder.lock().orchestrations[place].ended = Some((now, ending));
                    }
                    None => all = false,
                },
                Err(_) => all = false,
            }
        }
        all
    }

    /// Asks once more for the orchestrations that had ended: nothing that ended goes on.
    pub(crate) async fn ask_again(&self) {
        let ended: Vec<(usize, String)> = {
            let history = self.recorder.lock();
            let ended = history.orchestrations.iter().enumerate().filter(|(_, one)| one.ended.is_some());
            ended.map(|(place, one)| (place, one.instance.clone())).collect()
        };
        for (place, instance) in ended {
            if let Ok(status) = self.client.get_orchestration_status(&instance).await {
                self.recorder.lock().orchestrations[place].asked_again = Some(ending_of(status));
            }
        }
    }
}

/// How an orchestration has ended, if it has.
fn ending_of(status: OrchestrationStatus) -> Option<Ending> {
    match status {
        OrchestrationStatus::Completed { output, .. } => Some(Ending::Completed(output)),
        OrchestrationStatus::Failed { details, .. } => Some(Ending::Failed(details.display_message())),
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => None,
    }
}
