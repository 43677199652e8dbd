//! The account of a world: started, crashed and started again, healed, at rest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmonaut::ContainerProperties;
use cosmonaut::model::ChangeFeedPolicy;
use cosmonaut::options::CosmosClientOptions;
use cosmonaut_emulator::{Consistency, Control, EMULATOR_KEY, Emulator, Failure, Lag, StartError, Timestamp};

use super::{BOUND, CONTAINER, Inner, World};
use crate::credentials::{Credentials, accepts};
use crate::disk::RamDisk;
use crate::history::{Account, Happening, Level};
use crate::host;
use crate::network::Network;
use crate::plan::Plan;
use crate::random::Random;
use crate::recorder::Recorder;

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

/// Starts the account.
async fn serve(
    plan: &Plan,
    random: &Random,
    network: &Network,
    disk: Option<&RamDisk>,
    credentials: &Credentials,
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
        .accept_tokens(accepts)
        .port(8081);
    let (primary, secondary) = credentials.of_account();
    emulator = emulator.key(primary);
    if let Some(secondary) = secondary {
        emulator = emulator.secondary_key(secondary);
    }
    if let Some(disk) = disk {
        emulator = emulator.volume(disk.mount());
    }
    emulator.start().await
}

/// In how many milliseconds everything that is on its way between regions has come.
fn settles_within(plan: &Plan) -> u64 {
    3 * plan.lag.1 + 1000
}

impl World {
    pub(super) async fn start(plan: Plan) -> Self {
        let random = Random::new(plan.seed);
        let network = Network::new(&random);
        let disk = plan.has_disk.then(|| {
            let chance = random.fork("disk");
            let disk = RamDisk::new(move || chance.next());
            let (least, most) = plan.disk_delay;
            disk.delays(Duration::from_millis(least)..=Duration::from_millis(most));
            disk
        });
        let credentials = Credentials::new(EMULATOR_KEY);
        let started = serve(&plan, &random, &network, disk.as_ref(), &credentials).await;
        let emulator = started.expect("a drawn account can be");
        let account = Account {
            level: plan.level,
            multi_write: plan.multi_write,
            regions: plan.regions.clone(),
            // The number at the conflict path is in seconds.
            conflict_margin: plan.multi_write.then_some(1_100_000),
            arrives_within: 1000 * settles_within(&plan),
        };
        Self(Arc::new(Inner {
            plan,
            random,
            network,
            control: Mutex::new(Arc::clone(emulator.control())),
            url: emulator.url().to_owned(),
            credentials,
            restarts: AtomicU64::new(0),
            emulator: Mutex::new(Some(emulator)),
            disk,
            recorder: Recorder::new(account),
            clients: Mutex::default(),
            sessions: AtomicU64::new(0),
            coverage: Mutex::default(),
            gone_requests: AtomicU64::new(0),
            trace: Mutex::default(),
            troubles: Mutex::default(),
        }))
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
        self.0.gone_requests.fetch_add(emulator.requests(), Ordering::Relaxed);
        drop(emulator);
        // Its ports are free when its tasks have ended.
        self.sleep(down_for.max(Duration::from_millis(1))).await;
        disk.fail(None);
        let random = self.0.random.fork(&format!("server at {}", host::now()));
        let started = serve(&self.0.plan, &random, &self.0.network, Some(disk), &self.0.credentials).await;
        let emulator = started.unwrap_or_else(|error| panic!("the server does not start again: {error}"));
        *self.0.control.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(emulator.control());
        *lock() = Some(emulator);
        self.0.restarts.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Whether the server is stopped.
    pub fn is_down(&self) -> bool {
        self.0.emulator.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Where the account's files are, while the server runs.
    pub fn disk(&self) -> Option<&RamDisk> {
        self.0.disk.as_ref().filter(|_| !self.is_down())
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

    pub(super) async fn make_container(&self) {
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

    /// Ends every fault.
    pub(super) async fn heal(&self) {
        let control = self.control();
        control.clear().await.expect("faults can be lifted");
        control.resume(None, None).expect("links can be opened");
        let regions: Vec<_> = control.regions().into_iter().map(|region| region.name).collect();
        for region in regions {
            let _ = control.bring_back(region.as_str()).await;
        }
        let processes: Vec<_> = self.lock_clients().values().map(|running| running.process.id).collect();
        for route in processes.into_iter().flat_map(|process| self.0.network.routes_of(process)) {
            route.end_silence();
        }
        if self.0.plan.multi_write {
            // What was kept back is on its way.
            self.settle().await;
        }
        self.happened(Happening::Healed { bound: BOUND.as_micros() as u64 });
    }

    /// Waits until nothing that callers wrote is under way between regions.
    pub(super) async fn settle(&self) {
        // What several regions write is not counted by how far they are behind.
        self.sleep(Duration::from_millis(settles_within(&self.0.plan))).await;
        while self.is_any_region_behind() {
            self.sleep(Duration::from_millis(100)).await;
        }
    }

    /// Whether a region lacks anything of the container. Leases are renewed all the time, so that some of them are always
    /// under way where regions lag.
    fn is_any_region_behind(&self) -> bool {
        // There is none where orchestrations run, and nobody runs them yet when that is to settle.
        let partitions = self.control().partitions(CONTAINER).unwrap_or_default();
        partitions.iter().any(|partition| {
            let mut lsns = partition.lsns.iter().map(|(_, lsn)| lsn);
            let first = lsns.next();
            lsns.any(|lsn| Some(lsn) != first)
        })
    }
}
