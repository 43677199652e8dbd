//! What the driver knows about containers: resource id, partition key definition, partitions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use cosmonaut_policy::{CosmosOperation, PartitionTarget};
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::partition_key::KeyShapeError;
use cosmonaut_wire::{ResourceId, ResourcePath};
use http::HeaderValue;
use serde::Deserialize;

use super::{PartitionRange, RangeMap, SingleFlight};
use crate::error::{Error, ErrorKind};

/// At most this many containers are kept; beyond it all are read anew.
const MOST_CONTAINERS: usize = 10_000;

/// What the driver reads of a container's description. The rest is none of its business: a policy that it does
/// not know is no reason not to read items.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainerDescription {
    id: String,
    #[serde(rename = "_rid", default)]
    rid: String,
    partition_key: PartitionKeyDefinition,
}

/// A container.
pub(crate) struct Container {
    pub(crate) rid: ResourceId,
    /// The resource id as it travels.
    pub(crate) rid_header: HeaderValue,
    pub(crate) definition: PartitionKeyDefinition,
    pub(crate) ranges: SingleFlight<RangeMap>,
    /// Whether an answer came from another partition than expected.
    ranges_are_stale: AtomicBool,
    /// Which partition that was, and in which map it was missed: it is asked about once.
    doubted: AtomicU64,
    /// The shape of that map.
    doubted_shape: AtomicU64,
}

impl Container {
    /// A container as the service describes it.
    pub(crate) fn of(description: ContainerDescription) -> Result<Self, Error> {
        let ContainerDescription { id, rid: text, partition_key } = description;
        let invalid = || {
            let message = format!("container {id:?} has the resource id {text:?}, which is none");
            Error::new(ErrorKind::InvalidResponse, message)
        };
        Ok(Self {
            rid: text.parse().map_err(|_| invalid())?,
            rid_header: HeaderValue::try_from(&text).map_err(|_| invalid())?,
            definition: partition_key,
            ranges: SingleFlight::default(),
            ranges_are_stale: AtomicBool::new(false),
            doubted: AtomicU64::new(0),
            doubted_shape: AtomicU64::new(0),
        })
    }

    /// Notes that the partitions are not as known: this one has answered. A map that was read anew and is the same is
    /// not doubted again for the same reason.
    pub(crate) fn doubt_ranges(&self, answered_by: &HeaderValue) {
        let shape = self.shape();
        let mut reason = DefaultHasher::new();
        (answered_by.as_bytes(), shape).hash(&mut reason);
        let reason = reason.finish();
        if self.doubted.swap(reason, Ordering::Relaxed) != reason {
            self.doubted_shape.store(shape, Ordering::Relaxed);
            self.ranges_are_stale.store(true, Ordering::Release);
        }
    }

    /// Whether the partitions were found not to be as known, and have not been read since. Whoever goes by them
    /// nevertheless asks for a partition of which the session may know nothing.
    pub(crate) fn has_doubt(&self) -> bool {
        // Nearly always unset. A map of another shape has been read since, though nobody may have said so yet.
        self.ranges_are_stale.load(Ordering::Acquire)
            && self.doubted_shape.load(Ordering::Relaxed) == self.shape()
    }

    /// The shape of the partitions as they are known; 0 if they are not.
    fn shape(&self) -> u64 {
        self.ranges.current().map_or(0, |map| map.shape())
    }

    /// Notes that the partitions were read anew, or cannot be.
    pub(crate) fn end_doubt(&self) {
        self.ranges_are_stale.store(false, Ordering::Relaxed);
    }

    /// The partition that an operation is for; `None` if it is for several.
    ///
    /// # Errors
    /// A key that does not fit the container.
    pub(crate) fn partition<'a>(
        &self,
        operation: &CosmosOperation,
        ranges: &'a RangeMap,
    ) -> Result<Option<&'a PartitionRange>, KeyShapeError> {
        Ok(match operation.target() {
            PartitionTarget::None => None,
            PartitionTarget::Key { key, .. } => {
                let components = key.components().len();
                if components == self.definition.paths.len() || components == 0 {
                    ranges.holding(&key.effective(&self.definition)?)
                } else {
                    ranges.holding_all_of(&key.range(&self.definition)?)
                }
            }
            PartitionTarget::Range(id) => ranges.by_id(id),
            PartitionTarget::Epk { partition: Some(id), .. } => ranges.by_id(id),
            PartitionTarget::Epk { range, partition: None } => ranges.holding_all_of(range),
        })
    }
}

/// The containers that the driver knows, by their path.
#[derive(Default)]
pub(crate) struct ContainerCache {
    slots: ArcSwap<HashMap<Box<str>, SingleFlight<Container>>>,
}

impl ContainerCache {
    /// A container that is known already. Takes no lock and allocates nothing.
    pub(crate) fn known(&self, path: &str) -> Option<Arc<Container>> {
        self.slots.load().get(path)?.current()
    }

    /// The place for a container.
    pub(crate) fn slot(&self, path: &str) -> SingleFlight<Container> {
        if let Some(slot) = self.slots.load().get(path) {
            return slot.clone();
        }
        let new = SingleFlight::default();
        self.slots.rcu(|slots| {
            let mut next = if slots.len() < MOST_CONTAINERS { HashMap::clone(slots) } else { HashMap::new() };
            next.entry(path.into()).or_insert_with(|| new.clone());
            next
        });
        self.slots.load().get(path).cloned().unwrap_or(new)
    }

    /// Forgets a container, if it is still the one that was known.
    pub(crate) fn forget(&self, path: &str, container: &Arc<Container>) {
        self.slots.rcu(|slots| {
            let mut next = HashMap::clone(slots);
            let is_same = |slot: &SingleFlight<Container>| {
                slot.current().is_none_or(|current| Arc::ptr_eq(&current, container))
            };
            if next.get(path).is_some_and(is_same) {
                next.remove(path);
            }
            next
        });
    }
}

/// The container that a path is in, or names: `/dbs/x/colls/y`. `None` if it is in none.
pub(crate) fn container_path(path: &ResourcePath) -> Option<&str> {
    let text = path.as_str();
    let mut slashes = text.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(place, _)| place);
    let (_, _, kind, name) = (slashes.next()?, slashes.next()?, slashes.next()?, slashes.next()?);
    let end = slashes.next().unwrap_or(text.len());
    (text[kind..name] == *"/colls" && name + 1 < end).then(|| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_container() {
        for (path, expected) in [
            ("/dbs/d/colls/c", Some("/dbs/d/colls/c")),
            ("/dbs/d/colls/c/docs/1", Some("/dbs/d/colls/c")),
            ("/dbs/d/colls/c/docs", Some("/dbs/d/colls/c")),
            ("/dbs/d/colls", None),
            ("/dbs/d/users/u", None),
            ("/dbs/d", None),
            ("/", None),
        ] {
            assert_eq!(container_path(&ResourcePath::parse(path).unwrap()), expected, "{path}");
        }
    }

    fn container() -> Container {
        let description =
            r#"{"id":"c","_rid":"1FAbAPmd4Rw=","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        Container::of(serde_json::from_str(description).unwrap()).unwrap()
    }

    #[test]
    fn everybody_doubts_the_partitions_until_they_are_read_anew() {
        let container = container();
        assert!(!container.has_doubt());
        container.doubt_ranges(&HeaderValue::from_static("1"));
        assert!(container.has_doubt());
        assert!(container.has_doubt(), "nobody has read them meanwhile");
        container.end_doubt();
        assert!(!container.has_doubt());
        container.doubt_ranges(&HeaderValue::from_static("1"));
        assert!(!container.has_doubt(), "that one was asked about");
        container.doubt_ranges(&HeaderValue::from_static("2"));
        assert!(container.has_doubt());
    }

    #[test]
    fn a_container_is_forgotten_once() {
        let cache = ContainerCache::default();
        let container = Arc::new(container());
        let slot = cache.slot("/dbs/d/colls/c");
        assert!(slot.is(&cache.slot("/dbs/d/colls/c")));
        cache.forget("/dbs/d/colls/c", &container);
        assert!(!slot.is(&cache.slot("/dbs/d/colls/c")));
        assert!(cache.known("/dbs/d/colls/c").is_none());
    }
}
