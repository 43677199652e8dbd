//! What a replica starts with that takes the place of another: the half of a split, or a copy in a new region.

use std::collections::VecDeque;
use std::sync::Arc;

use cosmonaut_wire::{EpkRange, mutation};

use super::{LogEntry, ReplicaState};
use crate::engine::Progress;
use crate::index::Index;

impl ReplicaState {
    /// What a child partition starts with: the documents and the log of its keys.
    #[cfg(test)]
    pub(crate) fn child(&self, keys: &EpkRange, index: Index) -> Self {
        let mut child = self.empty_child(index);
        for document in self.shared().filter(|document| keys.contains(&document.epk)) {
            child.insert(Arc::clone(document));
        }
        child.inherit(self, keys);
        child
    }

    /// A child partition without documents.
    pub(super) fn empty_child(&self, index: Index) -> Self {
        let mut child = Self::new(self.progress.clone(), index, self.unique_keys.clone());
        child.follow(self.default_ttl, self.retention);
        child
    }

    /// Takes over all but the documents from the parent.
    pub(super) fn inherit(&mut self, parent: &Self, keys: &EpkRange) {
        self.take_over(parent, parent.log.iter().map(|entry| Arc::new(entry.within(keys))).collect());
        if mutation!("child-partition-counts-from-one") {
            self.progress = Progress::default();
        }
    }

    fn take_over(&mut self, from: &Self, log: VecDeque<Arc<LogEntry>>) {
        self.progress = from.progress.clone();
        self.unsafe_commits = from.unsafe_commits.clone();
        self.truncated = from.truncated.clone();
        self.log = log;
        // Ranks of documents elsewhere are few and do no harm.
        self.versions = from.versions.clone();
    }

    /// What a replica in another region starts with: everything, and that the container was deleted if so.
    pub(crate) fn copy(&self, index: Index) -> Self {
        let mut copy = self.empty_child(index);
        copy.fill(self.shared().cloned().collect());
        copy.take_over_all(self);
        copy
    }

    /// Takes over all but the documents from the replica of another region.
    pub(super) fn take_over_all(&mut self, from: &Self) {
        self.take_over(from, from.log.clone());
        self.phase = from.phase;
    }
}
