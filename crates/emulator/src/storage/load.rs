//! Reading back what earlier runs have written.
//!
//! What it means is up to the engine; nothing is repaired or guessed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cosmonaut_wire::ResourceId;
use cosmonaut_wire::model::{DatabaseProperties, Offer};
use redb::{ReadTransaction, ReadableDatabase, ReadableTable};
use serde::de::DeserializeOwned;

use super::codec::{decode_document, decode_entry};
use super::disk::{self, ByRid, CONTAINERS, DATABASES, DOCUMENTS, Disk, LOG, OFFERS, RANGES};
use super::{ContainerRecord, RangeRecord, StorageError};
use crate::engine::{Document, Lineage, LogEntry, Progress, RegionId};

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
    /// By partition, living or split, and by sequence: its latest commit and one past the highest number it wrote.
    ranges: BTreeMap<(u32, RegionId), (i64, u64)>,
    /// By partition, living or split.
    log: BTreeMap<u32, Vec<LogEntry>>,
    /// Whether it was read from disk.
    stored: bool,
}

impl SavedContainer {
    /// A container that holds nothing yet.
    pub(crate) fn empty(rid: ResourceId, record: ContainerRecord) -> Self {
        Self {
            rid,
            record,
            documents: Vec::new(),
            ranges: BTreeMap::new(),
            log: BTreeMap::new(),
            stored: false,
        }
    }

    pub(crate) fn was_stored(&self) -> bool {
        self.stored
    }

    /// How many sequences of commits a partition has.
    pub(crate) fn sequences(&self, range: u32) -> usize {
        self.of(range).count()
    }

    /// The latest commit of each sequence of a partition, but for those that were cut off.
    pub(crate) fn progress(&self, range: &RangeRecord, lineage: &Lineage) -> Progress {
        let mut progress = Progress::default();
        for (origin, lsn) in self.of(range.number) {
            // Nothing has been committed since the cut.
            let cut = lineage.lost_in(lsn).filter(|_| origin == RegionId::default());
            progress.set(origin, cut.map_or(lsn, |fork| fork.lsn));
        }
        progress
    }

    fn of(&self, range: u32) -> impl Iterator<Item = (RegionId, i64)> + '_ {
        let sequences = (range, RegionId(0))..=(range, RegionId(u8::MAX));
        self.ranges.range(sequences).map(|((_, origin), (lsn, _))| (*origin, *lsn))
    }

    /// The number of the next item.
    pub(crate) fn next_number(&self) -> u64 {
        self.ranges.values().map(|(_, next)| *next).max().unwrap_or(0).max(1)
    }

    /// The log of a partition: what it wrote itself, after what its parents wrote to its keys, without what was cut
    /// off.
    pub(crate) fn log_of(&self, range: &RangeRecord, lineage: &Lineage) -> Vec<LogEntry> {
        let of_all = range.parents.iter().chain([&range.number]);
        let entries = of_all.filter_map(|number| self.log.get(number)).flatten();
        let is_lost =
            |entry: &LogEntry| entry.origin() == RegionId::default() && lineage.lost_in(entry.lsn).is_some();
        let kept = entries.filter(|entry| !is_lost(entry));
        let mut log: Vec<_> = kept.map(|entry| entry.within(&range.keys)).collect();
        // Within a sequence this is its order already.
        log.sort_by_key(|entry| entry.timestamp);
        log
    }

    /// Takes out documents that share an item with a later one, and returns their numbers: regions that wrote at the
    /// same time had not agreed yet when the account stopped.
    pub(crate) fn take_duplicates(&mut self) -> Vec<u64> {
        if self.documents.iter().all(|document| document.origin == RegionId::default()) {
            return Vec::new();
        }
        let age = |document: &Document| (document.ts, document.origin, document.lsn);
        let mut latest: HashMap<(String, &str), &Arc<Document>> = HashMap::new();
        let mut gone = Vec::new();
        for document in &self.documents {
            let other = latest.insert((document.key.to_string(), &document.id), document);
            if let Some(other) = other {
                let (kept, lost) =
                    if age(other) > age(document) { (other, document) } else { (document, other) };
                latest.insert((kept.key.to_string(), &kept.id), kept);
                gone.push(lost.number);
            }
        }
        self.documents.retain(|document| !gone.contains(&document.number));
        gone
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
    let mut saved = SavedContainer { stored: true, ..SavedContainer::empty(rid, record) };
    let container = disk::container_key(rid);

    let documents = reading.open_table(DOCUMENTS).map_err(StorageError::other)?;
    for row in documents.range((container, 0)..=(container, u64::MAX)).map_err(StorageError::other)? {
        let (_, value) = row.map_err(StorageError::other)?;
        saved.documents.push(Arc::new(decode_document(value.value())?));
    }
    let ranges = reading.open_table(RANGES).map_err(StorageError::other)?;
    for row in ranges.range((container, 0)..=(container, u64::MAX)).map_err(StorageError::other)? {
        let (key, value) = row.map_err(StorageError::other)?;
        saved.ranges.insert(disk::sequence_of(key.value().1)?, value.value());
    }
    let log = reading.open_table(LOG).map_err(StorageError::other)?;
    let all = (container, 0, i64::MIN)..=(container, u64::MAX, i64::MAX);
    for row in log.range(all).map_err(StorageError::other)? {
        let (key, value) = row.map_err(StorageError::other)?;
        saved.log.entry(disk::sequence_of(key.value().1)?.0).or_default().push(decode_entry(value.value())?);
    }
    Ok(saved)
}
