//! Unique keys that several regions gave away at the same time: one item stays, the others are deleted by a commit
//! like any other, and listed as conflicts.

use std::collections::HashSet;
use std::sync::Arc;

use super::Container;
use crate::engine::replica::{ReplicaState, Transaction};
use crate::engine::replication::Loser;
use crate::engine::{Document, PartitionRange, Progress, RegionId};

impl Container {
    /// Lets documents of a region give way to those that have just arrived from a region which had `seen` so much.
    pub(super) fn give_way<'d>(
        &self,
        range: &PartitionRange,
        region: RegionId,
        state: &mut ReplicaState,
        arrived: impl Iterator<Item = &'d Arc<Document>>,
        seen: &Progress,
    ) {
        let losers = arrived.flat_map(|document| state.rivals(document, region, seen)).collect();
        self.delete_losers(range, region, state, losers);
    }

    /// After a restart every region has everything: nobody is on the way who would find what was given away twice.
    pub(super) fn settle_unique(&self) {
        for range in self.layout().ranges() {
            let lineage = range.group().lineage();
            let Some(region) = lineage.writer.or(lineage.regions.first().copied()) else { continue };
            range.replica(region).write(|state| {
                let losers = self.losers_at_rest(state);
                self.delete_losers(range, region, state, losers);
            });
            self.deliver_soon(range);
        }
    }

    fn losers_at_rest(&self, state: &ReplicaState) -> Vec<Loser> {
        let mut shared: Vec<_> = state.shared_unique().collect();
        let value = |document: &Document| self.resolution.of(document);
        shared.sort_by(|a, b| {
            let place = |document: &Document| (document.ts(), document.origin, document.lsn, document.nth);
            value(b).total_cmp(&value(a)).then_with(|| place(b).cmp(&place(a)))
        });
        shared.dedup_by_key(|document| document.number);
        let mut gone = HashSet::new();
        for (nth, stays) in shared.iter().enumerate() {
            if !gone.contains(&stays.number) {
                let below: HashSet<u64> = shared[nth + 1..].iter().map(|document| document.number).collect();
                gone.extend(state.holders_beside(stays).filter(|holder| below.contains(holder)));
            }
        }
        let lost = shared.into_iter().filter(|document| gone.contains(&document.number));
        lost.map(|document| Loser { document: Arc::clone(document), created: true, between: None }).collect()
    }

    fn delete_losers(
        &self,
        range: &PartitionRange,
        region: RegionId,
        state: &mut ReplicaState,
        losers: Vec<Loser>,
    ) {
        if losers.is_empty() {
            return;
        }
        let lineage = range.group().lineage();
        let mut tx = Transaction::new(state, self.now(), self.author(&lineage, region));
        let mut deleted = HashSet::new();
        let losers = losers.into_iter().filter(|loser| deleted.insert(loser.document.number));
        let conflicts = losers.map(|loser| {
            tx.delete(loser.document.number, false);
            self.add_conflict(loser)
        });
        let conflicts = conflicts.collect();
        if let Some(entry) = tx.commit() {
            // Nobody is told of it, so nobody waits for it.
            drop(self.log(range, region, state, entry, conflicts));
        }
    }
}
