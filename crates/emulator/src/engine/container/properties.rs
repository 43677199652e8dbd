//! What a container may look like, what the service fills in, and what may change afterwards.
//!
//! Acting on a policy is left to whoever it concerns.

use cosmonaut_query::Wording;
use cosmonaut_query::ast::SelectSpec;
use cosmonaut_wire::model::{
    ComputedProperty, ConflictResolutionPolicy, ContainerProperties, IndexedPath, IndexingMode,
    IndexingPolicy, PartitionKeyKind,
};
use cosmonaut_wire::{Etag, ResourceId, ResourcePath, ResourceType};
use serde_json::Value;

use super::encryption;
use super::search_policies;
use super::spatial;
use crate::engine::catalog::MAX_NAME;
use crate::engine::key::KeyReader;
use crate::engine::replica::Retention;
use crate::engine::resolution::{Resolution, decide_alike};
use crate::engine::unique::UniqueKeys;
use crate::index::{Index, has_old_index, is_root};
use crate::{Failure, Timestamp};

/// The most computed properties of a container.
const MAX_COMPUTED: usize = 20;

/// Checks the properties that a client sent for a new container or a replacement, and fills in the rest.
pub(crate) fn complete(
    mut properties: ContainerProperties,
    rid: ResourceId,
    etag: &Etag,
    now: Timestamp,
) -> Result<ContainerProperties, Failure> {
    check_name(&properties.id)?;
    KeyReader::new(&properties.partition_key)?;
    UniqueKeys::new(properties.unique_key_policy.as_ref())?;
    Resolution::new(properties.conflict_resolution_policy.as_ref())?;
    check_computed(&properties)?;
    properties.geospatial_config = Some(spatial::complete_config(properties.geospatial_config.take())?);
    spatial::check_indexes(&properties)?;
    search_policies::check(&properties)?;
    encryption::check(&properties)?;
    let policy = complete_indexing(properties.indexing_policy.take().unwrap_or_default());
    properties.indexing_policy = Some(policy);
    Index::of(&properties)?;
    properties.partition_key.kind.get_or_insert(PartitionKeyKind::Hash);
    properties.conflict_resolution_policy.get_or_insert_with(|| {
        let mut policy = ConflictResolutionPolicy::last_writer_wins("/_ts");
        policy.conflict_resolution_procedure = Some(String::new());
        policy
    });
    let database = rid.parent().unwrap_or(rid);
    properties.rid = Some(rid.to_string());
    properties.self_link = Some(format!("dbs/{database}/colls/{rid}/"));
    properties.etag = Some(etag.to_string());
    properties.timestamp = Some(now.seconds());
    properties.documents_link = Some("docs/".to_owned());
    properties.stored_procedures_link = Some("sprocs/".to_owned());
    properties.triggers_link = Some("triggers/".to_owned());
    properties.user_defined_functions_link = Some("udfs/".to_owned());
    properties.conflicts_link = Some("conflicts/".to_owned());
    Ok(properties)
}

/// 400 if a replacement changes what a container keeps for life.
pub(super) fn check_replacement(
    current: &ContainerProperties,
    new: &ContainerProperties,
) -> Result<(), Failure> {
    let keeps = |what: &str, same: bool| match same {
        true => Ok(()),
        false => Err(Failure::bad_request(format!(
            "the {what} of container {:?} cannot be changed: make a new container and copy its items",
            current.id
        ))),
    };
    let (old_key, new_key) = (&current.partition_key, &new.partition_key);
    keeps("id", current.id == new.id)?;
    keeps("partition key", old_key.paths == new_key.paths && old_key.kind() == new_key.kind())?;
    // A client that does not know about versions leaves it out.
    keeps("partition key version", new_key.version.is_none() || old_key.version() == new_key.version())?;
    let unique = |properties: &ContainerProperties| {
        let keys = properties.unique_key_policy.iter().flat_map(|policy| &policy.unique_keys);
        keys.map(|key| key.paths.clone()).collect::<Vec<_>>()
    };
    keeps("unique key policy", unique(current) == unique(new))?;
    // A client that does not care leaves it out.
    let resolution = (&current.conflict_resolution_policy, &new.conflict_resolution_policy);
    let alike = if let (Some(old), Some(new)) = resolution { decide_alike(old, new) } else { true };
    keeps("conflict resolution policy", alike)?;
    search_policies::check_replacement(current, new)
}

/// For how long all versions are kept where no policy says so: as long as an account of seven days of continuous backup
/// keeps them.
const BACKUP_MINUTES: u32 = 7 * 24 * 60;

/// How much of the log is kept by these properties, or because somebody reads all versions.
pub(crate) fn retention(properties: &ContainerProperties, is_followed: bool) -> Retention {
    match properties.change_feed_policy.as_ref().and_then(|policy| policy.retention_duration) {
        None | Some(0) if is_followed => Retention::Minutes(BACKUP_MINUTES),
        None | Some(0) => Retention::Tail,
        Some(minutes) => Retention::Minutes(minutes),
    }
}

fn check_name(id: &str) -> Result<(), Failure> {
    let path = ResourcePath::database("d").and_then(|database| database.child(ResourceType::Container, id));
    path.map(drop).map_err(|error| Failure::invalid_id(id, MAX_NAME, error))
}

fn check_computed(properties: &ContainerProperties) -> Result<(), Failure> {
    let computed = properties.computed_properties.as_deref().unwrap_or_default();
    if computed.len() > MAX_COMPUTED {
        return Err(Failure::bad_request(format!(
            "a container has at most {MAX_COMPUTED} computed properties, not {}",
            computed.len()
        )));
    }
    for (nth, ComputedProperty { name, query, .. }) in computed.iter().enumerate() {
        let problem = if name.is_empty() {
            "Computed property 'name' is either empty or unspecified.".to_owned()
        } else if query.is_empty() {
            "Computed property 'query' is either empty or unspecified.".to_owned()
        } else if name == "id" || name.starts_with('_') {
            format!("The system property name '{name}' cannot be used as a computed property name.")
        } else if computed[..nth].iter().any(|other| other.name == *name) {
            format!("Computed property name '{name}' cannot be used in multiple definitions.")
        } else {
            match read_computed(query) {
                Ok(SelectSpec::Value(_)) => continue,
                Ok(SelectSpec::Star | SelectSpec::List(_)) => format!(
                    "Required VALUE expression missing from computed property query '{query}' at index ({nth})."
                ),
                Err(wording) => format!(
                    "Computed property at index ({nth}) has a malformed query: '{query}' Error details: '{}'",
                    wording.to_json_with_numbers(query)
                ),
            }
        };
        return Err(Failure::bad_request(problem));
    }
    Ok(())
}

/// What the query of a computed property selects, or what the service says of the query.
fn read_computed(text: &str) -> Result<SelectSpec, Wording> {
    let query = cosmonaut_query::parse(text).map_err(|error| error.wording().clone())?;
    cosmonaut_query::check(&query, text).map_err(|error| error.wording().clone())?;
    Ok(query.select.spec)
}

/// Adds what the service adds to a policy that leaves it out.
fn complete_indexing(mut policy: IndexingPolicy) -> IndexingPolicy {
    let mode = policy.indexing_mode.get_or_insert(IndexingMode::Consistent);
    if *mode == IndexingMode::None {
        policy.automatic.get_or_insert(true);
        return policy;
    }
    // An index that is there follows every write, whatever the policy says.
    policy.automatic = Some(true);
    let excluded = policy.excluded_paths.get_or_insert_default();
    let excludes_all = excluded.iter().any(|path| is_root(&path.path));
    const ETAG: &str = "/\"_etag\"/?";
    if !excluded.iter().any(|path| path.path == ETAG) {
        excluded.push(IndexedPath::new(ETAG));
    }
    let all = || if excludes_all { Vec::new() } else { vec![IndexedPath::new("/*")] };
    // A spatial index reads back as it was written.
    for path in policy.included_paths.get_or_insert_with(all).iter_mut().filter(|path| !has_old_index(path)) {
        path.indexes.iter_mut().flatten().for_each(complete_index);
    }
    policy
}

/// A kind of index that does not say how precise it is has full precision.
fn complete_index(index: &mut Value) {
    if let Some(index) = index.as_object_mut() {
        index.entry("precision").or_insert(Value::from(-1));
    }
}
