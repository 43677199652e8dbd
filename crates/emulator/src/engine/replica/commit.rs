//! A commit: one or more changes to a replica that take effect together or not at all.
//!
//! Whether a change is allowed is decided by the operations; here it is made, undone, and written to the log.

use std::sync::Arc;

use cosmonaut_wire::{EpkRange, mutation};

use super::rank::Rank;
use super::{ReplicaState, Retention};
use crate::Timestamp;
use crate::engine::resolution::Resolution;
use crate::engine::{Document, Progress, RegionId};

/// One commit in a partition's log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// Its place in the log or, where several regions write, in the sequence of the region that made it.
    pub lsn: i64,
    /// When it was made.
    pub timestamp: Timestamp,
    /// What it changed, in order.
    pub changes: Vec<Change>,
    /// Where it came from; none on accounts with one write region.
    pub(crate) causes: Option<Box<Causes>>,
}

/// What other regions need to know of a commit where several of them write.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Causes {
    /// The region that made it.
    pub(crate) origin: RegionId,
    /// What that region had seen.
    pub(crate) seen: Progress,
    /// The ranks of the versions that the changes leave, in order.
    pub(crate) ranks: Vec<Rank>,
}

impl LogEntry {
    /// The same commit, with the changes to keys of a range only.
    pub(crate) fn within(&self, keys: &EpkRange) -> Self {
        let kept: Vec<bool> =
            self.changes.iter().map(|change| keys.contains(&change.document().epk)).collect();
        let changes = self.changes.iter().zip(&kept).filter(|(_, kept)| **kept);
        let causes = self.causes.as_ref().map(|causes| {
            let ranks = causes.ranks.iter().zip(&kept).filter(|(_, kept)| **kept);
            Box::new(Causes {
                origin: causes.origin,
                seen: causes.seen.clone(),
                ranks: ranks.map(|(rank, _)| rank.clone()).collect(),
            })
        });
        Self {
            lsn: self.lsn,
            timestamp: self.timestamp,
            changes: changes.map(|(change, _)| change.clone()).collect(),
            causes,
        }
    }

    /// The sequence that it is part of.
    pub fn origin(&self) -> RegionId {
        self.causes.as_ref().map_or(RegionId::default(), |causes| causes.origin)
    }
}

/// What happened to one item.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It came to be.
    Create {
        /// The item.
        current: Arc<Document>,
    },
    /// It was replaced.
    Replace {
        /// The item.
        current: Arc<Document>,
        /// What it was.
        previous: Arc<Document>,
    },
    /// It was deleted.
    Delete {
        /// What it was.
        previous: Arc<Document>,
        /// Whether its time to live had ended.
        expired: bool,
    },
}

impl Change {
    /// The item, as far as the change leaves one.
    pub fn current(&self) -> Option<&Arc<Document>> {
        match self {
            Self::Create { current } | Self::Replace { current, .. } => Some(current),
            Self::Delete { .. } => None,
        }
    }

    /// What the item was before.
    pub fn previous(&self) -> Option<&Arc<Document>> {
        match self {
            Self::Create { .. } => None,
            Self::Replace { previous, .. } | Self::Delete { previous, .. } => Some(previous),
        }
    }

    /// The item after the change or, if it was deleted, before it.
    pub fn document(&self) -> &Arc<Document> {
        match self {
            Self::Create { current } | Self::Replace { current, .. } => current,
            Self::Delete { previous, .. } => previous,
        }
    }
}

/// Who makes a commit.
#[derive(Clone, Copy)]
pub(crate) struct Author<'a> {
    /// The sequence that it goes into.
    pub(crate) origin: RegionId,
    /// The LSN after which it comes, whatever the replica has.
    pub(crate) floor: i64,
    /// How versions are compared, where several regions write.
    pub(crate) resolution: &'a Resolution,
}

/// Changes being made to a replica whose lock is held. Dropped without a commit, they are undone.
pub(crate) struct Transaction<'s> {
    state: &'s mut ReplicaState,
    changes: Vec<Change>,
    now: Timestamp,
    author: Author<'s>,
}

impl<'s> Transaction<'s> {
    pub(crate) fn new(state: &'s mut ReplicaState, now: Timestamp, author: Author<'s>) -> Self {
        Self { state, changes: Vec::new(), now, author }
    }

    /// The replica with the changes so far.
    pub(crate) fn state(&self) -> &ReplicaState {
        self.state
    }

    /// The time of the commit.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// The number that the commit will have.
    pub(crate) fn lsn(&self) -> i64 {
        self.state.progress.get(self.author.origin).max(self.author.floor) + 1
    }

    /// The sequence that the commit will be part of.
    pub(crate) fn origin(&self) -> RegionId {
        self.author.origin
    }

    /// The place of the next change in the commit.
    pub(crate) fn nth(&self) -> u32 {
        self.changes.len() as u32
    }

    /// Puts a version, whose text is at hand, in the place of the one that the item has, if any; says how many index
    /// terms changed.
    pub(crate) fn put(&mut self, current: Arc<Document>, text: &[u8]) -> usize {
        let replaced = self.state.remove(current.number);
        let terms = self.state.insert_with(Arc::clone(&current), text);
        let (change, removed) = match replaced {
            None => (Change::Create { current }, 0),
            Some((previous, terms)) => (Change::Replace { current, previous }, terms),
        };
        self.changes.push(change);
        terms + removed
    }

    /// Deletes an item; says how many index terms it had.
    pub(crate) fn delete(&mut self, number: u64, expired: bool) -> usize {
        let Some((previous, terms)) = self.state.remove(number) else { return 0 };
        self.changes.push(Change::Delete { previous, expired });
        terms
    }

    /// Makes the changes last. `None` if there were none.
    pub(crate) fn commit(mut self) -> Option<Arc<LogEntry>> {
        let changes = std::mem::take(&mut self.changes);
        if changes.is_empty() {
            return None;
        }
        let lsn = self.lsn();
        let causes = self.state.versions.as_mut().map(|versions| {
            let ranks = versions.rank(&changes, lsn, &self.author, self.now.0);
            Box::new(Causes { origin: self.author.origin, seen: self.state.progress.clone(), ranks })
        });
        self.state.progress.set(self.author.origin, lsn);
        let entry = Arc::new(LogEntry { lsn, timestamp: self.now, changes, causes });
        self.state.log.push_back(Arc::clone(&entry));
        if self.state.retention == Retention::Tail {
            self.state.truncate(self.now);
        }
        Some(entry)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if mutation!("refused-batch-is-not-undone") {
            return;
        }
        for change in std::mem::take(&mut self.changes).into_iter().rev() {
            if let Some(current) = change.current() {
                self.state.remove(current.number);
            }
            if let Some(previous) = change.previous() {
                self.state.insert(Arc::clone(previous));
            }
        }
    }
}
