//! Side-by-side benchmarks: every figure is printed with its peer's from the same run, and the ratio.
//!
//! `cargo run --release --manifest-path bench/Cargo.toml -- emulator`

mod all;
mod bulk;
mod constant;
mod constant_frames;
mod durable;
mod emulator;
mod load;
mod point_read;
mod query;
mod regions;
mod search;
mod server;
mod spatial;
mod store;
mod table;
mod usage;
mod weight;

use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: cosmonaut-bench emulator [--seconds N] [--documents N,N,…] [--no-peer] [--beside PATH]
       cosmonaut-bench store [--seconds N] [--documents N,N,…]
       cosmonaut-bench point-read [--seconds N] [--in-flight N,N,…] [--only CLIENT]
       cosmonaut-bench query [--seconds N] [--documents N] [--no-peer] [--server PATH]
       cosmonaut-bench spatial [--seconds N] [--documents N] [--server PATH]
       cosmonaut-bench bulk [--items N] [--throughput N] [--no-peer]
       cosmonaut-bench regions [--seconds N] [--in-flight N] [--scenario NAME] [--svg FILE] [--no-peer]
       cosmonaut-bench durable [--seconds N] [--dormant N,N,…] [--processes N,N,…] [--only STORE] [--load NAME] [--no-peer]
       cosmonaut-bench search [--seconds N] [--documents N] [--server PATH]
       cosmonaut-bench weight [--peer]
       cosmonaut-bench all [--no-peer]
  emulator     start-up, point reads (also beside scans), writes and indexed queries of this emulator, of @vercel/cosmosdb-server
               (needs node and npm) and, for point reads, of a hyper server that answers from constants; --beside sets
               another build of the command beside this one
  store        the last part of emulator alone: memory by document, writes on disk beside SQLite's (needs python3), and
               the time to open what was written
  point-read   rate, client CPU and allocations of a point read through bare hyper, this driver, the client on it and
               azure_data_cosmos_driver (feature `peers`), against one gateway that answers from constants; and of a
               write through this driver by the number of partitions and writers
  query        ORDER BY, a page from a token, DISTINCT, GROUP BY and COUNT over five partitions, and many items at once,
               through this client and azure_data_cosmos (feature `peers`); --server takes a build of the command that
               is there already
  spatial      the points around a place, of 100,000, by how many there are: time, charge and memory, with a spatial index
               and without one
  bulk         how much of a container's throughput is used by many creates: in bulk and one by one through this client, and
               in bulk through the JavaScript SDK (needs node and npm)
  regions      three regions of which one fails: failures, recovery, latency and hedging of this client and of
               azure_data_cosmos (feature `peers`)
  durable      orchestrations a second, the time and the cost of a step, and instances that wait, on this provider and, by
               the feature `peers`, on duroxide-cdb and duroxide's SQLite provider
  search       searches of vectors and texts by the size of their result, with an index and without, and a hundred creates
               by a stored procedure
  weight       crates, binary size and build CPU of a minimal client on this one, and on its driver alone
  all          each of these with its defaults, one after the other
options
  --seconds N        how long each rate is measured (3, orchestrations 5), or a region fails (5)
  --documents N,N    the container sizes that the query is timed at (1000,100000,1000000)
  --items N          how many items bulk creates (1000000); one by one and the peer, a tenth
  --throughput N     the container's request units a second for bulk (60000)
  --no-peer          leave out what others have made
  --in-flight N,N    how many operations are in flight (point reads 1,16,64,256; regions 64)
  --scenario NAME    region-down, region-hangs, region-slow, partition-down, write-failover, dead-connection,
                     stalled-identity, or all
  --svg FILE         where to draw latency and serving regions over time
  --dormant N,N      beside how many waiting instances orchestrations are measured (10,1000,100000)
  --only CLIENT      measure one client, by the name that its row has: for profiling
  --only STORE       measure one store: memory, disk, cdb-memory, cdb-disk or sqlite
  --load NAME        measure one load: stress-test, alone, together, steps, dormant or processes
  --peer             weigh a client on azure_data_cosmos too; its build takes minutes";

#[tokio::main]
async fn main() -> ExitCode {
    match run(std::env::args().skip(1)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    match arguments.next().as_deref() {
        Some("emulator") => emulator::run(emulator::Settings::parse(arguments)?).await,
        Some("store") => emulator::store(&emulator::Settings::parse(arguments)?).await,
        Some("point-read") => point_read::run(point_read::Settings::parse(arguments)?).await,
        Some("query") => query::run(query::Settings::parse(arguments)?).await,
        Some("spatial") => spatial::run(spatial::Settings::parse(arguments)?).await,
        Some("bulk") => bulk::run(bulk::Settings::parse(arguments)?).await,
        Some("regions") => regions::run(regions::Settings::parse(arguments)?).await,
        Some("durable") => durable::run(durable::Settings::parse(arguments)?).await,
        Some("all") => all::run(&all::Settings::parse(arguments)?).await,
        Some("search") => search::run(search::Settings::parse(arguments)?).await,
        Some("weight") => weight::run(&weight::Settings::parse(arguments)?),
        // A process that runs orchestrations; started by the benchmark itself.
        Some(durable::processes::WORKER) => durable::processes::work(arguments).await,
        // The peer that bounds what any server on hyper can do; started by the benchmark itself.
        Some("constant-server") => constant::serve(false).await,
        Some("constant-frames") => constant::serve(true).await,
        _ => Err(USAGE.into()),
    }
}
