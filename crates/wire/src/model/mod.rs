//! The JSON shapes that both ends of a connection agree on, one file per resource.
//!
//! Only shapes and the checks that follow from them live here: nothing is sent, stored, defaulted on a
//! server's behalf or evaluated.
//!
//! Three conventions hold throughout:
//!
//! - An optional member that is missing is `None`, and is not written. `null` reads as missing.
//! - Documents that a client reads, changes and writes back (account, database, container, offer) keep the
//!   members they do not know, at every level, in `extra`.
//! - Sets of strings that the service may extend keep a string they do not know as `Other`; sets on which an
//!   end must act (batch operations, patch operations, aggregates) refuse it.

#[macro_use]
mod open_enum;

mod account;
mod batch;
mod change_feed;
mod container;
mod container_policies;
mod database;
mod error;
mod feed;
mod indexing;
mod json;
mod json_place;
mod key_definition;
mod offer;
mod partition_range;
mod patch;
mod query;
mod query_execution_info;
mod query_plan;
mod routing;

pub use account::{
    AccountLocation, AccountProperties, ConsistencyPolicy, QueryEngineConfiguration, ReadPolicy,
    ReplicationPolicy,
};
pub use batch::{
    BatchOperation, BatchOperationType, BatchResult, InvalidBatchOperation, MAX_BATCH_BYTES,
    MAX_BATCH_OPERATIONS,
};
pub use change_feed::{ChangeMetadata, ChangeOperationType, FullFidelityChange};
pub use container::ContainerProperties;
pub use container_policies::{
    ChangeFeedPolicy, ComputedProperty, ConflictResolutionMode, ConflictResolutionPolicy, FullTextPath,
    FullTextPolicy, GeospatialConfig, GeospatialType, InvalidTimeToLive, TimeToLive, UniqueKey,
    UniqueKeyPolicy, VectorDataType, VectorDistanceFunction, VectorEmbedding, VectorEmbeddingPolicy,
};
pub use database::DatabaseProperties;
pub use error::ErrorBody;
pub use feed::FeedEnvelope;
pub use indexing::{
    BoundingBox, CompositeOrder, CompositePath, FullTextIndex, IndexedPath, IndexingMode, IndexingPolicy,
    SpatialIndex, SpatialType, VectorIndex, VectorIndexType,
};
pub use json::{JsonError, from_json, parse_value};
pub use key_definition::{InvalidPartitionKeyDefinition, PartitionKeyDefinition, PartitionKeyKind};
pub use offer::{
    AutoUpgradePolicy, AutoUpgradeThroughput, AutopilotSettings, InvalidThroughput, Offer, OfferContent,
    ThroughputProperties,
};
pub use partition_range::{PartitionKeyRange, PartitionKeyRangeStatus};
pub use patch::{
    InvalidPatch, InvalidPatchPath, MAX_PATCH_OPERATIONS, PatchDocument, PatchOperation, PatchPath,
};
pub use query::{QueryParameter, QuerySpec};
pub use query_execution_info::QueryExecutionInfo;
pub use query_plan::{
    AggregateKind, DCountInfo, DistinctType, HybridSearchQueryInfo, PartitionedQueryExecutionInfo, QueryInfo,
    QueryRange, SortOrder,
};
pub use routing::{ContainerDescription, RangeDescription};

/// The members of a document that this version does not know, kept so that writing it back loses nothing.
pub type ExtraMembers = serde_json::Map<String, serde_json::Value>;

#[cfg(test)]
mod tests;
