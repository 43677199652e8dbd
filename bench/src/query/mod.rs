//! Queries over five partitions that the client has to put together, beside Microsoft's client: `ORDER BY` read to
//! its end, and `COUNT`.
//!
//! A query that the peer cannot run shows what it said instead of a time.

mod peer;

use std::time::{Duration, Instant};

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, Credential, FeedScope, ThroughputProperties,
};
use serde_json::{Value, json};

use crate::server::Server;
use crate::{Result, table};

const DATABASE: &str = "bench";
const CONTAINER: &str = "queries";
/// Throughput that makes five partitions.
const THROUGHPUT: u32 = 30_000;
const WRITERS: usize = 16;

const QUERIES: [(&str, &str); 3] = [
    ("ORDER BY, all rows", "SELECT VALUE c.n FROM c ORDER BY c.n"),
    ("ORDER BY, first 100", "SELECT TOP 100 VALUE c.n FROM c ORDER BY c.n DESC"),
    ("COUNT", "SELECT VALUE COUNT(1) FROM c"),
];

pub struct Settings {
    time: Duration,
    documents: u32,
    peer: bool,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { time: Duration::from_secs(3), documents: 10_000, peer: true };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--documents" => settings.documents = value()?.parse()?,
                "--no-peer" => settings.peer = false,
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
    let server = Server::cosmonaut().await?;
    let endpoint = format!("http://{}", server.address);
    let container = filled(&endpoint, settings.documents).await?;
    let columns = ["query", "rows", "cosmonaut", "azure_data_cosmos", "of ours"];
    let mut rows = vec![columns.map(str::to_owned).to_vec()];
    for (name, text) in QUERIES {
        let query = async || {
            let rows = container.query_items::<Value>(text, FeedScope::Container).collect().await?;
            Ok(rows.len())
        };
        let ours = repeated(settings.time, query).await?;
        let peer = match settings.peer {
            true => peer::measure(&endpoint, text, settings.time).await,
            false => Err("left out".into()),
        };
        rows.push(row(name, &ours, &peer));
    }
    let title = format!("{} documents in 5 partitions, time of one query", settings.documents);
    table::print(&title, &rows);
    Ok(())
}

fn row(name: &str, ours: &Measured, peer: &Result<Measured>) -> Vec<String> {
    let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let mut row = vec![name.to_owned(), ours.rows.to_string(), milliseconds(ours.time)];
    match peer {
        Ok(peer) if peer.rows != ours.rows => row.push(format!("{} rows", peer.rows)),
        Ok(peer) => {
            row.push(milliseconds(peer.time));
            row.push(format!("{:.2} ×", peer.time.div_duration_f64(ours.time)));
        }
        Err(error) => row.push(format!("not measured: {error}")),
    }
    row
}

async fn filled(endpoint: &str, documents: u32) -> Result<ContainerClient> {
    let client = CosmosClient::new(endpoint, Credential::master_key(cosmonaut_wire::EMULATOR_KEY)?)?;
    client.create_database(DATABASE).await?;
    let database = client.database(DATABASE);
    let throughput = Some(ThroughputProperties::manual(THROUGHPUT));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(ContainerProperties::new(CONTAINER, "/pk")).options(options).await?;
    let container = database.container(CONTAINER);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS as u32 {
        let container = container.clone();
        writers.spawn(async move {
            for n in (writer..documents).step_by(WRITERS) {
                let key = format!("key {}", n % 1000);
                let item = json!({"id": n.to_string(), "pk": key, "n": n});
                container.create_item(&*key, &item).await?;
            }
            Ok::<_, cosmonaut::Error>(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    Ok(container)
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
        ] {
            assert_eq!(row("q", &measured(20, 5), &peer), expected);
        }
    }
}
