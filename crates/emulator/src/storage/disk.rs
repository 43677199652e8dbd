//! The file: its tables, its format number, and how records are written to them.
//!
//! Current documents are kept apart from the log, so that forgetting old commits loses nothing.

use std::fs;
use std::path::Path;

use cosmonaut_wire::ResourceId;
use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};

use super::codec::{encode_document, encode_entry};
use super::{Record, StorageError};
use crate::engine::{LogEntry, RegionId};

/// Raised whenever what is written could not be read by an earlier version.
pub(super) const FORMAT: u64 = 2;
pub(super) const FILE: &str = "account.redb";

pub(super) type Bytes = &'static [u8];
/// A container's id, and the number of a partition or document in it.
type InContainer = (u64, u64);

pub(super) const META: TableDefinition<'static, &'static str, u64> = TableDefinition::new("meta");
/// What is in the catalog, by resource id, as JSON.
pub(super) type ByRid = TableDefinition<'static, &'static str, Bytes>;

pub(super) const DATABASES: ByRid = TableDefinition::new("databases");
pub(super) const CONTAINERS: ByRid = TableDefinition::new("containers");
pub(super) const OFFERS: ByRid = TableDefinition::new("offers");
/// Of each sequence of a partition, its latest commit and one past the highest document number it has written. The
/// partition's number is in the lower half of its key, the sequence's above it.
pub(super) const RANGES: TableDefinition<'static, InContainer, (i64, u64)> = TableDefinition::new("ranges");
pub(super) const DOCUMENTS: TableDefinition<'static, InContainer, Bytes> = TableDefinition::new("documents");
/// By container, partition and LSN.
pub(super) const LOG: TableDefinition<'static, (u64, u64, i64), Bytes> = TableDefinition::new("log");

/// An open file. The storage engine locks it against other processes.
pub(super) struct Disk {
    pub(super) database: Database,
}

/// Lets nobody but the user read what is kept.
fn keep_private(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
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
    pub(super) fn open(directory: &Path) -> Result<Self, StorageError> {
        Self::open_file(directory).map_err(|error| error.at(directory))
    }

    fn open_file(directory: &Path) -> Result<Self, StorageError> {
        fs::create_dir_all(directory).map_err(StorageError::other)?;
        let database = Database::create(directory.join(FILE)).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => StorageError::in_use(),
            other => StorageError::other(other),
        })?;
        keep_private(&directory.join(FILE)).map_err(StorageError::other)?;
        Self::new(database)
    }

    /// A file that is open already.
    pub(super) fn new(database: Database) -> Result<Self, StorageError> {
        let disk = Self { database };
        disk.check_format()?;
        Ok(disk)
    }

    /// Refuses a file of a later format; makes the tables of a new one.
    fn check_format(&self) -> Result<(), StorageError> {
        let found = {
            let reading = self.database.begin_read().map_err(StorageError::other)?;
            match reading.open_table(META) {
                Ok(meta) => meta.get("format").map_err(StorageError::other)?.map(|found| found.value()),
                Err(redb::TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(StorageError::other(error)),
            }
        };
        match found {
            Some(found) if found > FORMAT => Err(StorageError::newer(found, FORMAT)),
            Some(FORMAT) => Ok(()),
            // Earlier formats are read as they are, and added to in this one.
            Some(_) | None => self.prepare().map_err(StorageError::other),
        }
    }

    fn prepare(&self) -> Result<(), WriteError> {
        let writing = self.database.begin_write()?;
        {
            Tables::open(&writing)?;
            writing.open_table(META)?.insert("format", FORMAT)?;
        }
        writing.commit()?;
        Ok(())
    }

    /// Writes records in one durable transaction.
    pub(super) fn write<'r>(&self, records: impl Iterator<Item = &'r Record>) -> Result<(), WriteError> {
        let writing = self.database.begin_write()?;
        {
            let mut tables = Tables::open(&writing)?;
            for record in records {
                tables.apply(record)?;
            }
        }
        writing.commit()?;
        Ok(())
    }
}

/// The tables, open for writing.
struct Tables<'t> {
    databases: Table<'t, &'static str, Bytes>,
    containers: Table<'t, &'static str, Bytes>,
    offers: Table<'t, &'static str, Bytes>,
    ranges: Table<'t, InContainer, (i64, u64)>,
    documents: Table<'t, InContainer, Bytes>,
    log: Table<'t, (u64, u64, i64), Bytes>,
}

impl<'t> Tables<'t> {
    fn open(writing: &'t WriteTransaction) -> Result<Self, WriteError> {
        Ok(Self {
            databases: writing.open_table(DATABASES)?,
            containers: writing.open_table(CONTAINERS)?,
            offers: writing.open_table(OFFERS)?,
            ranges: writing.open_table(RANGES)?,
            documents: writing.open_table(DOCUMENTS)?,
            log: writing.open_table(LOG)?,
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
            Record::Range { container, range, origin, lsn } => {
                self.ranges.insert((container_key(*container), sequence_key(*range, *origin)), (*lsn, 0))?;
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
                    self.documents.insert((container, document.number), &encode_document(document)[..])?;
                }
                Ok(())
            }
            Record::Truncate { container, range, origin, lsn } => {
                let (container, range) = (container_key(*container), sequence_key(*range, *origin));
                self.log.retain_in((container, range, i64::MIN)..=(container, range, *lsn), |_, _| false)?;
                Ok(())
            }
        }
    }

    fn entry(&mut self, container: u64, range: u64, entry: &LogEntry, keep: bool) -> Result<(), WriteError> {
        let mut next = self.ranges.get((container, range))?.map_or(0, |known| known.value().1);
        for change in &entry.changes {
            let number = change.document().number;
            next = next.max(number + 1);
            match change.current() {
                Some(document) => {
                    drop(self.documents.insert((container, number), &encode_document(document)[..])?)
                }
                None => drop(self.documents.remove((container, number))?),
            }
        }
        self.ranges.insert((container, range), (entry.lsn, next))?;
        if keep {
            self.log.insert((container, range, entry.lsn), &encode_entry(entry)[..])?;
        }
        Ok(())
    }

    fn drop_container(&mut self, rid: ResourceId) -> Result<(), WriteError> {
        let container = container_key(rid);
        let all = (container, 0)..=(container, u64::MAX);
        self.documents.retain_in(all.clone(), |_, _| false)?;
        self.ranges.retain_in(all, |_, _| false)?;
        self.log.retain_in((container, 0, i64::MIN)..=(container, u64::MAX, i64::MAX), |_, _| false)?;
        drop_key(&mut self.containers, rid)
    }
}

fn put(
    table: &mut Table<'_, &'static str, Bytes>,
    rid: ResourceId,
    value: &impl serde::Serialize,
) -> Result<(), WriteError> {
    table.insert(&*rid.to_string(), &serde_json::to_vec(value)?[..])?;
    Ok(())
}

fn drop_key(table: &mut Table<'_, &'static str, Bytes>, rid: ResourceId) -> Result<(), WriteError> {
    table.remove(&*rid.to_string())?;
    Ok(())
}
