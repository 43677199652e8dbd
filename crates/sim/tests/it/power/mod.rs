//! An emulator on a disk whose power fails at any moment: the files open again, everything that was acknowledged is there,
//! and no batch is half there.
//!
//! `POWER_SEEDS` sets how many runs there are, `POWER_SEED` which one is the first.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_emulator::{Emulator, StartError, Timestamp, Volume, VolumeFile, World};
use cosmonaut_sim::disk::{DiskFault, RamDisk};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::disk::chance;

const DATA: &str = "account.redb";
const WRITERS: u32 = 3;
/// The items of a writer's partition. The last two are only ever written together.
const ITEMS: u32 = 5;
const PAIR: [u32; 2] = [3, 4];

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
async fn files_last_though_the_sync_of_their_names_failed_when_they_were_made() {
    let mut refused = 0;
    for (after, seed) in (0..8).flat_map(|after| (0..8).map(move |seed| (after, seed))) {
        let disk = RamDisk::new(chance(seed));
        let start = || {
            let builder = Emulator::builder().auth(false).threads(false);
            builder.volume(Arc::new(disk.clone())).start()
        };
        disk.fail(Some((DiskFault::Sync, after)));
        refused += u32::from(start().await.is_err());
        disk.fail(None);
        sleep(Duration::from_millis(1)).await;
        let emulator = start().await.unwrap();
        assert_eq!(send(&emulator, "POST", "/dbs", &[], &json!({"id": "d"})).await.0, StatusCode::CREATED);
        disk.crash();
        drop(emulator);
        let emulator = start().await.unwrap_or_else(|error| panic!("{after}, {seed}: {error}"));
        let (status, _) = send(&emulator, "GET", "/dbs/d", &[], &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{after}, {seed}");
    }
    assert!(refused > 8, "{refused}");
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
    shared: Arc<Mutex<Model>>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let disk = RamDisk::new(chance(seed ^ 1 << 40));
        disk.delays(Duration::ZERO..=LONGEST);
        let world = SeededWorld { chance: Mutex::new(Box::new(chance(seed ^ 2 << 40))), started: now() };
        let shared = Model {
            chance: Box::new(chance(seed ^ 3 << 40)),
            is_made: false,
            next: 1,
            items: BTreeMap::new(),
            problem: None,
        };
        let chance = Box::new(chance(seed));
        Self { chance, disk, world: Arc::new(world), shared: Arc::new(Mutex::new(shared)) }
    }

    async fn run(mut self) -> Result<Vec<u8>, String> {
        for round in 0..5 {
            self.round().await.map_err(|problem| format!("round {round}: {problem}"))?;
        }
        let mut found = vec![0; self.disk.size_of(DATA).unwrap().unwrap_or_default() as usize];
        self.disk.open(DATA).unwrap().read(0, &mut found).unwrap();
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
        let volume = OneThread { disk: self.disk.clone(), thread: thread::current().id() };
        let builder = Emulator::builder().auth(false).threads(false).world(self.world.clone());
        let started = before(patience, builder.volume(Arc::new(volume)).start()).await;
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
            writers.spawn(write(writer, Arc::clone(&emulator), Arc::clone(&self.shared)));
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
        self.shared.lock().unwrap().problem.take().map_or(Ok(()), Err)
    }

    /// Makes the container, if that is not known to have been acknowledged.
    async fn prepare(&self, emulator: &Emulator, is_faulty: bool) -> Result<(), String> {
        let is_made = self.shared.lock().unwrap().is_made;
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
        for (path, body) in [("/dbs", json!({"id": "d"})), ("/dbs/d/colls", container)] {
            let (status, answer) = send(emulator, "POST", path, &[], &body).await;
            match status {
                StatusCode::CONFLICT => {}
                StatusCode::CREATED if !is_made => {}
                _ if is_faulty => return Ok(()),
                _ => return Err(format!("POST {path}: {status} {answer}")),
            }
        }
        self.shared.lock().unwrap().is_made = true;
        Ok(())
    }

    /// Compares every item with what it may be.
    async fn compare(&self, emulator: &Emulator, is_faulty: bool) -> Result<(), String> {
        if !self.shared.lock().unwrap().is_made {
            return Ok(());
        }
        for writer in 0..WRITERS {
            let mut found = Vec::new();
            for item in 0..ITEMS {
                let path = format!("/dbs/d/colls/c/docs/{item}");
                let (status, body) = send(emulator, "GET", &path, &[key(writer)], &Value::Null).await;
                found.push(match status {
                    StatusCode::OK => Some(body["n"].as_u64().ok_or("an item has no number")?),
                    StatusCode::NOT_FOUND => None,
                    _ if is_faulty => return Ok(()),
                    _ => return Err(format!("GET {path}: {status} {body}")),
                });
            }
            if PAIR.map(|item| found[item as usize]).windows(2).any(|pair| pair[0] != pair[1]) {
                return Err(format!("writer {writer}: half of a batch is there: {found:?}"));
            }
            let mut model = self.shared.lock().unwrap();
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

/// What the emulator must hold.
struct Model {
    chance: Chance,
    is_made: bool,
    next: u64,
    items: BTreeMap<(u32, u32), Item>,
    /// What a writer has seen and should not have.
    problem: Option<String>,
}

/// The number in an item, or that there is no item.
#[derive(Default)]
struct Item {
    /// As it was acknowledged or seen.
    known: Option<u64>,
    /// As it may be, as nothing has been heard of these writes.
    maybe: Vec<Option<u64>>,
}

/// Something to write: the items, and the number they get; none to delete them.
struct Job {
    items: Vec<u32>,
    number: Option<u64>,
    padding: usize,
    pause: Duration,
}

impl Model {
    fn below(&mut self, end: u64) -> u64 {
        (self.chance)() % end
    }

    fn next_job(&mut self, writer: u32) -> Job {
        let number = self.next;
        self.next += 1;
        let pause = Duration::from_micros(self.below(3000));
        // The file is to grow now and then.
        let padding = match self.below(64) {
            0 => 150_000,
            1..6 => 5000,
            _ => 100,
        };
        let item = self.below(5) as u32;
        let is_there = |item: &Item| item.known.is_some() && item.maybe.is_empty();
        let may_delete = self.items.get(&(writer, item)).is_some_and(is_there) && self.below(3) == 0;
        let (items, number) = match item {
            item if PAIR.contains(&item) => (PAIR.to_vec(), Some(number)),
            item if may_delete => (vec![item], None),
            item => (vec![item], Some(number)),
        };
        for item in &items {
            self.items.entry((writer, *item)).or_default().maybe.push(number);
        }
        Job { items, number, padding, pause }
    }

    fn acknowledge(&mut self, writer: u32, job: &Job) {
        for item in &job.items {
            self.items.insert((writer, *item), Item { known: job.number, maybe: Vec::new() });
        }
    }

    /// What was read must stay.
    fn see(&mut self, writer: u32, item: u32, found: Option<u64>) -> Result<(), String> {
        let known = self.items.entry((writer, item)).or_default();
        if found != known.known && !known.maybe.contains(&found) {
            let (known, maybe) = (known.known, &known.maybe);
            return Err(format!(
                "writer {writer}, item {item}: {found:?} instead of {known:?} or any of {maybe:?}"
            ));
        }
        *known = Item { known: found, maybe: Vec::new() };
        Ok(())
    }
}

/// Writes one thing after the other, until it is stopped or the disk has failed.
async fn write(writer: u32, emulator: Arc<Emulator>, model: Arc<Mutex<Model>>) {
    loop {
        let job = model.lock().unwrap().next_job(writer);
        sleep(job.pause).await;
        let (status, _) = match (&job.items[..], job.number) {
            ([item], None) => {
                let path = format!("/dbs/d/colls/c/docs/{item}");
                send(&emulator, "DELETE", &path, &[key(writer)], &Value::Null).await
            }
            ([item], Some(number)) => {
                let headers = [key(writer), ("x-ms-documentdb-is-upsert", "true".to_owned())];
                let body = document(writer, *item, number, job.padding);
                send(&emulator, "POST", "/dbs/d/colls/c/docs", &headers, &body).await
            }
            (items, number) => {
                let number = number.unwrap_or_default();
                let write = |item: &u32| {
                    let body = document(writer, *item, number, job.padding);
                    json!({"operationType": "Upsert", "resourceBody": body})
                };
                let headers = [
                    key(writer),
                    ("x-ms-cosmos-is-batch-request", "true".to_owned()),
                    ("x-ms-cosmos-batch-atomic", "true".to_owned()),
                ];
                let batch = items.iter().map(write).collect();
                send(&emulator, "POST", "/dbs/d/colls/c/docs", &headers, &batch).await
            }
        };
        let mut model = model.lock().unwrap();
        match (status, job.number) {
            (StatusCode::NOT_FOUND, None) => {
                model.problem = Some(format!("writer {writer}: {:?} is not there to be deleted", job.items));
                return;
            }
            _ if status.is_success() && status != StatusCode::MULTI_STATUS => model.acknowledge(writer, &job),
            _ => return,
        }
    }
}

fn document(writer: u32, item: u32, number: u64, padding: usize) -> Value {
    json!({"id": item.to_string(), "pk": writer.to_string(), "n": number, "text": "x".repeat(padding)})
}

fn key(writer: u32) -> (&'static str, String) {
    ("x-ms-documentdb-partitionkey", format!("[\"{writer}\"]"))
}

async fn send(
    emulator: &Emulator,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &Value,
) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let answer = emulator.handle(request.body(Bytes::from(text)).unwrap()).await;
    (answer.status(), serde_json::from_slice(answer.body()).unwrap_or_default())
}

/// A disk that only one thread may use.
#[derive(Debug)]
struct OneThread {
    disk: RamDisk,
    thread: ThreadId,
}

impl OneThread {
    fn check(&self) {
        assert_eq!(thread::current().id(), self.thread, "there are to be no threads");
    }
}

impl Volume for OneThread {
    fn open(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.check();
        let file = self.disk.open(name)?;
        Ok(Box::new(OneThreadFile { file, volume: Self { disk: self.disk.clone(), thread: self.thread } }))
    }

    fn size_of(&self, name: &str) -> io::Result<Option<u64>> {
        self.check();
        self.disk.size_of(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.check();
        self.disk.rename(from, to)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.check();
        self.disk.sync_names()
    }

    fn delay(&self) -> Duration {
        self.check();
        self.disk.delay()
    }

    fn settle(&self) {
        self.check();
        self.disk.settle();
    }
}

#[derive(Debug)]
struct OneThreadFile {
    file: Box<dyn VolumeFile>,
    volume: OneThread,
}

impl VolumeFile for OneThreadFile {
    fn lock(&self) -> io::Result<bool> {
        self.file.lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn size(&self) -> io::Result<u64> {
        self.volume.check();
        self.file.size()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.volume.check();
        self.file.read(offset, into)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.volume.check();
        self.file.write(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.volume.check();
        self.file.set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.volume.check();
        self.file.sync()
    }
}

/// Virtual time, and chance by a seed.
struct SeededWorld {
    chance: Mutex<Chance>,
    started: Instant,
}

impl World for SeededWorld {
    fn now(&self) -> Timestamp {
        let since = now().saturating_duration_since(self.started);
        Timestamp(1_800_000_000_000_000 + since.as_micros() as u64)
    }

    fn random(&self) -> u64 {
        (self.chance.lock().unwrap())()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The result, if it comes in time.
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn before<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(time, work).await.ok()
}
