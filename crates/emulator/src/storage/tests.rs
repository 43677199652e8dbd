//! The journal when the disk fails, and files that are not for this version.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use cosmonaut_wire::model::DatabaseProperties;
use cosmonaut_wire::{CosmosStatus, ResourceId};
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase, StorageBackend, TableDefinition};

use super::disk::{Disk, FORMAT, META};
use super::*;

/// A disk that can be made to fail.
#[derive(Debug)]
struct FailingDisk {
    memory: InMemoryBackend,
    fails: Arc<AtomicBool>,
    /// Whether it fails by a panic, as the storage engine may on a damaged file.
    panics: bool,
}

impl StorageBackend for FailingDisk {
    fn len(&self) -> Result<u64, io::Error> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        match self.fails.load(Ordering::Relaxed) {
            true if self.panics => panic!("page 7 is not a page"),
            true => Err(io::Error::other("no space left on device")),
            false => self.memory.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.memory.write(offset, data)
    }
}

fn journal(threads: bool, fails: &Arc<AtomicBool>) -> Journal {
    journal_on(
        threads,
        FailingDisk { memory: InMemoryBackend::new(), fails: Arc::clone(fails), panics: false },
    )
}

fn journal_on(threads: bool, backend: FailingDisk) -> Journal {
    let disk = Disk::new(Database::builder().create_with_backend(backend).unwrap()).unwrap();
    let writer = if threads { Writer::start(disk).unwrap() } else { Writer::start_task(disk) };
    Journal { writer: Some(Arc::new(writer)) }
}

/// Does something with a journal that a thread writes to, and with one that a task writes to.
fn each_way(what: impl Fn(bool)) {
    what(true);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // The task has no turn: whoever waits here writes.
    let _entered = runtime.enter();
    what(false);
}

fn record(number: u32) -> Record {
    Record::Database(ResourceId::database(number), Box::new(DatabaseProperties::new(format!("d{number}"))))
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_is_acknowledged_after_the_disk_has_failed() {
    each_way(|threads| {
        let fails = Arc::new(AtomicBool::new(false));
        let journal = journal(threads, &fails);
        let safe = journal.append([record(1)]);
        safe.wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        let lost = journal.append([record(2)]);
        let failure = lost.wait().unwrap_err();
        assert_eq!(failure.status, CosmosStatus::INTERNAL_SERVER_ERROR);
        assert!(failure.message.contains("no space left"), "{failure}");
        // Not even when the disk is well again: what was lost may have come before.
        fails.store(false, Ordering::Relaxed);
        let later = journal.append([record(3)]);
        assert!(later.wait().is_err());
        assert!(safe.is_done() && !lost.is_done() && !later.is_done());
        assert!(safe.wait().is_ok());
    });
}

#[test]
fn a_panic_of_the_storage_engine_is_an_error_of_the_write() {
    each_way(|threads| {
        let fails = Arc::new(AtomicBool::new(false));
        let backend = FailingDisk { memory: InMemoryBackend::new(), fails: Arc::clone(&fails), panics: true };
        let journal = journal_on(threads, backend);
        journal.append([record(1)]).wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        let failure = journal.append([record(2)]).wait().unwrap_err();
        assert!(failure.message.contains("page 7"), "{failure}");
        assert!(journal.append([record(3)]).wait().is_err());
    });
}

#[test]
fn a_commit_wakes_whoever_awaits_it() {
    each_way(|threads| {
        let journal = journal(threads, &Arc::default());
        let commit = journal.append([record(1)]);
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut awaited = pin!(commit.clone());
        let first = awaited.as_mut().poll(&mut Context::from_waker(&waker));
        commit.wait().unwrap();
        // The journal wakes after it has said so: closing it waits for its thread.
        drop(journal);
        assert!(first.is_ready() || flag.0.load(Ordering::Relaxed));
        assert!(matches!(awaited.poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(()))));
    });
}

#[test]
fn closing_writes_what_is_queued() {
    each_way(|threads| {
        let journal = journal(threads, &Arc::default());
        let commits: Vec<Commit> = (0..100).map(|number| journal.append([record(number)])).collect();
        drop(journal);
        assert!(commits.iter().all(Commit::is_done));
    });
}

#[test]
fn an_empty_append_resolves_with_what_came_before() {
    each_way(|threads| {
        let journal = journal(threads, &Arc::default());
        journal.append([]).wait().unwrap();
        drop(journal.append([record(1)]));
        journal.append([]).wait().unwrap();
        assert_eq!(journal.load().unwrap().databases.len(), 1);
    });
}

#[test]
fn a_file_of_a_later_format_is_refused_and_left_alone() {
    let directory: PathBuf = std::env::temp_dir().join(format!("cosmonaut-{}-newer", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    drop(Journal::open(&directory).unwrap());
    {
        let database = Database::open(directory.join(disk::FILE)).unwrap();
        let writing = database.begin_write().unwrap();
        writing.open_table(META).unwrap().insert("format", FORMAT + 1).unwrap();
        writing.commit().unwrap();
    }
    let error = Journal::open(&directory).unwrap_err().to_string();
    assert!(
        error.contains(&format!("format {}", FORMAT + 1)) && error.contains(&format!("up to {FORMAT}")),
        "{error}"
    );
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_of_a_format_before_is_kept_from_the_version_that_wrote_it() {
    let directory: PathBuf = std::env::temp_dir().join(format!("cosmonaut-{}-raised", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let journal = Journal::open(&directory).unwrap();
    journal.append([record(1)]).wait().unwrap();
    drop(journal);
    for before in [3, 4] {
        let database = Database::open(directory.join(disk::FILE)).unwrap();
        let writing = database.begin_write().unwrap();
        writing.open_table(META).unwrap().insert("format", before).unwrap();
        // There were no such rows yet.
        assert!(writing.delete_table(disk::RESOURCES).unwrap());
        writing.commit().unwrap();
        drop(database);
        let journal = Journal::open(&directory).unwrap();
        let saved = journal.load().unwrap();
        assert_eq!((saved.databases.len(), saved.resources.len()), (1, 0));
        drop(journal);
        let database = Database::open(directory.join(disk::FILE)).unwrap();
        let meta = database.begin_read().unwrap().open_table(META).unwrap();
        assert_eq!(meta.get("format").unwrap().unwrap().value(), FORMAT);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_that_cannot_be_made_smaller_is_used_as_it_is() {
    const ROWS: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("row");
    let fails = Arc::new(AtomicBool::new(false));
    let backend = FailingDisk { memory: InMemoryBackend::new(), fails: Arc::clone(&fails), panics: false };
    let database = Database::builder().create_with_backend(backend).unwrap();
    for filled in [true, false] {
        let writing = database.begin_write().unwrap();
        let mut rows = writing.open_table(ROWS).unwrap();
        for key in 0..2_000 {
            match filled {
                true => drop(rows.insert(key, &[7; 2_000][..]).unwrap()),
                false => drop(rows.remove(key).unwrap()),
            }
        }
        drop(rows);
        writing.commit().unwrap();
    }
    fails.store(true, Ordering::Relaxed);
    let mut reopened = false;
    let reopen = || {
        reopened = true;
        Ok(Database::builder().create_with_backend(InMemoryBackend::new()).unwrap())
    };
    let (_, warning) = compact::shrink_if_possible(database, 5 << 20, reopen).unwrap();
    assert!(reopened && warning.unwrap().contains("no space left"));
}
