//! Side-by-side benchmarks: every figure is printed with its peer's from the same run, and the ratio.
//!
//! `cargo run --release --manifest-path bench/Cargo.toml -- emulator`

mod constant;
mod emulator;
mod load;
mod server;
mod table;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: cosmonaut-bench emulator [--seconds N] [--documents N,N,…] [--no-peer]
  emulator   start-up, point reads, writes and indexed queries of this emulator, of @vercel/cosmosdb-server
             (needs node and npm) and, for point reads, of a hyper server that answers from constants
options
  --seconds N        how long each rate is measured (3)
  --documents N,N    the container sizes that the query is timed at (1000,100000,1000000)
  --no-peer          leave out the servers that need node";

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("emulator") => emulator::run(emulator::Settings::parse(arguments)?).await,
        // The peer that bounds what any server on hyper can do; started by the benchmark itself.
        Some("constant-server") => constant::serve().await,
        _ => Err(USAGE.into()),
    }
}
