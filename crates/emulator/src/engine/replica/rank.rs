//! Which version of an item wins where several regions write: last writer wins, by a total order over versions.
//!
//! A version always outranks the one it was made from, so regions agree in the end whatever order commits arrive in.
//! Only accounts with several write regions keep ranks.

use std::cmp::Ordering;
use std::collections::HashMap;

use cosmonaut_wire::PartitionKey;

use super::state::item_name;
use super::{Author, Change};
use crate::engine::{Progress, RegionId};

/// The place of a version among all versions of its item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rank {
    /// How often the item was made anew after a delete.
    generation: u32,
    /// A delete wins against every other version of its generation.
    deleted: bool,
    /// The number at the container's path for conflicts, or that of the version before if that is higher.
    value: f64,
    /// When it was written, in microseconds, and later than the version before.
    time: u64,
    region: RegionId,
    /// Whether this version is the item's first.
    pub(crate) created: bool,
}

impl Rank {
    /// Of versions from before ranks were kept: every other one is higher.
    const UNKNOWN: Self = Self {
        generation: 0,
        deleted: false,
        value: f64::NEG_INFINITY,
        time: 0,
        region: RegionId(0),
        created: false,
    };

    fn order(&self, other: &Self) -> Ordering {
        (self.generation.cmp(&other.generation))
            .then(self.deleted.cmp(&other.deleted))
            .then(self.value.total_cmp(&other.value))
            .then(self.time.cmp(&other.time))
            .then(self.region.cmp(&other.region))
    }

    /// Whether a version is kept rather than one of another item that holds the same unique key.
    pub(super) fn is_preferred_to(&self, other: &Self) -> bool {
        let order = self.value.total_cmp(&other.value).then(self.time.cmp(&other.time));
        order.then(self.region.cmp(&other.region)) == Ordering::Greater
    }

    pub(crate) fn outranks(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Greater
    }
}

/// The ranks of all that a replica holds, and of what was deleted from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    ranks: HashMap<u64, Rank>,
    tombstones: HashMap<Box<str>, Tombstone>,
}

/// What is left of a deleted item while an older version of it may still be on the way.
#[derive(Clone, Debug)]
struct Tombstone {
    key: PartitionKey,
    id: Box<str>,
    rank: Rank,
    /// The commit that deleted it.
    by: (RegionId, i64),
}

impl Versions {
    /// The rank of a document that there is.
    pub(super) fn of(&self, number: u64) -> Rank {
        self.ranks.get(&number).cloned().unwrap_or(Rank::UNKNOWN)
    }

    /// The rank of an item's delete.
    pub(super) fn of_deleted(&self, (key, id): (&PartitionKey, &str)) -> Option<&Rank> {
        self.tombstones.get(&*item_name(key, id)).map(|tombstone| &tombstone.rank)
    }

    /// All deletes that are remembered: the item's key and id, the rank, and the commit.
    pub(super) fn deleted(&self) -> impl Iterator<Item = ((&PartitionKey, &str), &Rank, (RegionId, i64))> {
        let tombstones = self.tombstones.values();
        tombstones.map(|tombstone| ((&tombstone.key, &*tombstone.id), &tombstone.rank, tombstone.by))
    }

    /// Ranks the changes of a commit that is made here, and takes them over.
    pub(super) fn rank(&mut self, changes: &[Change], lsn: i64, author: &Author<'_>, now: u64) -> Vec<Rank> {
        let mut ranks = Vec::with_capacity(changes.len());
        for change in changes {
            let rank = self.next(change, author, now);
            let document = change.document();
            if change.current().is_none() {
                self.drop_rank(document.number);
            }
            let current = change.current().map(|current| current.number);
            self.take((&document.key, document.id()), current, rank.clone(), (author.origin, lsn));
            ranks.push(rank);
        }
        ranks
    }

    fn next(&self, change: &Change, author: &Author<'_>, now: u64) -> Rank {
        let document = change.document();
        let base = match change.previous() {
            Some(previous) => self.of(previous.number),
            None => self.of_deleted((&document.key, document.id())).cloned().unwrap_or(Rank::UNKNOWN),
        };
        let later = base.time.saturating_add(1);
        let rank = Rank { time: now.max(later), region: author.origin, created: false, ..base.clone() };
        match change {
            Change::Create { current } => {
                let again = base != Rank::UNKNOWN;
                let generation = base.generation + u32::from(again);
                let value = author.resolution.of(current);
                Rank { generation, deleted: false, value, created: true, ..rank }
            }
            Change::Replace { current, .. } => {
                Rank { value: author.resolution.of(current).max(base.value), ..rank }
            }
            Change::Delete { expired: false, .. } => Rank { deleted: true, ..rank },
            // Only just more than the version that expired: whoever wrote a later one has kept the item alive.
            Change::Delete { expired: true, .. } => Rank { time: later, ..rank },
        }
    }

    /// Remembers the rank of what a commit has made of an item: a document of that number, or none.
    pub(super) fn take(
        &mut self,
        (key, id): (&PartitionKey, &str),
        current: Option<u64>,
        rank: Rank,
        by: (RegionId, i64),
    ) {
        let name = item_name(key, id).into_boxed_str();
        match current {
            Some(number) => {
                self.tombstones.remove(&name);
                self.ranks.insert(number, rank);
            }
            None => {
                let tombstone = Tombstone { key: key.clone(), id: id.into(), rank, by };
                self.tombstones.insert(name, tombstone);
            }
        }
    }

    pub(super) fn drop_rank(&mut self, number: u64) {
        self.ranks.remove(&number);
    }

    pub(crate) fn has_tombstones(&self) -> bool {
        !self.tombstones.is_empty()
    }

    /// Forgets deletes that nothing can contradict any more.
    pub(crate) fn forget(&mut self, settled: &Progress) {
        self.tombstones.retain(|_, tombstone| settled.get(tombstone.by.0) < tombstone.by.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_generation_delete_value_time_and_region() {
        let rank = |generation, deleted, value, time, region| Rank {
            generation,
            deleted,
            value,
            time,
            region: RegionId(region),
            created: false,
        };
        let ascending = [
            Rank::UNKNOWN,
            rank(0, false, f64::NEG_INFINITY, 1, 0),
            rank(0, false, 1.0, 9, 0),
            rank(0, false, 2.0, 1, 0),
            rank(0, false, 2.0, 1, 1),
            rank(0, false, 2.0, 2, 0),
            rank(0, true, 1.0, 1, 0),
            rank(1, false, 0.0, 0, 0),
        ];
        for pair in ascending.windows(2) {
            assert!(pair[1].outranks(&pair[0]) && !pair[0].outranks(&pair[1]), "{pair:?}");
            assert!(!pair[0].outranks(&pair[0]));
        }
    }
}
