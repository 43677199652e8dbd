//! How a container of the provider should be: its partition key, what is indexed, and that documents may expire.

use cosmonaut::model::{IndexedPath, IndexingMode};
use cosmonaut::{ContainerProperties, IndexingPolicy, TimeToLive};

/// By what documents are spread. Fixed for ever: a container cannot change it.
pub(crate) const PARTITION_KEY: &str = "/instanceId";

/// What queries search and sort by. Everything else, above all the bodies, is not indexed.
pub(super) const INDEXED: [&str; 13] = [
    "/type/?",
    "/instanceId/?",
    "/visibleAt/?",
    "/lock/until/?",
    "/execution/?",
    "/session/?",
    "/owner/?",
    "/until/?",
    "/state/exists/?",
    "/state/status/?",
    "/state/parent/?",
    "/state/createdAt/?",
    "/state/completedAt/?",
];

/// What lists are sorted by: the service refuses such a query if the path is not indexed.
pub(super) const SORTED_BY: &str = "/state/createdAt/?";

/// Texts of users, which may be long: an index of them costs more than the writes themselves.
pub(super) const BODIES: [&str; 7] = [
    "/body/?",
    "/text/?",
    "/output/?",
    "/state/output/?",
    "/state/customStatus/?",
    "/store/value/?",
    "/delta/value/value/?",
];

/// The container as the provider makes it.
pub(crate) fn properties(container: &str) -> ContainerProperties {
    let policy = IndexingPolicy {
        indexing_mode: Some(IndexingMode::Consistent),
        included_paths: Some(INDEXED.map(IndexedPath::new).to_vec()),
        excluded_paths: Some(vec![IndexedPath::new("/*")]),
        ..IndexingPolicy::default()
    };
    ContainerProperties::new(container, PARTITION_KEY)
        .with_indexing_policy(policy)
        .with_default_ttl(TimeToLive::NoExpiry)
}
