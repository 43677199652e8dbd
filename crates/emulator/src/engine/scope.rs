//! What part of a container a feed or query covers.
//!
//! It says where to look, not what to look for.

use std::sync::Arc;

use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionKeyKind};
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, PartitionKey, PartitionKeyRangeId};

use super::{Layout, PartitionRange};
use crate::Failure;

/// What part of a container a feed or query covers.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedScope {
    /// All of it.
    Container,
    /// One physical partition, by id.
    Range(PartitionKeyRangeId),
    /// A part of one physical partition: the keys of `part` that it holds.
    RangePart {
        /// The partition.
        id: PartitionKeyRangeId,
        /// The keys.
        part: EpkRange,
    },
    /// A range of keys, wherever they are.
    Epk(EpkRange),
    /// One partition key, or all that begin with a hierarchical prefix.
    Key(PartitionKey),
}

impl FeedScope {
    /// The partitions to read, in the order of their keys, each with the keys to read from it.
    ///
    /// A partition id that the layout does not have is 410/1002.
    pub fn resolve(
        &self,
        layout: &Layout,
        definition: &PartitionKeyDefinition,
    ) -> Result<Vec<(Arc<PartitionRange>, EpkRange)>, Failure> {
        let whole = |range: &Arc<PartitionRange>| (Arc::clone(range), range.range.clone());
        Ok(match self {
            Self::Container => layout.ranges().iter().map(whole).collect(),
            Self::Range(id) => vec![whole(layout.range(id)?)],
            Self::RangePart { id, part } => {
                let range = layout.range(id)?;
                range.range.intersection(part).map(|keys| (Arc::clone(range), keys)).into_iter().collect()
            }
            Self::Epk(part) => overlapping(layout, part),
            Self::Key(key) => overlapping(layout, &keys_of(key, definition)?),
        })
    }
}

/// The places on the ring of a whole key, or of all that begin with a hierarchical prefix.
pub(crate) fn keys_of(key: &PartitionKey, definition: &PartitionKeyDefinition) -> Result<EpkRange, Failure> {
    if key.components().is_empty() && *definition.kind() != PartitionKeyKind::MultiHash {
        // Items outside of any key lie at the start of the ring, before all hashes.
        return Ok(EpkRange {
            min: EffectivePartitionKey::MIN,
            max: EffectivePartitionKey::from_bytes(&[0]),
        });
    }
    key.range(definition).map_err(|error| Failure::bad_request(error.to_string()))
}

fn overlapping(layout: &Layout, part: &EpkRange) -> Vec<(Arc<PartitionRange>, EpkRange)> {
    let shared = |range: &Arc<PartitionRange>| Some((Arc::clone(range), range.range.intersection(part)?));
    layout.ranges().iter().filter_map(shared).collect()
}
