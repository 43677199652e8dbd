//! What the emulator's engine holds and writes, without HTTP: memory by document, writes that are safe on disk beside
//! SQLite's, and how long it takes to open what was written.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cosmonaut_emulator::SystemWorld;
use cosmonaut_emulator::engine::{Container, Engine, EngineConfig, ItemRequest, RegionId};
use cosmonaut_emulator::storage::Journal;
use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties};
use cosmonaut_wire::{PartitionKey, ResourcePath};
use tokio::process::Command;

use crate::usage::live_bytes;
use crate::{Result, table};

/// How many writes wait for the disk at a time, and so how many share a transaction at most.
const IN_FLIGHT: usize = 64;
/// How many documents are written before they are opened again.
const STORED: u64 = 500_000;

pub async fn run(time: Duration, documents: u64, document: fn(u64) -> String) -> Result<()> {
    memory(documents, document)?;
    let folder = Folder::new()?;
    writes(&folder, time, document).await?;
    opening(&folder, document).await
}

/// A directory that goes away in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/store-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(journal: Journal) -> Result<Arc<Engine>> {
    Ok(Engine::new(EngineConfig::default(), Arc::new(SystemWorld::new()), journal)?)
}

fn container(engine: &Engine) -> Result<Arc<Container>> {
    let _ = engine.create_database(DatabaseProperties::new("bench"), None)?;
    let properties = ContainerProperties::new("bench", "/pk");
    Ok(engine.create_container(&ResourcePath::parse("/dbs/bench")?, properties, None)?.value)
}

fn request(number: u64, document: fn(u64) -> String) -> ItemRequest<'static> {
    ItemRequest::new(Some(PartitionKey::from(number.to_string())), "", document(number))
}

fn memory(documents: u64, document: fn(u64) -> String) -> Result<()> {
    let before = live_bytes();
    let engine = open(Journal::memory())?;
    let container = container(&engine)?;
    let started = Instant::now();
    let mut stored = 0;
    for number in 0..documents {
        let made = container.create_item(RegionId(0), request(number, document))?;
        stored += made.body.len() as u64;
    }
    let rate = documents as f64 / started.elapsed().as_secs_f64();
    let held = live_bytes() - before;
    let each = |bytes: u64| format!("{:.0} B", bytes as f64 / documents as f64);
    table::print(
        &format!("Memory of {documents} documents with the default indexing"),
        &[
            ["heap", "a document", "its text when it is read", "beyond that", "creates by one thread"]
                .map(String::from)
                .to_vec(),
            vec![
                format!("{:.2} GB", held as f64 / 1e9),
                each(held),
                each(stored),
                each(held.saturating_sub(stored)),
                format!("{rate:.0}/s"),
            ],
        ],
    );
    Ok(())
}

async fn writes(folder: &Folder, time: Duration, document: fn(u64) -> String) -> Result<()> {
    let engine = open(Journal::open(&folder.0.join("writes"))?)?;
    let container = container(&engine)?;
    let (next, started) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut writers = Vec::new();
    for _ in 0..IN_FLIGHT {
        let (container, next) = (Arc::clone(&container), Arc::clone(&next));
        writers.push(tokio::spawn(async move {
            let mut written = 0u64;
            while started.elapsed() < time {
                let number = next.fetch_add(1, Ordering::Relaxed);
                container.create_item(RegionId(0), request(number, document))?.commit.await?;
                written += 1;
            }
            Result::Ok(written)
        }));
    }
    let mut written = 0;
    for writer in writers {
        written += writer.await??;
    }
    let ours = written as f64 / started.elapsed().as_secs_f64();
    let mut rows = vec![
        ["store", "rate", "of ours"].map(String::from).to_vec(),
        vec!["cosmonaut".into(), format!("{ours:.0}/s"), String::new()],
    ];
    rows.push(match sqlite(folder, time).await {
        Ok(theirs) => {
            vec!["SQLite".into(), format!("{theirs:.0}/s"), format!("{:.2} ×", theirs / ours)]
        }
        Err(error) => vec!["SQLite".into(), error.to_string(), String::new()],
    });
    table::print(&format!("Creates of 1 KB that are safe on disk, {IN_FLIGHT} in flight"), &rows);
    Ok(())
}

/// Rows of the same size with an index on the group, synced at each commit, as many to a transaction as are in flight.
const SQLITE: &str = r#"
import sqlite3, sys, time
path, seconds, batch = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
db = sqlite3.connect(path, isolation_level=None)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE item (pk TEXT, id TEXT, body TEXT, PRIMARY KEY (pk, id))")
db.execute("CREATE INDEX by_group ON item (json_extract(body, '$.group'))")
pad, n, started = "x" * 1050, 0, time.monotonic()
while time.monotonic() - started < seconds:
    db.execute("BEGIN")
    rows = [(str(i), str(i), '{"id":"%d","pk":"%d","group":"g%d","pad":"%s"}' % (i, i, i // 20, pad)) for i in range(n, n + batch)]
    db.executemany("INSERT INTO item VALUES (?, ?, ?)", rows)
    db.execute("COMMIT")
    n += batch
print(n / (time.monotonic() - started))
"#;

async fn sqlite(folder: &Folder, time: Duration) -> Result<f64> {
    let output = Command::new("python3")
        .args(["-c", SQLITE])
        .arg(folder.0.join("sqlite.db"))
        .args([time.as_secs_f64().to_string(), IN_FLIGHT.to_string()])
        .stderr(Stdio::null())
        .output()
        .await
        .map_err(|_| "needs python3")?;
    Ok(String::from_utf8(output.stdout)?.trim().parse().map_err(|_| "python3 has no SQLite that works")?)
}

async fn opening(folder: &Folder, document: fn(u64) -> String) -> Result<()> {
    let place = folder.0.join("opening");
    let engine = open(Journal::open(&place)?)?;
    let made = container(&engine)?;
    let mut last = None;
    for number in 0..STORED {
        let commit = made.create_item(RegionId(0), request(number, document))?.commit;
        // So that the queue of what is not written yet stays short.
        if number.is_multiple_of(2_000) {
            commit.clone().await?;
        }
        last = Some(commit);
    }
    if let Some(last) = last {
        last.await?;
    }
    drop((made, engine));
    let started = Instant::now();
    let engine = open(Journal::open(&place)?)?;
    let took = started.elapsed();
    drop(engine);
    table::print(
        &format!("Opening {STORED} documents of 1 KB"),
        &[
            ["store", "time"].map(String::from).to_vec(),
            vec!["cosmonaut".into(), format!("{:.2} s", took.as_secs_f64())],
        ],
    );
    Ok(())
}
