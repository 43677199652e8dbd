//! Items that took the same unique key in several regions at the same time.

use std::sync::Arc;

use super::ReplicaState;
use crate::engine::replication::Loser;
use crate::engine::{Document, Progress, RegionId};

impl ReplicaState {
    /// The documents of this region that have to go because one that has arrived holds the same unique key: its
    /// writer, who had `seen` so much, did not know of them, and it ranks higher. One that ranks lower goes by its own
    /// region.
    pub(crate) fn rivals(&self, arrived: &Document, here: RegionId, seen: &Progress) -> Vec<Loser> {
        let Some(versions) = &self.versions else { return Vec::new() };
        let is_current = |current: &Document| {
            (current.origin, current.lsn, current.nth) == (arrived.origin, arrived.lsn, arrived.nth)
        };
        if !self.document(arrived.number).is_some_and(is_current) {
            return Vec::new();
        }
        let rank = versions.of(arrived.number);
        let holders = self.holders_beside(arrived);
        let losing = |holder: &&Arc<Document>| {
            holder.origin == here
                && seen.get(here) < holder.lsn
                && rank.is_preferred_to(&versions.of(holder.number))
        };
        let losers = holders.filter_map(|number| self.share(number)).filter(losing);
        let loser = |document: &Arc<Document>| Loser {
            document: Arc::clone(document),
            created: versions.of(document.number).created,
            between: None,
        };
        losers.map(loser).collect()
    }
}
