//! The processes of a world: started, killed, and started again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cosmonaut::options::{ConnectionOptions, CosmosClientOptions, HedgingThreshold, HttpProtocol};
use cosmonaut::{ContainerClient, CosmosClient};
use tokio::task::JoinSet;

use super::{Inner, Running, World};
use crate::feeds::{FeedNotes, Reader, new_feed, start_processor};
use crate::history::{FeedKind, Level};
use crate::host;
use crate::items::ItemTask;
use crate::network::Route;
use crate::orchestrations::{Worker, WorkerPlan};
use crate::plan::{ClientPlan, FIRST_PROCESSOR, WorldKind};
use crate::process::Process;

/// No call takes so long: a query has some thirty pages at most, and each of them is given up in time.
const LONGEST_CALL: Duration = Duration::from_secs(1200);

impl World {
    pub(super) fn process(&self, id: u32, skew_ms: i64) -> Process {
        let Inner { network, random, plan, .. } = &*self.0;
        let process = Process::new(id, network, random, skew_ms);
        for port in 8081..=8096 {
            network.route(id, port).set_delay(plan.delay.0, plan.delay.1);
        }
        process
    }

    pub(super) fn client(&self, process: &Process, options: CosmosClientOptions) -> CosmosClient {
        let credential = self.0.credentials.key();
        process.client(&self.0.url, credential, options).expect("the options are right")
    }

    fn client_of(&self, process: &Process, plan: &ClientPlan) -> CosmosClient {
        let credentials = &self.0.credentials;
        let credential = match plan.token_life {
            Some(seconds) => credentials.tokens(Duration::from_secs(seconds)),
            None => credentials.key(),
        };
        process.client(&self.0.url, credential, self.options_of(plan)).expect("the options are right")
    }

    pub(super) fn options_of(&self, plan: &ClientPlan) -> CosmosClientOptions {
        let protocol = if plan.http1 { HttpProtocol::Http1 } else { HttpProtocol::Negotiated };
        let connection = ConnectionOptions { http_protocol: Some(protocol), ..Default::default() };
        let mut options = CosmosClientOptions { connection, ..Default::default() };
        options.regions.preferred_regions =
            Some(plan.preferred.iter().map(|name| name.as_str().into()).collect());
        options.hedging.hedging_threshold =
            plan.hedges_after.map(|after| HedgingThreshold::Static(Duration::from_millis(after)));
        options
    }

    pub(super) fn container_of(&self, process: &Process, plan: &ClientPlan) -> ContainerClient {
        self.client_of(process, plan).database("d").container("c")
    }

    /// The container for somebody without a plan.
    fn container(&self, process: &Process) -> ContainerClient {
        self.client(process, CosmosClientOptions::default()).database("d").container("c")
    }

    /// Starts a client whose tasks make so many calls.
    pub(super) fn start_client(&self, plan: &ClientPlan, calls: u32) {
        let session = self.0.sessions.fetch_add(1, Ordering::Relaxed) as u32;
        // A process that is started again is another one.
        let process = Arc::new(self.process(plan.id + 10 * session, plan.skew_ms));
        if self.0.plan.kind == WorldKind::Orchestrations {
            return self.start_worker(plan, process);
        }
        let container = self.container_of(&process, plan);
        self.start_tasks(plan, process, (container, session), (calls, false));
    }

    /// Lets a client that has lived through everything make some more calls, in its session; only reads, if that is said.
    pub(super) fn go_on(&self, plan: &ClientPlan, calls: u32, only_reads: bool) {
        let running = self.lock_clients().remove(&plan.id).filter(|running| !running.process.is_dead());
        match running {
            Some(Running { process, items: Some(items), .. }) => {
                self.start_tasks(plan, process, items, (calls, only_reads))
            }
            _ => self.start_client(plan, calls),
        }
    }

    fn start_tasks(
        &self,
        plan: &ClientPlan,
        process: Arc<Process>,
        (container, session): (ContainerClient, u32),
        (calls, only_reads): (u32, bool),
    ) {
        let left = Arc::new(AtomicU64::new(u64::from(calls * plan.tasks)));
        let now = host::now();
        for task in 0..plan.tasks {
            let mut task = ItemTask {
                container: container.clone(),
                recorder: self.0.recorder.clone(),
                random: self.0.random.fork(&format!("task {task} of session {session} at {now}")),
                session,
                has_token: self.0.plan.level == Level::Session,
                partitions: self.0.plan.partitions,
                items: self.0.plan.items,
                timeout: Duration::from_millis(plan.timeout),
                known: BTreeMap::new(),
                only_reads,
            };
            let (world, left, pause) = (self.clone(), Arc::clone(&left), plan.pause);
            process.run(async move {
                for _ in 0..calls {
                    task.step().await;
                    left.fetch_sub(1, Ordering::Relaxed);
                    world.sleep(Duration::from_millis(task.random.between(0, pause))).await;
                    if world.0.credentials.are_of_no_use() {
                        world.sleep(Duration::from_millis(200)).await;
                    }
                }
            });
        }
        let items = Some((container, session));
        self.lock_clients().insert(plan.id, Running { process, items, left, worker: Arc::default() });
    }

    /// Starts a process that runs orchestrations.
    pub(super) fn start_worker(&self, plan: &ClientPlan, process: Arc<Process>) {
        let client = self.client_of(&process, plan);
        let name = format!("process {}", process.id);
        let plan_of_worker = WorkerPlan { client, skew_ms: plan.skew_ms, name };
        let random = self.0.random.fork(&format!("worker {}", process.id));
        let (recorder, worker) = (self.0.recorder.clone(), Arc::<OnceLock<Worker>>::default());
        let running = Running {
            process: Arc::clone(&process),
            items: None,
            left: Arc::default(),
            worker: worker.clone(),
        };
        self.lock_clients().insert(plan.id, running);
        let inside = Arc::clone(&process);
        process.run(async move {
            let started = Worker::start(plan_of_worker, &inside, &recorder, &random).await;
            let _ = worker.set(started);
        });
    }

    /// Starts a process that shares the change-feed processor.
    pub(super) fn start_processor(&self, id: u32) {
        let start = self.0.sessions.fetch_add(1, Ordering::Relaxed) as u32;
        let Some(plan) = self.0.plan.processor_plans.iter().find(|plan| plan.id == id) else { return };
        let process = Arc::new(self.process(id + 10 * start, plan.skew_ms));
        let database = self.client_of(&process, plan).database("d");
        let (container, leases) = (database.container("c"), database.container("l"));
        let (recorder, world) = (self.0.recorder.clone(), self.clone());
        let random = self.0.random.fork(&format!("processor {}", process.id));
        let place = recorder.lock().feeds.len() - 1;
        let running = Running {
            process: Arc::clone(&process),
            items: None,
            left: Arc::default(),
            worker: Arc::default(),
        };
        self.lock_clients().insert(id, running);
        let inside = Arc::clone(&process);
        process.run(async move {
            let processor = loop {
                let notes = FeedNotes { recorder: &recorder, place, random: &random };
                match start_processor(&container, &leases, &inside, notes).await {
                    Ok(processor) => break processor,
                    Err(_) => world.sleep(Duration::from_millis(500)).await,
                }
            };
            // It runs until the process is killed.
            std::future::pending::<()>().await;
            drop(processor);
        });
    }

    /// Starts those who read the change feed until everything is over.
    pub(super) async fn start_readers(&self, is_over: &Arc<AtomicBool>) -> JoinSet<Reader> {
        let (latest, all_versions) = self.0.plan.readers;
        let kinds = [(latest, FeedKind::Latest), (all_versions, FeedKind::AllVersions)];
        let mut readers = JoinSet::new();
        for (nth, kind) in
            kinds.into_iter().enumerate().filter_map(|(nth, (is, kind))| is.then_some((nth, kind)))
        {
            let process = self.process(180 + nth as u32, 0);
            let container = self.container(&process);
            let random = self.0.random.fork(&format!("{kind:?} reader"));
            let mut reader = Reader::new(container, &self.0.recorder, random.clone(), kind);
            self.catch_up(&mut reader).await;
            if kind == FeedKind::AllVersions {
                reader.begins();
            }
            let (world, is_over) = (self.clone(), Arc::clone(is_over));
            readers.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    reader.catch_up().await;
                    world.renew(&mut reader);
                    world.sleep(Duration::from_millis(random.between(10, 500))).await;
                }
                reader
            });
        }
        readers
    }

    /// Lets a reader whose session has seen what a failover lost begin another one, as its error says.
    pub(super) fn renew(&self, reader: &mut Reader) {
        if !reader.is_refused_by_session() || !self.0.recorder.may_have_lost() {
            return;
        }
        let number = self.0.sessions.fetch_add(1, Ordering::Relaxed) as u32;
        let process = self.process(1000 + number, 0);
        reader.begin_session(self.container(&process));
        self.covered("reader began a new session");
    }

    pub(super) fn start_processors(&self) {
        if self.0.plan.processors > 0 {
            new_feed(&self.0.recorder, "processor", FeedKind::Processor);
        }
        for nth in 0..self.0.plan.processors {
            self.start_processor(FIRST_PROCESSOR + nth);
        }
    }

    /// The ways of a client.
    pub fn routes_of(&self, client: u32) -> Vec<Arc<Route>> {
        let id = self.lock_clients().get(&client).map(|running| running.process.id);
        id.map(|id| self.0.network.routes_of(id)).unwrap_or_default()
    }

    /// Waits until a client has sent so many more pieces, but not for long.
    pub async fn sends(&self, client: u32, pieces: u64) {
        let id = self.lock_clients().get(&client).map(|running| running.process.id);
        if let Some(id) = id {
            self.soon(self.0.network.sends(id, pieces)).await;
        }
    }

    /// Kills a client.
    pub fn kill(&self, client: u32, with_machine: bool) {
        if let Some(running) = self.lock_clients().get(&client) {
            running.process.kill(with_machine);
            if let Some(worker) = running.worker.get() {
                worker.kill();
            }
        }
    }

    /// Starts a client again that was killed.
    pub fn start_again(&self, client: u32) {
        let left = {
            let clients = self.lock_clients();
            let Some(running) = clients.get(&client).filter(|running| running.process.is_dead()) else {
                return;
            };
            running.left.load(Ordering::Relaxed)
        };
        if client >= FIRST_PROCESSOR && self.0.plan.processors > 0 {
            return self.start_processor(client);
        }
        let plan = self.0.plan.clients.iter().find(|plan| plan.id == client).cloned();
        if let Some(plan) = plan {
            self.start_client(&plan, (left / u64::from(plan.tasks)) as u32);
        }
    }

    /// The process of a client, while it lives.
    pub(crate) fn process_of(&self, client: u32) -> Option<Arc<Process>> {
        let clients = self.lock_clients();
        let running = clients.get(&client).filter(|running| !running.process.is_dead())?;
        Some(Arc::clone(&running.process))
    }

    /// The clock of a client is wrong by so many milliseconds from now on.
    pub fn set_clock(&self, client: u32, skew_ms: i64) {
        if let Some(running) = self.lock_clients().get(&client) {
            running.process.set_clock(skew_ms);
            if let Some(worker) = running.worker.get() {
                worker.set_clock(skew_ms);
            }
        }
    }

    /// Waits until all clients have made their calls, as long as they make any.
    pub(super) async fn wait_for_clients(&self) {
        let is_busy =
            |running: &Running| !running.process.is_dead() && running.left.load(Ordering::Relaxed) > 0;
        let (mut left, mut since) = (u64::MAX, host::now());
        loop {
            let busy: u64 = {
                let clients = self.lock_clients();
                let busy = clients.values().filter(|running| is_busy(running));
                busy.map(|running| running.left.load(Ordering::Relaxed)).sum()
            };
            if busy == 0 {
                return;
            }
            if busy != left {
                (left, since) = (busy, host::now());
            } else if host::now() - since > LONGEST_CALL.as_micros() as u64 {
                return self.give_up_calls();
            }
            self.sleep(Duration::from_millis(50)).await;
        }
    }

    /// Notes the calls that are under way in processes that live.
    pub(super) fn give_up_calls(&self) {
        for running in self.lock_clients().values().filter(|running| !running.process.is_dead()) {
            if let Some((_, session)) = &running.items {
                self.0.recorder.give_up(*session);
            }
        }
    }

    pub(super) fn lock_clients(&self) -> MutexGuard<'_, BTreeMap<u32, Running>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
