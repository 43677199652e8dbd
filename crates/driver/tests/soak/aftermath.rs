//! What must be as it was before, once the storm is over.

use std::collections::HashSet;
use std::time::Duration;

use cosmonaut_driver::transport::HttpVersion;
use cosmonaut_policy::{DEFAULT_ENDPOINT_UNAVAILABILITY, ENDPOINT_PROBE_INTERVAL, ENDPOINT_PROBE_TIMEOUT};
use tokio::task::JoinSet;

use crate::client::{Client, Clients, ITEMS, item, region_of};
use crate::pace::Pace;
use crate::world::{PREFERRED, REGIONS, World};

/// What a driver may take by its own rules. An endpoint that answered 503 at the very end of the storm is passed over
/// for a full term. An endpoint that could not be reached is tried at intervals, and a try takes its time. Connections
/// are looked at as often.
pub(crate) const PATIENCE: Duration = DEFAULT_ENDPOINT_UNAVAILABILITY
    .saturating_add(ENDPOINT_PROBE_INTERVAL)
    .saturating_add(ENDPOINT_PROBE_TIMEOUT);
const GLANCE: Duration = Duration::from_millis(250);
/// Connections that a region keeps while nobody asks for anything: one in each pool. The drivers without a proxy share
/// one pool, the driver with a proxy has the other.
const CONNECTIONS_AT_REST: usize = 2;
/// A connection over HTTP/2 has one task of the driver's and one of hyper's.
const TASKS_OF_A_CONNECTION: usize = 2;
/// Tasks that may be under way by chance.
const SOME_TASKS: usize = 8;

/// Waits until something is so, or says how it is instead.
pub(crate) async fn eventually<F>(pace: &Pace, what: &str, mut look: impl FnMut() -> F) -> Result<(), String>
where
    F: Future<Output = Result<(), String>>,
{
    let deadline = pace.granted() + PATIENCE;
    loop {
        // A look takes time itself. Only one that began too late shows that something is not so in time.
        let is_last = pace.granted() > deadline;
        match look().await {
            Ok(()) => return Ok(()),
            Err(state) if is_last => {
                return Err(format!("{what}: not after {PATIENCE:?}: {state}"));
            }
            Err(_) => tokio::time::sleep(GLANCE).await,
        }
    }
}

/// Every item is read from the preferred region, by each reader.
pub(crate) async fn at_home(clients: &Clients) -> Result<(), String> {
    for client in clients.readers() {
        for number in 0..ITEMS {
            let read = client.read(&item(number)).await.map_err(|error| format!("{error:?}"))?;
            let region = region_of(&read);
            if region.as_deref() != Some(REGIONS[PREFERRED]) {
                return Err(format!("{} is read from {region:?}", item(number)));
            }
        }
    }
    Ok(())
}

/// Every region answers who asks it and no other, and the connections that were lost are given up.
pub(crate) async fn no_connection_is_stuck(world: &World, clients: &Clients) -> Result<(), String> {
    let mut versions = HashSet::new();
    for client in clients.readers() {
        for (region, name) in REGIONS.into_iter().enumerate() {
            versions.extend(all_read(client, region).await?.into_iter().map(|version| (name, version)));
        }
    }
    println!("spoken are {versions:?}");
    match world.open().silent {
        0 => Ok(()),
        silent => Err(format!("{silent} connections are dead: {:?}", world.open_by_region())),
    }
}

/// A pool follows the demand, so what is held shows while there is none.
pub(crate) fn no_connection_is_hoarded(world: &World) -> Result<(), String> {
    let by_region = world.open_by_region();
    if by_region.iter().all(|open| open.all <= CONNECTIONS_AT_REST) {
        return Ok(());
    }
    Err(format!("of at most {CONNECTIONS_AT_REST} for a region there are {by_region:?}"))
}

/// Reads everything in one region, and says which versions of HTTP were spoken.
async fn all_read(client: &Client, region: usize) -> Result<HashSet<HttpVersion>, String> {
    let mut reads = JoinSet::new();
    for number in 0..ITEMS {
        let client = client.clone();
        reads.spawn(async move { client.read_in(region, &item(number)).await });
    }
    let mut versions = HashSet::new();
    for read in reads.join_all().await {
        let read = read.map_err(|error| format!("in {} alone: {error:?}", REGIONS[region]))?;
        versions.extend(read.diagnostics().attempts().iter().filter_map(|attempt| attempt.protocol));
    }
    Ok(versions)
}

/// What this process holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holdings {
    /// Tasks, besides those of connections.
    tasks: usize,
    /// Memory, in bytes.
    memory: usize,
}

impl Holdings {
    pub(crate) fn now(world: &World) -> Self {
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let of_connections = TASKS_OF_A_CONNECTION * world.open().all;
        Self { tasks: tasks.saturating_sub(of_connections), memory: resident() }
    }

    pub(crate) fn check_tasks(&self, before: Self) -> Result<(), String> {
        if self.tasks <= before.tasks + SOME_TASKS {
            return Ok(());
        }
        Err(format!("{} tasks besides those of connections, {} before the storm", self.tasks, before.tasks))
    }

    /// The emulator keeps what was written; the rest must not grow.
    pub(crate) fn check_memory(&self, before: Self, writes: usize) -> Result<(), String> {
        const SLACK: usize = 96 << 20;
        const A_WRITE: usize = 16 << 10;
        if self.memory <= before.memory + SLACK + writes * A_WRITE {
            return Ok(());
        }
        let mib = |bytes: usize| bytes >> 20;
        Err(format!(
            "{} MiB, {} MiB before the storm of {writes} writes",
            mib(self.memory),
            mib(before.memory)
        ))
    }
}

/// The memory of this process.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}
