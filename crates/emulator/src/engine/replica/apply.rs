//! Applying a commit of another region.
//!
//! Where one region writes, it is simply done again. Where several do, each change stands or falls by its rank; what
//! is to be told to the journal and to the conflict feed is returned.

use std::sync::Arc;

use super::rank::{Rank, Versions};
use super::state::item_name;
use super::{Change, LogEntry, ReplicaState, Retention};
use crate::Timestamp;
use crate::engine::{Document, RegionId};

/// What came of a commit of another region.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    /// Versions of this region that had to give way to others which did not know of them.
    pub(crate) losers: Vec<Loser>,
    /// What the items of the commit are now. Only where several regions write.
    pub(crate) current: Vec<Arc<Document>>,
    /// The numbers of documents that there are not or no more.
    pub(crate) gone: Vec<u64>,
}

/// A version that has lost a conflict.
#[derive(Debug)]
pub(crate) struct Loser {
    pub(crate) document: Arc<Document>,
    /// Whether it was the item's first version.
    pub(crate) created: bool,
}

impl ReplicaState {
    /// Applies a commit of another region, once; `here` is the region of this replica.
    pub(crate) fn apply(&mut self, entry: &Arc<LogEntry>, here: RegionId, now: Timestamp) -> Applied {
        let mut applied = Applied::default();
        if entry.lsn <= self.progress.get(entry.origin()) {
            return applied;
        }
        match (self.versions.take(), &entry.causes) {
            (Some(mut versions), Some(causes)) => {
                for (change, rank) in entry.changes.iter().zip(&causes.ranks) {
                    let arriving = Arriving { entry, change, rank, here };
                    self.contend(&mut versions, &arriving, &mut applied);
                }
                self.versions = Some(versions);
            }
            (versions, _) => {
                self.versions = versions;
                entry.changes.iter().for_each(|change| self.redo(change));
            }
        }
        self.progress.set(entry.origin(), entry.lsn);
        self.log.push_back(Arc::clone(entry));
        if self.retention == Retention::Tail {
            self.truncate(now);
        }
        applied
    }

    fn redo(&mut self, change: &Change) {
        self.remove(change.document().number);
        if let Some(current) = change.current() {
            self.insert(Arc::clone(current));
        }
    }

    /// Lets an arriving change win or lose against what the item is here.
    fn contend(&mut self, versions: &mut Versions, arriving: &Arriving<'_>, applied: &mut Applied) {
        let Arriving { entry, change, rank, .. } = arriving;
        let document = change.document();
        let name = item_name(&document.key, &document.id);
        let local = self.find(&document.key, &document.id).cloned();
        let (known, is_there) = match &local {
            Some(local) => (Some(versions.of(local.number)), true),
            None => (versions.of_deleted(&name).cloned(), false),
        };
        if known.as_ref().is_some_and(|known| !rank.outranks(known)) {
            // It has lost, which its own region will find out as well.
            applied.gone.extend(
                (!is_there || local.as_ref().is_some_and(|local| local.number != document.number))
                    .then_some(document.number),
            );
            applied.current.extend(local);
            return;
        }
        if let Some(local) = local {
            if arriving.contradicts(&local) {
                let created = known.is_some_and(|known| known.created);
                applied.losers.push(Loser { document: Arc::clone(&local), created });
            }
            self.remove(local.number);
            versions.drop_rank(local.number);
            applied.gone.push(local.number);
        }
        versions.take(change, Rank::clone(rank), entry.origin(), entry.lsn);
        match change.current() {
            Some(current) => {
                self.insert(Arc::clone(current));
                applied.gone.retain(|number| *number != current.number);
                applied.current.push(Arc::clone(current));
            }
            None => applied.gone.push(document.number),
        }
    }
}

/// A change of another region, on arrival.
struct Arriving<'a> {
    entry: &'a LogEntry,
    change: &'a Change,
    rank: &'a Rank,
    here: RegionId,
}

impl Arriving<'_> {
    /// Whether it gives way a version that its writer did not know. Each region looks after its own versions, so that
    /// a conflict is found once.
    fn contradicts(&self, local: &Document) -> bool {
        let seen = self.entry.causes.as_ref().map_or(0, |causes| causes.seen.get(self.here));
        local.origin == self.here && seen < local.lsn
    }
}
