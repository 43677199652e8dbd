//! What the regions of a partition will agree on once everything has arrived, where several of them write.
//!
//! The journal has every commit of every region in an order of its own, and regions hear of them in other orders. So
//! that nothing acknowledged is lost and nothing that has lost comes back, the journal's documents are at every
//! moment what all regions would hold if all that is in the journal had arrived everywhere: of each item the version
//! that outranks all others. A restart reads exactly that, for every region.

use std::collections::HashMap;
use std::sync::Arc;

use cosmonaut_wire::mutation;

use crate::engine::replica::{Change, LogEntry, Rank, item_name};
use crate::engine::{Document, Progress, RegionId};

/// The leading versions of items whose last commit some region may not have yet. An item that is not listed is the
/// same everywhere, so that whatever is written next follows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreement {
    items: HashMap<Box<str>, Leading>,
    /// How many items were left when the settled ones were forgotten last.
    kept: usize,
}

#[derive(Clone, Debug)]
struct Leading {
    rank: Rank,
    /// None if it is a delete.
    document: Option<Arc<Document>>,
    by: CommitId,
}

/// A commit, by its sequence and its number in it.
pub(crate) type CommitId = (RegionId, i64);

/// What a commit changes of what the regions will agree on, beside what it says itself.
#[derive(Debug, Default)]
pub(crate) struct Settlement {
    /// Versions that stay, though the commit would replace or delete them.
    pub(crate) put: Vec<Arc<Document>>,
    /// The numbers of documents that give way.
    pub(crate) remove: Vec<u64>,
    pub(crate) losers: Vec<Loser>,
}

/// A version that has lost against one which did not know of it.
#[derive(Debug)]
pub(crate) struct Loser {
    pub(crate) document: Arc<Document>,
    /// Whether it was the item's first version.
    pub(crate) created: bool,
    /// The commits that contradict each other: a region that has both has found the conflict. None if one has.
    pub(crate) between: Option<[CommitId; 2]>,
}

/// How many items are at least listed before it is worth looking for settled ones.
const FEW: usize = 64;

impl Agreement {
    /// Takes a commit that was just made; says what is to be put right after it.
    pub(crate) fn enter(&mut self, entry: &LogEntry) -> Settlement {
        let mut settlement = Settlement::default();
        let Some(causes) = &entry.causes else { return settlement };
        let mut contested = Vec::new();
        for (change, rank) in entry.changes.iter().zip(&causes.ranks) {
            let document = change.document();
            let name = item_name(&document.key, document.id()).into_boxed_str();
            let entering = Leading::new(change, rank, (entry.origin(), entry.lsn));
            match self.items.get_mut(&name) {
                None => drop(self.items.insert(name, entering)),
                Some(leading) => {
                    let numbers = leading.document.iter().map(|led| led.number).chain([document.number]);
                    contested.push((name, numbers.collect::<Vec<_>>()));
                    let knows = causes.seen.get(leading.by.0) >= leading.by.1 || leading.by == entering.by;
                    if mutation!("settlement-keeps-the-older-version") {
                        continue;
                    }
                    if knows {
                        *leading = entering;
                    } else {
                        settlement.losers.extend(leading.contend(entering));
                    }
                }
            }
        }
        for (name, numbers) in contested {
            let stays = self.items.get(&name).and_then(|leading| leading.document.as_ref());
            let gone = numbers.into_iter().filter(|number| stays.is_none_or(|stays| stays.number != *number));
            settlement.remove.extend(gone);
            settlement.put.extend(stays.cloned());
        }
        settlement
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether it is worth to forget what is settled.
    pub(crate) fn has_grown(&self) -> bool {
        self.items.len() >= FEW.max(self.kept.saturating_mul(2))
    }

    /// Forgets items whose leading version every region has.
    pub(crate) fn forget(&mut self, everywhere: &Progress) {
        self.items.retain(|_, leading| everywhere.get(leading.by.0) < leading.by.1);
        self.items.shrink_to(self.items.len().saturating_mul(2));
        self.kept = self.items.len();
    }
}

impl Leading {
    fn new(change: &Change, rank: &Rank, by: CommitId) -> Self {
        Self { rank: rank.clone(), document: change.current().cloned(), by }
    }

    /// Leaves the higher of two versions that do not know of each other; returns the other, unless it is a delete.
    fn contend(&mut self, mut other: Self) -> Option<Loser> {
        if other.rank.outranks(&self.rank) {
            std::mem::swap(self, &mut other);
        }
        let between = Some([self.by, other.by]);
        Some(Loser { document: other.document?, created: other.rank.created, between })
    }
}
