//! What a seed draws: an account, its clients, and what goes wrong.

use std::fmt;

use crate::disk::DiskFault;
use crate::fault_plan::{FaultKind, FaultPlan};
use crate::history::Level;
use crate::random::Random;

/// The names of regions, in the order in which an account has them.
const REGIONS: [&str; 5] = ["East US", "West US", "North Europe", "Japan East", "Brazil South"];

/// How many calls the clients of a world make together at least.
const LEAST_CALLS: u32 = 500;

/// The number of the first process that shares a change-feed processor.
pub const FIRST_PROCESSOR: u32 = 5;

/// What the processes of a world do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldKind {
    /// Items: read, written one by one and in batches, queried.
    Items,
    /// Items, and several processes that process their changes.
    Processors,
    /// Orchestrations on several processes.
    Orchestrations,
}

impl WorldKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Items, Self::Processors, Self::Orchestrations];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Processors => "processors",
            Self::Orchestrations => "orchestrations",
        }
    }
}

/// All that is decided before a world begins.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed that it was drawn from.
    pub seed: u64,
    /// What its processes do.
    pub kind: WorldKind,
    /// The account's regions.
    pub regions: Vec<String>,
    /// The account's level.
    pub level: Level,
    /// Whether each region takes writes.
    pub multi_write: bool,
    /// Whether partitions may fail over on their own.
    pub partition_failover: bool,
    /// How late commits come to other regions, in milliseconds.
    pub lag: (u64, u64),
    /// The delay between clients and near regions, in milliseconds.
    pub delay: (u64, u64),
    /// Whether the account's data are on a disk.
    pub has_disk: bool,
    /// How long the disk takes until what was written is safe, in milliseconds.
    pub disk_delay: (u64, u64),
    /// How many logical partitions there are.
    pub partitions: u32,
    /// How many items each has.
    pub items: u32,
    /// The clients.
    pub clients: Vec<ClientPlan>,
    /// Whether somebody reads the change feed: the latest versions, and all of them.
    pub readers: (bool, bool),
    /// How many processes share a change-feed processor. Their numbers begin with [`FIRST_PROCESSOR`].
    pub processors: u32,
    /// What these are like. They make no calls of their own, and read where everybody would.
    pub processor_plans: Vec<ClientPlan>,
    /// How many orchestrations are started, where there are any.
    pub orchestrations: u32,
    /// What goes wrong, in order.
    pub faults: Vec<FaultPlan>,
}

/// One client process.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    /// Its number.
    pub id: u32,
    /// Where it reads, by preference.
    pub preferred: Vec<String>,
    /// By how much its clock is wrong, in milliseconds.
    pub skew_ms: i64,
    /// How many tasks it has.
    pub tasks: u32,
    /// How many calls each task makes.
    pub calls: u32,
    /// How long a task pauses between two calls at most, in milliseconds.
    pub pause: u64,
    /// Whether it speaks HTTP/1.1.
    pub http1: bool,
    /// After how long a call is given up, in milliseconds.
    pub timeout: u64,
    /// For how long its tokens are good, in seconds, if it has tokens and not the account's key.
    pub token_life: Option<u64>,
    /// After how long a silent region is hedged, in milliseconds; `None` for what the driver finds by itself.
    pub hedges_after: Option<u64>,
}

/// Parts of a plan that are left out, to see whether they matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    /// The places of faults.
    pub faults: Vec<usize>,
    /// The numbers of clients.
    pub clients: Vec<u32>,
    /// How many calls each task makes at most.
    pub calls: Option<u32>,
}

impl Plan {
    /// The world of a seed.
    pub fn draw(seed: u64, kind: Option<WorldKind>) -> Self {
        let random = Random::new(seed).fork("plan");
        let kind = kind.unwrap_or(*random.pick(&WorldKind::ALL));
        let regions = *random.pick(&[1, 2, 2, 3, 3, 3, 4, 5]);
        let regions: Vec<String> = REGIONS[..regions].iter().map(|name| (*name).to_owned()).collect();
        // Orchestrations run where one region writes.
        let multi_write = kind != WorldKind::Orchestrations && regions.len() > 1 && random.percent(30);
        let level = match level(&random, multi_write, regions.len()) {
            // Their provider needs to see what it has written.
            Level::Prefix | Level::Eventual if kind == WorldKind::Orchestrations => Level::Session,
            level => level,
        };
        let lags = [(0, 0), (1, 20), (10, 100), (50, 800), (500, 3000)];
        // Strong waits for other regions with each write. So does Bounded with many, and locks that are renewed late are lost.
        let waits = match level {
            Level::Strong => true,
            Level::Bounded { .. } => kind == WorldKind::Orchestrations,
            Level::Session | Level::Prefix | Level::Eventual => false,
        };
        let lag = *random.pick(if waits { &lags[..3] } else { &lags[..] });
        let level = match level {
            // What is on its way for longer than the bound keeps all writes waiting.
            Level::Bounded { commits, time } => {
                Level::Bounded { commits, time: time.max(1000 * (lag.1 + 500)) }
            }
            level => level,
        };
        let partitions = random.between(1, 6) as u32;
        let clients = (0..random.between(2, 4)).map(|id| client(&random, id as u32, &regions)).collect();
        let mut plan = Self {
            seed,
            kind,
            level,
            multi_write,
            partition_failover: regions.len() > 1 && !multi_write && random.percent(30),
            lag,
            delay: *random.pick(match kind {
                WorldKind::Items | WorldKind::Processors => &[(0, 1), (0, 5), (1, 20)],
                // Far from their account, processes have most of their time something half done.
                WorldKind::Orchestrations => &[(0, 1), (1, 20), (30, 120), (30, 120)],
            }),
            has_disk: random.percent(40),
            disk_delay: *random.fork("disk").pick(&[(0, 0), (0, 5), (1, 60)]),
            partitions,
            items: random.between(1, 5) as u32,
            regions,
            clients,
            readers: (random.percent(60), !multi_write && random.percent(40)),
            processors: if kind == WorldKind::Processors { random.between(1, 3) as u32 } else { 0 },
            processor_plans: Vec::new(),
            orchestrations: random.between(8, 16) as u32,
            faults: Vec::new(),
        };
        plan.draw_processors(&random.fork("processors"));
        plan.lengthen();
        plan.draw_tokens(&random.fork("tokens"));
        plan.faults = plan.draw_faults(&random);
        plan
    }

    /// The same world without some of its parts.
    pub fn reduced(mut self, by: &Reduction) -> Self {
        let faults = std::mem::take(&mut self.faults);
        let is_kept = |(place, _): &(usize, FaultPlan)| !by.faults.contains(place);
        self.faults = faults.into_iter().enumerate().filter(is_kept).map(|(_, fault)| fault).collect();
        self.clients.retain(|client| !by.clients.contains(&client.id));
        if let Some(calls) = by.calls {
            self.clients.iter_mut().for_each(|client| client.calls = client.calls.min(calls));
        }
        self
    }

    /// For about how long its clients are busy, in milliseconds.
    fn length(&self) -> u64 {
        if self.kind == WorldKind::Orchestrations {
            return 15_000;
        }
        let of = |client: &ClientPlan| u64::from(client.calls) * (client.pause / 2 + 2 * self.delay.1 + 5);
        self.clients.iter().map(of).max().unwrap_or(1000)
    }

    /// Lets clients make more calls where they would make few together.
    fn lengthen(&mut self) {
        let calls: u32 = self.clients.iter().map(|client| client.tasks * client.calls).sum();
        let times = LEAST_CALLS.div_ceil(calls.max(1));
        self.clients.iter_mut().for_each(|client| client.calls *= times);
    }

    /// Gives some clients tokens, whose clocks are good enough for them.
    fn draw_tokens(&mut self, random: &Random) {
        for client in self.clients.iter_mut().chain(&mut self.processor_plans) {
            if client.skew_ms.abs() < 1000 && random.percent(30) {
                client.token_life = Some(*random.pick(&[15, 20, 40]));
            }
        }
    }

    fn draw_processors(&mut self, random: &Random) {
        let ids = FIRST_PROCESSOR..FIRST_PROCESSOR + self.processors;
        let regions = &self.regions;
        let one = |id| ClientPlan { preferred: regions.clone(), ..client(random, id, regions) };
        self.processor_plans = ids.map(one).collect();
    }

    fn draw_faults(&self, random: &Random) -> Vec<FaultPlan> {
        let length = self.length();
        let lasts = || match self.kind {
            // Some last longer than a process keeps what it does not renew.
            WorldKind::Orchestrations if random.percent(30) => random.between(5_000, 25_000),
            _ => random.between(10, length / 3 + 20),
        };
        // What happens exactly once while nothing is wrong is seen only where nothing is wrong.
        let is_quiet = self.kind != WorldKind::Items && random.percent(15);
        let count = if is_quiet { 0 } else { random.between(1, 8) };
        let mut faults: Vec<_> = (0..count)
            .map(|_| FaultPlan { at: random.below(length), lasts: lasts(), what: self.draw_fault(random) })
            .collect();
        // What a session has seen of a partition goes over to its children while other regions lag.
        if !is_quiet && self.regions.len() > 1 && self.level == Level::Session && random.percent(50) {
            let splits = (0..random.between(1, 3)).map(|_| random.below(length));
            faults.extend(splits.map(|at| FaultPlan { at, lasts: 0, what: FaultKind::Split }));
        }
        if !is_quiet {
            faults.extend(self.draw_late_requests(&random.fork("late requests"), length));
            faults.extend(self.draw_of_processes(&random.fork("processes"), length, &lasts));
        }
        faults.sort_by_key(|fault| fault.at);
        faults
    }

    /// Requests of one client that come when it has given them up. With orchestrations that is when its locks have ended and
    /// others have its share; these are slower then, so that what comes meets them at work.
    fn draw_late_requests(&self, random: &Random, length: u64) -> Vec<FaultPlan> {
        let is_durable = self.kind == WorldKind::Orchestrations;
        if !random.percent(if is_durable { 40 } else { 6 }) {
            return Vec::new();
        }
        let (at, late) = (random.below(length), random.pick(&self.clients).id);
        let of = |client: &ClientPlan| {
            let (ms, lasts) = match (is_durable, client.id == late) {
                (true, true) => (random.between(7_000, 12_000), random.between(6_000, 12_000)),
                (true, false) => (random.between(500, 2_000), 24_000),
                (false, true) => (random.between(500, 10_000), random.between(500, length / 3 + 1_000)),
                (false, false) => return None,
            };
            let what = FaultKind::DelaysRequests(client.id, ms, random.below(20));
            Some(FaultPlan { at, lasts, what })
        };
        self.clients.iter().filter_map(of).collect()
    }

    /// A process that stands still for a while, or finds itself at another time.
    fn draw_of_processes(&self, random: &Random, length: u64, lasts: &dyn Fn() -> u64) -> Vec<FaultPlan> {
        let plans: Vec<&ClientPlan> = self.clients.iter().chain(&self.processor_plans).collect();
        let mut faults = Vec::new();
        if random.percent(15) {
            let what = FaultKind::Pauses(random.pick(&plans).id);
            faults.push(FaultPlan { at: random.below(length), lasts: lasts(), what });
        }
        if random.percent(15) {
            let plan = random.pick(&plans);
            // Who has tokens has a clock that is good enough for them.
            let ms = match plan.token_life {
                Some(_) => *random.pick(&[-900, 900]),
                None => *random.pick(&[-300_000, -5_000, 5_000, 300_000]),
            };
            let what = FaultKind::ClockJumps(plan.id, ms);
            faults.push(FaultPlan { at: random.below(length), lasts: 0, what });
        }
        faults
    }

    fn draw_fault(&self, random: &Random) -> FaultKind {
        let region = random.pick(&self.regions).clone();
        let processors = FIRST_PROCESSOR..FIRST_PROCESSOR + self.processors;
        let processes: Vec<u32> = self.clients.iter().map(|client| client.id).chain(processors).collect();
        let client = *random.pick(&processes);
        let share = *random.pick(&[3, 10, 30, 80]);
        // Between two requests of a process lies what another one has to finish.
        if self.kind == WorldKind::Orchestrations && random.percent(35) {
            return FaultKind::Kills(client, random.percent(50), *random.pick(&[0, 0, 1, 2, 5, 20]));
        }
        loop {
            let several = self.regions.len() > 1;
            let single = several && !self.multi_write;
            let has_tokens = self.clients.iter().any(|client| client.token_life.is_some());
            return match random.below(30) {
                0 => FaultKind::Down(region),
                1 => FaultKind::Hangs(region),
                2 => FaultKind::Slow(region, random.between(20, 3000)),
                3 if several => FaultKind::ForbidsWrites(region),
                4 => FaultKind::Status(region, *random.pick(&[408, 410, 429, 449, 500, 503]), share),
                5 => FaultKind::LosesAnswers(region, share),
                6 => FaultKind::Duplicates(region, share),
                7 => FaultKind::Throttles(region, share),
                8 if several => FaultKind::PausesReplication(region),
                9 if single => FaultKind::Graceful(region),
                10 | 11 if single => FaultKind::Forced(region, random.percent(50)),
                12 if single && self.partition_failover => FaultKind::PartitionForced(region),
                13 => FaultKind::Split,
                14 => FaultKind::Cuts(client, *random.pick(&[20, 200, 2000])),
                15 => FaultKind::Silence(client),
                16 => FaultKind::Stalls(client),
                17 => FaultKind::Kills(client, random.percent(50), random.below(20)),
                18 if self.regions.len() < REGIONS.len() && several => {
                    FaultKind::AddsRegion(REGIONS[self.regions.len()].to_owned())
                }
                19 if self.has_disk => FaultKind::CrashesServer(random.percent(70)),
                20 | 21 if self.has_disk => {
                    let longest = self.disk_delay.1 * 1000;
                    FaultKind::CrashesInAWrite(random.percent(80), random.below(longest.max(1)))
                }
                22 if self.has_disk => {
                    let fault = *random.pick(&[DiskFault::Sync, DiskFault::Sync, DiskFault::Full]);
                    FaultKind::DiskFails(fault, random.below(20), random.percent(60))
                }
                23 | 24 if several => FaultKind::RemovesRegion(region, random.percent(60)),
                25 => FaultKind::RegeneratesKey,
                26 => FaultKind::RotatesKeys,
                27 | 28 if has_tokens => FaultKind::DelaysTokens(random.between(100, 10_000)),
                29 if has_tokens => FaultKind::WithholdsTokens,
                _ => continue,
            };
        }
    }
}

fn level(random: &Random, multi_write: bool, regions: usize) -> Level {
    let bounded = match regions {
        1 => Level::Bounded { commits: 10, time: 5_000_000 },
        // The service has bounds that no world would meet.
        _ => {
            let random = random.fork("bounds");
            Level::Bounded { commits: random.between(5, 50), time: random.between(1, 5) * 1_000_000 }
        }
    };
    match random.below(8) {
        0 | 1 if !multi_write => Level::Strong,
        2 => bounded,
        3 => Level::Prefix,
        4 => Level::Eventual,
        _ => Level::Session,
    }
}

fn client(random: &Random, id: u32, regions: &[String]) -> ClientPlan {
    let mut preferred = regions.to_vec();
    preferred.rotate_left(random.below(regions.len() as u64) as usize);
    ClientPlan {
        id,
        preferred,
        skew_ms: *random.pick(&[0, 0, 0, -200, 900, -60_000, 120_000]),
        tasks: random.between(1, 3) as u32,
        calls: random.between(40, 120) as u32,
        pause: *random.pick(&[0, 10, 100, 300]),
        http1: random.percent(25),
        timeout: *random.pick(&[500, 3_000, 10_000, 30_000]),
        token_life: None,
        hedges_after: *random.pick(&[None, None, Some(10), Some(100)]),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = if self.multi_write { "every region writes" } else { "one region writes" };
        writeln!(
            f,
            "seed {} ({}): {:?}, {writes}, {:?}",
            self.seed,
            self.kind.name(),
            self.level,
            self.regions
        )?;
        writeln!(
            f,
            "  lag {:?} ms, delay {:?} ms, {} partitions of {} items, {}",
            self.lag,
            self.delay,
            self.partitions,
            self.items,
            if self.has_disk { "on disk" } else { "in memory" }
        )?;
        for client in &self.clients {
            writeln!(
                f,
                "  client {}: {} tasks of {} calls, pause {} ms, timeout {} ms, hedges {:?}, clock {:+} ms, {}, {}, {:?}",
                client.id,
                client.tasks,
                client.calls,
                client.pause,
                client.timeout,
                client.hedges_after,
                client.skew_ms,
                if client.http1 { "HTTP/1.1" } else { "HTTP/2" },
                client.token_life.map_or("key".to_owned(), |life| format!("tokens of {life} s")),
                client.preferred,
            )?;
        }
        if self.readers != (false, false) || self.processors > 0 {
            writeln!(
                f,
                "  readers (latest, all versions): {:?}, processors: {}",
                self.readers, self.processors
            )?;
        }
        for (place, fault) in self.faults.iter().enumerate() {
            writeln!(f, "  fault {place} at {} ms for {} ms: {:?}", fault.at, fault.lasts, fault.what)?;
        }
        Ok(())
    }
}
