//! A world while it runs: an account, the processes that use it, and what is done to them.

mod clients;
mod ending;
mod living;
mod owner;
mod server;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cosmonaut::ContainerClient;
use cosmonaut_emulator::{Control, Emulator};

use crate::credentials::Credentials;
use crate::disk::RamDisk;
use crate::fault_plan::FaultKind;
use crate::history::{Event, Happening, Micros};
use crate::host;
use crate::network::Network;
use crate::orchestrations::Worker;
use crate::plan::{Plan, WorldKind};
use crate::process::Process;
use crate::random::Random;
use crate::recorder::Recorder;

/// The container, as the emulator names it.
pub const CONTAINER: &str = "d/c";

/// How long a call may take after the last fault.
const BOUND: Duration = Duration::from_secs(90);

/// How long a world lasts at most, by its own time. Most last for some minutes.
const LONGEST_LIFE: Duration = Duration::from_secs(7200);

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
    credentials: Credentials,
    /// How often the server was started again.
    restarts: AtomicU64,
    /// Where the account's files are, if it has any.
    disk: Option<RamDisk>,
    recorder: Recorder,
    clients: Mutex<BTreeMap<u32, Running>>,
    sessions: AtomicU64,
    coverage: Mutex<BTreeMap<String, u64>>,
    /// How many requests came to servers that are no more.
    gone_requests: AtomicU64,
    trace: Mutex<Vec<String>>,
    troubles: Mutex<Vec<Trouble>>,
}

/// From when until when something was wrong, or was to be.
struct Trouble {
    since: Micros,
    until: Micros,
    is_done: bool,
}

/// A client process that runs, and how many calls its tasks have left.
struct Running {
    process: Arc<Process>,
    /// What its tasks use, and the number of its session.
    items: Option<(ContainerClient, u32)>,
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

/// Runs a world to its end, in a runtime whose clock stands still.
pub async fn run(plan: Plan) -> Ended {
    let world = World::start(plan).await;
    let life = async {
        match world.0.plan.kind {
            WorldKind::Items | WorldKind::Processors => world.live_with_items().await,
            WorldKind::Orchestrations => world.live_with_orchestrations().await,
        }
    };
    tokio::select! {
        biased;
        () = life => {}
        () = world.sleep(LONGEST_LIFE) => {
            world.0.recorder.unended("the world", 0);
            world.give_up_calls();
        }
    }
    world.end()
}

impl World {
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

    /// A fault that began then is over, or was tried at least.
    pub fn was_troubled(&self, since: Micros, is_done: bool) {
        let trouble = Trouble { since, until: host::now(), is_done };
        self.0.troubles.lock().unwrap_or_else(PoisonError::into_inner).push(trouble);
    }

    /// Whether anything was wrong at a time, not longer than `before` it, or not later than `after` it.
    fn is_near_trouble(&self, at: Micros, before: Duration, after: Duration) -> bool {
        let [before, after] = [before, after].map(|time| time.as_micros() as u64);
        let troubles = self.0.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.iter().any(|trouble| trouble.since <= at + after && at <= trouble.until + before)
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

    /// Waits for something, but not for long.
    pub async fn soon(&self, something: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = something => {}
            () = self.sleep(Duration::from_secs(2)) => {}
        }
    }

    fn lock_coverage(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
