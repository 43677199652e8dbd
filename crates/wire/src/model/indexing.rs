//! Which paths of a container are indexed, and how.
//!
//! Nothing here builds or uses an index, and paths are kept as they are written.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::ExtraMembers;

open_enum! {
    /// When the index follows a write.
    IndexingMode {
        /// With it.
        Consistent = "consistent",
        /// Never: items are found by id alone.
        None = "none",
        /// Some time after it, in containers of long ago.
        Lazy = "lazy",
    }
}

/// A container's `indexingPolicy`.
///
/// Its default is what the service gives a container that does not ask for anything: every path but the
/// entity tag. A list that is missing is not the same as an empty one: the service fills in the former.
///
/// ```
/// use cosmonaut_wire::model::{CompositeOrder, IndexingPolicy};
///
/// let policy = IndexingPolicy::default()
///     .with_excluded_path("/payload/*")
///     .with_composite_index([("/name", CompositeOrder::Ascending), ("/age", CompositeOrder::Descending)]);
/// assert_eq!(policy.excluded_paths.unwrap().len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexingPolicy {
    /// Whether items are indexed unless a write says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic: Option<bool>,
    /// When the index follows a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing_mode: Option<IndexingMode>,
    /// What is indexed, where the longer of two matching paths decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub included_paths: Option<Vec<IndexedPath>>,
    /// What is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded_paths: Option<Vec<IndexedPath>>,
    /// Paths that are sorted together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composite_indexes: Option<Vec<Vec<CompositePath>>>,
    /// Paths that hold shapes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spatial_indexes: Option<Vec<SpatialIndex>>,
    /// Paths that hold vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_indexes: Option<Vec<VectorIndex>>,
    /// Paths that hold text to search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_text_indexes: Option<Vec<FullTextIndex>>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl Default for IndexingPolicy {
    fn default() -> Self {
        Self {
            automatic: Some(true),
            indexing_mode: Some(IndexingMode::Consistent),
            included_paths: Some(vec![IndexedPath::new("/*")]),
            excluded_paths: Some(vec![IndexedPath::new("/\"_etag\"/?")]),
            composite_indexes: None,
            spatial_indexes: None,
            vector_indexes: None,
            full_text_indexes: None,
            extra: ExtraMembers::new(),
        }
    }
}

impl IndexingPolicy {
    /// No index at all: items are found by id alone.
    pub fn none() -> Self {
        Self {
            automatic: Some(false),
            indexing_mode: Some(IndexingMode::None),
            included_paths: None,
            excluded_paths: None,
            ..Self::default()
        }
    }

    /// Adds a path to index, such as `/name/?` or `/address/*`.
    #[must_use]
    pub fn with_included_path(mut self, path: impl Into<String>) -> Self {
        self.included_paths.get_or_insert_default().push(IndexedPath::new(path));
        self
    }

    /// Adds a path to leave out.
    #[must_use]
    pub fn with_excluded_path(mut self, path: impl Into<String>) -> Self {
        self.excluded_paths.get_or_insert_default().push(IndexedPath::new(path));
        self
    }

    /// Adds paths to sort together, in the order of an `ORDER BY`.
    #[must_use]
    pub fn with_composite_index<P: Into<String>>(
        mut self,
        paths: impl IntoIterator<Item = (P, CompositeOrder)>,
    ) -> Self {
        let paths = paths.into_iter().map(|(path, order)| CompositePath::new(path, order)).collect();
        self.composite_indexes.get_or_insert_default().push(paths);
        self
    }

    /// Adds an index over shapes.
    #[must_use]
    pub fn with_spatial_index(mut self, index: SpatialIndex) -> Self {
        self.spatial_indexes.get_or_insert_default().push(index);
        self
    }

    /// Adds an index over vectors.
    #[must_use]
    pub fn with_vector_index(mut self, index: VectorIndex) -> Self {
        self.vector_indexes.get_or_insert_default().push(index);
        self
    }

    /// Adds an index over text at `path`.
    #[must_use]
    pub fn with_full_text_index(mut self, path: impl Into<String>) -> Self {
        let index = FullTextIndex { path: path.into(), extra: ExtraMembers::new() };
        self.full_text_indexes.get_or_insert_default().push(index);
        self
    }
}

/// A path that is included in the index or excluded from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexedPath {
    /// Ends in `/?` for one value, in `/*` for everything below.
    pub path: String,
    /// How old containers said what to index there; the service ignores it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexes: Option<Vec<Value>>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl IndexedPath {
    /// The path by itself.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), indexes: None, extra: ExtraMembers::new() }
    }
}

open_enum! {
    /// The direction in which a composite index is sorted.
    CompositeOrder {
        Ascending = "ascending",
        Descending = "descending",
    }
}

/// One of the paths that a composite index sorts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompositePath {
    /// The path, without a wildcard: `/name`.
    pub path: String,
    /// The direction; ascending if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<CompositeOrder>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl CompositePath {
    /// The path in a direction.
    pub fn new(path: impl Into<String>, order: CompositeOrder) -> Self {
        Self { path: path.into(), order: Some(order), extra: ExtraMembers::new() }
    }

    /// The direction; a path that does not say is ascending.
    pub fn order(&self) -> &CompositeOrder {
        self.order.as_ref().unwrap_or(&CompositeOrder::Ascending)
    }
}

open_enum! {
    /// A shape that a spatial index covers.
    SpatialType {
        Point = "Point",
        LineString = "LineString",
        Polygon = "Polygon",
        MultiPolygon = "MultiPolygon",
    }
}

/// An index over shapes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpatialIndex {
    /// Where the shapes are: `/location/*`.
    pub path: String,
    /// Which shapes; all of them if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<SpatialType>>,
    /// Where on a plane most shapes are; every index has one there, and none on the globe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounding_box: Option<BoundingBox>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl SpatialIndex {
    /// An index over the shapes at `path`.
    pub fn new(path: impl Into<String>, types: impl IntoIterator<Item = SpatialType>) -> Self {
        let types = Some(types.into_iter().collect());
        Self { path: path.into(), types, bounding_box: None, extra: ExtraMembers::new() }
    }

    /// Sets [`SpatialIndex::bounding_box`].
    #[must_use]
    pub fn with_bounding_box(mut self, bounding_box: BoundingBox) -> Self {
        self.bounding_box = Some(bounding_box);
        self
    }
}

/// A part of the plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundingBox {
    /// The least first coordinate.
    #[serde(serialize_with = "plain_number")]
    pub xmin: f64,
    /// The least second coordinate.
    #[serde(serialize_with = "plain_number")]
    pub ymin: f64,
    /// The greatest first coordinate.
    #[serde(serialize_with = "plain_number")]
    pub xmax: f64,
    /// The greatest second coordinate.
    #[serde(serialize_with = "plain_number")]
    pub ymax: f64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl BoundingBox {
    /// From the least coordinates, x and y, to the greatest.
    pub fn new(least: [f64; 2], greatest: [f64; 2]) -> Self {
        let ([xmin, ymin], [xmax, ymax]) = (least, greatest);
        Self { xmin, ymin, xmax, ymax, extra: ExtraMembers::new() }
    }
}

/// A number without a fraction is written without one, as clients do.
fn plain_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let whole = *number as i64;
    match whole as f64 == *number && whole.unsigned_abs() < 1 << 53 {
        true => serializer.serialize_i64(whole),
        false => serializer.serialize_f64(*number),
    }
}

open_enum! {
    /// How vectors are searched.
    VectorIndexType {
        /// Every vector is compared.
        Flat = "flat",
        /// Every vector is compared, compressed.
        QuantizedFlat = "quantizedFlat",
        /// A graph leads to near ones.
        DiskAnn = "diskANN",
    }
}

/// An index over vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VectorIndex {
    /// Where the vector is.
    pub path: String,
    /// How it is searched.
    #[serde(rename = "type")]
    pub kind: VectorIndexType,
    /// How many bytes a compressed vector takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization_byte_size: Option<u32>,
    /// How many candidates are kept while the graph is built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing_search_list_size: Option<u32>,
    /// Paths whose values each get a graph of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_index_shard_key: Option<Vec<String>>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl VectorIndex {
    /// An index of `kind` over the vectors at `path`.
    pub fn new(path: impl Into<String>, kind: VectorIndexType) -> Self {
        Self {
            path: path.into(),
            kind,
            quantization_byte_size: None,
            indexing_search_list_size: None,
            vector_index_shard_key: None,
            extra: ExtraMembers::new(),
        }
    }
}

/// An index over text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullTextIndex {
    /// Where the text is.
    pub path: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_default_is_what_the_service_gives() {
        let expected = json!({
            "automatic": true,
            "indexingMode": "consistent",
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/\"_etag\"/?"}],
        });
        assert_eq!(serde_json::to_value(IndexingPolicy::default()).unwrap(), expected);
    }

    #[test]
    fn missing_and_empty_lists_stay_apart() {
        for document in [json!({}), json!({"includedPaths": [], "compositeIndexes": []})] {
            let policy: IndexingPolicy = serde_json::from_value(document.clone()).unwrap();
            assert_eq!(serde_json::to_value(&policy).unwrap(), document);
        }
    }

    #[test]
    fn builders_write_the_service_names() {
        let policy = IndexingPolicy::none()
            .with_included_path("/a/?")
            .with_composite_index([("/a", CompositeOrder::Ascending), ("/b", CompositeOrder::Descending)])
            .with_spatial_index(SpatialIndex::new("/s/*", [SpatialType::Point]))
            .with_spatial_index(
                SpatialIndex::new("/g/*", [SpatialType::Polygon])
                    .with_bounding_box(BoundingBox::new([-10.0, 0.5], [10.0, 20.0])),
            )
            .with_vector_index(VectorIndex::new("/v", VectorIndexType::DiskAnn))
            .with_full_text_index("/t");
        let expected = json!({
            "automatic": false,
            "indexingMode": "none",
            "includedPaths": [{"path": "/a/?"}],
            "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
            "spatialIndexes": [
                {"path": "/s/*", "types": ["Point"]},
                {
                    "path": "/g/*",
                    "types": ["Polygon"],
                    "boundingBox": {"xmin": -10, "ymin": 0.5, "xmax": 10, "ymax": 20},
                },
            ],
            "vectorIndexes": [{"path": "/v", "type": "diskANN"}],
            "fullTextIndexes": [{"path": "/t"}],
        });
        assert_eq!(serde_json::to_value(&policy).unwrap(), expected);
    }
}
