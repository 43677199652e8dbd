//! A storm of faults, in an order that a seed decides, over real sockets: regions, connections, names, a proxy, the
//! identity service and failovers of the account, one over the other, while callers read and write.
//!
//! It runs for `SOAK_SECONDS` (20 unless it is set) with `SOAK_SEED` (any unless it is set), and stops by itself:
//! seven seconds after the storm, or a minute later if the preferred region answered 503 at its end. Unlike the other
//! tests it takes the time that faults take, as the storm is what it is about.
#![cfg(target_os = "linux")] // Elsewhere 127.0.0.2 is no address of the machine.
#![expect(clippy::unwrap_used, reason = "helpers outside of test functions are tests too")]
#![expect(clippy::disallowed_methods, reason = "a storm takes real time, which is what is measured")]

mod aftermath;
mod audit;
mod client;
mod dice;
mod dns;
mod identity;
mod load;
mod pace;
mod plan;
mod proxy;
mod relay;
mod storm;
mod world;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aftermath::Holdings;
use client::Clients;
use load::{Load, Results, Told};
use pace::Pace;
use world::World;

/// How long all that follows the storm may take: longer than all that is waited for there, so that what has failed is
/// told.
const AFTERWARDS: Duration = aftermath::PATIENCE.saturating_mul(8);

#[test]
fn a_storm_of_faults_is_survived() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seconds = number("SOAK_SECONDS").unwrap_or(20);
    let any = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos().into();
    let seed = number("SOAK_SEED").unwrap_or_else(any);
    let replay = format!(
        "SOAK_SEED={seed} SOAK_SECONDS={seconds} cargo test -p cosmonaut-driver --test soak -- --nocapture"
    );
    println!("to repeat this storm: {replay}");
    // The world has threads and tasks of its own, so that those of the drivers can be counted.
    let threads =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (there, here) = (threads(), threads());
    let world = Arc::new(there.block_on(World::start()));
    let soak = soak(&world, &there, seed, Duration::from_secs(seconds));
    let limit = Duration::from_secs(seconds) + AFTERWARDS;
    let failures = here.block_on(async { tokio::time::timeout(limit, soak).await });
    let failures = failures.unwrap_or_else(|_| vec![format!("it was not over after {limit:?}")]);
    // Whatever is still under way ends with its threads.
    here.shutdown_background();
    if let Ok(world) = Arc::try_unwrap(world) {
        there.block_on(world.shut_down());
    }
    there.shutdown_background();
    assert!(failures.is_empty(), "{}\nto repeat this storm: {replay}", failures.join("\n"));
}

/// The storm and what follows it; what was not as it should be.
async fn soak(
    world: &Arc<World>,
    there: &tokio::runtime::Runtime,
    seed: u64,
    length: Duration,
) -> Vec<String> {
    let pace = Pace::start();
    let clients = Clients::connect(world).await;
    clients.writer.fill().await;
    split_in_three(world).await;
    let mut failures = Vec::new();
    failures.extend(
        aftermath::eventually(&pace, "before the storm", || aftermath::at_home(&clients)).await.err(),
    );
    let before = Holdings::now(world);

    let barred = Arc::new(storm::Barred::default());
    let load = Load::start(&clients, &barred);
    let plan = plan::plan(seed, length);
    let raging = {
        let (world, barred, plan) = (Arc::clone(world), Arc::clone(&barred), plan);
        there.spawn(async move { storm::rage(&world, &plan, &barred).await })
    };
    raging.await.unwrap();
    let home =
        aftermath::eventually(&pace, "back in the preferred region", || aftermath::at_home(&clients)).await;
    failures.extend(home.err());
    let results = load.stop().await;
    failures.extend(reads_in_words(&results));
    failures.extend(writes_in_words(&clients, &results).await);
    let stuck = || aftermath::no_connection_is_stuck(world, &clients);
    failures.extend(aftermath::eventually(&pace, "no connection is stuck", stuck).await.err());
    let hoarded = async || aftermath::no_connection_is_hoarded(world);
    failures.extend(aftermath::eventually(&pace, "no connection is hoarded", hoarded).await.err());
    let tasks = async || Holdings::now(world).check_tasks(before);
    failures.extend(aftermath::eventually(&pace, "tasks have ended", tasks).await.err());
    println!("{} look-ups found the name service out of order", world.dns.struck());
    println!("{:?} of {:?} were withheld by the machine", pace.withheld(), pace.withheld() + pace.granted());
    let writes = results.writes.lock().unwrap_or_else(PoisonError::into_inner).len();
    failures.extend(Holdings::now(world).check_memory(before, writes).err());

    let runtime = clients.runtime.clone();
    drop(clients);
    runtime.shutdown().await;
    drop(runtime);
    let closed = async || match world.open().all {
        0 => Ok(()),
        open => Err(format!("{open} connections are open without a driver")),
    };
    failures.extend(aftermath::eventually(&pace, "connections close with their driver", closed).await.err());
    failures
}

/// So that a partition can fail alone.
async fn split_in_three(world: &World) {
    for _ in 0..2 {
        let first = world.control().partitions(world::LINK).unwrap()[0].id.as_str().to_owned();
        world.control().split(world::LINK, &first).await.unwrap();
    }
}

/// The reads that failed; what came of all is printed.
fn reads_in_words(results: &Results) -> Vec<String> {
    let failed = results.failed_reads.lock().unwrap_or_else(PoisonError::into_inner);
    let slowest = results.slowest_read.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let reads = results.reads.load(Ordering::Relaxed);
    println!(
        "{reads} reads, the slowest with a region in reach all the time took {:?}: {}",
        slowest.0, slowest.1
    );
    if failed.is_empty() {
        return Vec::new();
    }
    vec![format!("{} reads failed while a region could be reached; the first: {}", failed.len(), failed[0])]
}

/// The writes of which something untrue was told; what came of all is printed.
async fn writes_in_words(clients: &Clients, results: &Results) -> Vec<String> {
    let writes = results.writes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let count = |told| writes.iter().filter(|write| write.told == told).count();
    println!(
        "{} writes: {} acknowledged, {} refused, {} of unknown outcome",
        writes.len(),
        count(Told::Done),
        count(Told::NotDone),
        count(Told::Unknown)
    );
    let mut untruths = audit::untruths(&clients.writer, &writes).await;
    untruths.truncate(10);
    if count(Told::Done) == 0 {
        untruths.push("no write was ever acknowledged".to_owned());
    }
    untruths
}
