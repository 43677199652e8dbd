//! Many creates into a container whose throughput is enforced: how much of it is used, in bulk and one by one, and in
//! bulk by the JavaScript SDK.
//!
//! The server is a process of its own. Each load writes into a container of its own, new and empty.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cosmonaut::options::{CreateContainerOptions, RetryLimitOptions};
use cosmonaut::{
    BulkOperation, ContainerClient, ContainerProperties, CosmosClient, Credential, DatabaseClient, FeedScope,
    ItemOptions, ThroughputProperties,
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::server::{Server, install};
use crate::{Result, table};

const DATABASE: &str = "bench";
const KEYS: u64 = 5000;
const WRITERS: u64 = 64;
const SCRIPT: &str = include_str!("bulk.mjs");

pub struct Settings {
    items: u64,
    throughput: u32,
    peer: bool,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { items: 1_000_000, throughput: 60_000, peer: true };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--items" => settings.items = value()?.parse()?,
                "--throughput" => settings.throughput = value()?.parse()?,
                "--no-peer" => settings.peer = false,
                _ => return Err(crate::USAGE.into()),
            }
        }
        if settings.items < 10 {
            return Err("--items takes a number from 10".into());
        }
        Ok(settings)
    }
}

/// What a load has come to.
struct Measured {
    items: u64,
    /// Items that are there in the end.
    there: u64,
    time: Duration,
    charge: f64,
    /// Operations that were throttled, where that is known.
    throttled: Option<u64>,
    /// What this process held at most, after a tenth of the load and in the end.
    memory: Option<(u64, u64)>,
}

pub async fn run(settings: Settings) -> Result<()> {
    let server = Server::cosmonaut_with(&["--throttle"]).await?;
    let endpoint = format!("http://{}", server.address);
    let client = CosmosClient::new(&endpoint, Credential::master_key(cosmonaut_wire::EMULATOR_KEY)?)?;
    client.create_database(DATABASE).await?;
    let database = client.database(DATABASE);
    let Settings { items, throughput, peer } = settings;
    let few = items / 10;

    let mut rows = vec![
        ["client", "items", "there", "time", "rate", "of the throughput", "throttled", "memory"]
            .map(String::from)
            .to_vec(),
    ];
    let bulk = bulk(&container(&database, "bulk", throughput).await?, items).await?;
    rows.push(row("cosmonaut, bulk", &bulk, throughput));
    let single = one_by_one(&container(&database, "single", throughput).await?, few).await?;
    rows.push(row("cosmonaut, one by one", &single, throughput));
    if peer {
        let container = container(&database, "peer", throughput).await?;
        match javascript(&endpoint, &container, few).await {
            Ok(peer) => rows.push(row("@azure/cosmos 4.10.1, bulk", &peer, throughput)),
            Err(error) => {
                rows.push(vec!["@azure/cosmos 4.10.1, bulk".into(), format!("not measured: {error}")])
            }
        }
    }
    table::print(&format!("Creates of 0.2 KB into a container of {throughput} RU/s"), &rows);
    Ok(())
}

fn row(name: &str, measured: &Measured, throughput: u32) -> Vec<String> {
    let Measured { items, there, time, charge, throttled, memory } = measured;
    let seconds = time.as_secs_f64();
    vec![
        name.into(),
        items.to_string(),
        there.to_string(),
        format!("{seconds:.1} s"),
        format!("{:.0}/s", *items as f64 / seconds),
        format!("{:.0} %", charge / seconds / f64::from(throughput) * 100.0),
        throttled.map_or_else(String::new, |count| count.to_string()),
        memory.map_or_else(String::new, |(early, late)| format!("{early} → {late} MB")),
    ]
}

async fn container(database: &DatabaseClient, id: &str, throughput: u32) -> Result<ContainerClient> {
    let throughput = Some(ThroughputProperties::manual(throughput));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(ContainerProperties::new(id, "/pk")).options(options).await?;
    Ok(database.container(id))
}

fn item(n: u64) -> (String, Value) {
    let key = format!("key {}", n % KEYS);
    let item = json!({"id": n.to_string(), "pk": key, "n": n, "text": "some text that makes it a bit longer ".repeat(3)});
    (key, item)
}

async fn bulk(container: &ContainerClient, items: u64) -> Result<Measured> {
    let operations = (0..items).map(|n| {
        let (key, item) = item(n);
        BulkOperation::create(key, item)
    });
    let (early, late) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (hears_early, hears_late) = (Arc::clone(&early), Arc::clone(&late));
    let started = Instant::now();
    let run = container.bulk().on_progress(move |progress| {
        let at = if progress.succeeded < items / 10 { &hears_early } else { &hears_late };
        at.fetch_max(resident_mb().unwrap_or(0), Ordering::Relaxed);
    });
    let summary = run.run_all(operations)?.finish().await;
    let time = started.elapsed();
    if let Some(failure) = summary.failures.first() {
        return Err(format!("{} failed: {:?}", summary.progress.failed, failure.outcome()).into());
    }
    let there = count(container).await?;
    let memory = Some((early.load(Ordering::Relaxed), late.load(Ordering::Relaxed)));
    let throttled = Some(summary.progress.throttled);
    Ok(Measured { items, there, time, charge: summary.progress.request_charge, throttled, memory })
}

async fn one_by_one(container: &ContainerClient, items: u64) -> Result<Measured> {
    let started = Instant::now();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let container = container.clone();
        writers.spawn(async move {
            let mut charge = 0.0;
            let retry_limits = RetryLimitOptions {
                max_throttling_retries: Some(1000),
                max_throttling_wait: Some(Duration::from_secs(30)),
                ..Default::default()
            };
            for n in (writer..items).step_by(WRITERS as usize) {
                let (key, item) = item(n);
                let options = ItemOptions { retry_limits: retry_limits.clone(), ..Default::default() };
                charge += container.create_item(key, item).options(options).await?.request_charge();
            }
            Ok::<_, cosmonaut::Error>(charge)
        });
    }
    let mut charge = 0.0;
    while let Some(written) = writers.join_next().await {
        charge += written??;
    }
    let time = started.elapsed();
    Ok(Measured { items, there: count(container).await?, time, charge, throttled: None, memory: None })
}

async fn javascript(endpoint: &str, container: &ContainerClient, items: u64) -> Result<Measured> {
    let folder = install("javascript", "@azure/cosmos", "4.10.1").await?;
    let script = Path::new(&folder).join("bulk.mjs");
    std::fs::write(&script, SCRIPT)?;
    let output = Command::new("node")
        .arg(&script)
        .args([DATABASE, "peer", &items.to_string()])
        .env("COSMOS_ENDPOINT", endpoint)
        .env("COSMOS_KEY", cosmonaut_wire::EMULATOR_KEY)
        .current_dir(&folder)
        .stderr(Stdio::piped())
        .output()
        .await?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let seconds = said["seconds"].as_f64().ok_or("the script did not say how long it took")?;
    let charge = said["charge"].as_f64().unwrap_or(0.0);
    let time = Duration::from_secs_f64(seconds);
    Ok(Measured { items, there: count(container).await?, time, charge, throttled: None, memory: None })
}

/// How many items there are. Asked for with patience, as the throughput was just used up.
async fn count(container: &ContainerClient) -> Result<u64> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let rows = container.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
    Ok(rows.collect().await?.into_iter().sum())
}

/// The memory that this process holds, in MB.
fn resident_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
