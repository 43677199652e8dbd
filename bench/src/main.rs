//! Side-by-side benchmarks: every figure is printed with its peer's from the same run, and the ratio.
//!
//! `cargo run --release --manifest-path bench/Cargo.toml -- emulator`

mod constant;
mod emulator;
mod load;
mod point_read;
mod server;
mod table;
mod usage;
mod weight;

use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: cosmonaut-bench emulator [--seconds N] [--documents N,N,…] [--no-peer]
       cosmonaut-bench point-read [--seconds N] [--in-flight N,N,…] [--only CLIENT]
       cosmonaut-bench weight [--peer]
  emulator     start-up, point reads, writes and indexed queries of this emulator, of @vercel/cosmosdb-server
               (needs node and npm) and, for point reads, of a hyper server that answers from constants
  point-read   rate, client CPU and allocations of a point read through bare hyper, this driver and
               azure_data_cosmos_driver (feature `peers`), against one gateway that answers from constants
  weight       crates, binary size and build CPU of a minimal client on this driver
options
  --seconds N        how long each rate is measured (3)
  --documents N,N    the container sizes that the query is timed at (1000,100000,1000000)
  --no-peer          leave out the servers that need node
  --in-flight N,N    how many point reads are in flight (1,16,64,256)
  --only CLIENT      measure one client, by the name that its row has: for profiling
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
        Some("point-read") => point_read::run(point_read::Settings::parse(arguments)?).await,
        Some("weight") => weight::run(&weight::Settings::parse(arguments)?),
        // The peer that bounds what any server on hyper can do; started by the benchmark itself.
        Some("constant-server") => constant::serve().await,
        _ => Err(USAGE.into()),
    }
}
