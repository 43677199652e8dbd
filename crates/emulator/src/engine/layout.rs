//! How a container's key space is divided into physical partitions.
//!
//! A layout never changes; a split makes a new one. What a partition holds is its replicas' business.

use std::sync::Arc;

use cosmonaut_wire::model::PartitionKeyRange;
use cosmonaut_wire::{
    CosmosStatus, EffectivePartitionKey, EpkRange, Lsn, PartitionKeyRangeId, PartitionToken, ResourceId,
    ResourceType, SessionToken,
};

use super::{RegionId, Replica};
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
}

/// The failure for a partition that is not there any more.
pub(crate) fn gone(id: &PartitionKeyRangeId) -> Failure {
    Failure::new(
        CosmosStatus::PARTITION_KEY_RANGE_GONE,
        format!(
            "partition key range {id:?} does not exist any more, or never did (read pkranges again)",
            id = id.as_str()
        ),
    )
}

impl PartitionRange {
    pub(crate) fn new(
        number: u32,
        range: EpkRange,
        parents: Vec<PartitionKeyRangeId>,
        replicas: Vec<Arc<Replica>>,
    ) -> Self {
        Self { id: number.to_string().into(), number, range, parents, replicas }
    }

    /// The numbers of the partitions it was split from, oldest first.
    pub(crate) fn parent_numbers(&self) -> impl Iterator<Item = u32> {
        // Ids are numbers, given out by the container.
        self.parents.iter().filter_map(|id| id.as_str().parse().ok())
    }

    /// The replica in a region.
    pub fn replica(&self, region: RegionId) -> &Arc<Replica> {
        // Regions are fixed when the engine starts, and every partition has a replica in each.
        &self.replicas[region.index().min(self.replicas.len() - 1)]
    }

    /// All replicas, by region.
    pub fn replicas(&self) -> &[Arc<Replica>] {
        &self.replicas
    }

    /// Fails with 404/1002 if the session has seen more of this partition than a replica at `lsn` has.
    pub fn check_session(&self, seen: Option<&SessionToken>, lsn: i64) -> Result<(), Failure> {
        let Some(seen) = seen else { return Ok(()) };
        let needed = seen
            .for_range(&self.id, &self.parents)
            .map_err(|error| Failure::bad_request(error.to_string()))?;
        match needed {
            Some(needed) if needed.global() > Lsn(lsn) => Err(Failure::new(
                CosmosStatus::READ_SESSION_NOT_AVAILABLE,
                format!(
                    "The read session is not available for the input session token: it has seen {needed} of \
                     partition {}, which is at {lsn} here",
                    self.id
                ),
            )),
            _ => Ok(()),
        }
    }

    /// What a session has seen after reading or writing this partition at `lsn`.
    pub fn session(&self, lsn: i64) -> SessionToken {
        SessionToken::of(self.id.clone(), PartitionToken::vector(-1, Lsn(lsn), []))
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
        described.lsn = Some(self.replica(RegionId::default()).read(|state| state.lsn()));
        described.rid = rid.map(|rid| rid.to_string());
        described.self_link = link;
        described.etag = Some(format!("\"{:08x}-0000-0000-0000-000000000000\"", self.number));
        described
    }
}
