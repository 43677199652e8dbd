//! Where a part of a container is: the physical partitions that hold it now.

use cosmonaut_driver::{OperationOptions, PartitionInfo, PartitionTarget};
use cosmonaut_wire::EpkRange;

use crate::container::ContainerHandle;
use crate::feed_scope::ResolvedScope;
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
/// known, within the time of a call with these options.
pub(crate) async fn places(
    handle: &ContainerHandle,
    scope: &ResolvedScope,
    range: &EpkRange,
    refresh: bool,
    options: &OperationOptions,
) -> Result<Vec<Place>> {
    if let Some(key) = &scope.key {
        // The driver finds a key by itself, also after a split.
        return Ok(vec![Place { range: scope.range.clone(), target: key.clone().into() }]);
    }
    let partitions = handle.partitions(refresh, options).await?;
    Ok(cut(partitions, range))
}

/// The parts of a range by the partitions that hold them. A range that is smaller than its partition, as it is after a
/// merge, is asked for by its own bounds.
fn cut(partitions: Vec<PartitionInfo>, range: &EpkRange) -> Vec<Place> {
    let shared = |partition: PartitionInfo| {
        let part = partition.range.intersection(range)?;
        let id = partition.id.range().clone();
        let target = if part == partition.range {
            PartitionTarget::Range(id)
        } else {
            PartitionTarget::Epk { range: part.clone(), partition: Some(id) }
        };
        Some(Place { range: part, target })
    };
    partitions.into_iter().filter_map(shared).collect()
}

/// Whether a request failed because its partition is not there any more, so that its children are to be asked.
pub(crate) fn has_moved(error: &Error) -> bool {
    error.status().is_some_and(cosmonaut_wire::CosmosStatus::is_partition_map_stale)
}

/// Whether a request was refused because its container's name is another container's now.
pub(crate) fn is_of_another_container(error: &Error) -> bool {
    error.status() == Some(cosmonaut_wire::CosmosStatus::COLLECTION_RID_MISMATCH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::even_partitions::partitions;

    /// The places of all ranges, and for each which range it is of.
    fn places_of(ranges: &[EpkRange], now: u8) -> Vec<(usize, Place)> {
        let of = |(nth, range)| cut(partitions(now, ""), range).into_iter().map(move |place| (nth, place));
        ranges.iter().enumerate().flat_map(of).collect()
    }

    proptest! {
        /// A token names parts of the key space; partitions may have split and merged since it was given.
        #[test]
        fn parts_keep_apart_and_whole_whatever_has_split_or_merged(before in 1u8..9, now in 1u8..9) {
            let ranges: Vec<EpkRange> = partitions(before, "").into_iter().map(|old| old.range).collect();
            let places = places_of(&ranges, now);
            let mut end = EpkRange::FULL.min;
            for (nth, place) in &places {
                prop_assert_eq!(&place.range.min, &end, "no key is left out, none is asked for twice");
                end = place.range.max.clone();
                prop_assert!(ranges[*nth].contains_range(&place.range));
                let holder = partitions(now, "").into_iter().find(|new| new.range.contains_range(&place.range));
                let holder = holder.expect("one partition has all of a place");
                let id = holder.id.range().clone();
                let expected = match holder.range == place.range {
                    true => PartitionTarget::Range(id),
                    false => PartitionTarget::Epk { range: place.range.clone(), partition: Some(id) },
                };
                prop_assert_eq!(&place.target, &expected);
            }
            prop_assert_eq!(end, EpkRange::FULL.max);
        }
    }

    #[test]
    fn a_merged_partition_is_asked_for_each_of_its_parts() {
        let ranges: Vec<EpkRange> = partitions(4, "").into_iter().map(|old| old.range).collect();
        let places = places_of(&ranges, 2);
        let targets: Vec<_> = places.iter().map(|(_, place)| &place.target).collect();
        let part = |nth: usize, id: &str| PartitionTarget::Epk {
            range: ranges[nth].clone(),
            partition: Some(id.into()),
        };
        assert_eq!(targets, [&part(0, "0"), &part(1, "0"), &part(2, "1"), &part(3, "1")]);
    }
}
