//! The links between regions: how slow they are, and which are cut.
//!
//! It says when something may be delivered; what is on the way is in `queues`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use crate::engine::RegionId;
use crate::{Timestamp, World};

/// How commits travel from one region to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Link {
    /// How long they take.
    pub lag: Lag,
    /// Whether they wait until the link is resumed.
    pub paused: bool,
}

/// How long a commit takes to another region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lag {
    /// It is there when it is acknowledged.
    #[default]
    None,
    /// Always as long.
    Fixed(Duration),
    /// By chance, between the two. Commits do not overtake each other.
    Between(Duration, Duration),
}

impl Lag {
    fn sample(self, world: &dyn World) -> u64 {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        match self {
            Self::None => 0,
            Self::Fixed(lag) => micros(lag),
            Self::Between(a, b) => {
                let (least, most) = (micros(a.min(b)), micros(a.max(b)));
                match (most - least).checked_add(1) {
                    Some(places) => least + world.random() % places,
                    None => world.random(),
                }
            }
        }
    }
}

/// The links as they are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    links: BTreeMap<(RegionId, RegionId), Link>,
    /// The regions that are cut off, each with the number of times that one had been before.
    isolated: BTreeMap<RegionId, u64>,
    isolations: u64,
    /// Those of them that the writes were moved without.
    given_up: BTreeSet<RegionId>,
}

impl Links {
    pub(crate) fn link(&self, from: RegionId, to: RegionId) -> Link {
        self.links.get(&(from, to)).copied().unwrap_or_default()
    }

    pub(crate) fn is_isolated(&self, region: RegionId) -> bool {
        self.isolated.contains_key(&region)
    }

    /// Whether a region is cut off, and writes were moved without waiting for it.
    pub(crate) fn is_given_up(&self, region: RegionId) -> bool {
        self.given_up.contains(&region)
    }

    /// Which time of being cut off this is for a region, if it is.
    pub(super) fn isolation(&self, region: RegionId) -> Option<u64> {
        self.isolated.get(&region).copied()
    }

    /// All regions that are cut off, as their [`isolation`](Self::isolation) has them.
    pub(super) fn isolations(&self) -> impl Iterator<Item = u64> {
        self.isolated.values().copied()
    }

    /// Whether anything is delivered from one region to the other.
    pub(crate) fn is_open(&self, from: RegionId, to: RegionId) -> bool {
        !self.link(from, to).paused && !self.is_isolated(from) && !self.is_isolated(to)
    }

    /// When a commit made now is to arrive.
    pub(super) fn due(&self, from: RegionId, to: RegionId, now: Timestamp, world: &dyn World) -> Timestamp {
        Timestamp(now.0.saturating_add(self.link(from, to).lag.sample(world)))
    }
}

/// All links of an account, and who waits for something to happen on them.
#[derive(Debug, Default)]
pub(crate) struct Network {
    links: ArcSwap<Links>,
    /// Something was queued that is not due yet, or a link has changed.
    pub(crate) queued: Arc<Notify>,
    /// A region has applied something, or a link has changed.
    pub(crate) progressed: Notify,
}

impl Network {
    pub(crate) fn links(&self) -> Arc<Links> {
        self.links.load_full()
    }

    /// To be called by whoever has the account's turn to change.
    pub(super) fn change(&self, change: impl FnOnce(&mut Links)) {
        let mut links = Links::clone(&self.links());
        change(&mut links);
        self.links.store(Arc::new(links));
        self.wake();
    }

    pub(super) fn set_link(&self, from: RegionId, to: RegionId, link: Link) {
        self.change(|links| {
            links.links.insert((from, to), link);
        });
    }

    pub(super) fn isolate(&self, region: RegionId, isolated: bool) {
        self.change(|links| {
            links.isolated.remove(&region);
            links.given_up.remove(&region);
            if isolated {
                links.isolated.insert(region, links.isolations);
                links.isolations += 1;
            }
        });
    }

    /// Forgets a region that has left.
    pub(super) fn forget(&self, region: RegionId) {
        self.change(|links| {
            links.links.retain(|(from, to), _| *from != region && *to != region);
            links.isolated.remove(&region);
            links.given_up.remove(&region);
        });
    }

    /// Goes on without the regions that are cut off, until each is back.
    pub(super) fn give_up_isolated(&self) {
        self.change(|links| links.given_up = links.isolated.keys().copied().collect());
    }

    /// Lets everybody look again.
    pub(crate) fn wake(&self) {
        self.queued.notify_one();
        self.progressed.notify_waiters();
    }
}
