//! Applying a commit of another region.
//!
//! Where one region writes, it is simply done again. Where several do, each change stands or falls by its rank. What
//! the journal and the conflict feed are told is decided when a commit is made; see `replication::agreement`.

use std::sync::Arc;

use cosmonaut_wire::{PartitionKey, mutation};

use super::rank::{Rank, Versions};
use super::{Change, LogEntry, ReplicaState, Retention};
use crate::Timestamp;
use crate::engine::{Document, RegionId};

impl ReplicaState {
    /// Applies a commit of another region, once.
    pub(crate) fn apply(&mut self, entry: &Arc<LogEntry>, now: Timestamp) {
        if entry.lsn <= self.progress.get(entry.origin()) {
            return;
        }
        match (self.versions.take(), &entry.causes) {
            (Some(mut versions), Some(causes)) => {
                for (change, rank) in entry.changes.iter().zip(&causes.ranks) {
                    let document = change.document();
                    let (item, by) = ((&document.key, document.id()), (entry.origin(), entry.lsn));
                    let arriving = Arriving { item, rank, current: change.current(), by };
                    self.contend(&mut versions, &arriving);
                }
                self.versions = Some(versions);
            }
            (versions, _) => {
                self.versions = versions;
                if !(mutation!("replication-skips-a-commit") && entry.lsn % 7 == 0) {
                    entry.changes.iter().for_each(|change| self.redo(change));
                }
            }
        }
        self.progress.set(entry.origin(), entry.lsn);
        self.log.push_back(Arc::clone(entry));
        if self.retention == Retention::Tail {
            self.truncate(now);
        }
    }

    fn redo(&mut self, change: &Change) {
        self.remove(change.document().number);
        if let Some(current) = change.current() {
            self.insert(Arc::clone(current));
        }
    }

    /// Lets an arriving version win or lose against what the item is here. If it loses, its own region will find that
    /// out as well.
    pub(super) fn contend(&mut self, versions: &mut Versions, arriving: &Arriving<'_>) {
        let Arriving { item, rank, current, by } = arriving;
        let local = self.find(item.0, item.1).map(|local| local.number);
        let known = match local {
            Some(number) => Some(versions.of(number)),
            None => versions.of_deleted(*item).cloned(),
        };
        let is_outranked = known.is_some_and(|known| !rank.outranks(&known));
        if is_outranked && !mutation!("the-last-to-arrive-wins") {
            return;
        }
        if let Some(number) = local {
            self.remove(number);
            versions.drop_rank(number);
        }
        versions.take(*item, current.map(|current| current.number), Rank::clone(rank), *by);
        if let Some(current) = current {
            self.insert(Arc::clone(current));
        }
    }
}

/// A version of another region, on arrival.
pub(super) struct Arriving<'a> {
    /// Its partition key and its id.
    pub(super) item: (&'a PartitionKey, &'a str),
    pub(super) rank: &'a Rank,
    /// None if it is a delete.
    pub(super) current: Option<&'a Arc<Document>>,
    /// The commit that wrote it.
    pub(super) by: (RegionId, i64),
}
