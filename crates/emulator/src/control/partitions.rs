//! The physical partitions of a container: which there are, and splitting one.

use std::sync::Arc;

use cosmonaut_wire::{EpkRange, PartitionKeyRangeId, RegionName, ResourcePath, ResourceType};

use super::Control;
use crate::Failure;
use crate::engine::{Container, PartitionRange, RegionId};

/// A physical partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionStatus {
    /// Its id.
    pub id: PartitionKeyRangeId,
    /// The keys that it holds.
    pub keys: EpkRange,
    /// The region that takes its writes; none if every region does.
    pub writer: Option<RegionName>,
    /// How far its log is in each region, in the order of priority.
    pub lsns: Vec<(RegionName, i64)>,
}

impl Control {
    /// The partitions of a container, in the order of their keys.
    pub fn partitions(&self, container: &str) -> Result<Vec<PartitionStatus>, Failure> {
        let topology = self.engine.topology();
        let layout = self.container(container)?.layout();
        let status = |range: &Arc<PartitionRange>| {
            let lsn = |region: RegionId| range.replica(region).read(|state| state.lsn());
            PartitionStatus {
                id: range.id.clone(),
                keys: range.range.clone(),
                writer: range.group().lineage().writer.and_then(|id| topology.name(id).cloned()),
                lsns: topology.regions.iter().map(|region| (region.name.clone(), lsn(region.id))).collect(),
            }
        };
        Ok(layout.ranges().iter().map(status).collect())
    }

    /// Splits a partition in two, in every region at once, and returns the ids of the halves.
    pub async fn split(&self, container: &str, partition: &str) -> Result<[PartitionKeyRangeId; 2], Failure> {
        let container = self.container(container)?;
        let partition = PartitionKeyRangeId::from(partition);
        partition_of(&container, &partition)?;
        let split = self.workers.finish(move || container.split(&partition)).await?;
        split.commit.await?;
        Ok(split.value)
    }

    /// A container by `database/container`.
    pub(super) fn container(&self, link: &str) -> Result<Arc<Container>, Failure> {
        let found = self.engine.container(&container_path(link)?);
        found.map_err(|_| Failure::not_found(format!("there is no container {link:?}")))
    }
}

/// `database/container` as a path.
pub(super) fn container_path(link: &str) -> Result<ResourcePath, Failure> {
    let wrong = || Failure::bad_request(format!("{link:?} names no container (try \"database/container\")"));
    let (database, container) = link.split_once('/').ok_or_else(wrong)?;
    ResourcePath::database(database)
        .and_then(|path| path.child(ResourceType::Container, container))
        .map_err(|_| wrong())
}

/// A partition by id; 404 with the ids that there are.
pub(super) fn partition_of(
    container: &Container,
    id: &PartitionKeyRangeId,
) -> Result<Arc<PartitionRange>, Failure> {
    let layout = container.layout();
    layout.range(id).cloned().map_err(|_| {
        let known: Vec<_> = layout.ranges().iter().map(|range| range.id.as_str()).collect();
        Failure::not_found(format!(
            "there is no partition {:?} in {:?} (there are: {})",
            id.as_str(),
            container.properties().id,
            known.join(", ")
        ))
    })
}
