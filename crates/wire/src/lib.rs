//! What both ends of a Cosmos DB connection agree on, as bytes.
//!
//! Headers, statuses, paths, signing, partition keys and their hash, session tokens, resource ids, JSON
//! shapes, binary JSON and the frames of Gateway 2.0. It holds no behaviour that one end alone has, and does no IO.

mod auth;
pub mod binary;
mod etag;
pub mod headers;
pub mod json_text;
mod levels;
pub mod model;
#[doc(hidden)]
pub mod mutations;
pub mod partition_key;
mod path;
mod region;
mod resource;
mod rid;
pub mod rntbd;
mod session_token;
mod status;

pub use auth::{Authorization, AuthorizationError, EMULATOR_KEY, MasterKey, MasterKeyError, SignedParts};
pub use etag::Etag;
pub use levels::{ConsistencyLevel, IndexingDirective, PriorityLevel, ReadConsistencyStrategy, UnknownName};
pub use partition_key::{EffectivePartitionKey, EpkRange, PartitionKey, PartitionKeyValue};
pub use path::{PathError, ResourcePath, unescape};
pub use region::{EmptyRegionName, RegionName};
pub use resource::ResourceType;
pub use rid::{ResourceId, ResourceIdError};
pub use session_token::{
    Lsn, PartitionKeyRangeId, PartitionToken, RegionMismatch, SessionToken, SessionTokenError,
};
pub use status::CosmosStatus;

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
