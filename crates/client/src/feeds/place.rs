//! Where a part of a container is: the physical partitions that hold it now.

use cosmonaut_driver::PartitionTarget;
use cosmonaut_wire::EpkRange;

use crate::container::ContainerHandle;
use crate::feed_range::ResolvedScope;
use crate::{Error, Result};

/// A part of a container that one request can be for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) range: EpkRange,
    pub(crate) target: PartitionTarget,
}

/// How often partitions may turn out to be elsewhere before anything is read of them.
pub(crate) const MOST_MOVES: u32 = 8;

/// The places that hold a range of a scope now, in the order of the key space. `refresh` asks even if they are
/// known.
pub(crate) async fn places(
    handle: &ContainerHandle,
    scope: &ResolvedScope,
    range: &EpkRange,
    refresh: bool,
) -> Result<Vec<Place>> {
    if let Some(key) = &scope.key {
        // The driver finds a key by itself, also after a split.
        return Ok(vec![Place { range: scope.range.clone(), target: key.clone().into() }]);
    }
    let partitions = handle.driver.partitions(&handle.path, refresh).await?;
    let shared = |partition: cosmonaut_driver::PartitionInfo| {
        let part = partition.range.intersection(range)?;
        let id = partition.id.range().clone();
        let target = if part == partition.range {
            PartitionTarget::Range(id)
        } else {
            PartitionTarget::Epk { range: part.clone(), partition: Some(id) }
        };
        Some(Place { range: part, target })
    };
    Ok(partitions.into_iter().filter_map(shared).collect())
}

/// Whether a request failed because its partition is not there any more, so that its children are to be asked.
pub(crate) fn has_moved(error: &Error) -> bool {
    error.status().is_some_and(cosmonaut_wire::CosmosStatus::is_partition_map_stale)
}
