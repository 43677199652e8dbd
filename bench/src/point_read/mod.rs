//! A point read through bare hyper, this driver (by REST and by Gateway 2.0), the client on it and the driver of others, against one gateway that
//! answers from constants: rate, processor time and heap allocations of the client. Then a write through this driver,
//! by partitions and writers.
//!
//! The gateway is another process, so that none of its work is counted. The clients take turns in short rounds, so that
//! whatever else the machine does falls on all of them.

mod azure;
mod bare;
mod driver;
mod framed;
mod typed;
mod writes;

use std::ops::Add;
use std::time::{Duration, Instant};

use crate::server::Server;
use crate::usage::Usage;
use crate::{Result, constant, table};

const NAMES: [&str; 5] = [bare::NAME, driver::NAME, framed::NAME, typed::NAME, azure::NAME];
const IN_FLIGHT: [usize; 4] = [1, 16, 64, 256];
const ROUNDS: u32 = 3;
const WARM_UP: Duration = Duration::from_millis(300);
/// Distinct items that are read.
const ITEMS: u64 = 1000;

const LEAST_RATE: f64 = 0.9;
const MOST_CPU: f64 = 1.15;
const MOST_OWN_ALLOCATIONS: f64 = 5.0;

pub struct Settings {
    time: Duration,
    in_flight: Vec<usize>,
    only: Option<String>,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { time: Duration::from_secs(3), in_flight: IN_FLIGHT.to_vec(), only: None };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--in-flight" => {
                    settings.in_flight =
                        value()?.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
                }
                "--only" => {
                    let name = value()?;
                    if !NAMES.contains(&name.as_str()) {
                        return Err(format!("--only takes one of {NAMES:?}, not {name:?}").into());
                    }
                    settings.only = Some(name);
                }
                _ => return Err(crate::USAGE.into()),
            }
        }
        if settings.in_flight.iter().any(|count| !(1..=bare::MOST_IN_FLIGHT).contains(count)) {
            return Err(format!("--in-flight takes numbers from 1 to {}", bare::MOST_IN_FLIGHT).into());
        }
        Ok(settings)
    }
}

/// A client under measurement.
trait Client {
    /// What one of the concurrent readers holds.
    fn reader(&self, number: usize) -> impl Reader + 'static;
}

trait Reader: Send {
    /// Reads the item with an id that is also its partition key; any answer but the item is an error.
    fn read(&mut self, id: &str) -> impl Future<Output = Result<()>> + Send;
}

/// Fails unless an answer is the gateway's item.
fn check(status: u16, body: &[u8]) -> Result<()> {
    if status == 200 && body.len() > constant::PAD {
        return Ok(());
    }
    Err(format!("answered {status} with {} bytes: {}", body.len(), String::from_utf8_lossy(body)).into())
}

/// The sum of a client's rounds.
#[derive(Clone, Copy, Default)]
struct Sample {
    /// Or writes.
    reads: u64,
    time: Duration,
    cpu: Duration,
    allocations: u64,
}

impl Sample {
    fn per_second(&self) -> f64 {
        self.reads as f64 / self.time.as_secs_f64()
    }

    fn cpu_micros(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.reads as f64
    }

    fn allocations_each(&self) -> f64 {
        self.allocations as f64 / self.reads as f64
    }
}

impl Add for Sample {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            time: self.time + other.time,
            cpu: self.cpu + other.cpu,
            allocations: self.allocations + other.allocations,
        }
    }
}

/// What is known of a client: the sum of its rounds, or why there is none.
type Outcome = std::result::Result<Sample, String>;

pub async fn run(settings: Settings) -> Result<()> {
    let gateway = Server::constant().await?;
    let bare = connect(&settings, bare::NAME, bare::Bare::connect(&gateway.address)).await;
    let ours = connect(&settings, driver::NAME, driver::Cosmonaut::connect(&gateway.address)).await;
    // Another server, as clients of others would go to its Gateway 2.0 too.
    let frames = Server::constant_frames().await?;
    let framed = connect(&settings, framed::NAME, framed::Framed::connect(&frames.address)).await;
    let typed = connect(&settings, typed::NAME, typed::Typed::connect(&gateway.address)).await;
    let azure = connect(&settings, azure::NAME, azure::Azure::connect(&gateway.address)).await;
    for in_flight in &settings.in_flight {
        let round = Round { in_flight: *in_flight, time: settings.time / ROUNDS };
        let mut outcomes = [const { None }; NAMES.len()];
        for _ in 0..ROUNDS {
            round.add(&bare, &mut outcomes[0]).await;
            round.add(&ours, &mut outcomes[1]).await;
            round.add(&framed, &mut outcomes[2]).await;
            round.add(&typed, &mut outcomes[3]).await;
            round.add(&azure, &mut outcomes[4]).await;
        }
        print(*in_flight, &outcomes);
    }
    if settings.only.is_none() {
        framed::bytes(&gateway, &frames).await?;
        writes::run(&gateway.address, settings.time).await?;
    }
    Ok(())
}

/// A client that is to be measured, or why it cannot be; `None` if it is not asked for.
async fn connect<C>(
    settings: &Settings,
    name: &str,
    connecting: impl Future<Output = Result<C>>,
) -> Option<std::result::Result<C, String>> {
    if settings.only.as_deref().is_some_and(|only| only != name) {
        return None;
    }
    Some(connecting.await.map_err(|error| error.to_string()))
}

/// How one turn of a client goes.
struct Round {
    in_flight: usize,
    time: Duration,
}

impl Round {
    /// Adds a turn of a client to what is known of it, unless it has failed.
    async fn add<C: Client>(
        &self,
        client: &Option<std::result::Result<C, String>>,
        known: &mut Option<Outcome>,
    ) {
        let Some(client) = client else { return };
        let sum = known.take().unwrap_or_else(|| Ok(Sample::default()));
        *known = Some(match (client, sum) {
            (Err(error), _) => Err(error.clone()),
            (Ok(_), Err(error)) => Err(error),
            (Ok(client), Ok(sum)) => {
                self.measure(client).await.map(|sample| sum + sample).map_err(|error| error.to_string())
            }
        });
    }

    async fn measure(&self, client: &impl Client) -> Result<Sample> {
        self.read_for(client, WARM_UP).await?;
        let (before, started) = (Usage::now()?, Instant::now());
        let reads = self.read_for(client, self.time).await?;
        let (time, used) = (started.elapsed(), Usage::now()? - before);
        Ok(Sample { reads, time, cpu: used.cpu, allocations: used.allocations })
    }

    /// Reads for some time with a fixed number in flight; says how many were read.
    async fn read_for(&self, client: &impl Client, time: Duration) -> Result<u64> {
        let end = Instant::now() + time;
        let readers =
            (0..self.in_flight).map(|number| tokio::spawn(read_until(client.reader(number), number, end)));
        let mut reads = 0;
        for reader in readers.collect::<Vec<_>>() {
            reads += reader.await??;
        }
        Ok(reads)
    }
}

async fn read_until(mut reader: impl Reader, number: usize, end: Instant) -> Result<u64> {
    let (mut reads, mut id) = (0, String::new());
    while Instant::now() < end {
        id.clear();
        std::fmt::Write::write_fmt(&mut id, format_args!("{}", (number as u64 * 31 + reads) % ITEMS))?;
        reader.read(&id).await?;
        reads += 1;
    }
    Ok(reads)
}

fn print(in_flight: usize, outcomes: &[Option<Outcome>; NAMES.len()]) {
    let columns =
        ["client", "rate", "of hyper", "CPU a read", "of hyper", "allocations a read", "of its own"];
    let mut rows = vec![columns.map(String::from).to_vec()];
    let base = outcomes[0].as_ref().and_then(|outcome| outcome.as_ref().ok());
    for (name, outcome) in NAMES.into_iter().zip(outcomes) {
        match outcome {
            None => {}
            Some(Ok(sample)) => rows.push(row(name, sample, base.filter(|_| name != bare::NAME))),
            Some(Err(error)) => rows.push(vec![name.into(), format!("not measured: {error}")]),
        }
    }
    let (rate, cpu) = (format!("≥ {LEAST_RATE:.2} ×"), format!("≤ {MOST_CPU:.2} ×"));
    let own = format!("≤ {MOST_OWN_ALLOCATIONS:.0}");
    rows.push(vec![
        "goal for this driver".into(),
        String::new(),
        rate,
        String::new(),
        cpu,
        String::new(),
        own,
    ]);
    table::print(&format!("Point reads of 1 KB over clear-text HTTP/2, {in_flight} in flight"), &rows);
}

fn row(name: &str, sample: &Sample, base: Option<&Sample>) -> Vec<String> {
    let beside =
        |text: fn(&Sample, &Sample) -> String| base.map_or_else(String::new, |base| text(sample, base));
    vec![
        name.into(),
        format!("{:.0}/s", sample.per_second()),
        beside(|sample, base| format!("{:.2} ×", sample.per_second() / base.per_second())),
        format!("{:.1} µs", sample.cpu_micros()),
        beside(|sample, base| format!("{:.2} ×", sample.cpu_micros() / base.cpu_micros())),
        format!("{:.1}", sample.allocations_each()),
        beside(|sample, base| format!("{:.1}", sample.allocations_each() - base.allocations_each())),
    ]
}
