//! A container as the service describes it.
//!
//! Its policies have their own files ([`indexing`](super::IndexingPolicy) and the rest); its throughput is an
//! [`Offer`](super::Offer).

use serde::{Deserialize, Serialize};

use super::{
    ChangeFeedPolicy, ComputedProperty, ConflictResolutionPolicy, ExtraMembers, FullTextPolicy,
    GeospatialConfig, GeospatialType, IndexingPolicy, PartitionKeyDefinition, TimeToLive, UniqueKeyPolicy,
    VectorEmbeddingPolicy,
};

/// The body of a container: sent to create or replace one, received from a read.
///
/// ```
/// use cosmonaut_wire::model::{ContainerProperties, IndexingPolicy};
///
/// let container = ContainerProperties::new("orders", "/customer")
///     .with_indexing_policy(IndexingPolicy::default().with_excluded_path("/blob/*"));
/// assert_eq!(container.partition_key.paths, ["/customer"]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerProperties {
    /// The name, unique in the database.
    pub id: String,
    /// Where a document says which partition it belongs to.
    pub partition_key: PartitionKeyDefinition,
    /// Which paths are indexed, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing_policy: Option<IndexingPolicy>,
    /// Which values may occur once only in a logical partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_key_policy: Option<UniqueKeyPolicy>,
    /// Who wins when two regions write one document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_resolution_policy: Option<ConflictResolutionPolicy>,
    /// How long documents live; without it, for ever, whatever their own `ttl` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_ttl: Option<TimeToLive>,
    /// How long the analytical store keeps documents, in seconds: -1 for ever, 0 not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analytical_storage_ttl: Option<i64>,
    /// Properties that queries see and documents do not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computed_properties: Option<Vec<ComputedProperty>>,
    /// How long the change feed keeps every version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_feed_policy: Option<ChangeFeedPolicy>,
    /// Whether points lie on the globe or on a plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geospatial_config: Option<GeospatialConfig>,
    /// Which paths hold vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_embedding_policy: Option<VectorEmbeddingPolicy>,
    /// Which paths hold text to search, and in which language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_text_policy: Option<FullTextPolicy>,
    /// The resource id.
    #[serde(rename = "_rid", skip_serializing_if = "Option::is_none")]
    pub rid: Option<String>,
    /// The link by resource id.
    #[serde(rename = "_self", skip_serializing_if = "Option::is_none")]
    pub self_link: Option<String>,
    /// The entity tag of this version, quotes included.
    #[serde(rename = "_etag", skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it last changed, in seconds since 1970.
    #[serde(rename = "_ts", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// The link to its documents, relative to `self_link` like those below.
    #[serde(rename = "_docs", skip_serializing_if = "Option::is_none")]
    pub documents_link: Option<String>,
    /// The link to its stored procedures.
    #[serde(rename = "_sprocs", skip_serializing_if = "Option::is_none")]
    pub stored_procedures_link: Option<String>,
    /// The link to its triggers.
    #[serde(rename = "_triggers", skip_serializing_if = "Option::is_none")]
    pub triggers_link: Option<String>,
    /// The link to its user-defined functions.
    #[serde(rename = "_udfs", skip_serializing_if = "Option::is_none")]
    pub user_defined_functions_link: Option<String>,
    /// The link to its conflicts.
    #[serde(rename = "_conflicts", skip_serializing_if = "Option::is_none")]
    pub conflicts_link: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl ContainerProperties {
    /// A container to create, with the service's defaults for everything else.
    pub fn new(id: impl Into<String>, partition_key: impl Into<PartitionKeyDefinition>) -> Self {
        Self {
            id: id.into(),
            partition_key: partition_key.into(),
            indexing_policy: None,
            unique_key_policy: None,
            conflict_resolution_policy: None,
            default_ttl: None,
            analytical_storage_ttl: None,
            computed_properties: None,
            change_feed_policy: None,
            geospatial_config: None,
            vector_embedding_policy: None,
            full_text_policy: None,
            rid: None,
            self_link: None,
            etag: None,
            timestamp: None,
            documents_link: None,
            stored_procedures_link: None,
            triggers_link: None,
            user_defined_functions_link: None,
            conflicts_link: None,
            extra: ExtraMembers::new(),
        }
    }

    /// Sets [`ContainerProperties::indexing_policy`].
    #[must_use]
    pub fn with_indexing_policy(mut self, policy: IndexingPolicy) -> Self {
        self.indexing_policy = Some(policy);
        self
    }

    /// Sets [`ContainerProperties::unique_key_policy`].
    #[must_use]
    pub fn with_unique_key_policy(mut self, policy: UniqueKeyPolicy) -> Self {
        self.unique_key_policy = Some(policy);
        self
    }

    /// Sets [`ContainerProperties::conflict_resolution_policy`].
    #[must_use]
    pub fn with_conflict_resolution_policy(mut self, policy: ConflictResolutionPolicy) -> Self {
        self.conflict_resolution_policy = Some(policy);
        self
    }

    /// Sets [`ContainerProperties::default_ttl`].
    #[must_use]
    pub fn with_default_ttl(mut self, ttl: TimeToLive) -> Self {
        self.default_ttl = Some(ttl);
        self
    }

    /// Adds to [`ContainerProperties::computed_properties`].
    #[must_use]
    pub fn with_computed_property(mut self, property: ComputedProperty) -> Self {
        self.computed_properties.get_or_insert_default().push(property);
        self
    }

    /// Sets [`ContainerProperties::change_feed_policy`].
    #[must_use]
    pub fn with_change_feed_policy(mut self, policy: ChangeFeedPolicy) -> Self {
        self.change_feed_policy = Some(policy);
        self
    }

    /// Sets [`ContainerProperties::geospatial_config`].
    #[must_use]
    pub fn with_geospatial_type(mut self, kind: GeospatialType) -> Self {
        let extra = self.geospatial_config.take().map(|config| config.extra).unwrap_or_default();
        self.geospatial_config = Some(GeospatialConfig { kind: Some(kind), extra });
        self
    }

    /// Sets [`ContainerProperties::vector_embedding_policy`].
    #[must_use]
    pub fn with_vector_embedding_policy(mut self, policy: VectorEmbeddingPolicy) -> Self {
        self.vector_embedding_policy = Some(policy);
        self
    }

    /// Sets [`ContainerProperties::full_text_policy`].
    #[must_use]
    pub fn with_full_text_policy(mut self, policy: FullTextPolicy) -> Self {
        self.full_text_policy = Some(policy);
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_container_says_its_name_and_key_and_nothing_else() {
        let written = serde_json::to_value(ContainerProperties::new("c", ["/tenant", "/user"])).unwrap();
        let key = json!({"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2});
        assert_eq!(written, json!({"id": "c", "partitionKey": key}));
    }
}
