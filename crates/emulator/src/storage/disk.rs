//! The file: its tables, its format number, and how records are written to them.
//!
//! Current documents are kept apart from the log, so that forgetting old commits loses nothing.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_wire::{ResourceId, mutation};
use redb::{Database, ReadableDatabase, TableDefinition, WriteTransaction};

use super::codec::{decode_sequence, encode_document, encode_entry, encode_sequence};
use super::conflict::encode_conflict;
use super::error::Remedy;
use super::guard::guarded;
use super::ledger::Ledger;
use super::mark::{Mark, Marked};
use super::sealed::{Definition, Sealed};
use super::volume::Volume;
use super::{Record, StorageError, compact, migrate, open};
use crate::engine::locks::lock;
use crate::engine::{LogEntry, RegionId};

/// Raised whenever what is written could not be read by an earlier version.
pub(super) const FORMAT: u64 = 5;
/// The first format whose rows have checksums. What later ones changed can be told from a row itself.
const SEALED: u64 = 3;
pub(super) const FILE: &str = "account.redb";

/// A container's id, and the number of a partition or document in it.
pub(super) type InContainer = (u64, u64);
/// A container's id, the number of a sequence of a partition in it, and an LSN.
pub(super) type InLog = (u64, u64, i64);

pub(super) const META: TableDefinition<'static, &'static str, u64> = TableDefinition::new("meta");
/// What is in the catalog, by resource id, as JSON.
pub(super) type ByRid = Definition<&'static str>;

pub(super) const DATABASES: ByRid = TableDefinition::new("database");
pub(super) const CONTAINERS: ByRid = TableDefinition::new("container");
pub(super) const OFFERS: ByRid = TableDefinition::new("offer");
pub(super) const RESOURCES: ByRid = TableDefinition::new("resource");
/// Of each sequence of a partition, its latest commit and one past the highest document number it has written. The
/// partition's number is in the lower half of its key, the sequence's above it.
pub(super) const RANGES: Definition<InContainer> = TableDefinition::new("sequence");
pub(super) const DOCUMENTS: Definition<InContainer> = TableDefinition::new("document");
pub(super) const CONFLICTS: Definition<InContainer> = TableDefinition::new("conflict");
pub(super) const LOG: Definition<InLog> = TableDefinition::new("commit");

/// The partition that stands for none: its sequence has no commit, and numbers that were given to conflicts.
const NO_RANGE: u32 = u32::MAX;

/// An open file. It is locked against other processes.
pub(super) struct Disk {
    /// There until the disk is dropped.
    database: Option<Database>,
    volume: Option<Arc<dyn Volume>>,
    path: Option<PathBuf>,
    mark: Option<Arc<Mark>>,
    /// What the file adds up to after the last batch.
    ledger: Mutex<Ledger>,
    /// What did not go well when it was opened, and need not stop anybody.
    warning: Option<String>,
}

/// What fails while records are written.
pub(super) type WriteError = Box<dyn std::error::Error + Send + Sync>;

/// The number that stands for a container in keys.
pub(super) fn container_key(rid: ResourceId) -> u64 {
    let mut wide = [0; 8];
    let bytes = rid.as_bytes();
    let len = bytes.len().min(8);
    wide[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(wide)
}

/// The number that stands for a sequence of a partition in keys.
fn sequence_key(range: u32, origin: RegionId) -> u64 {
    u64::from(range) | u64::from(origin.0) << 32
}

/// The partition and the sequence that a number stands for.
pub(super) fn sequence_of(key: u64) -> Result<(u32, RegionId), StorageError> {
    let origin = u8::try_from(key >> 32).map_err(|_| StorageError::corrupt("a partition has no number"))?;
    Ok((key as u32, RegionId(origin)))
}

impl Disk {
    /// Opens the file on a volume; `path` is the file's name for people, if it has one.
    pub(super) fn open(volume: Arc<dyn Volume>, path: Option<PathBuf>) -> Result<Self, StorageError> {
        match (Self::open_file(volume), path) {
            (Ok(mut disk), path) => {
                disk.path = path;
                Ok(disk)
            }
            (Err(error), Some(path)) => Err(error.at(&path)),
            (Err(error), None) => Err(error),
        }
    }

    fn open_file(volume: Arc<dyn Volume>) -> Result<Self, StorageError> {
        let (mark, marked) = Mark::open(&*volume)?;
        let mark = Arc::new(mark);
        let size = || volume.size_of(FILE).map_err(StorageError::other);
        let database = match (size()?, marked) {
            (Some(_), _) => in_engine(|| open::whole(&*volume, &mark))?,
            (None, Marked::Nothing) => in_engine(|| open::create(&*volume, &mark))?,
            (None, Marked::Unfinished | Marked::Batch(_)) => {
                return Err(StorageError::corrupt("the file is missing"));
            }
        };
        // Also for a file that was there: whoever made it may have ended before its name could last.
        if !mutation!("file-name-is-not-synced") {
            volume.sync_names().map_err(StorageError::other)?;
        }
        let mut disk = Self::new(database)?;
        disk.mark = Some(Arc::clone(&mark));
        disk.check_mark(marked)?;
        if let Some(database) = disk.database.take() {
            let reopen = || in_engine(|| open::whole(&*volume, &mark));
            let (database, warning) =
                compact::shrink_if_possible(database, size()?.unwrap_or_default(), reopen)?;
            (disk.database, disk.warning) = (Some(database), warning);
        }
        disk.volume = Some(volume);
        Ok(disk)
    }

    /// A file that is open already.
    pub(super) fn new(database: Database) -> Result<Self, StorageError> {
        let disk = Self {
            database: Some(database),
            volume: None,
            path: None,
            mark: None,
            ledger: Mutex::default(),
            warning: None,
        };
        let ledger = in_engine(|| disk.prepare())?;
        *lock(&disk.ledger) = ledger;
        Ok(disk)
    }

    /// How long it takes until what was written is safe.
    pub(super) fn delay(&self) -> Duration {
        self.volume.as_ref().map_or(Duration::ZERO, |volume| volume.delay())
    }

    /// Waits for that long.
    pub(super) async fn settled(&self) -> io::Result<()> {
        let delay = self.delay();
        if !delay.is_zero() {
            crate::world::sleep(delay).await;
        }
        self.settle()
    }

    /// That time is over: fails if what was written is not safe.
    pub(super) fn settle(&self) -> io::Result<()> {
        self.volume.as_ref().map_or(Ok(()), |volume| volume.settle())
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    pub(super) fn database(&self) -> &Database {
        self.database.as_ref().expect("the database is taken only when the disk is dropped")
    }

    /// What the file should add up to.
    pub(super) fn ledger(&self) -> Ledger {
        *lock(&self.ledger)
    }

    /// Refuses a file of a later format, brings one of an earlier format to this one, makes the tables of a new one.
    fn prepare(&self) -> Result<Ledger, StorageError> {
        let database = self.database();
        let reading = database.begin_read().map_err(StorageError::engine)?;
        let (format, ledger) = match reading.open_table(META) {
            Ok(meta) => {
                let format = meta.get("format").map_err(StorageError::engine)?.map(|found| found.value());
                (format, Ledger::read(&meta).map_err(StorageError::engine)?)
            }
            Err(redb::TableError::TableDoesNotExist(_)) => (None, None),
            Err(error) => return Err(StorageError::engine(error)),
        };
        match (format, ledger) {
            (Some(found), _) if found > FORMAT => Err(StorageError::newer(found, FORMAT)),
            (Some(found @ SEALED..), Some(ledger)) => {
                if found < FORMAT {
                    migrate::raise_format(database).map_err(StorageError::other)?;
                }
                Ok(ledger)
            }
            (Some(SEALED..), None) => Err(StorageError::corrupt("its sum is altered")),
            (Some(_) | None, _) => migrate::migrate(database, &reading).map_err(StorageError::other),
        }
    }

    /// Refuses a file that lacks what was acknowledged.
    fn check_mark(&self, marked: Marked) -> Result<(), StorageError> {
        let found = self.ledger().batch;
        match marked {
            Marked::Batch(marked) if marked > found => Err(StorageError::damaged(
                format!("it ends with batch {found}, and batch {marked} was acknowledged"),
                Remedy::DeleteMark,
            )),
            Marked::Batch(_) | Marked::Unfinished | Marked::Nothing => {
                self.mark.as_ref().map_or(Ok(()), |mark| mark.begin(found)).map_err(StorageError::other)
            }
        }
    }

    fn set_mark(&self, batch: u64) -> io::Result<()> {
        self.mark.as_ref().map_or(Ok(()), |mark| mark.set(batch))
    }

    /// Writes records in one durable transaction.
    pub(super) fn write<'r>(&self, records: impl Iterator<Item = &'r Record>) -> Result<(), WriteError> {
        let ledger = Cell::new(self.ledger().next());
        guarded(|| self.write_with(&ledger, records))??;
        *lock(&self.ledger) = ledger.get();
        Ok(self.set_mark(ledger.get().batch)?)
    }

    fn write_with<'r>(
        &self,
        ledger: &Cell<Ledger>,
        records: impl Iterator<Item = &'r Record>,
    ) -> Result<(), WriteError> {
        let writing = self.database().begin_write()?;
        {
            let mut tables = Tables::open(&writing, ledger)?;
            for record in records {
                tables.apply(record)?;
            }
            tables.finish()?;
            ledger.get().write(&mut writing.open_table(META)?)?;
        }
        writing.commit()?;
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let database = self.database.take();
        // A file that is damaged can make closing fail; what was acknowledged is safe already.
        let _ = guarded(|| drop(database));
    }
}

/// Does something with the storage engine while a file is opened or read.
pub(super) fn in_engine<T>(what: impl FnOnce() -> Result<T, StorageError>) -> Result<T, StorageError> {
    guarded(what).unwrap_or_else(|panic| Err(StorageError::corrupt(panic)))
}

/// The tables, open for writing.
pub(super) struct Tables<'t> {
    pub(super) databases: Sealed<'t, &'static str>,
    pub(super) containers: Sealed<'t, &'static str>,
    pub(super) offers: Sealed<'t, &'static str>,
    resources: Sealed<'t, &'static str>,
    pub(super) ranges: Sealed<'t, InContainer>,
    pub(super) documents: Sealed<'t, InContainer>,
    pub(super) conflicts: Sealed<'t, InContainer>,
    pub(super) log: Sealed<'t, InLog>,
    /// The sequences that this transaction has changed. Each is written once, however many commits it has.
    sequences: BTreeMap<InContainer, (i64, u64)>,
}

impl<'t> Tables<'t> {
    pub(super) fn open(writing: &'t WriteTransaction, ledger: &'t Cell<Ledger>) -> Result<Self, WriteError> {
        Ok(Self {
            databases: Sealed::open(writing, DATABASES, ledger)?,
            containers: Sealed::open(writing, CONTAINERS, ledger)?,
            offers: Sealed::open(writing, OFFERS, ledger)?,
            resources: Sealed::open(writing, RESOURCES, ledger)?,
            ranges: Sealed::open(writing, RANGES, ledger)?,
            documents: Sealed::open(writing, DOCUMENTS, ledger)?,
            conflicts: Sealed::open(writing, CONFLICTS, ledger)?,
            log: Sealed::open(writing, LOG, ledger)?,
            sequences: BTreeMap::new(),
        })
    }

    fn apply(&mut self, record: &Record) -> Result<(), WriteError> {
        match record {
            Record::Database(rid, properties) => put(&mut self.databases, *rid, &**properties),
            Record::DropDatabase(rid) => drop_key(&mut self.databases, *rid),
            Record::Container(rid, record) => put(&mut self.containers, *rid, &**record),
            Record::DropContainer(rid) => self.drop_container(*rid),
            Record::Offer(rid, offer) => put(&mut self.offers, *rid, &**offer),
            Record::DropOffer(rid) => drop_key(&mut self.offers, *rid),
            Record::Resource(resource) => put(&mut self.resources, resource.rid(), resource.kept()),
            Record::DropResource(rid) => drop_key(&mut self.resources, *rid),
            Record::Range { container, range, origin, lsn } => {
                let key = (container_key(*container), sequence_key(*range, *origin));
                self.sequences.insert(key, (*lsn, 0));
                Ok(())
            }
            Record::Entry { container, range, entry, keep } => {
                self.entry(container_key(*container), sequence_key(*range, entry.origin()), entry, *keep)
            }
            Record::Settle { container, put, remove } => {
                let container = container_key(*container);
                for number in remove {
                    self.documents.remove((container, *number))?;
                }
                for document in put {
                    self.documents.insert((container, document.number), encode_document(document))?;
                }
                Ok(())
            }
            Record::Conflict(container, conflict) => {
                let key = (container_key(*container), conflict.number());
                self.conflicts.insert(key, encode_conflict(conflict))
            }
            Record::DropConflict(container, number) => {
                let container = container_key(*container);
                self.keep_from_use(container, *number)?;
                self.conflicts.remove((container, *number))
            }
            Record::Truncate { container, range, origin, lsn } => {
                let (container, range) = (container_key(*container), sequence_key(*range, *origin));
                self.log.remove_in((container, range, i64::MIN)..=(container, range, *lsn))
            }
        }
    }

    fn entry(&mut self, container: u64, range: u64, entry: &LogEntry, keep: bool) -> Result<(), WriteError> {
        let mut next = self.sequence((container, range))?.map_or(0, |(_, next)| next);
        for (nth, change) in entry.changes.iter().enumerate() {
            if nth > 0 && mutation!("part-of-a-batch-is-not-written") {
                break;
            }
            let number = change.document().number;
            next = next.max(number + 1);
            match change.current() {
                Some(document) => self.documents.insert((container, number), encode_document(document))?,
                None if mutation!("deleted-item-stays-on-disk") => {}
                None => self.documents.remove((container, number))?,
            }
        }
        self.sequences.insert((container, range), (entry.lsn, next));
        if keep {
            self.log.insert((container, range, entry.lsn), encode_entry(entry))?;
        }
        Ok(())
    }

    /// Remembers that a number was given, as its row is about to go.
    fn keep_from_use(&mut self, container: u64, number: u64) -> Result<(), WriteError> {
        let key = (container, sequence_key(NO_RANGE, RegionId::default()));
        let known = self.sequence(key)?.map_or(0, |(_, next)| next);
        self.sequences.insert(key, (0, known.max(number + 1)));
        Ok(())
    }

    /// A sequence's latest commit, and one past the highest number that it has given.
    fn sequence(&self, key: InContainer) -> Result<Option<(i64, u64)>, WriteError> {
        match self.sequences.get(&key) {
            Some(known) => Ok(Some(*known)),
            None => self.ranges.get(key, decode_sequence),
        }
    }

    /// Writes what was held back.
    fn finish(&mut self) -> Result<(), WriteError> {
        for (key, (lsn, next)) in std::mem::take(&mut self.sequences) {
            self.ranges.insert(key, encode_sequence(lsn, next))?;
        }
        Ok(())
    }

    fn drop_container(&mut self, rid: ResourceId) -> Result<(), WriteError> {
        let container = container_key(rid);
        let all = (container, 0)..=(container, u64::MAX);
        self.documents.remove_in(all.clone())?;
        self.ranges.remove_in(all.clone())?;
        self.sequences.retain(|(of, _), _| *of != container);
        self.conflicts.remove_in(all)?;
        self.log.remove_in((container, 0, i64::MIN)..=(container, u64::MAX, i64::MAX))?;
        drop_key(&mut self.containers, rid)
    }
}

fn put(
    table: &mut Sealed<'_, &'static str>,
    rid: ResourceId,
    value: &impl serde::Serialize,
) -> Result<(), WriteError> {
    table.insert(&rid.to_string(), serde_json::to_vec(value)?)
}

fn drop_key(table: &mut Sealed<'_, &'static str>, rid: ResourceId) -> Result<(), WriteError> {
    table.remove(&rid.to_string())
}
