//! Which history the replicas of a partition are part of: who continues it, and what was cut off from it.
//!
//! A forced failover cuts off the commits that the new writer does not have. No LSN is ever used twice, so an LSN
//! alone tells whether what a session has seen is still there.

use cosmonaut_wire::{Lsn, PartitionToken};
use serde::{Deserialize, Serialize};

use crate::engine::{Progress, RegionId};

/// What the replicas of a partition agree on. Replaced as a whole while all of them are locked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lineage {
    /// The version of session tokens.
    pub(crate) version: i64,
    /// What was cut off, oldest first.
    pub(crate) forks: Vec<Fork>,
    /// The region that takes writes; `None` if all do.
    pub(crate) writer: Option<RegionId>,
    /// The regions that have a replica, ascending.
    pub(crate) regions: Vec<RegionId>,
}

/// Where a forced failover has cut a partition's history: its only sequence, or the first if an account that now has
/// one write region once had several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The version of session tokens that ended here.
    pub version: i64,
    /// The last commit that survived.
    pub lsn: i64,
    /// The last commit that was lost; those of the next version come after it.
    pub until: i64,
}

impl Fork {
    fn has_lost(&self, lsn: i64) -> bool {
        self.lsn < lsn && lsn <= self.until
    }
}

/// Why a replica cannot answer a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmet {
    /// It does not have all yet that the session has seen.
    Behind,
    /// The session has seen what was lost after this commit.
    Lost { after: i64 },
    /// The session has seen a version of the partition that there is not.
    Unknown,
}

impl Lineage {
    /// The version of a partition's first token.
    pub(crate) const FIRST_VERSION: i64 = -1;

    /// A new partition's.
    pub(crate) fn new(writer: Option<RegionId>, regions: Vec<RegionId>) -> Self {
        Self { version: Self::FIRST_VERSION, forks: Vec::new(), writer, regions }
    }

    /// The sequence that commits of a region go into: its own, or the only one.
    pub(crate) fn origin(&self, region: RegionId) -> RegionId {
        if self.writer.is_none() { region } else { RegionId::default() }
    }

    /// Whether a commit may contradict one of another region.
    pub(crate) fn is_contested(&self) -> bool {
        self.writer.is_none() && self.regions.len() > 1
    }

    /// The LSN after which the next commit of a sequence comes, whatever the replica has.
    pub(crate) fn floor(&self, origin: RegionId) -> i64 {
        let last = self.forks.last().filter(|_| origin == RegionId::default());
        last.map_or(0, |fork| fork.until)
    }

    /// The fork that has lost a commit of the first sequence.
    pub(crate) fn lost_in(&self, lsn: i64) -> Option<&Fork> {
        self.forks.iter().rev().find(|fork| fork.has_lost(lsn))
    }

    /// How many commits of the first sequence there are after one, up to another.
    pub(crate) fn commits_between(&self, after: i64, until: i64) -> u64 {
        let lost = |fork: &Fork| (fork.until.min(until) - fork.lsn.max(after)).max(0);
        // Of two forks that overlap, the later has lost all that the earlier has left out.
        let counted = self.forks.iter().enumerate().filter(|(nth, fork)| {
            !self.forks[nth + 1..].iter().any(|later| later.lsn <= fork.lsn && fork.until <= later.until)
        });
        let lost: i64 = counted.map(|(_, fork)| lost(fork)).sum();
        u64::try_from(until - after - lost).unwrap_or(0)
    }

    /// Cuts off what comes after `lsn`, up to `until`.
    pub(crate) fn fork(&mut self, lsn: i64, until: i64) {
        self.forks.push(Fork { version: self.version, lsn, until });
        self.version += 1;
    }

    /// The token of a session that has seen this much.
    pub(crate) fn token(&self, progress: &Progress) -> PartitionToken {
        let listed = if self.writer.is_none() { &self.regions[..] } else { &[] };
        let regions = listed.iter().map(|region| (u64::from(region.0), Lsn(progress.get(*region))));
        PartitionToken::vector(self.version, Lsn(progress.total()), regions)
    }

    /// Whether a replica at `progress` may answer a session that has seen `needed`.
    pub(crate) fn check(&self, needed: &PartitionToken, progress: &Progress) -> Result<(), Unmet> {
        let lsn = needed.global().0;
        let behind = |has: bool| if has { Ok(()) } else { Err(Unmet::Behind) };
        match needed {
            PartitionToken::Vector(vector) if vector.version() > self.version => return Err(Unmet::Unknown),
            PartitionToken::Vector(vector) if vector.regions().next().is_some() => {
                let has = |(region, lsn): (u64, Lsn)| {
                    u8::try_from(region).is_ok_and(|region| progress.get(RegionId(region)) >= lsn.0)
                };
                return behind(vector.regions().all(has));
            }
            PartitionToken::Vector(_) | PartitionToken::Simple(_) => {}
        }
        let beside = if self.writer.is_some() { progress.beside_first() } else { 0 };
        match self.lost_in(lsn.saturating_sub(beside)) {
            Some(fork) => Err(Unmet::Lost { after: fork.lsn }),
            None => behind(progress.total() >= lsn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_what_was_lost_is_never_met() {
        let mut lineage = Lineage::new(Some(RegionId(0)), vec![RegionId(0), RegionId(1)]);
        // 8 to 10 are lost; 11 to 15 follow 7. Then all after 3 is lost, and 16 follows.
        lineage.fork(7, 10);
        let once = lineage.clone();
        lineage.fork(3, 15);
        for (lineage, token, at, expected) in [
            (&once, "-1#7", 7, Ok(())),
            (&once, "-1#8", 12, Err(Unmet::Lost { after: 7 })),
            (&once, "-1#10", 12, Err(Unmet::Lost { after: 7 })),
            // What a client makes of a lost token and one of the new version is as lost.
            (&once, "0#10", 12, Err(Unmet::Lost { after: 7 })),
            (&once, "0#11", 12, Ok(())),
            (&once, "0#13", 12, Err(Unmet::Behind)),
            (&once, "-1#7", 5, Err(Unmet::Behind)),
            (&once, "1#1", 12, Err(Unmet::Unknown)),
            (&once, "9", 12, Err(Unmet::Lost { after: 7 })),
            (&lineage, "-1#3", 3, Ok(())),
            (&lineage, "-1#5", 16, Err(Unmet::Lost { after: 3 })),
            (&lineage, "0#12", 16, Err(Unmet::Lost { after: 3 })),
            (&lineage, "1#16", 16, Ok(())),
        ] {
            assert_eq!(lineage.check(&token.parse().unwrap(), &Progress::from(at)), expected, "{token} {at}");
        }
        // Four commits of another region, from when there were several writers, count beside.
        let progress = "0=12;1=4".parse().unwrap();
        for (token, expected) in [
            ("-1#11", Ok(())),
            ("-1#12", Err(Unmet::Lost { after: 7 })),
            ("0#16", Ok(())),
            ("0#17", Err(Unmet::Behind)),
        ] {
            assert_eq!(once.check(&token.parse().unwrap(), &progress), expected, "{token}");
        }
        for (after, until, count) in [(5, 7, 2), (5, 10, 2), (5, 12, 4), (8, 10, 0), (9, 7, 0)] {
            assert_eq!(once.commits_between(after, until), count, "{after} {until}");
        }
        assert_eq!(lineage.commits_between(2, 17), 3);
        assert_eq!((lineage.version, lineage.floor(RegionId(0)), lineage.floor(RegionId(1))), (1, 15, 0));
    }

    #[test]
    fn with_several_write_regions_each_one_counts() {
        let lineage = Lineage::new(None, vec![RegionId(0), RegionId(2)]);
        let progress: Progress = "0=5;2=7".parse().unwrap();
        let token = lineage.token(&progress);
        assert_eq!(token.to_string(), "-1#12#0=5#2=7");
        for (token, expected) in [
            ("-1#12#0=5#2=7", Ok(())),
            ("-1#11#0=6#2=5", Err(Unmet::Behind)),
            ("-1#12", Ok(())),
            ("-1#13", Err(Unmet::Behind)),
            ("-1#1#300=1", Err(Unmet::Behind)),
            ("-1#1#1=0", Ok(())),
        ] {
            assert_eq!(lineage.check(&token.parse().unwrap(), &progress), expected, "{token}");
        }
    }
}
