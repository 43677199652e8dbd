//! The same load on one, a few and many processes that share a container: what each orchestration costs, and what
//! processes cost that have nothing to do.
//!
//! Processes are children of this one, and run the orchestrations. This one has the emulator, starts the orchestrations
//! at a steady rate, and asks for nothing while it measures.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::Client;
use duroxide::providers::Provider;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::account::Account;
use super::fan_out::{FanOut, ORCHESTRATION};
use super::model::Each;
use super::report::Cost;
use super::signals::Signals;
use super::store::config;
use crate::Result;

/// The command that a child is started with.
pub const WORKER: &str = "durable-worker";
/// Where a child finds its name.
const NAME: &str = "COSMONAUT_BENCH_WORKER";
/// After this time without a sign of life, a process has lost its share.
pub const LEASE: Duration = Duration::from_secs(15);
/// How long the last orchestrations may take after the last was started, and the others' shares to settle.
const SETTLING: Duration = Duration::from_secs(25);

/// What was measured with some number of processes.
pub struct Measured {
    pub processes: u32,
    pub started: u64,
    pub completed: u64,
    /// What the orchestrations cost, without what the processes cost that wait.
    pub cost: Cost,
    /// What all processes ask for in a second while there is nothing to do.
    pub idle_requests: f64,
}

impl Measured {
    /// What one orchestration cost.
    pub fn each(&self) -> Each {
        let among = self.completed.max(1) as f64;
        Each { requests: self.cost.requests as f64 / among, charge: self.cost.charge / among }
    }
}

/// Measures a load, with so many started a second, on each number of processes.
pub async fn measure(counts: &[u32], rate: u32, load: FanOut, time: Duration) -> Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for &processes in counts {
        measured.push(with(processes, rate, load, time).await?);
    }
    Ok(measured)
}

async fn with(processes: u32, rate: u32, load: FanOut, time: Duration) -> Result<Measured> {
    let account = Account::start(None).await?;
    // Made before the others come, so that nobody has to wait for it.
    let provider: Arc<dyn Provider> = Arc::new(CosmosProvider::connect(config(&account)).await?);
    let client = Client::new(Arc::clone(&provider));
    let mut workers = Vec::new();
    for number in 0..processes {
        workers.push(start_worker(&account, number, load).await?);
    }
    sleep(SETTLING).await;

    let before = account.cost();
    sleep(time).await;
    let idle = account.cost() - before;

    let (before, began) = (account.cost(), Instant::now());
    let started = start_steadily(&client, rate, time).await?;
    sleep(SETTLING).await;
    let (all, took) = (account.cost() - before, began.elapsed());

    let mut completed = 0;
    for number in 0..started {
        let status = client.wait_for_orchestration(&name(number), Duration::from_secs(5)).await;
        completed += u64::from(matches!(status, Ok(duroxide::OrchestrationStatus::Completed { .. })));
    }
    let idle_times = took.as_secs_f64() / time.as_secs_f64();
    let cost = Cost {
        requests: all.requests.saturating_sub((idle.requests as f64 * idle_times) as u64),
        charge: all.charge - idle.charge * idle_times,
    };
    let idle_requests = idle.requests as f64 / time.as_secs_f64();
    Ok(Measured { processes, started, completed, cost, idle_requests })
}

/// Starts so many orchestrations a second, each when it is due.
async fn start_steadily(client: &Client, rate: u32, time: Duration) -> Result<u64> {
    let (began, mut started) = (Instant::now(), 0);
    loop {
        let due = Duration::from_secs(1) / rate * u32::try_from(started)?;
        if due >= time {
            return Ok(started);
        }
        sleep(due.saturating_sub(began.elapsed())).await;
        client.start_orchestration(&*name(started), ORCHESTRATION, "").await?;
        started += 1;
    }
}

fn name(number: u64) -> String {
    format!("spread-{number}")
}

/// A process that runs orchestrations; stopped when dropped.
async fn start_worker(account: &Account, number: u32, load: FanOut) -> Result<Child> {
    let mut worker = Command::new(std::env::current_exe()?)
        .arg(WORKER)
        .arg(load.activities.to_string())
        .env("COSMOSDB_ENDPOINT", account.url())
        .env("COSMOSDB_KEY", account.key())
        .env(NAME, format!("worker-{number}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = worker.stdout.take().ok_or("a child has an output")?;
    let ready = BufReader::new(output).lines().next_line().await?;
    ready.ok_or("a process that was to run orchestrations has ended")?;
    Ok(worker)
}

/// What a child does, until its input ends.
pub async fn work(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    super::silence();
    let activities = arguments.next().ok_or(crate::USAGE)?.parse()?;
    let leases = Leases::Container { name: std::env::var(NAME)?, lease: LEASE };
    let config = CosmosProviderConfig { leases, ..CosmosProviderConfig::from_env()? };
    let provider = Arc::new(CosmosProvider::connect(config).await?);
    let load = FanOut { activities, ..super::TOGETHER };
    let runtime = load.start(Arc::clone(&provider) as Arc<dyn Provider>, &Arc::new(Signals::default())).await;
    println!("ready");
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    runtime.shutdown(None).await;
    Ok(provider.release().await?)
}
