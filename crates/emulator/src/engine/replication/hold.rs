//! Waiting for other regions: what Strong and Bounded Staleness promise before a request is answered.
//!
//! Safety on disk is another promise; see [`Commit`](crate::storage::Commit).

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use cosmonaut_wire::{CosmosStatus, SessionToken, mutation};

use crate::Failure;
use crate::engine::topology::{Consistency, region_left};
use crate::engine::{Container, FeedScope, PartitionRange, RegionId};

/// Resolves once the other regions are where a request needs them to be.
#[derive(Clone, Default)]
#[must_use = "an answer that is held may be sent only once its hold has resolved"]
pub struct Hold {
    waits: Vec<Wait>,
}

#[derive(Clone)]
struct Wait {
    range: Arc<PartitionRange>,
    until: Until,
}

#[derive(Clone, Copy, Debug)]
enum Until {
    /// Most regions have the commit, so that no failover loses it.
    Committed(i64),
    /// The region has the commit.
    Applied(RegionId, i64),
    /// No region is further behind this one than the account allows.
    Bounded(RegionId),
}

impl Hold {
    /// Nothing to wait for.
    pub const fn none() -> Self {
        Self { waits: Vec::new() }
    }

    /// What a write in a region waits for, once it is commit `lsn` of a partition.
    pub(crate) fn of_write(range: &Arc<PartitionRange>, region: RegionId, lsn: i64) -> Self {
        let group = range.group();
        if group.lineage().regions.len() < 2 || mutation!("strong-write-waits-for-nobody") {
            return Self::none();
        }
        let until = match group.account.topology().consistency {
            Consistency::Strong => Until::Committed(lsn),
            Consistency::BoundedStaleness { .. } if mutation!("bounded-write-waits-for-nobody") => {
                return Self::none();
            }
            Consistency::BoundedStaleness { .. } => Until::Bounded(region),
            Consistency::Session | Consistency::ConsistentPrefix | Consistency::Eventual => {
                return Self::none();
            }
        };
        Self { waits: vec![Wait { range: Arc::clone(range), until }] }
    }

    /// Adds what another hold waits for.
    pub(crate) fn extend(&mut self, other: Hold) {
        self.waits.extend(other.waits);
    }

    /// Whether there is nothing to wait for any more; fails if that will never be.
    pub fn is_done(&self) -> Result<bool, Failure> {
        for wait in &self.waits {
            if !wait.range.has_reached(wait.until)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits. A write whose commit was lost in a forced failover fails.
    pub async fn wait(self) -> Result<(), Failure> {
        for wait in &self.waits {
            let progressed = &wait.range.group().account.network.progressed;
            loop {
                let mut changed = pin!(progressed.notified());
                // Registered before looking, so that what happens in between is not missed.
                changed.as_mut().enable();
                if wait.range.has_reached(wait.until)? {
                    break;
                }
                changed.await;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.waits.iter().map(|wait| (&wait.range.id, wait.until))).finish()
    }
}

impl Container {
    /// What a strong read waits for before it begins: its region has all that was committed when it came.
    pub fn barrier(&self, region: RegionId, scope: &FeedScope) -> Result<Hold, Failure> {
        let parts = scope.resolve(&self.layout(), self.definition())?;
        if mutation!("strong-read-waits-for-nobody") {
            return Ok(Hold::none());
        }
        let wait = |(range, _): (Arc<PartitionRange>, _)| {
            let until = Until::Applied(region, range.committed_by_most());
            Wait { range, until }
        };
        Ok(Hold { waits: parts.into_iter().map(wait).collect() })
    }

    /// What a strong read waits for before it is answered: all that it saw is committed.
    pub fn settled(&self, seen: &SessionToken) -> Hold {
        if mutation!("strong-read-shows-what-may-be-lost") {
            return Hold::none();
        }
        let layout = self.layout();
        let known = |range: &Arc<PartitionRange>| {
            let tokens = [&range.id].into_iter().chain(&range.parents).filter_map(|id| seen.get(id));
            let lsn = tokens.map(|token| token.global().0).max()?;
            Some(Wait { range: Arc::clone(range), until: Until::Committed(lsn) })
        };
        Hold { waits: layout.ranges().iter().filter_map(known).collect() }
    }
}

impl PartitionRange {
    /// The latest commit that most regions have, or have had. A region that is cut off is one of those that count, until
    /// the writes were moved without waiting for it. One that has left does not count, though whoever waits since before
    /// still knows its replica.
    pub(crate) fn committed_by_most(&self) -> i64 {
        let group = self.group();
        let links = group.account.network.links();
        let lineage = group.lineage();
        let counts = |region| lineage.regions.contains(&region) && !group.is_given_up(&links, region);
        let counted = self.replicas().iter().filter(|replica| counts(replica.region));
        let mut applied: Vec<i64> = counted.map(|replica| replica.applied()).collect();
        applied.sort_unstable_by(|a, b| b.cmp(a));
        let now = applied.get(applied.len() / 2).copied().unwrap_or(0);
        group.note_committed(now)
    }

    fn has_reached(&self, until: Until) -> Result<bool, Failure> {
        if let Some(children) = self.group().children() {
            return children.iter().try_fold(true, |all, child| Ok(all && child.has_reached(until)?));
        }
        let lost = |lsn: i64| {
            let beside = self.replicas()[0].progress().beside_first();
            self.group().lineage().lost_in(lsn - beside).is_some()
        };
        match until {
            Until::Committed(lsn) => {
                // Asked first: after a failover, most regions soon have another commit of this number.
                let is_committed = self.committed_by_most() >= lsn;
                if lost(lsn) {
                    return Err(Failure::new(
                        CosmosStatus::SERVICE_UNAVAILABLE,
                        format!(
                            "commit {lsn} of partition {} was lost in a forced failover before enough regions had it \
                             (read the item, and write it again)",
                            self.id
                        ),
                    ));
                }
                Ok(is_committed)
            }
            // What is lost no region will ever show, so there is nothing to wait for.
            Until::Applied(_, lsn) if lost(lsn) => Ok(true),
            Until::Applied(region, _) if !self.group().lineage().regions.contains(&region) => {
                Err(region_left())
            }
            Until::Applied(region, lsn) => Ok(self.replica(region).applied() >= lsn),
            Until::Bounded(region) => Ok(self.is_within_bounds(region)),
        }
    }

    /// Whether no region is further behind another than bounded staleness allows.
    fn is_within_bounds(&self, from: RegionId) -> bool {
        let group = self.group();
        let Consistency::BoundedStaleness { max_prefix, max_interval } = group.account.topology().consistency
        else {
            return true;
        };
        let (links, now) = (group.account.network.links(), group.account.world.now());
        let lineage = group.lineage();
        let queues = group.queues();
        let mut others = lineage.regions.iter().filter(|to| **to != from && !links.is_isolated(**to));
        others.all(|to| {
            let few = queues.len_between(from, *to) <= max_prefix;
            let oldest = queues.between(from, *to).and_then(|queue| queue.since());
            let age = oldest.map_or(0, |since| now.micros_since(since));
            few && u128::from(age) <= max_interval.as_micros()
        })
    }
}
