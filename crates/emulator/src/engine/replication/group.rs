//! What the replicas of one partition share: who writes, what is on the way, and whose turn it is to deliver.
//!
//! How a commit is applied is the container's and the replica's.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use arc_swap::{ArcSwap, Guard};

use super::{Account, Agreement, Lineage, Links, Queues, Settlement, Shipment};
use crate::Timestamp;
use crate::engine::replica::LogEntry;
use crate::engine::{PartitionRange, Progress, RegionId, locks};
use crate::storage::Commit;

/// The replicas of one partition, taken together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) account: Arc<Account>,
    lineage: ArcSwap<Lineage>,
    turn: Mutex<Settled>,
    queues: Mutex<Queues>,
    agreement: Mutex<Agreement>,
    /// The latest commit that most regions were seen to have. It does not go back when regions are cut off.
    committed: AtomicI64,
    /// The regions that were cut off when the writes of this partition alone were moved without waiting for them.
    given_up: Mutex<BTreeSet<u64>>,
    /// What the partition was split into.
    children: OnceLock<[Arc<PartitionRange>; 2]>,
}

/// Two points in time, for telling which deletes nothing on the way can contradict any more: once every region is
/// past the second, none has anything on the way from before it had all of the first.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    first: Option<Progress>,
    second: Option<Progress>,
}

impl Settled {
    /// Goes on to now, where every region has at least `least` and all of them together `most`. Says up to where
    /// deletes can be forgotten.
    pub(crate) fn advance(&mut self, least: &Progress, most: &Progress) -> Option<Progress> {
        let done = match (&self.first, &self.second) {
            (Some(first), None) if least.covers(first) => None,
            (Some(_), Some(second)) if least.covers(second) => self.first.take(),
            (Some(_), _) => return None,
            (None, _) => {
                self.first = Some(most.clone());
                return None;
            }
        };
        if done.is_some() {
            self.first = self.second.take();
        }
        self.second = Some(most.clone());
        done
    }
}

impl Group {
    pub(crate) fn new(account: Arc<Account>, lineage: Lineage) -> Arc<Self> {
        Arc::new(Self::with(account, lineage, Queues::default(), Agreement::default()))
    }

    /// What a child partition of these keys starts with. To be called with all replicas locked.
    pub(crate) fn child(&self, queues: Queues) -> Arc<Self> {
        let lineage = Lineage::clone(&self.lineage());
        // Items of the other child are soon forgotten.
        let agreement = locks::lock(&self.agreement).clone();
        let child = Self::with(Arc::clone(&self.account), lineage, queues, agreement);
        child.note_committed(self.committed.load(Ordering::Acquire));
        locks::lock(&child.given_up).clone_from(&locks::lock(&self.given_up));
        Arc::new(child)
    }

    fn with(account: Arc<Account>, lineage: Lineage, queues: Queues, agreement: Agreement) -> Self {
        Self {
            account,
            lineage: ArcSwap::from_pointee(lineage),
            turn: Mutex::default(),
            queues: Mutex::new(queues),
            agreement: Mutex::new(agreement),
            committed: AtomicI64::new(0),
            given_up: Mutex::default(),
            children: OnceLock::new(),
        }
    }

    /// A partition of an account with one region, outside of any account.
    #[cfg(test)]
    pub(crate) fn alone(world: Arc<dyn crate::World>) -> Arc<Self> {
        let region = RegionId::default();
        let lineage = Lineage::new(Some(region), vec![region]);
        Self::new(Account::new(&Default::default(), world), lineage)
    }

    /// Most regions have this commit. Says which is the latest that most have had.
    pub(crate) fn note_committed(&self, lsn: i64) -> i64 {
        self.committed.fetch_max(lsn, Ordering::AcqRel).max(lsn)
    }

    /// Goes on without the regions that are cut off, until each is back.
    pub(super) fn give_up_isolated(&self) {
        let links = self.account.network.links();
        *locks::lock(&self.given_up) = links.isolations().collect();
    }

    /// Whether a region is cut off, and writes were moved without waiting for it.
    pub(super) fn is_given_up(&self, links: &Links, region: RegionId) -> bool {
        let here = links.isolation(region).is_some_and(|which| locks::lock(&self.given_up).contains(&which));
        here || links.is_given_up(region)
    }

    /// Does not change while any of the replicas is locked.
    pub(crate) fn lineage(&self) -> Guard<Arc<Lineage>> {
        self.lineage.load()
    }

    /// To be called with all replicas locked.
    pub(crate) fn set_lineage(&self, lineage: Lineage) {
        self.lineage.store(Arc::new(lineage));
    }

    /// Waits until nobody else delivers.
    pub(crate) fn turn(&self) -> MutexGuard<'_, Settled> {
        locks::lock(&self.turn)
    }

    /// What is on the way. No replica may be locked while this is held.
    pub(crate) fn queues(&self) -> MutexGuard<'_, Queues> {
        locks::lock(&self.queues)
    }

    /// Queues a commit for every other region. To be called with the lock held under which it was made.
    pub(crate) fn send(&self, from: RegionId, entry: &Arc<LogEntry>, commit: &Commit) {
        let lineage = self.lineage();
        if lineage.regions.len() < 2 {
            return;
        }
        let (world, links) = (&*self.account.world, self.account.network.links());
        let mut queues = self.queues();
        for to in lineage.regions.iter().filter(|to| **to != from) {
            let due = links.due(from, *to, entry.timestamp, world);
            let shipment = Shipment { due, entry: Arc::clone(entry), commit: commit.clone() };
            queues.push(from, *to, shipment, &links);
        }
    }

    /// Lets a commit of one of several write regions be written with what is to be put right after it: in the order
    /// in which commits come here. To be called with the lock held under which it was made.
    pub(crate) fn agree(&self, entry: &LogEntry, write: impl FnOnce(Settlement) -> Commit) -> Commit {
        let mut agreement = locks::lock(&self.agreement);
        write(agreement.enter(entry))
    }

    /// Forgets what every region has, once there is enough of it. To be called when it is one's turn.
    pub(crate) fn forget_agreed(&self, range: &PartitionRange) {
        let mut agreement = locks::lock(&self.agreement);
        if agreement.has_grown() && self.is_known_to(range) {
            agreement.forget(&range.everywhere());
        }
    }

    /// Forgets what every region has, however little it is.
    pub(crate) fn tidy(&self, range: &PartitionRange) {
        let _turn = self.turn();
        let mut agreement = locks::lock(&self.agreement);
        if !agreement.is_empty() && self.is_known_to(range) {
            agreement.forget(&range.everywhere());
        }
    }

    /// Whether a partition's replicas are all there are: one that was just added may be behind, and not in the layout
    /// that the caller has.
    fn is_known_to(&self, range: &PartitionRange) -> bool {
        self.lineage().regions.iter().all(|region| range.find_replica(*region).is_some())
    }

    /// When the next commit on an open link is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.queues().next_due(&self.account.network.links())
    }

    pub(crate) fn children(&self) -> Option<&[Arc<PartitionRange>; 2]> {
        self.children.get()
    }

    /// To be called once, by the split.
    pub(crate) fn set_children(&self, children: [Arc<PartitionRange>; 2]) {
        let already = self.children.set(children).is_err();
        debug_assert!(!already, "a partition is split once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_are_forgotten_when_nothing_older_can_be_on_the_way() {
        let mut settled = Settled::default();
        // A delete is commit 5. A region that has it at 6 may still have sent 7 before, which is delivered at 8.
        for (least, most, forgotten) in
            [(4, 5, None), (4, 6, None), (5, 7, None), (6, 8, None), (7, 9, Some(5))]
        {
            let done = settled.advance(&Progress::from(least), &Progress::from(most));
            assert_eq!(done, forgotten.map(Progress::from), "{least} {most}");
        }
        // The second point is now the first of the next round.
        assert_eq!(settled.advance(&Progress::from(8), &Progress::from(9)), None);
        assert_eq!(settled.advance(&Progress::from(9), &Progress::from(9)), Some(Progress::from(7)));
    }
}
