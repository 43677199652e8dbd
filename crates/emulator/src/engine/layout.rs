//! How a container's key space is divided into physical partitions.
//!
//! A layout never changes; a split makes a new one. What a partition holds is its replicas' business.

use std::sync::Arc;

use cosmonaut_wire::model::PartitionKeyRange;
use cosmonaut_wire::{
    CosmosStatus, EffectivePartitionKey, EpkRange, PartitionKeyRangeId, PartitionToken, ResourceId,
    ResourceType, SessionToken, mutation,
};

use super::replica::Locked;
use super::replication::{Group, Unmet};
use super::{Progress, RegionId, Replica, ReplicaState};
use crate::Failure;

/// The physical partitions of a container, in the order of their keys, from `""` to `"FF"` without a gap.
#[derive(Debug)]
pub struct Layout {
    ranges: Vec<Arc<PartitionRange>>,
    /// Raised by each split.
    version: u32,
}

/// A physical partition: its part of the key space, and a replica per region.
#[derive(Debug)]
pub struct PartitionRange {
    /// Its id, unique in the container and never used again.
    pub id: PartitionKeyRangeId,
    /// The id as a number.
    pub number: u32,
    /// The keys it holds.
    pub range: EpkRange,
    /// The partitions it was split from, oldest first.
    pub parents: Vec<PartitionKeyRangeId>,
    /// One per region, by [`RegionId`].
    replicas: Vec<Arc<Replica>>,
    group: Arc<Group>,
}

/// What an answer says about how far the partition is that it came from.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The latest commit in the region that answered.
    pub lsn: i64,
    /// How many commits every region has.
    pub committed: i64,
    /// What a session has seen after it.
    pub seen: PartitionToken,
}

impl Layout {
    /// A layout of ranges that are sorted and gap-free.
    pub(crate) fn new(ranges: Vec<Arc<PartitionRange>>, version: u32) -> Self {
        debug_assert!(ranges.windows(2).all(|pair| pair[0].range.max == pair[1].range.min));
        Self { ranges, version }
    }

    /// The partitions, in the order of their keys.
    pub fn ranges(&self) -> &[Arc<PartitionRange>] {
        &self.ranges
    }

    /// The partition that holds a key.
    pub fn range_of(&self, key: &EffectivePartitionKey) -> &Arc<PartitionRange> {
        let after = self.ranges.partition_point(|range| range.range.min <= *key);
        &self.ranges[after.saturating_sub(1)]
    }

    /// The partition of that id; 410/1002 if it was split or never was.
    pub fn range(&self, id: &PartitionKeyRangeId) -> Result<&Arc<PartitionRange>, Failure> {
        self.ranges.iter().find(|range| range.id == *id).ok_or_else(|| gone(id))
    }

    /// A number that is another after each split.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The layout with one partition replaced by those it was split into.
    pub(crate) fn with_split(&self, parent: &PartitionRange, children: [Arc<PartitionRange>; 2]) -> Self {
        let keep = |range: &&Arc<PartitionRange>| range.id != parent.id;
        let mut ranges: Vec<_> = self.ranges.iter().filter(keep).cloned().chain(children).collect();
        ranges.sort_by(|a, b| a.range.min.cmp(&b.range.min));
        Self::new(ranges, self.version + 1)
    }

    /// The layout with the same partitions, which have other replicas.
    pub(crate) fn with_ranges(&self, ranges: Vec<Arc<PartitionRange>>) -> Self {
        Self::new(ranges, self.version)
    }
}

/// The failure for a partition that is not there any more.
pub(crate) fn gone(id: &PartitionKeyRangeId) -> Failure {
    Failure::new(
        CosmosStatus::PARTITION_KEY_RANGE_GONE,
        format!(
            "PartitionKeyRange with id '{}' in this collection doesn't exist: it was split, or never was (read pkranges \
             again)",
            id.as_str()
        ),
    )
}

impl PartitionRange {
    pub(crate) fn new(
        number: u32,
        range: EpkRange,
        parents: Vec<PartitionKeyRangeId>,
        replicas: Vec<Arc<Replica>>,
        group: Arc<Group>,
    ) -> Self {
        Self { id: number.to_string().into(), number, range, parents, replicas, group }
    }

    /// The same partition with other replicas.
    pub(crate) fn with_replicas(&self, replicas: Vec<Arc<Replica>>) -> Self {
        Self {
            id: self.id.clone(),
            number: self.number,
            range: self.range.clone(),
            parents: self.parents.clone(),
            replicas,
            group: Arc::clone(&self.group),
        }
    }

    /// What the replicas share.
    pub(crate) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The numbers of the partitions it was split from, oldest first.
    pub(crate) fn parent_numbers(&self) -> impl Iterator<Item = u32> {
        // Ids are numbers, given out by the container.
        self.parents.iter().filter_map(|id| id.as_str().parse().ok())
    }

    /// The replica in a region. A region that has just left the account is answered for by the first.
    pub fn replica(&self, region: RegionId) -> &Arc<Replica> {
        self.find_replica(region).unwrap_or(&self.replicas[0])
    }

    pub(crate) fn find_replica(&self, region: RegionId) -> Option<&Arc<Replica>> {
        // As long as no region has left, they are at their places.
        let at_place = self.replicas.get(region.index()).filter(|replica| replica.region == region);
        at_place.or_else(|| self.replicas.iter().find(|replica| replica.region == region))
    }

    /// Locks all replicas, in the order of their regions. Nobody else may do so meanwhile: take the group's turn
    /// first.
    pub(crate) fn lock_all(&self) -> Vec<Locked<'_>> {
        self.replicas.iter().map(|replica| replica.lock()).collect()
    }

    /// All replicas, by region.
    pub fn replicas(&self) -> &[Arc<Replica>] {
        &self.replicas
    }

    /// Fails with 404/1002 if the session has seen more of this partition than a replica has.
    ///
    /// A split hands the parent's log on to its children, so having seen the parent binds reads from each child.
    pub fn check_session(&self, seen: Option<&SessionToken>, state: &ReplicaState) -> Result<(), Failure> {
        let Some(seen) = seen else { return Ok(()) };
        for needed in [&self.id].into_iter().chain(&self.parents).filter_map(|id| seen.get(id)) {
            let unmet = |unmet: Unmet| self.unmet(needed, unmet, state.lsn());
            // Where one region writes, what is refused for ever is seen at once.
            let is_for_ever =
                mutation!("session-is-refused-for-ever") && self.group.account.topology().multi_write;
            if is_for_ever && needed.global().0 % 5 == 0 {
                return Err(unmet(Unmet::Behind));
            }
            self.group.lineage().check(needed, state.progress()).map_err(unmet)?;
        }
        Ok(())
    }

    fn unmet(&self, needed: &PartitionToken, unmet: Unmet, lsn: i64) -> Failure {
        let id = &self.id;
        let why = match unmet {
            Unmet::Behind => format!("it has seen {needed} of partition {id}, which is at {lsn} here"),
            Unmet::Lost { after } => format!(
                "it has seen {needed} of partition {id}, whose commits after {after} were lost in a forced failover \
                 (read without the token, and write again what is missing)"
            ),
            Unmet::Unknown => format!("it has seen {needed}, a version that partition {id} never had"),
        };
        Failure::new(
            CosmosStatus::READ_SESSION_NOT_AVAILABLE,
            format!("The read/write session is not available for the input session token. {why}"),
        )
    }

    /// What a session has seen after reading or writing a replica.
    pub fn session(&self, state: &ReplicaState) -> SessionToken {
        SessionToken::of(self.id.clone(), self.group.lineage().token(state.progress()))
    }

    /// What an answer from a replica says.
    pub fn standing(&self, state: &ReplicaState) -> Standing {
        let seen = self.group.lineage().token(state.progress());
        Standing { lsn: state.lsn(), committed: self.committed().min(state.lsn()), seen }
    }

    /// How many commits every region has.
    pub fn committed(&self) -> i64 {
        let applied = || self.replicas.iter().map(|replica| replica.applied()).min().unwrap_or(0);
        if self.replicas.len() == 1 || self.group.lineage().writer.is_some() {
            return applied();
        }
        self.everywhere().total()
    }

    /// What every region has of each sequence.
    pub(crate) fn everywhere(&self) -> Progress {
        let mut least = (*self.replicas[0].progress()).clone();
        self.replicas[1..].iter().for_each(|replica| least.meet(&replica.progress()));
        least
    }

    /// The latest commit of the replica that is furthest.
    pub fn latest(&self) -> i64 {
        self.replicas.iter().map(|replica| replica.applied()).max().unwrap_or(0)
    }

    /// The partition as `pkranges` lists it.
    pub(crate) fn describe(&self, container: ResourceId, share: f64) -> PartitionKeyRange {
        let rid = container.child(ResourceType::PartitionKeyRange, u64::from(self.number) + 2);
        let database = container.parent();
        let link = match (rid, database) {
            (Some(rid), Some(database)) => Some(format!("dbs/{database}/colls/{container}/pkranges/{rid}/")),
            _ => None,
        };
        let mut described = PartitionKeyRange::new(self.id.clone(), self.range.clone());
        described.parents = self.parents.clone();
        described.rid_prefix = Some(i64::from(self.number));
        described.throughput_fraction = Some(share);
        described.lsn = Some(self.latest());
        described.rid = rid.map(|rid| rid.to_string());
        described.self_link = link;
        described.etag = Some(format!("\"{:08x}-0000-0000-0000-000000000000\"", self.number));
        described
    }
}
