//! Taking over all that a replica in another region has, without the commits in between.
//!
//! Where one region writes, the documents become the other's. Where several do, each item becomes the higher of both
//! versions. Either way the log goes on with as much of the other's as that still has.

use std::sync::Arc;

use super::apply::Arriving;
use super::{ReplicaState, Retention};
use crate::Timestamp;
use crate::engine::Document;

impl ReplicaState {
    /// Takes over what another replica has.
    pub(crate) fn catch_up(&mut self, source: &Self, now: Timestamp) {
        if self.progress.covers(&source.progress) {
            return;
        }
        match (self.versions.take(), &source.versions) {
            (Some(mut versions), Some(theirs)) => {
                for (item, rank, by) in theirs.deleted() {
                    self.contend(&mut versions, &Arriving { item, rank, current: None, by });
                }
                for current in source.shared() {
                    let (item, rank) = ((&current.key, current.id()), theirs.of(current.number));
                    let by = (current.origin, current.lsn);
                    let arriving = Arriving { item, rank: &rank, current: Some(current), by };
                    self.contend(&mut versions, &arriving);
                }
                self.versions = Some(versions);
            }
            (versions, _) => {
                self.versions = versions;
                self.become_like(source);
            }
        }
        self.continue_log(source);
        self.progress.join(&source.progress);
        self.promise(&source.commit());
        if self.retention == Retention::Tail {
            self.truncate(now);
        }
    }

    fn become_like(&mut self, source: &Self) {
        let place = |document: &Document| (document.origin, document.lsn, document.nth);
        let same = |document: &Document| {
            source.document(document.number).is_some_and(|other| place(other) == place(document))
        };
        // All of them first: an item that was deleted and made again has another number.
        let gone: Vec<u64> =
            self.documents().filter(|document| !same(document)).map(|document| document.number).collect();
        for number in gone {
            self.remove(number);
        }
        for document in source.shared() {
            if self.document(document.number).is_none() {
                self.insert(Arc::clone(document));
            }
        }
    }

    fn continue_log(&mut self, source: &Self) {
        for (origin, lsn) in source.truncated().sequences() {
            // What neither has is a gap, before which nothing is of use.
            if lsn > self.progress.get(origin) {
                self.truncated.set(origin, lsn.max(self.truncated.get(origin)));
            }
        }
        let (truncated, progress) = (&self.truncated, &self.progress);
        self.log.retain(|entry| entry.lsn > truncated.get(entry.origin()));
        let missing = source.log.iter().filter(|entry| entry.lsn > progress.get(entry.origin()));
        self.log.extend(missing.cloned());
    }
}
