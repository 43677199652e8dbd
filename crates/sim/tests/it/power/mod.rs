//! An emulator on a disk whose power fails at any moment: the files open again, everything that was acknowledged is there,
//! and no batch is half there.
//!
//! `POWER_SEEDS` sets how many runs there are, `POWER_SEED` which one is the first.

mod client;
mod clock;
mod failed_sync;
mod model;
mod one_thread;
mod shrink;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_emulator::{Emulator, EmulatorBuilder, Lag, StartError};
use cosmonaut_sim::disk::{DiskFault, RamDisk};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::disk::chance;
use client::{DOCS, REGIONS, definitions, document, key, send};
use clock::{SeededWorld, before, sleep};
use model::{ITEMS, Job, Model, PAIR};
use one_thread::OneThread;

const DATA: &str = "account.redb";
const WRITERS: u32 = 3;

/// The longest time that a batch takes.
const LONGEST: Duration = Duration::from_millis(5);

type Chance = Box<dyn FnMut() -> u64 + Send>;

#[test]
fn nothing_acknowledged_is_lost_and_no_batch_is_half_there() {
    let number = |name, usual| std::env::var(name).map_or(usual, |text| text.parse::<u64>().unwrap());
    let (first, count) = (number("POWER_SEED", 0), number("POWER_SEEDS", 200));
    for seed in first..first + count {
        run(seed);
    }
}

#[test]
fn equal_seeds_leave_equal_files() {
    for seed in 0..5 {
        assert!(run(seed) == run(seed), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_after_the_power_has_failed() {
    let disk = RamDisk::new(chance(1));
    let emulator = Emulator::builder().auth(false).threads(false).volume(disk.mount()).start().await.unwrap();
    disk.delays(LONGEST..=LONGEST);
    let body = json!({"id": "d"});
    let making = send((&emulator, REGIONS[0]), "POST /dbs", &[], &body);
    let crash = async {
        sleep(LONGEST / 2).await;
        disk.crash();
    };
    let ((status, _), ()) = tokio::join!(making, crash);
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
}

/// Runs a seed; says what is in the data file in the end.
fn run(seed: u64) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let outcome = runtime.unwrap().block_on(async { Run::new(seed).run().await });
    let again = format!("POWER_SEED={seed} POWER_SEEDS=1 cargo test -p cosmonaut-sim --test it power");
    outcome.unwrap_or_else(|problem| panic!("{problem}\nreplay: {again}"))
}

/// One run: a disk, what it must hold, and the emulators that come and go on it.
struct Run {
    chance: Chance,
    disk: RamDisk,
    world: Arc<SeededWorld>,
    model: Arc<Mutex<Model>>,
    account: Account,
}

/// Which regions there are.
#[derive(Clone, Copy)]
enum Account {
    OneRegion,
    OneWrites,
    AllWrite,
}

impl Account {
    fn builder(self) -> EmulatorBuilder {
        let builder = Emulator::builder();
        let lag = Lag::Between(Duration::ZERO, 2 * LONGEST);
        match self {
            Self::OneRegion => builder.region(REGIONS[0]),
            Self::OneWrites => builder.regions(REGIONS).lag(lag),
            Self::AllWrite => builder.regions(REGIONS).lag(lag).multi_write(true),
        }
    }

    /// Where a writer writes. Nobody else writes its items.
    fn region(self, writer: u32) -> &'static str {
        match self {
            Self::OneRegion | Self::OneWrites => REGIONS[0],
            Self::AllWrite => REGIONS[writer as usize % REGIONS.len()],
        }
    }

    /// Where a writer's items are read after a start, when every region has everything.
    fn other_region(self, writer: u32) -> &'static str {
        match self {
            Self::OneRegion => REGIONS[0],
            Self::OneWrites | Self::AllWrite => REGIONS[(writer as usize + 1) % REGIONS.len()],
        }
    }
}

impl Run {
    fn new(seed: u64) -> Self {
        let disk = RamDisk::new(chance(seed ^ 1 << 40));
        disk.delays(Duration::ZERO..=LONGEST);
        let world = Arc::new(SeededWorld::new(Box::new(chance(seed ^ 2 << 40))));
        let model = Arc::new(Mutex::new(Model::new(Box::new(chance(seed ^ 3 << 40)))));
        let account = match seed % 3 {
            0 => Account::OneRegion,
            1 => Account::OneWrites,
            _ => Account::AllWrite,
        };
        Self { chance: Box::new(chance(seed)), disk, world, model, account }
    }

    async fn run(mut self) -> Result<Vec<u8>, String> {
        for round in 0..5 {
            self.round().await.map_err(|problem| format!("round {round}: {problem}"))?;
        }
        let mut found = vec![0; self.disk.mount().size_of(DATA).unwrap().unwrap_or_default() as usize];
        self.disk.mount().open(DATA).unwrap().read(0, &mut found).unwrap();
        Ok(found)
    }

    /// Starts an emulator, compares what it has with what it must have, writes, and ends it in one of many ways.
    async fn round(&mut self) -> Result<(), String> {
        let is_faulty = self.below(5) == 0;
        if is_faulty {
            let fault = if self.below(2) == 0 { DiskFault::Full } else { DiskFault::Sync };
            let after = self.below(60);
            self.disk.fail(Some((fault, after)));
        }
        let patience = if self.below(5) == 0 { self.up_to(LONGEST) } else { Duration::from_secs(60) };
        let builder = self.account.builder().auth(false).threads(false).world(self.world.clone());
        let started = before(patience, builder.volume(Arc::new(OneThread::new(&self.disk))).start()).await;
        match started {
            None => {}
            Some(Ok(emulator)) => self.live(emulator, is_faulty).await?,
            Some(Err(StartError::Storage(error))) if is_faulty && !error.is_damaged() => {}
            Some(Err(error)) => return Err(error.to_string()),
        }
        match self.below(6) {
            0 => self.disk.kill(),
            1 => {}
            _ => self.disk.crash(),
        }
        self.disk.fail(None);
        Ok(())
    }

    async fn live(&mut self, emulator: Emulator, is_faulty: bool) -> Result<(), String> {
        let emulator = Arc::new(emulator);
        self.prepare(&emulator, is_faulty).await?;
        self.compare(&emulator, is_faulty).await?;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let region = self.account.region(writer);
            writers.spawn(write(writer, (Arc::clone(&emulator), region), Arc::clone(&self.model)));
        }
        sleep(self.up_to(Duration::from_millis(20))).await;
        match self.below(6) {
            0 => self.disk.kill(),
            1 => {}
            _ => self.disk.crash(),
        }
        writers.shutdown().await;
        let emulator = Arc::into_inner(emulator).ok_or("a writer is still there")?;
        match self.below(2) {
            0 => emulator.shutdown().await,
            _ => drop(emulator),
        }
        // The tasks of an emulator that was dropped end when they have their turn.
        sleep(Duration::from_millis(1)).await;
        self.model.lock().unwrap().problem.take().map_or(Ok(()), Err)
    }

    /// Makes the container, if that is not known to have been acknowledged.
    async fn prepare(&self, emulator: &Emulator, is_faulty: bool) -> Result<(), String> {
        let is_made = self.model.lock().unwrap().is_made;
        for (path, body) in definitions() {
            let (status, answer) = send((emulator, REGIONS[0]), &format!("POST {path}"), &[], &body).await;
            match status {
                StatusCode::CONFLICT => {}
                StatusCode::CREATED if !is_made => {}
                _ if is_faulty => return Ok(()),
                _ => return Err(format!("POST {path}: {status} {answer}")),
            }
        }
        self.model.lock().unwrap().is_made = true;
        Ok(())
    }

    /// Compares every item with what it may be.
    async fn compare(&self, emulator: &Emulator, is_faulty: bool) -> Result<(), String> {
        if !self.model.lock().unwrap().is_made {
            return Ok(());
        }
        for writer in 0..WRITERS {
            let mut found = Vec::new();
            let region = self.account.other_region(writer);
            for item in 0..ITEMS {
                let line = format!("GET {DOCS}/{item}");
                let (status, body) = send((emulator, region), &line, &[key(writer)], &Value::Null).await;
                found.push(match status {
                    StatusCode::OK => Some(body["n"].as_u64().ok_or("an item has no number")?),
                    StatusCode::NOT_FOUND => None,
                    _ if is_faulty => return Ok(()),
                    _ => return Err(format!("{line}: {status} {body}")),
                });
            }
            if PAIR.map(|item| found[item as usize]).windows(2).any(|pair| pair[0] != pair[1]) {
                return Err(format!("writer {writer}: half of a batch is there: {found:?}"));
            }
            let mut model = self.model.lock().unwrap();
            for (item, found) in (0..).zip(found) {
                model.see(writer, item, found)?;
            }
        }
        Ok(())
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.chance)() % end
    }

    fn up_to(&mut self, longest: Duration) -> Duration {
        Duration::from_micros(self.below(longest.as_micros() as u64))
    }
}

/// Writes one thing after the other, until it is stopped or the disk has failed.
async fn write(writer: u32, (emulator, region): (Arc<Emulator>, &str), model: Arc<Mutex<Model>>) {
    loop {
        let job = model.lock().unwrap().next_job(writer);
        sleep(job.pause).await;
        let (line, headers, body) = request(writer, &job);
        let (status, answer) = send((&emulator, region), &line, &headers, &body).await;
        let mut model = model.lock().unwrap();
        match status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => model.acknowledge(writer, &job),
            // The disk has failed, or the container could not be made.
            StatusCode::INTERNAL_SERVER_ERROR => return,
            StatusCode::NOT_FOUND if !model.is_made => return,
            _ => {
                model.problem = Some(format!("writer {writer}: {line}: {status} {answer}"));
                return;
            }
        }
    }
}

/// The request line, the headers and the body.
fn request(writer: u32, job: &Job) -> (String, Vec<(&'static str, String)>, Value) {
    let document = |item, number| document(writer, item, number, job.padding);
    let headers = |how: &[&'static str]| {
        let how = how.iter().map(|name| (*name, "true".to_owned()));
        [key(writer)].into_iter().chain(how).collect()
    };
    match (&job.items[..], job.number) {
        (items, None) => (format!("DELETE {DOCS}/{}", items[0]), headers(&[]), Value::Null),
        ([item], Some(number)) => {
            let headers = headers(&["x-ms-documentdb-is-upsert"]);
            (format!("POST {DOCS}"), headers, document(*item, number))
        }
        (items, Some(number)) => {
            let headers = headers(&["x-ms-cosmos-is-batch-request", "x-ms-cosmos-batch-atomic"]);
            let write =
                |item: &u32| json!({"operationType": "Upsert", "resourceBody": document(*item, number)});
            (format!("POST {DOCS}"), headers, items.iter().map(write).collect())
        }
    }
}
