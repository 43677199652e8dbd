//! Reading back what earlier runs have written.
//!
//! What it means is up to the engine; nothing is repaired or guessed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cosmonaut_wire::ResourceId;
use cosmonaut_wire::model::{DatabaseProperties, Offer};
use redb::{ReadTransaction, ReadableDatabase, TableHandle};
use serde::de::DeserializeOwned;

use super::codec::{decode_entry, decode_sequence};
use super::conflict::{SavedConflict, decode_conflict};
use super::disk::{
    self, ByRid, CONFLICTS, CONTAINERS, DATABASES, Disk, LOG, OFFERS, RANGES, RESOURCES, in_engine,
};
use super::documents::read_documents;
use super::ledger::Ledger;
use super::sealed::read_rows;
use super::{ContainerRecord, RangeRecord, ResourceRecord, StorageError};
use crate::engine::{Document, Lineage, LogEntry, Progress, RegionId};

/// All that a journal holds.
#[derive(Default)]
pub(crate) struct Saved {
    pub(crate) databases: Vec<(ResourceId, DatabaseProperties)>,
    pub(crate) containers: Vec<SavedContainer>,
    pub(crate) offers: Vec<(ResourceId, Offer)>,
    pub(crate) resources: Vec<(ResourceId, ResourceRecord)>,
}

/// A container with all that it holds.
pub(crate) struct SavedContainer {
    pub(crate) rid: ResourceId,
    pub(crate) record: ContainerRecord,
    pub(crate) documents: Vec<Arc<Document>>,
    /// By partition, living or split or standing for none, and by sequence: its latest commit and one past the highest
    /// number it wrote.
    ranges: BTreeMap<(u32, RegionId), (i64, u64)>,
    /// By partition, living or split.
    log: BTreeMap<u32, Vec<LogEntry>>,
    pub(crate) conflicts: Vec<SavedConflict>,
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
            conflicts: Vec::new(),
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
        let past_conflicts = self.conflicts.iter().map(|conflict| conflict.number + 1);
        self.ranges.values().map(|(_, next)| *next).chain(past_conflicts).max().unwrap_or(0).max(1)
    }

    /// The log of a partition: what it wrote itself, after what its parents wrote to its keys, without what was cut
    /// off.
    pub(crate) fn log_of(&self, range: &RangeRecord, lineage: &Lineage) -> Vec<LogEntry> {
        let of_all = range.parents.iter().chain([&range.number]);
        let entries = of_all.filter_map(|number| self.log.get(number)).flatten();
        let is_lost =
            |entry: &LogEntry| entry.origin() == RegionId::default() && lineage.lost_in(entry.lsn).is_some();
        let kept = entries.filter(|entry| !is_lost(entry));
        // Within a sequence this is its order already, whatever the clock said: it may have been set back between two runs.
        let mut latest = HashMap::new();
        let mut log: Vec<_> = kept
            .map(|entry| {
                let time = latest.entry(entry.origin()).or_insert(entry.timestamp);
                *time = entry.timestamp.max(*time);
                (*time, entry.within(&range.keys))
            })
            .collect();
        log.sort_by_key(|(time, _)| *time);
        log.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Takes out documents that share an item with a later one, and returns their numbers: regions that wrote at the
    /// same time had not agreed yet when the account stopped.
    pub(crate) fn take_duplicates(&mut self) -> Vec<u64> {
        if self.documents.iter().all(|document| document.origin == RegionId::default()) {
            return Vec::new();
        }
        let age = |document: &Document| (document.ts(), document.origin, document.lsn);
        let mut latest: HashMap<(String, &str), &Arc<Document>> = HashMap::new();
        let mut gone = Vec::new();
        for document in &self.documents {
            let other = latest.insert((document.key.to_string(), document.id()), document);
            if let Some(other) = other {
                let (kept, lost) =
                    if age(other) > age(document) { (other, document) } else { (document, other) };
                latest.insert((kept.key.to_string(), kept.id()), kept);
                gone.push(lost.number);
            }
        }
        self.documents.retain(|document| !gone.contains(&document.number));
        gone
    }
}

impl Disk {
    /// Reads everything; two threads do that if there may be threads.
    pub(super) fn load(&self, threads: bool) -> Result<Saved, StorageError> {
        in_engine(|| self.read_all(threads))
    }

    fn read_all(&self, threads: bool) -> Result<Saved, StorageError> {
        let reading = self.database().begin_read().map_err(StorageError::engine)?;
        let mut sum = Ledger::default();
        let mut containers = BTreeMap::new();
        for (rid, record) in read_catalog::<ContainerRecord>(&reading, CONTAINERS, &mut sum)? {
            let saved = SavedContainer { stored: true, ..SavedContainer::empty(rid, record) };
            containers.insert(disk::container_key(rid), saved);
        }
        let saved = Saved {
            databases: read_catalog(&reading, DATABASES, &mut sum)?,
            offers: read_catalog(&reading, OFFERS, &mut sum)?,
            resources: read_catalog(&reading, RESOURCES, &mut sum)?,
            containers: {
                read_documents(self.database(), threads, &mut containers, &mut sum)?;
                read_containers(&reading, containers, &mut sum)?
            },
        };
        let expected = self.ledger();
        if !sum.has_rows_of(&expected) {
            let (found, expected) = (sum.rows, expected.rows);
            return Err(StorageError::corrupt(format!(
                "its rows do not add up to what was written ({found} of them, {expected} expected)"
            )));
        }
        Ok(saved)
    }
}

fn read_catalog<T: DeserializeOwned>(
    reading: &ReadTransaction,
    table: ByRid,
    sum: &mut Ledger,
) -> Result<Vec<(ResourceId, T)>, StorageError> {
    let mut found = Vec::new();
    read_rows(reading, table, sum, |key, value| {
        let unreadable = || StorageError::corrupt(format!("a stored {} is not readable", table.name()));
        let rid = key.parse().map_err(|_| unreadable())?;
        found.push((rid, serde_json::from_slice(value).map_err(|_| unreadable())?));
        Ok(())
    })?;
    Ok(found)
}

pub(super) fn no_container() -> StorageError {
    StorageError::corrupt("a row belongs to no container")
}

fn read_containers(
    reading: &ReadTransaction,
    mut containers: BTreeMap<u64, SavedContainer>,
    sum: &mut Ledger,
) -> Result<Vec<SavedContainer>, StorageError> {
    read_rows(reading, RANGES, sum, |(container, sequence), value| {
        let saved = containers.get_mut(&container).ok_or_else(no_container)?;
        let known = decode_sequence(value)
            .ok_or_else(|| StorageError::corrupt("a stored sequence is not readable"))?;
        saved.ranges.insert(disk::sequence_of(sequence)?, known);
        Ok(())
    })?;
    read_rows(reading, CONFLICTS, sum, |(container, number), value| {
        let saved = containers.get_mut(&container).ok_or_else(no_container)?;
        saved.conflicts.push(decode_conflict(saved.rid, number, value)?);
        Ok(())
    })?;
    read_rows(reading, LOG, sum, |(container, sequence, _), value| {
        let saved = containers.get_mut(&container).ok_or_else(no_container)?;
        let (range, _) = disk::sequence_of(sequence)?;
        saved.log.entry(range).or_default().push(decode_entry(saved.rid, value)?);
        Ok(())
    })?;
    Ok(containers.into_values().collect())
}
