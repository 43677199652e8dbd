//! What a driver reads of containers and their partitions, to find the way to an item.
//!
//! The rest of those documents is none of its business: a policy that it does not know is no reason not to read items.

use serde::Deserialize;

use super::PartitionKeyDefinition;
use crate::{EffectivePartitionKey, PartitionKeyRangeId};

/// What a driver reads of a container.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerDescription {
    /// The name.
    pub id: String,
    /// The resource id as written; empty if there is none.
    #[serde(rename = "_rid", default)]
    pub rid: String,
    /// How items are partitioned.
    pub partition_key: PartitionKeyDefinition,
}

impl ContainerDescription {
    /// Reads the body of a container.
    pub fn parse(body: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }
}

/// What a driver reads of a partition.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RangeDescription {
    /// The id.
    pub id: PartitionKeyRangeId,
    /// Where the partition begins.
    pub min_inclusive: EffectivePartitionKey,
    /// Where the next one begins.
    pub max_exclusive: EffectivePartitionKey,
    /// `null`, missing or empty without any, depending on the server.
    pub parents: Option<Vec<PartitionKeyRangeId>>,
}

impl RangeDescription {
    /// Reads the document of a partition.
    pub fn parse(document: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(document)
    }

    /// The partitions that it was split from.
    pub fn parents(&self) -> &[PartitionKeyRangeId] {
        self.parents.as_deref().unwrap_or_default()
    }
}
