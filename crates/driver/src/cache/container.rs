//! What the driver knows about containers: resource id, partition key definition, partitions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use cosmonaut_policy::{CosmosOperation, PartitionTarget};
use cosmonaut_wire::model::{ContainerDescription, PartitionKeyDefinition};
use cosmonaut_wire::partition_key::KeyShapeError;
use cosmonaut_wire::{PartitionKeyRangeId, ResourceId, ResourcePath};
use http::HeaderValue;

use super::{PartitionRange, RangeMap, SingleFlight};
use crate::error::{Error, ErrorKind};

/// At most this many containers are kept; beyond it all are read anew.
const MOST_CONTAINERS: usize = 10_000;
/// At most this many partitions are known to have answered in place of others. What they answered is sent with each
/// request for those, until the map is read.
const MOST_HEIRS: usize = 64;

/// A partition that has answered in place of another one.
#[derive(Clone)]
struct Heir {
    of: PartitionKeyRangeId,
    id: PartitionKeyRangeId,
    /// Whether the map has it.
    is_known: bool,
}

/// A container.
pub(crate) struct Container {
    pub(crate) rid: ResourceId,
    /// The resource id as it travels.
    pub(crate) rid_header: HeaderValue,
    pub(crate) definition: PartitionKeyDefinition,
    pub(crate) ranges: SingleFlight<RangeMap>,
    /// Partitions that are asked, each with one that has answered in its place.
    heirs: ArcSwapOption<Vec<Heir>>,
    /// Whether an answer came from another partition than expected.
    ranges_are_stale: AtomicBool,
    /// Which partition that was, and in which map it was missed: it is asked about once.
    doubted: AtomicU64,
}

impl Container {
    /// A container as the service describes it.
    pub(crate) fn of(description: ContainerDescription) -> Result<Self, Error> {
        let ContainerDescription { id, rid: text, partition_key: definition } = description;
        let invalid = || {
            let message = format!("container {id:?} has the resource id {text:?}, which is none");
            Error::new(ErrorKind::InvalidResponse, message)
        };
        Ok(Self {
            rid: text.parse().map_err(|_| invalid())?,
            rid_header: HeaderValue::try_from(&text).map_err(|_| invalid())?,
            definition,
            ranges: SingleFlight::default(),
            heirs: ArcSwapOption::empty(),
            ranges_are_stale: AtomicBool::new(false),
            doubted: AtomicU64::new(0),
        })
    }

    /// Notes that a partition was asked, and another one has answered.
    pub(crate) fn note_heir(&self, of: &PartitionKeyRangeId, answered_by: &HeaderValue) {
        let Some(id) = answered_by.to_str().ok().map(PartitionKeyRangeId::from) else { return };
        let is_new = |heirs: &Vec<Heir>| !heirs.iter().any(|heir| heir.of == *of && heir.id == id);
        if self.heirs.load().as_deref().is_none_or(is_new) {
            self.heirs.rcu(|heirs| {
                let mut heirs = heirs.as_deref().cloned().unwrap_or_default();
                if is_new(&heirs) && heirs.len() < MOST_HEIRS {
                    heirs.push(Heir { of: of.clone(), id: id.clone(), is_known: false });
                }
                Some(Arc::new(heirs))
            });
        }
    }

    /// The partitions that have answered in place of one.
    pub(crate) fn heirs(&self, of: &PartitionKeyRangeId) -> Vec<PartitionKeyRangeId> {
        let heirs = self.heirs.load();
        let heirs = heirs.as_deref().map_or(&[][..], Vec::as_slice);
        heirs.iter().filter(|heir| heir.of == *of).map(|heir| heir.id.clone()).collect()
    }

    /// Takes in a map. Operations that began with the map before are still under way, so heirs go with the map after the one
    /// that has them.
    pub(crate) fn settle_heirs(&self, map: &RangeMap) {
        if self.heirs.load().is_none() {
            return;
        }
        self.heirs.rcu(|heirs| {
            let kept = heirs.iter().flat_map(|heirs| heirs.iter()).filter(|heir| !heir.is_known);
            let marked = kept.map(|heir| Heir { is_known: map.by_id(&heir.id).is_some(), ..heir.clone() });
            Some(marked.collect::<Vec<_>>()).filter(|heirs| !heirs.is_empty()).map(Arc::new)
        });
    }

    /// Notes that the partitions are not as known: this one has answered. A map that was read anew and is the same is
    /// not doubted again for the same reason.
    pub(crate) fn doubt_ranges(&self, answered_by: &HeaderValue) {
        let map = self.ranges.current().map(|map| map.shape());
        let mut reason = DefaultHasher::new();
        (answered_by.as_bytes(), map).hash(&mut reason);
        let reason = reason.finish();
        if self.doubted.swap(reason, Ordering::Relaxed) != reason {
            self.ranges_are_stale.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the partitions were found not to be as known, since this was last asked.
    pub(crate) fn take_doubt(&self) -> bool {
        // Nearly always unset, so that reading is enough.
        self.ranges_are_stale.load(Ordering::Relaxed) && self.ranges_are_stale.swap(false, Ordering::Relaxed)
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
    /// Resource ids that answers have said of containers that could not be read.
    rids: ArcSwap<HashMap<Box<str>, ResourceId>>,
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

    /// The resource id of a container, if it is known or an answer has said it.
    pub(crate) fn rid(&self, path: &str) -> Option<ResourceId> {
        let known = self.known(path).map(|container| container.rid);
        known.or_else(|| self.rids.load().get(path).copied())
    }

    /// Notes what an answer says of a container that could not be read; gives what one before it had said, if that was
    /// something else.
    pub(crate) fn note_rid(&self, path: &str, rid: ResourceId) -> Option<ResourceId> {
        if self.rid(path) == Some(rid) {
            return None;
        }
        let before = self.rids.rcu(|rids| {
            let mut next = if rids.len() < MOST_CONTAINERS { HashMap::clone(rids) } else { HashMap::new() };
            next.insert(path.into(), rid);
            next
        });
        before.get(path).copied().filter(|before| *before != rid)
    }

    /// Forgets what an answer has said of a container, if it is still that.
    pub(crate) fn forget_rid(&self, path: &str, rid: ResourceId) {
        if self.rids.load().get(path) != Some(&rid) {
            return;
        }
        self.rids.rcu(|rids| {
            let mut next = HashMap::clone(rids);
            if next.get(path) == Some(&rid) {
                next.remove(path);
            }
            next
        });
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
        if self.rids.load().contains_key(path) {
            self.rids.rcu(|rids| {
                let mut next = HashMap::clone(rids);
                next.remove(path);
                next
            });
        }
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

    #[test]
    fn a_container_is_forgotten_once() {
        let cache = ContainerCache::default();
        let description = serde_json::from_str(
            r#"{"id":"c","_rid":"1FAbAPmd4Rw=","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#,
        )
        .unwrap();
        let container = Arc::new(Container::of(description).unwrap());
        let slot = cache.slot("/dbs/d/colls/c");
        assert!(slot.is(&cache.slot("/dbs/d/colls/c")));
        cache.forget("/dbs/d/colls/c", &container);
        assert!(!slot.is(&cache.slot("/dbs/d/colls/c")));
        assert!(cache.known("/dbs/d/colls/c").is_none());
    }
}
