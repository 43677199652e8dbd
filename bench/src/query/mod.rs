//! Queries over five partitions that the client has to put together, and many items at once, beside Microsoft's client.
//!
//! What the peer does not support or cannot run shows that instead of a time.

mod ours;
mod peer;
mod work;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::server::Server;
use crate::{Result, table};
use work::{WORK, Work};

const DATABASE: &str = "bench";
const CONTAINER: &str = "queries";

pub struct Settings {
    time: Duration,
    documents: u32,
    peer: bool,
    /// A build of the command, instead of one that is made for this.
    server: Option<PathBuf>,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { time: Duration::from_secs(3), documents: 10_000, peer: true, server: None };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--documents" => settings.documents = value()?.parse::<u32>()?.max(work::LEAST_DOCUMENTS),
                "--no-peer" => settings.peer = false,
                "--server" => settings.server = Some(value()?.into()),
                _ => return Err(crate::USAGE.into()),
            }
        }
        Ok(settings)
    }
}

/// What a query took and gave.
struct Measured {
    /// The mean of one run.
    time: Duration,
    rows: usize,
}

pub async fn run(settings: Settings) -> Result<()> {
    let server = match &settings.server {
        Some(binary) => Server::cosmonaut_of("cosmonaut", binary, &[]).await?,
        None => Server::cosmonaut().await?,
    };
    let endpoint = format!("http://{}", server.address);
    let container = ours::filled(&endpoint, settings.documents).await?;
    let columns = ["", "rows", "cosmonaut", "azure_data_cosmos", "of ours"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    let mut times = Vec::new();
    for (name, work) in WORK {
        let ours = ours::measure(&container, work, &settings).await?;
        let peer = match settings.peer {
            true => peer::measure(&endpoint, work, &settings).await,
            false => Err("left out".into()),
        };
        rows.push(row(name, &ours, &peer));
        times.push((work, ours.time));
    }
    let title = format!("{} documents in 5 partitions, time of one run", settings.documents);
    table::print(&title, &rows);
    let time_of = |wanted| times.iter().find(|(work, _)| *work == wanted).map(|(_, time)| *time);
    if let (Some(many), Some(each)) = (time_of(Work::ReadMany), time_of(Work::ReadEach)) {
        println!("  one by one, {} items take {:.2} × what read_many takes", work::ITEMS, ratio(each, many));
    }
    Ok(())
}

fn ratio(time: Duration, of: Duration) -> f64 {
    time.as_secs_f64() / of.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn row(name: &str, ours: &Measured, peer: &Result<Measured>) -> Vec<String> {
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let mut row = vec![name.to_owned(), ours.rows.to_string(), milliseconds(ours.time)];
    match peer {
        Ok(peer) if peer.rows != ours.rows => row.push(format!("{} rows", peer.rows)),
        Ok(peer) => {
            row.push(milliseconds(peer.time));
            row.push(format!("{:.2} ×", ratio(peer.time, ours.time)));
        }
        Err(error) if is_unsupported(&error.to_string()) => row.push(work::NOT_SUPPORTED.to_owned()),
        Err(error) => row.push(format!("not measured: {error}")),
    }
    row
}

/// Whether the peer says that it cannot do this at all.
fn is_unsupported(error: &str) -> bool {
    error.contains("unsupported query feature") || error == work::NOT_SUPPORTED
}

/// Runs a query again and again, once more than is counted.
async fn repeated(time: Duration, run: impl AsyncFn() -> Result<usize>) -> Result<Measured> {
    let rows = run().await?;
    let (started, mut runs) = (Instant::now(), 0);
    while started.elapsed() < time {
        run().await?;
        runs += 1;
    }
    Ok(Measured { time: started.elapsed() / runs.max(1), rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_compared_only_if_it_gave_the_same_rows() {
        let measured = |ms, rows| Measured { time: Duration::from_millis(ms), rows };
        for (peer, expected) in [
            (Ok(measured(30, 5)), &["q", "5", "20.00 ms", "30.00 ms", "1.50 ×"][..]),
            (Ok(measured(1, 4)), &["q", "5", "20.00 ms", "4 rows"]),
            (Err("no such query".into()), &["q", "5", "20.00 ms", "not measured: no such query"]),
            (Err("unsupported query feature: GROUP BY".into()), &["q", "5", "20.00 ms", "not supported"]),
            (Err(work::NOT_SUPPORTED.into()), &["q", "5", "20.00 ms", "not supported"]),
        ] {
            assert_eq!(row("q", &measured(20, 5), &peer), expected);
        }
    }
}
