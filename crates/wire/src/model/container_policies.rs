//! The smaller policies of a container: time to live, unique keys, conflicts, computed properties, change
//! feed, geography, vectors and full text.
//!
//! Indexing has its own file; nothing here is enforced.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::ExtraMembers;

/// How long documents live: a container's `defaultTtl`, and an item's own `ttl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum TimeToLive {
    /// `-1`: expiry is on, but nothing expires unless a document says so itself.
    NoExpiry,
    /// This many seconds after the last write; at most [`TimeToLive::MAX_SECONDS`].
    Seconds(NonZeroU32),
}

impl TimeToLive {
    /// The longest time that the service takes.
    pub const MAX_SECONDS: u32 = i32::MAX as u32;

    /// Documents expire `seconds` after their last write.
    pub fn seconds(seconds: u32) -> Result<Self, InvalidTimeToLive> {
        match NonZeroU32::new(seconds) {
            Some(n) if seconds <= Self::MAX_SECONDS => Ok(Self::Seconds(n)),
            _ => Err(InvalidTimeToLive(i64::from(seconds))),
        }
    }
}

impl TryFrom<i64> for TimeToLive {
    type Error = InvalidTimeToLive;

    fn try_from(value: i64) -> Result<Self, InvalidTimeToLive> {
        match value {
            -1 => Ok(Self::NoExpiry),
            _ => u32::try_from(value).map_err(|_| InvalidTimeToLive(value)).and_then(Self::seconds),
        }
    }
}

impl From<TimeToLive> for i64 {
    fn from(ttl: TimeToLive) -> Self {
        match ttl {
            TimeToLive::NoExpiry => -1,
            TimeToLive::Seconds(seconds) => i64::from(seconds.get()),
        }
    }
}

/// A number that is no time to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTimeToLive(pub i64);

impl fmt::Display for InvalidTimeToLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = TimeToLive::MAX_SECONDS;
        write!(f, "{} is not a time to live (try -1, or 1 to {most} seconds)", self.0)
    }
}

impl std::error::Error for InvalidTimeToLive {}

/// Values that may occur once only in a logical partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UniqueKeyPolicy {
    /// The keys; each is unique by itself.
    pub unique_keys: Vec<UniqueKey>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl UniqueKeyPolicy {
    /// Adds the combination of values at `paths`.
    #[must_use]
    pub fn with_key(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let paths = paths.into_iter().map(Into::into).collect();
        self.unique_keys.push(UniqueKey { paths, extra: ExtraMembers::new() });
        self
    }
}

/// One combination of values that may occur once only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UniqueKey {
    /// Where the values are in a document.
    pub paths: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

open_enum! {
    /// How a conflict between regions is decided.
    ConflictResolutionMode {
        /// The larger number at a path wins.
        LastWriterWins = "LastWriterWins",
        /// A stored procedure, or the reader of the conflict feed, decides.
        Custom = "Custom",
    }
}

/// Who wins when two regions write one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictResolutionPolicy {
    /// How it is decided.
    pub mode: ConflictResolutionMode,
    /// Where the number to compare is; `/_ts` if nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution_path: Option<String>,
    /// The stored procedure that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution_procedure: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl ConflictResolutionPolicy {
    /// The larger number at `path` wins.
    pub fn last_writer_wins(path: impl Into<String>) -> Self {
        Self {
            mode: ConflictResolutionMode::LastWriterWins,
            conflict_resolution_path: Some(path.into()),
            conflict_resolution_procedure: None,
            extra: ExtraMembers::new(),
        }
    }

    /// The stored procedure decides; without one, conflicts stay in the conflict feed.
    pub fn custom(procedure: Option<String>) -> Self {
        Self {
            mode: ConflictResolutionMode::Custom,
            conflict_resolution_path: None,
            conflict_resolution_procedure: procedure,
            extra: ExtraMembers::new(),
        }
    }
}

/// A property that queries see and documents do not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComputedProperty {
    /// Its name, as a query uses it.
    pub name: String,
    /// The query that computes it from one document: `SELECT VALUE LOWER(c.name) FROM c`.
    pub query: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl ComputedProperty {
    /// A property `name` that `query` computes.
    pub fn new(name: impl Into<String>, query: impl Into<String>) -> Self {
        Self { name: name.into(), query: query.into(), extra: ExtraMembers::new() }
    }
}

/// How long the change feed keeps every version and every delete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFeedPolicy {
    /// In minutes; 0 keeps latest versions only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_duration: Option<u32>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl ChangeFeedPolicy {
    /// Keeps every version for `minutes`.
    pub fn retain_minutes(minutes: u32) -> Self {
        Self { retention_duration: Some(minutes), extra: ExtraMembers::new() }
    }
}

open_enum! {
    /// What the coordinates of a point mean.
    GeospatialType {
        /// Degrees on the globe.
        Geography = "Geography",
        /// A plane without units.
        Geometry = "Geometry",
    }
}

/// Whether points lie on the globe or on a plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeospatialConfig {
    /// What coordinates mean; on the globe if it does not say.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<GeospatialType>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

open_enum! {
    /// The type of a vector's elements.
    VectorDataType {
        Float32 = "float32",
        Float16 = "float16",
        Uint8 = "uint8",
        Int8 = "int8",
    }
}

open_enum! {
    /// How the distance between two vectors is measured.
    VectorDistanceFunction {
        Euclidean = "euclidean",
        Cosine = "cosine",
        DotProduct = "dotproduct",
    }
}

/// Which paths hold vectors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VectorEmbeddingPolicy {
    /// The paths, and what is there.
    pub vector_embeddings: Vec<VectorEmbedding>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

/// A path that holds vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VectorEmbedding {
    /// Where the vector is in a document.
    pub path: String,
    /// The type of its elements; see [`VectorEmbedding::data_type`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_type: Option<VectorDataType>,
    /// How many elements it has; see [`VectorEmbedding::dimensions`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<i64>,
    /// How its distance to another is measured; see [`VectorEmbedding::distance_function`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_function: Option<VectorDistanceFunction>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl VectorEmbedding {
    /// Vectors of four-byte numbers at `path`, of so many dimensions.
    pub fn new(path: impl Into<String>, dimensions: u32, distance_function: VectorDistanceFunction) -> Self {
        Self {
            path: path.into(),
            data_type: Some(VectorDataType::Float32),
            dimensions: Some(dimensions.into()),
            distance_function: Some(distance_function),
            extra: ExtraMembers::new(),
        }
    }

    /// The type of its elements; four-byte numbers if it does not say.
    pub fn data_type(&self) -> &VectorDataType {
        self.data_type.as_ref().unwrap_or(&VectorDataType::Float32)
    }

    /// How many elements it has; 1,536 if it does not say.
    pub fn dimensions(&self) -> i64 {
        self.dimensions.unwrap_or(1536)
    }

    /// How its distance to another is measured; by the cosine if it does not say.
    pub fn distance_function(&self) -> &VectorDistanceFunction {
        self.distance_function.as_ref().unwrap_or(&VectorDistanceFunction::Cosine)
    }
}

/// Which paths hold text to search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FullTextPolicy {
    /// The language of paths that do not say, such as `en-US`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_language: Option<String>,
    /// The paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_text_paths: Option<Vec<FullTextPath>>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

/// A path that holds text to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullTextPath {
    /// Where the text is in a document.
    pub path: String,
    /// Its language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_minus_one_or_a_positive_number_of_seconds() {
        let cases = [
            (-1, Some(TimeToLive::NoExpiry)),
            (1, TimeToLive::seconds(1).ok()),
            (i64::from(i32::MAX), TimeToLive::seconds(TimeToLive::MAX_SECONDS).ok()),
            (0, None),
            (-2, None),
            (i64::from(i32::MAX) + 1, None),
            (i64::MIN, None),
        ];
        for (number, expected) in cases {
            assert_eq!(TimeToLive::try_from(number).ok(), expected, "{number}");
            assert_eq!(expected.map(i64::from), expected.map(|_| number), "{number}");
        }
    }

    #[test]
    fn a_wrong_time_to_live_is_named_with_its_remedy() {
        let error = serde_json::from_str::<TimeToLive>("0").unwrap_err().to_string();
        assert!(error.contains("0 is not a time to live (try -1"), "{error}");
    }
}
