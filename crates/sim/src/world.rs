//! A world while it runs: an account, the processes that use it, and what is done to them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cosmonaut::model::ChangeFeedPolicy;
use cosmonaut::options::{ConnectionOptions, CosmosClientOptions, HttpProtocol};
use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient};
use cosmonaut_emulator::{Consistency, Control, Emulator, Failure, Lag, StartError, Timestamp};
use tokio::task::JoinSet;

use crate::disk::RamDisk;
use crate::faults;
use crate::feeds::{Reader, new_feed, start_processor};
use crate::history::{Account, Event, FeedKind, Happening, Key, Level, Micros, Operation, RegionEnd};
use crate::host;
use crate::items::{ItemTask, id_of, partition_of};
use crate::network::{Link, Network};
use crate::orchestrations::{Starter, Worker, WorkerPlan};
use crate::plan::{ClientPlan, FIRST_PROCESSOR, FaultKind, Plan, WorldKind};
use crate::process::Process;
use crate::random::Random;
use crate::recorder::Recorder;

/// The container, as the emulator names it.
pub const CONTAINER: &str = "d/c";

/// How long a call may take after the last fault.
const BOUND: Duration = Duration::from_secs(90);

/// A running world. Clones are one world.
#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    plan: Plan,
    random: Random,
    network: Network,
    /// None while the server is down.
    emulator: Mutex<Option<Emulator>>,
    control: Mutex<Arc<Control>>,
    url: String,
    key: String,
    /// Where the account's files are, if it has any.
    disk: Option<RamDisk>,
    recorder: Recorder,
    clients: Mutex<BTreeMap<u32, Running>>,
    sessions: AtomicU64,
    coverage: Mutex<BTreeMap<String, u64>>,
    trace: Mutex<Vec<String>>,
}

/// A client process that runs, and how many calls its tasks have left.
struct Running {
    process: Arc<Process>,
    left: Arc<AtomicU64>,
    /// What runs orchestrations there, once it is connected.
    worker: Arc<OnceLock<Worker>>,
}

/// What came of a world.
pub struct Ended {
    /// What its callers saw.
    pub history: crate::history::History,
    /// What happened in it how often.
    pub coverage: BTreeMap<String, u64>,
    /// All that happened, line by line: the same for the same seed.
    pub trace: Vec<String>,
}

/// The time and chance of the emulator.
struct ServerWorld(Random);

impl cosmonaut_emulator::World for ServerWorld {
    fn now(&self) -> Timestamp {
        Timestamp(host::time_of_day())
    }

    fn random(&self) -> u64 {
        self.0.next()
    }
}

/// Runs a world to its end, in a runtime whose clock stands still.
pub async fn run(plan: Plan) -> Ended {
    let world = World::start(plan).await;
    match world.0.plan.kind {
        WorldKind::Items | WorldKind::Processors => world.live_with_items().await,
        WorldKind::Orchestrations => world.live_with_orchestrations().await,
    }
    world.end()
}

/// Starts the account.
async fn serve(
    plan: &Plan,
    random: &Random,
    network: &Network,
    disk: Option<&RamDisk>,
) -> Result<Emulator, StartError> {
    let consistency = match plan.level {
        Level::Strong => Consistency::Strong,
        Level::Bounded { commits, time } => {
            Consistency::BoundedStaleness { max_prefix: commits, max_interval: Duration::from_micros(time) }
        }
        Level::Session => Consistency::Session,
        Level::Prefix => Consistency::ConsistentPrefix,
        Level::Eventual => Consistency::Eventual,
    };
    let ms = Duration::from_millis;
    let lag = match plan.lag {
        (_, 0) => Lag::None,
        (least, most) => Lag::Between(ms(least), ms(most)),
    };
    let mut emulator = Emulator::builder()
        .regions(plan.regions.iter().map(String::as_str))
        .multi_write(plan.multi_write)
        .consistency(consistency)
        .partition_failover(plan.partition_failover)
        .lag(lag)
        .host("10.0.0.1")
        .global_endpoint(true)
        .threads(false)
        .sockets(Arc::new(network.clone()))
        .world(Arc::new(ServerWorld(random.fork("server"))))
        .port(8081);
    if let Some(disk) = disk {
        emulator = emulator.volume(disk.mount());
    }
    emulator.start().await
}

impl World {
    async fn start(plan: Plan) -> Self {
        let random = Random::new(plan.seed);
        let network = Network::new(&random);
        let disk = plan.has_disk.then(|| {
            let chance = random.fork("disk");
            let disk = RamDisk::new(move || chance.next());
            disk.delays(Duration::ZERO..=Duration::from_millis(5));
            disk
        });
        let emulator = serve(&plan, &random, &network, disk.as_ref()).await.expect("a drawn account can be");
        let account = Account {
            level: plan.level,
            multi_write: plan.multi_write,
            regions: plan.regions.clone(),
            // The number at the conflict path is in seconds.
            conflict_margin: plan.multi_write.then_some(1_100_000),
        };
        Self(Arc::new(Inner {
            plan,
            random,
            network,
            control: Mutex::new(Arc::clone(emulator.control())),
            url: emulator.url().to_owned(),
            key: emulator.key().to_owned(),
            emulator: Mutex::new(Some(emulator)),
            disk,
            recorder: Recorder::new(account),
            clients: Mutex::default(),
            sessions: AtomicU64::new(0),
            coverage: Mutex::default(),
            trace: Mutex::default(),
        }))
    }

    async fn live_with_items(&self) {
        self.make_container().await;
        let is_over = Arc::<AtomicBool>::default();
        let readers = self.start_readers(&is_over).await;
        self.start_processors();
        for client in self.0.plan.clients.clone() {
            self.start_client(&client, client.calls);
        }
        self.let_faults_happen().await;
        self.wait_for_clients().await;
        self.heal().await;
        self.try_everybody().await;
        self.settle().await;
        is_over.store(true, Ordering::Relaxed);
        for mut reader in readers.join_all().await {
            self.catch_up(&mut reader).await;
            reader.is_drained();
        }
        self.drain_processors().await;
        self.read_all().await;
    }

    /// Starts those who read the change feed until everything is over.
    async fn start_readers(&self, is_over: &Arc<AtomicBool>) -> JoinSet<Reader> {
        let (latest, all_versions) = self.0.plan.readers;
        let kinds = [(latest, FeedKind::Latest), (all_versions, FeedKind::AllVersions)];
        let mut readers = JoinSet::new();
        for (nth, kind) in
            kinds.into_iter().enumerate().filter_map(|(nth, (is, kind))| is.then_some((nth, kind)))
        {
            let process = self.process(180 + nth as u32, 0);
            let container =
                self.client(&process, CosmosClientOptions::default()).database("d").container("c");
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
                    world.sleep(Duration::from_millis(random.between(10, 500))).await;
                }
                reader
            });
        }
        readers
    }

    /// Reads a feed until there is nothing more.
    async fn catch_up(&self, reader: &mut Reader) {
        for _ in 0..10_000 {
            if reader.catch_up().await {
                return;
            }
            self.sleep(Duration::from_millis(10)).await;
        }
        panic!("the change feed has no end");
    }

    fn start_processors(&self) {
        if self.0.plan.processors > 0 {
            new_feed(&self.0.recorder, "processor", FeedKind::Processor);
        }
        for nth in 0..self.0.plan.processors {
            self.start_processor(FIRST_PROCESSOR + nth);
        }
    }

    /// Starts a process that shares the change-feed processor.
    fn start_processor(&self, id: u32) {
        let start = self.0.sessions.fetch_add(1, Ordering::Relaxed) as u32;
        let process = Arc::new(self.process(id + 10 * start, 0));
        let database = self.client(&process, CosmosClientOptions::default()).database("d");
        let (container, leases) = (database.container("c"), database.container("l"));
        let (recorder, world) = (self.0.recorder.clone(), self.clone());
        let place = recorder.lock().feeds.len() - 1;
        let running = Running { process: Arc::clone(&process), left: Arc::default(), worker: Arc::default() };
        self.lock_clients().insert(id, running);
        let inside = Arc::clone(&process);
        process.run(async move {
            let processor = loop {
                match start_processor(&container, &leases, &inside, &recorder, place).await {
                    Ok(processor) => break processor,
                    Err(_) => world.sleep(Duration::from_millis(500)).await,
                }
            };
            // It runs until the process is killed.
            std::future::pending::<()>().await;
            drop(processor);
        });
    }

    /// Gives the processor time to come to its end.
    async fn drain_processors(&self) {
        if self.0.plan.processors == 0 {
            return;
        }
        for nth in 0..self.0.plan.processors {
            self.start_again(FIRST_PROCESSOR + nth);
        }
        self.sleep(BOUND).await;
        let mut history = self.0.recorder.lock();
        history.feeds.iter_mut().filter(|feed| feed.kind == FeedKind::Processor).for_each(|feed| {
            feed.drained = true;
        });
    }

    async fn live_with_orchestrations(&self) {
        let process = self.process(200, 0);
        let client = self.client(&process, CosmosClientOptions::default());
        let (recorder, random) = (&self.0.recorder, self.0.random.fork("starter"));
        let starter = Starter::connect(&client, recorder, &random).await;
        self.settle().await;
        for client in self.0.plan.clients.clone() {
            self.start_client(&client, 0);
        }
        let starting = async {
            for nth in 0..self.0.plan.orchestrations {
                starter.start(nth).await;
                self.sleep(Duration::from_millis(random.between(0, 2000))).await;
            }
        };
        tokio::join!(starting, self.let_faults_happen());
        self.heal().await;
        for client in &self.0.plan.clients {
            self.start_again(client.id);
        }
        let end = host::now() + BOUND.as_micros() as u64;
        while !starter.look().await && host::now() < end {
            self.sleep(Duration::from_millis(500)).await;
        }
        for entry in &mut recorder.lock().ledger {
            // Nobody here knows who lost a lock; where anything goes wrong, some may have.
            entry.disturbed = !self.0.plan.faults.is_empty();
        }
    }

    async fn make_container(&self) {
        let process = self.process(200, 0);
        let client = self.client(&process, CosmosClientOptions::default());
        client.create_database("d").await.expect("nothing is wrong yet");
        let mut properties = ContainerProperties::new("c", "/pk");
        if self.0.plan.readers.1 {
            properties = properties.with_change_feed_policy(ChangeFeedPolicy::retain_minutes(60));
        }
        client.database("d").create_container(properties).await.expect("nothing is wrong yet");
        if self.0.plan.processors > 0 {
            let properties = ContainerProperties::new("l", "/id");
            client.database("d").create_container(properties).await.expect("nothing is wrong yet");
        }
        self.settle().await;
    }

    fn process(&self, id: u32, skew_ms: i64) -> Process {
        let Inner { network, random, plan, .. } = &*self.0;
        let process = Process::new(id, network, random, skew_ms);
        for port in 8081..=8086 {
            network.link(id, port).set_delay(plan.delay.0, plan.delay.1);
        }
        process
    }

    fn client(&self, process: &Process, options: CosmosClientOptions) -> CosmosClient {
        process.client(&self.0.url, &self.0.key, options).expect("the options are right")
    }

    fn options_of(&self, plan: &ClientPlan) -> CosmosClientOptions {
        let protocol = if plan.http1 { HttpProtocol::Http1 } else { HttpProtocol::Negotiated };
        let connection = ConnectionOptions { http_protocol: Some(protocol), ..Default::default() };
        let mut options = CosmosClientOptions { connection, ..Default::default() };
        options.regions.preferred_regions =
            Some(plan.preferred.iter().map(|name| name.as_str().into()).collect());
        options
    }

    fn container_of(&self, process: &Process, plan: &ClientPlan) -> ContainerClient {
        self.client(process, self.options_of(plan)).database("d").container("c")
    }

    /// Starts a client whose tasks make so many calls.
    fn start_client(&self, plan: &ClientPlan, calls: u32) {
        let session = self.0.sessions.fetch_add(1, Ordering::Relaxed) as u32;
        // A process that is started again is another one.
        let process = Arc::new(self.process(plan.id + 10 * session, plan.skew_ms));
        if self.0.plan.kind == WorldKind::Orchestrations {
            return self.start_worker(plan, process);
        }
        let container = self.container_of(&process, plan);
        let left = Arc::new(AtomicU64::new(u64::from(calls * plan.tasks)));
        for task in 0..plan.tasks {
            let mut task = ItemTask {
                container: container.clone(),
                recorder: self.0.recorder.clone(),
                random: self.0.random.fork(&format!("task {task} of session {session}")),
                session,
                has_token: self.0.plan.level == Level::Session,
                partitions: self.0.plan.partitions,
                items: self.0.plan.items,
                timeout: Duration::from_millis(plan.timeout),
                known: BTreeMap::new(),
            };
            let (world, left, pause) = (self.clone(), Arc::clone(&left), plan.pause);
            process.run(async move {
                for _ in 0..calls {
                    task.step().await;
                    left.fetch_sub(1, Ordering::Relaxed);
                    world.sleep(Duration::from_millis(task.random.between(0, pause))).await;
                }
            });
        }
        self.lock_clients().insert(plan.id, Running { process, left, worker: Arc::default() });
    }

    /// Starts a process that runs orchestrations.
    fn start_worker(&self, plan: &ClientPlan, process: Arc<Process>) {
        let client = self.client(&process, self.options_of(plan));
        let name = format!("process {}", process.id);
        let plan_of_worker = WorkerPlan { client, skew_ms: plan.skew_ms, name };
        let random = self.0.random.fork(&format!("worker {}", process.id));
        let (recorder, worker) = (self.0.recorder.clone(), Arc::<OnceLock<Worker>>::default());
        let running = Running { process: Arc::clone(&process), left: Arc::default(), worker: worker.clone() };
        self.lock_clients().insert(plan.id, running);
        let inside = Arc::clone(&process);
        process.run(async move {
            let started = Worker::start(plan_of_worker, &inside, &recorder, &random).await;
            let _ = worker.set(started);
        });
    }

    async fn let_faults_happen(&self) {
        let mut tasks = JoinSet::new();
        for fault in self.0.plan.faults.clone() {
            let world = self.clone();
            tasks.spawn(async move { faults::happen(&world, &fault).await });
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn wait_for_clients(&self) {
        loop {
            let is_busy =
                |running: &Running| !running.process.is_dead() && running.left.load(Ordering::Relaxed) > 0;
            if !self.lock_clients().values().any(is_busy) {
                return;
            }
            self.sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends every fault.
    async fn heal(&self) {
        let control = self.control();
        control.clear().await.expect("faults can be lifted");
        control.resume(None, None).expect("links can be opened");
        let regions: Vec<_> = control.regions().into_iter().map(|region| region.name).collect();
        for region in regions {
            let _ = control.bring_back(region.as_str()).await;
        }
        self.happened(Happening::Healed { bound: BOUND.as_micros() as u64 });
    }

    /// After the last fault every client can do everything again.
    async fn try_everybody(&self) {
        for client in self.0.plan.clients.clone() {
            let running = self.lock_clients().remove(&client.id);
            let is_dead = running.is_none_or(|running| running.process.is_dead());
            if is_dead {
                self.note(&format!("client {} was dead", client.id));
            }
            let client = ClientPlan { timeout: BOUND.as_millis() as u64, ..client };
            self.start_client(&client, 5);
        }
        self.wait_for_clients().await;
    }

    /// Waits until nothing is under way between regions.
    async fn settle(&self) {
        // What several regions write is not counted by how far they are behind.
        self.sleep(Duration::from_millis(3 * self.0.plan.lag.1 + 1000)).await;
        while self.control().regions().iter().any(|region| region.behind > 0) {
            self.sleep(Duration::from_millis(100)).await;
        }
    }

    /// Reads every item in every region.
    async fn read_all(&self) {
        let mut keys: Vec<Key> = Vec::new();
        for partition in 0..self.0.plan.partitions {
            keys.extend((0..self.0.plan.items).map(|item| Key { partition, item }));
        }
        let regions: Vec<_> = self.control().regions().into_iter().map(|region| region.name).collect();
        for (nth, region) in regions.iter().enumerate() {
            let process = self.process(220 + nth as u32, 0);
            let mut options = CosmosClientOptions::default();
            options.regions.preferred_regions = Some(vec![region.clone()]);
            let container = self.client(&process, options).database("d").container("c");
            let mut items = Vec::new();
            for key in &keys {
                let read = container.read_item::<Stored>(partition_of(*key), &id_of(*key)).await;
                match read {
                    Ok(read) => items.push((*key, Some(read.into_value().trail))),
                    Err(error) if error.is_not_found() => items.push((*key, None)),
                    Err(error) => panic!("{key} cannot be read in {} at the end: {error}", region.as_str()),
                }
            }
            self.0.recorder.lock().ends.push(RegionEnd { region: region.as_str().to_owned(), items });
        }
    }

    fn end(self) -> Ended {
        let history = self.0.recorder.lock().clone();
        let mut coverage = std::mem::take(&mut *self.lock_coverage());
        for call in &history.calls {
            *coverage.entry(name_of(&call.operation).to_owned()).or_default() += 1;
        }
        for feed in &history.feeds {
            let what = match feed.kind {
                FeedKind::Latest => "changes read",
                FeedKind::AllVersions => "versions read",
                FeedKind::Processor => "changes processed",
            };
            *coverage.entry(what.to_owned()).or_default() += feed.changes.len() as u64;
        }
        let ended = history.orchestrations.iter().filter(|one| one.ended.is_some()).count();
        for (what, times) in [("orchestrations ended", ended), ("activities run", history.ledger.len())] {
            if times > 0 {
                *coverage.entry(what.to_owned()).or_default() += times as u64;
            }
        }
        let trace = std::mem::take(&mut *self.0.trace.lock().unwrap_or_else(PoisonError::into_inner));
        Ended { history, coverage, trace }
    }

    /// The account's control.
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.0.control.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops the server at this instant, with its machine if that is said, and starts it again from its disk after a time.
    /// False if it has no disk, or is down already.
    pub async fn crash_server(&self, with_machine: bool, down_for: Duration) -> bool {
        let lock = || self.0.emulator.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(disk) = &self.0.disk else { return false };
        let Some(emulator) = lock().take() else { return false };
        // The disk first: from here on nothing more is acknowledged.
        if with_machine {
            disk.crash();
        } else {
            disk.kill();
        }
        drop(emulator);
        self.sleep(down_for).await;
        let random = self.0.random.fork(&format!("server at {}", host::now()));
        let started = serve(&self.0.plan, &random, &self.0.network, Some(disk)).await;
        let emulator = started.unwrap_or_else(|error| panic!("the server does not start again: {error}"));
        *self.0.control.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(emulator.control());
        *lock() = Some(emulator);
        true
    }

    /// Where the account's writes are.
    pub fn write_region(&self) -> String {
        let regions = self.control().regions();
        let writer = regions.iter().find(|region| region.takes_writes);
        writer.map(|region| region.name.as_str().to_owned()).unwrap_or_default()
    }

    /// A partition, by chance.
    ///
    /// # Errors
    /// The container is not there.
    pub fn some_partition(&self) -> Result<String, Failure> {
        let partitions = self.control().partitions(CONTAINER)?;
        Ok(self.0.random.fork(&format!("partition at {}", host::now())).pick(&partitions).id.to_string())
    }

    /// The ways of a client.
    pub fn links_of(&self, client: u32) -> Vec<Arc<Link>> {
        let id = self.lock_clients().get(&client).map(|running| running.process.id);
        id.map(|id| self.0.network.links_of(id)).unwrap_or_default()
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

    /// A fault that lasts.
    pub async fn lasts(&self, what: &FaultKind, time: Duration) {
        self.happened(Happening::Fault(format!("{what:?} begins")));
        self.sleep(time).await;
        self.happened(Happening::Fault(format!("{what:?} ends")));
    }

    /// Something happened just now.
    pub fn happened(&self, what: Happening) {
        self.note(&format!("{what:?}"));
        self.0.recorder.event(what);
    }

    /// Something that began a moment ago.
    pub fn happened_at(&self, at: Micros, what: Happening) {
        self.note(&format!("{what:?}"));
        let until = self.0.recorder.tick();
        self.0.recorder.lock().events.push(Event { at, until, what });
    }

    /// Something was met.
    pub fn covered(&self, what: &str) {
        *self.lock_coverage().entry(what.to_owned()).or_default() += 1;
    }

    /// A line of the trace.
    pub fn note(&self, line: &str) {
        let line = format!("{:>10} {line}", host::now());
        self.0.trace.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Microseconds since the world began.
    pub fn now(&self) -> Micros {
        self.0.recorder.tick()
    }

    /// Waits.
    #[expect(clippy::disallowed_methods, reason = "time is the world's")]
    pub async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Waits until so many milliseconds after the beginning.
    pub async fn sleep_until(&self, ms: u64) {
        self.sleep(Duration::from_micros((ms * 1000).saturating_sub(host::now()))).await;
    }

    fn lock_clients(&self) -> MutexGuard<'_, BTreeMap<u32, Running>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_coverage(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(serde::Deserialize)]
struct Stored {
    trail: Vec<u64>,
}

fn name_of(operation: &Operation) -> &'static str {
    match operation {
        Operation::Read(_) => "read",
        Operation::ReadMany(_) => "read_many",
        Operation::Write(_) => "write",
        Operation::Batch(_) => "batch",
        Operation::Query { .. } => "query",
    }
}
