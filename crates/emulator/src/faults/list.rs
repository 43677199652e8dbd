//! The faults in force: a list that requests read with one atomic load and that is replaced when it changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use cosmonaut_wire::{EpkRange, ResourcePath};
use tokio::sync::watch;

use super::delay::fraction;
use super::{ActiveFault, Fault, FaultId, Outage, Struck, Target};
use crate::World;
use crate::engine::RegionId;

/// The faults of an account.
pub(crate) struct Faults {
    pub(super) world: Arc<dyn World>,
    pub(super) list: ArcSwap<Vec<Arc<Active>>>,
    next: AtomicU64,
    /// Told after every change of the list, for the requests that wait for one.
    changed: watch::Sender<()>,
}

/// A fault with the names in it resolved.
pub(crate) struct Active {
    pub(crate) id: FaultId,
    pub(crate) fault: Fault,
    pub(crate) region: Option<RegionId>,
    pub(super) keys: Option<Keys>,
    hits: AtomicU64,
}

/// What part of the data a fault is for.
pub(crate) struct Keys {
    pub(crate) container: ResourcePath,
    /// A part of the container, or all of it.
    pub(crate) part: Option<EpkRange>,
}

impl Faults {
    pub(crate) fn new(world: Arc<dyn World>) -> Self {
        Self { world, list: ArcSwap::default(), next: AtomicU64::new(1), changed: watch::channel(()).0 }
    }

    /// Whether nothing goes wrong, which costs a request no more than this.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.load().is_empty()
    }

    pub(crate) fn all(&self) -> Arc<Vec<Arc<Active>>> {
        self.list.load_full()
    }

    pub(crate) fn add(&self, fault: Fault, region: Option<RegionId>, keys: Option<Keys>) -> FaultId {
        let id = FaultId(self.next.fetch_add(1, Ordering::Relaxed));
        let active = Arc::new(Active { id, fault, region, keys, hits: AtomicU64::new(0) });
        self.change(|list| list.push(Arc::clone(&active)));
        id
    }

    /// Lifts those that match, and says how many they were.
    pub(crate) fn remove(&self, mut matches: impl FnMut(&Active) -> bool) -> usize {
        let before = self.list.load().len();
        self.change(|list| list.retain(|active| !matches(active)));
        before.saturating_sub(self.list.load().len())
    }

    fn change(&self, mut change: impl FnMut(&mut Vec<Arc<Active>>)) {
        self.list.rcu(|list| {
            let mut list = Vec::clone(list);
            change(&mut list);
            list
        });
        self.changed.send_replace(());
    }

    /// The outage that a region is in, the severest if there are several.
    pub(crate) fn outage_of(&self, region: RegionId) -> Option<Outage> {
        let list = self.list.load();
        list.iter().filter(|active| active.is_in(region)).filter_map(|active| active.fault.outage()).min()
    }

    /// What takes a region down, if anything does.
    pub(crate) fn outage_that_struck(&self, region: RegionId) -> Option<Struck> {
        let list = self.list.load();
        let outages = list.iter().filter(|active| active.is_in(region) && active.fault.outage().is_some());
        outages.min_by_key(|active| active.fault.outage()).map(|active| active.struck())
    }

    /// Waits until none of these faults is in force.
    pub(crate) async fn lifted(&self, ids: &[FaultId]) {
        let mut changed = self.changed.subscribe();
        while self.list.load().iter().any(|active| ids.contains(&active.id)) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Active {
    pub(crate) fn is_in(&self, region: RegionId) -> bool {
        self.region.is_none_or(|of| of == region)
    }

    /// Whether it is for this request, and this time happens to it.
    pub(super) fn strikes(&self, region: RegionId, target: &dyn Target, world: &dyn World) -> bool {
        self.is_in(region)
            && target.is_among(self.fault.operations)
            && self.keys.as_ref().is_none_or(|keys| target.touches(keys))
            && (self.fault.probability >= 1.0 || fraction(world.random()) < self.fault.probability)
            && self.hit()
    }

    /// Counts one more request, unless that would be too many.
    fn hit(&self) -> bool {
        let most = self.fault.count.unwrap_or(u64::MAX);
        let more = |hits: u64| (hits < most).then(|| hits + 1);
        self.hits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn struck(&self) -> Struck {
        let is_outage = self.fault.outage().is_some();
        Struck { fault: self.id, effect: self.fault.effect.word(), is_outage }
    }

    pub(crate) fn describe(&self) -> ActiveFault {
        ActiveFault { id: self.id, fault: self.fault.clone(), hits: self.hits.load(Ordering::Relaxed) }
    }
}
