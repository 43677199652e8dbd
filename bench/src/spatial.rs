//! Points around a place: how long finding them takes by how many there are, with a spatial index and without one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use http::Method;

use crate::load::{Call, Connection, Protocol};
use crate::server::Server;
use crate::{Result, table};

pub struct Settings {
    time: Duration,
    points: u64,
    /// A build of the command, instead of one that is made for this.
    server: Option<PathBuf>,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { time: Duration::from_secs(3), points: 100_000, server: None };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--documents" => settings.points = value()?.parse::<u64>()?.max(1),
                "--server" => settings.server = Some(value()?.into()),
                _ => return Err(crate::USAGE.into()),
            }
        }
        Ok(settings)
    }
}

/// About how many points a query finds.
const RESULTS: [u64; 5] = [1, 10, 100, 1_000, 10_000];

/// The surface of the earth in square metres.
const SURFACE: f64 = 5.1e14;

pub async fn run(settings: Settings) -> Result<()> {
    let server = match &settings.server {
        Some(binary) => Server::cosmonaut_of("cosmonaut", binary, &[]).await?,
        None => Server::cosmonaut().await?,
    };
    let mut connection = Connection::open(&server.address, Protocol::Http1).await?;
    connection.expect(&Call::new(Method::POST, "/dbs").body(r#"{"id":"bench"}"#)).await?;
    let mut memory = vec![server.resident_mb()];
    for (container, indexes) in
        [("plain", ""), ("indexed", r#","spatialIndexes":[{"path":"/p/*","types":["Point"]}]"#)]
    {
        let body = format!(
            r#"{{"id":"{container}","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},"indexingPolicy":{{"includedPaths":[{{"path":"/*"}}]{indexes}}}}}"#
        );
        connection.expect(&Call::new(Method::POST, "/dbs/bench/colls").body(body)).await?;
        fill(&server, container, settings.points).await?;
        memory.push(server.resident_mb());
    }
    let columns = ["points found", "with an index", "without one", "of the first", "charge", "without"];
    let mut rows = vec![columns.map(String::from).to_vec()];
    for wanted in RESULTS.into_iter().filter(|wanted| *wanted * 2 <= settings.points) {
        let radius = (wanted as f64 * SURFACE / settings.points as f64 / std::f64::consts::PI).sqrt();
        let with = measure(&mut connection, "indexed", radius, &settings).await?;
        let without = measure(&mut connection, "plain", radius, &settings).await?;
        if with.rows != without.rows {
            return Err(format!("{} points with an index, {} without", with.rows, without.rows).into());
        }
        let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
        rows.push(vec![
            with.rows.to_string(),
            milliseconds(with.time),
            milliseconds(without.time),
            format!("{:.1} ×", without.time.as_secs_f64() / with.time.as_secs_f64()),
            format!("{:.1} RU", with.charge),
            format!("{:.1} RU", without.charge),
        ]);
    }
    table::print(&format!("Points around a place, of {}, mean of a query", settings.points), &rows);
    if let [Some(empty), Some(plain), Some(both)] = memory[..] {
        println!(
            "  without a spatial index the points take {} MB, with one {} MB",
            plain.saturating_sub(empty),
            both.saturating_sub(plain)
        );
    }
    Ok(())
}

/// Creates points that lie evenly on the globe.
async fn fill(server: &Server, container: &'static str, points: u64) -> Result<()> {
    const WORKERS: u64 = 8;
    let mut workers = Vec::new();
    for worker in 0..WORKERS {
        let mut connection = Connection::open(&server.address, Protocol::Http1).await?;
        workers.push(tokio::spawn(async move {
            for number in (worker..points).step_by(WORKERS as usize) {
                let [x, y] = place(number);
                let body = format!(
                    r#"{{"id":"{number}","pk":"{number}","p":{{"type":"Point","coordinates":[{x},{y}]}}}}"#
                );
                let call = Call::new(Method::POST, format!("/dbs/bench/colls/{container}/docs"))
                    .key(&number.to_string())
                    .header("content-type", "application/json")
                    .body(body);
                connection.expect(&call).await?;
            }
            Result::Ok(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

/// The longitude and the latitude of a point, in degrees.
fn place(number: u64) -> [f64; 2] {
    let share = |step: f64| (number as f64 * step).fract();
    let (around, up) = (share(0.754_877_666_246_692_8), share(0.569_840_290_998_053_3));
    [around * 360.0 - 180.0, (2.0 * up - 1.0).asin().to_degrees()]
}

/// What a query takes and gives.
struct Measured {
    /// The mean of one run.
    time: Duration,
    /// Rows and charge of the first run.
    rows: usize,
    charge: f64,
}

async fn measure(
    connection: &mut Connection,
    container: &str,
    radius: f64,
    settings: &Settings,
) -> Result<Measured> {
    let (rows, charge) = ask(connection, container, radius, 0).await?;
    let (started, mut runs) = (Instant::now(), 0);
    while started.elapsed() < settings.time {
        ask(connection, container, radius, u64::from(runs) * 7919 % settings.points).await?;
        runs += 1;
    }
    Ok(Measured { time: started.elapsed() / runs.max(1), rows, charge })
}

/// Asks for all points around one of them: how many there are, and what that costs.
async fn ask(connection: &mut Connection, container: &str, radius: f64, around: u64) -> Result<(usize, f64)> {
    let [x, y] = place(around);
    let body = format!(
        r#"{{"query":"SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.p, @here) < {radius}","parameters":[{{"name":"@here","value":{{"type":"Point","coordinates":[{x},{y}]}}}}]}}"#
    );
    let (mut rows, mut charge, mut continuation) = (0, 0.0, String::new());
    loop {
        let mut call = Call::new(Method::POST, format!("/dbs/bench/colls/{container}/docs"))
            .header("content-type", "application/query+json")
            .header("x-ms-documentdb-isquery", "true")
            .header("x-ms-documentdb-query-enablecrosspartition", "true")
            .header("x-ms-max-item-count", "-1")
            .body(body.clone());
        if !continuation.is_empty() {
            call = call.header("x-ms-continuation", &continuation);
        }
        let (headers, answer) = connection.expect(&call).await?;
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        rows += answer["_count"].as_u64().unwrap_or(0) as usize;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        charge += text("x-ms-request-charge").parse().unwrap_or(0.0);
        continuation = text("x-ms-continuation").to_owned();
        if continuation.is_empty() {
            return Ok((rows, charge));
        }
    }
}
