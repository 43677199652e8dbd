//! This emulator beside its peers: start-up, point reads, writes, a query of fixed result size, and what it stores.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;

use crate::load::{Call, Connection, Measured, Protocol, run as load};
use crate::server::Server;
use crate::{Result, table};

pub struct Settings {
    time: Duration,
    sizes: Vec<u64>,
    peer: bool,
    /// Another build of the command, for what has changed since.
    beside: Option<PathBuf>,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self {
            time: Duration::from_secs(3),
            sizes: vec![1_000, 100_000, 1_000_000],
            peer: true,
            beside: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--documents" => {
                    settings.sizes =
                        value()?.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?
                }
                "--no-peer" => settings.peer = false,
                "--beside" => settings.beside = Some(value()?.into()),
                _ => return Err(crate::USAGE.into()),
            }
        }
        Ok(settings)
    }
}

const IN_FLIGHT: usize = 64;
const CONTAINER: &str = "/dbs/bench/colls/bench";
/// How many documents share a group, and so how many rows the query returns.
const GROUP: u64 = 20;
/// Past this size a server that scans takes longer for one query than the whole run should.
const MOST_FOR_SCANNING_PEER: u64 = 100_000;

pub async fn run(settings: Settings) -> Result<()> {
    if let Some(other) = &settings.beside {
        return beside(&settings, other).await;
    }
    start_up(&settings).await?;
    let constant = Server::constant().await?;
    let ours = Server::cosmonaut().await?;
    prepare(&ours).await?;
    let peer = if settings.peer { Some(Server::vercel().await?) } else { None };
    if let Some(peer) = &peer {
        prepare(peer).await?;
    }
    point_reads(&settings, &constant, &ours, peer.as_ref()).await?;
    writes(&settings, &ours, peer.as_ref()).await?;
    drop((constant, ours, peer));
    beside_scans(&settings).await?;
    queries(&settings).await?;
    store(&settings).await
}

/// This build and another one of the same command, in turns: point reads, creates, and opening what was written.
async fn beside(settings: &Settings, other: &Path) -> Result<()> {
    const ROUNDS: usize = 3;
    let ours = Server::binary().await?;
    let builds = [("this build", ours.as_path()), ("the other build", other)];
    let (mut reads, mut creates) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        for (index, (name, binary)) in builds.into_iter().enumerate() {
            let server = Server::cosmonaut_of(name, binary, &[]).await?;
            prepare(&server).await?;
            let (address, time) = (&server.address, settings.time);
            reads[index].push(load(address, Protocol::Http2, IN_FLIGHT, time, read).await?);
            let write = |number: u64| create(1_000_000_000 + number);
            creates[index].push(load(address, Protocol::Http1, IN_FLIGHT, time, write).await?);
        }
    }
    for (title, measured) in [("Point reads over HTTP/2", reads), ("Creates over HTTP/1.1", creates)] {
        let [ours, other] = measured.map(middle);
        let mut rows = vec![heading("of the other build"), row(builds[1].0, &other, None)];
        rows.push(row(builds[0].0, &ours, Some(other.per_second)));
        table::print(&format!("{title}, 1 KB, 64 in flight, middle of {ROUNDS} rounds"), &rows);
    }
    const DOCUMENTS: u64 = 500_000;
    let mut rows = vec![["server", "ready after"].map(String::from).to_vec()];
    for (name, binary) in builds {
        let folder = std::env::temp_dir().join(format!("cosmonaut-bench-beside-{}", std::process::id()));
        let arguments = ["--data", folder.to_str().ok_or("the temporary folder is no text")?];
        let server = Server::cosmonaut_of(name, binary, &arguments).await?;
        prepare(&server).await?;
        fill(&server, IN_FLIGHT as u64, DOCUMENTS).await?;
        server.stop().await?;
        let again = Server::cosmonaut_of(name, binary, &arguments).await?;
        rows.push(vec![name.into(), format!("{:.1} s", again.ready_after.as_secs_f64())]);
        drop(again);
        std::fs::remove_dir_all(&folder)?;
    }
    table::print(&format!("Opening {DOCUMENTS} documents of 1 KB, as a process"), &rows);
    Ok(())
}

/// The run of middling rate.
fn middle(mut measured: Vec<Measured>) -> Measured {
    measured.sort_by(|one, other| one.per_second.total_cmp(&other.per_second));
    measured.swap_remove(measured.len() / 2)
}

/// What is measured of the engine alone.
pub async fn store(settings: &Settings) -> Result<()> {
    let most = settings.sizes.iter().copied().max().unwrap_or(0);
    crate::store::run(settings.time, most, document).await
}

async fn start_up(settings: &Settings) -> Result<()> {
    const STARTS: usize = 5;
    let mut rows = vec![vec!["server".into(), "median".into(), "slowest".into()]];
    let mut ours = Vec::new();
    let mut peer = Vec::new();
    for _ in 0..STARTS {
        ours.push(Server::cosmonaut().await?);
        if settings.peer {
            peer.push(Server::vercel().await?);
        }
    }
    for servers in [ours, peer].iter_mut().filter(|servers| !servers.is_empty()) {
        servers.sort_by_key(|server| server.ready_after);
        let at = |index: usize| format!("{:.1} ms", servers[index].ready_after.as_secs_f64() * 1e3);
        rows.push(vec![servers[0].name.into(), at(STARTS / 2), at(STARTS - 1)]);
    }
    table::print(&format!("Ready after, {STARTS} starts"), &rows);
    Ok(())
}

async fn prepare(server: &Server) -> Result<()> {
    let mut connection = Connection::open(&server.address, Protocol::Http1).await?;
    let database = Call::new(Method::POST, "/dbs").body(r#"{"id":"bench"}"#);
    connection.expect(&database).await?;
    let container = Call::new(Method::POST, "/dbs/bench/colls")
        .body(r#"{"id":"bench","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#);
    connection.expect(&container).await?;
    for number in 0..IN_FLIGHT as u64 {
        connection.expect(&create(number)).await?;
    }
    Ok(())
}

/// A document of about 1 KB with a handful of members.
fn document(number: u64) -> String {
    let (group, pad) = (number / GROUP, "x".repeat(850));
    format!(
        r#"{{"id":"{number}","pk":"{number}","group":"g{group}","number":{number},"even":{},"name":"document {number}","pad":"{pad}"}}"#,
        number.is_multiple_of(2)
    )
}

fn create(number: u64) -> Call {
    Call::new(Method::POST, format!("{CONTAINER}/docs"))
        .key(&number.to_string())
        .header("content-type", "application/json")
        .body(document(number))
}

fn read(number: u64) -> Call {
    let number = number % IN_FLIGHT as u64;
    Call::new(Method::GET, format!("{CONTAINER}/docs/{number}")).key(&number.to_string())
}

fn row(name: &str, measured: &Measured, base: Option<f64>) -> Vec<String> {
    let micros = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    let ratio = base.map_or_else(String::new, |base| format!("{:.2} ×", measured.per_second / base));
    vec![
        name.into(),
        format!("{:.0}/s", measured.per_second),
        micros(measured.p50),
        micros(measured.p99),
        ratio,
    ]
}

fn heading(base: &str) -> Vec<String> {
    ["server", "rate", "P50", "P99", base].map(String::from).to_vec()
}

async fn point_reads(
    settings: &Settings,
    constant: &Server,
    ours: &Server,
    peer: Option<&Server>,
) -> Result<()> {
    let base = load(&constant.address, Protocol::Http2, IN_FLIGHT, settings.time, read).await?;
    let mut rows = vec![heading("of the constant server"), row(constant.name, &base, None)];
    let measured = load(&ours.address, Protocol::Http2, IN_FLIGHT, settings.time, read).await?;
    rows.push(row(ours.name, &measured, Some(base.per_second)));
    table::print("Point reads of 1 KB over HTTP/2, 64 in flight", &rows);

    let base = load(&ours.address, Protocol::Http1, IN_FLIGHT, settings.time, read).await?;
    let mut rows = vec![heading("of ours"), row(ours.name, &base, None)];
    if let Some(peer) = peer {
        let measured = load(&peer.address, Protocol::Http1, IN_FLIGHT, settings.time, read).await?;
        rows.push(row(peer.name, &measured, Some(base.per_second)));
    }
    table::print("Point reads of 1 KB over HTTP/1.1, 64 in flight", &rows);
    Ok(())
}

async fn writes(settings: &Settings, ours: &Server, peer: Option<&Server>) -> Result<()> {
    let write = |number: u64| create(1_000_000_000 + number);
    let base = load(&ours.address, Protocol::Http1, IN_FLIGHT, settings.time, write).await?;
    let mut rows = vec![heading("of ours"), row(ours.name, &base, None)];
    if let Some(peer) = peer {
        let measured = load(&peer.address, Protocol::Http1, IN_FLIGHT, settings.time, write).await?;
        rows.push(row(peer.name, &measured, Some(base.per_second)));
    }
    table::print("Creates of 1 KB over HTTP/1.1, 64 in flight", &rows);
    Ok(())
}

/// Point reads alone, and while queries look at every document of the same container.
async fn beside_scans(settings: &Settings) -> Result<()> {
    const DOCUMENTS: u64 = 100_000;
    const READS: usize = 16;
    let server = Server::cosmonaut().await?;
    prepare(&server).await?;
    fill(&server, IN_FLIGHT as u64, DOCUMENTS).await?;
    let alone = load(&server.address, Protocol::Http2, READS, settings.time, read).await?;
    let name = |what: &str| format!("{}, {what}", server.name);
    let columns = ["server", "rate", "P50", "P99", "P99 of alone"];
    let mut rows = vec![columns.map(String::from).to_vec(), row(&name("alone"), &alone, None)];
    for scans in [1, 4] {
        let mut beside = Vec::new();
        for _ in 0..scans {
            let mut connection = Connection::open(&server.address, Protocol::Http1).await?;
            beside.push(tokio::spawn(async move { while connection.expect(&scan()).await.is_ok() {} }));
        }
        let measured = load(&server.address, Protocol::Http2, READS, settings.time, read).await?;
        if beside.iter().any(|scan| scan.is_finished()) {
            return Err("a scan failed".into());
        }
        beside.iter().for_each(|scan| scan.abort());
        let mut columns = row(&name(&format!("{scans} scans of {DOCUMENTS} beside")), &measured, None);
        columns[4] = format!("{:.2} ×", measured.p99.as_secs_f64() / alone.p99.as_secs_f64());
        rows.push(columns);
    }
    table::print(&format!("Point reads of 1 KB over HTTP/2, {READS} in flight, beside queries"), &rows);
    Ok(())
}

/// A query that no index serves.
fn scan() -> Call {
    Call::new(Method::POST, format!("{CONTAINER}/docs"))
        .header("content-type", "application/query+json")
        .header("x-ms-documentdb-isquery", "true")
        .header("x-ms-documentdb-query-enablecrosspartition", "true")
        .header("x-ms-documentdb-partitionkeyrangeid", "0")
        .body(r#"{"query":"SELECT VALUE COUNT(1) FROM c WHERE CONTAINS(c.pad, 'y')"}"#)
}

async fn queries(settings: &Settings) -> Result<()> {
    let columns = ["server", "documents", "P50", "P99", "rows", "of the smallest", "memory"];
    let mut rows = vec![columns.map(String::from).to_vec()];
    query_sizes(&settings.sizes, Server::cosmonaut().await?, &mut rows).await?;
    if settings.peer {
        let sizes: Vec<u64> =
            settings.sizes.iter().copied().filter(|size| *size <= MOST_FOR_SCANNING_PEER).collect();
        query_sizes(&sizes, Server::vercel().await?, &mut rows).await?;
    }
    table::print(&format!("A query for {GROUP} documents by an indexed member, one at a time"), &rows);
    Ok(())
}

async fn query_sizes(sizes: &[u64], server: Server, rows: &mut Vec<Vec<String>>) -> Result<()> {
    prepare(&server).await?;
    let mut filled = IN_FLIGHT as u64;
    let mut smallest = None;
    for size in sizes {
        fill(&server, filled, *size).await?;
        filled = filled.max(*size);
        let (p50, p99, count) = time_query(&server, *size).await?;
        let base = *smallest.get_or_insert(p50);
        rows.push(vec![
            server.name.into(),
            size.to_string(),
            format!("{:.0} µs", p50.as_secs_f64() * 1e6),
            format!("{:.0} µs", p99.as_secs_f64() * 1e6),
            count.to_string(),
            format!("{:.2} ×", p50.as_secs_f64() / base.as_secs_f64()),
            server.resident_mb().map_or_else(String::new, |mb| format!("{mb} MB")),
        ]);
    }
    Ok(())
}

/// Creates the documents from `from` up to `to`.
async fn fill(server: &Server, from: u64, to: u64) -> Result<()> {
    const WORKERS: u64 = 8;
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let mut connection = Connection::open(&server.address, Protocol::Http1).await?;
        workers.push(tokio::spawn(async move {
            for number in (from + worker..to).step_by(WORKERS as usize) {
                connection.expect(&create(number)).await?;
            }
            Result::Ok(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn time_query(server: &Server, size: u64) -> Result<(Duration, Duration, u64)> {
    const QUERIES: u64 = 200;
    const SECONDS: u64 = 20;
    let mut connection = Connection::open(&server.address, Protocol::Http1).await?;
    let mut times = Vec::new();
    let mut count = 0;
    let started = std::time::Instant::now();
    for turn in 0..QUERIES {
        let group = turn * 7919 % (size / GROUP);
        let body = format!(
            r#"{{"query":"SELECT * FROM c WHERE c.group = @g","parameters":[{{"name":"@g","value":"g{group}"}}]}}"#
        );
        let call = Call::new(Method::POST, format!("{CONTAINER}/docs"))
            .header("content-type", "application/query+json")
            .header("x-ms-documentdb-isquery", "true")
            .header("x-ms-documentdb-query-enablecrosspartition", "true")
            .header("x-ms-max-item-count", "100")
            .body(body);
        let sent = std::time::Instant::now();
        let (_, answer) = connection.expect(&call).await?;
        times.push(sent.elapsed());
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        count = answer["_count"].as_u64().unwrap_or(0);
        if count != GROUP {
            return Err(
                format!("{} answered {count} rows for group g{group}, not {GROUP}", server.name).into()
            );
        }
        if started.elapsed() > Duration::from_secs(SECONDS) {
            break;
        }
    }
    times.sort();
    Ok((times[times.len() / 2], times[times.len() * 99 / 100], count))
}
