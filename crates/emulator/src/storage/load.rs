//! Reading back what earlier runs have written.
//!
//! What it means is up to the engine; nothing is repaired or guessed.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmonaut_wire::ResourceId;
use cosmonaut_wire::model::{DatabaseProperties, Offer};
use redb::{ReadTransaction, ReadableDatabase, ReadableTable};
use serde::de::DeserializeOwned;

use super::codec::{decode_document, decode_entry};
use super::disk::{self, ByRid, CONTAINERS, DATABASES, DOCUMENTS, Disk, LOG, OFFERS, RANGES};
use super::{ContainerRecord, RangeRecord, StorageError};
use crate::engine::{Document, LogEntry};

/// All that a journal holds.
#[derive(Default)]
pub(crate) struct Saved {
    pub(crate) databases: Vec<(ResourceId, DatabaseProperties)>,
    pub(crate) containers: Vec<SavedContainer>,
    pub(crate) offers: Vec<(ResourceId, Offer)>,
}

/// A container with all that it holds.
pub(crate) struct SavedContainer {
    pub(crate) rid: ResourceId,
    pub(crate) record: ContainerRecord,
    pub(crate) documents: Vec<Arc<Document>>,
    /// By partition, living or split: its latest commit and one past the highest number it wrote.
    ranges: BTreeMap<u32, (i64, u64)>,
    /// By partition, living or split.
    log: BTreeMap<u32, Vec<LogEntry>>,
}

impl SavedContainer {
    /// A container that holds nothing yet.
    pub(crate) fn empty(rid: ResourceId, record: ContainerRecord) -> Self {
        Self { rid, record, documents: Vec::new(), ranges: BTreeMap::new(), log: BTreeMap::new() }
    }

    /// The latest commit of a partition.
    pub(crate) fn lsn(&self, range: u32) -> i64 {
        self.ranges.get(&range).map_or(0, |(lsn, _)| *lsn)
    }

    /// The number of the next item.
    pub(crate) fn next_number(&self) -> u64 {
        self.ranges.values().map(|(_, next)| *next).max().unwrap_or(0).max(1)
    }

    /// The log of a partition: what it wrote itself, after what its parents wrote to its keys.
    pub(crate) fn log_of(&self, range: &RangeRecord) -> Vec<LogEntry> {
        let of_all = range.parents.iter().chain([&range.number]);
        let entries = of_all.filter_map(|number| self.log.get(number)).flatten();
        entries.map(|entry| entry.within(&range.keys)).collect()
    }
}

impl Disk {
    pub(super) fn load(&self) -> Result<Saved, StorageError> {
        let reading = self.database.begin_read().map_err(StorageError::other)?;
        let mut containers = Vec::new();
        for (rid, record) in read_all::<ContainerRecord>(&reading, CONTAINERS, "container")? {
            containers.push(load_container(&reading, rid, record)?);
        }
        Ok(Saved {
            databases: read_all(&reading, DATABASES, "database")?,
            containers,
            offers: read_all(&reading, OFFERS, "offer")?,
        })
    }
}

fn read_all<T: DeserializeOwned>(
    reading: &ReadTransaction,
    table: ByRid,
    what: &str,
) -> Result<Vec<(ResourceId, T)>, StorageError> {
    let table = reading.open_table(table).map_err(StorageError::other)?;
    let mut found = Vec::new();
    for row in table.iter().map_err(StorageError::other)? {
        let (key, value) = row.map_err(StorageError::other)?;
        let unreadable = || StorageError::corrupt(format!("a stored {what} is not readable"));
        let rid = key.value().parse().map_err(|_| unreadable())?;
        found.push((rid, serde_json::from_slice(value.value()).map_err(|_| unreadable())?));
    }
    Ok(found)
}

fn load_container(
    reading: &ReadTransaction,
    rid: ResourceId,
    record: ContainerRecord,
) -> Result<SavedContainer, StorageError> {
    let mut saved = SavedContainer::empty(rid, record);
    let container = disk::container_key(rid);
    let number =
        |range: u64| u32::try_from(range).map_err(|_| StorageError::corrupt("a partition has no number"));

    let documents = reading.open_table(DOCUMENTS).map_err(StorageError::other)?;
    for row in documents.range((container, 0)..=(container, u64::MAX)).map_err(StorageError::other)? {
        let (_, value) = row.map_err(StorageError::other)?;
        saved.documents.push(Arc::new(decode_document(value.value())?));
    }
    let ranges = reading.open_table(RANGES).map_err(StorageError::other)?;
    for row in ranges.range((container, 0)..=(container, u64::MAX)).map_err(StorageError::other)? {
        let (key, value) = row.map_err(StorageError::other)?;
        saved.ranges.insert(number(key.value().1)?, value.value());
    }
    let log = reading.open_table(LOG).map_err(StorageError::other)?;
    let all = (container, 0, i64::MIN)..=(container, u64::MAX, i64::MAX);
    for row in log.range(all).map_err(StorageError::other)? {
        let (key, value) = row.map_err(StorageError::other)?;
        saved.log.entry(number(key.value().1)?).or_default().push(decode_entry(value.value())?);
    }
    Ok(saved)
}
