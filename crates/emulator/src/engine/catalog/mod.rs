//! The databases and containers of an account, by name and by resource id, their throughput, and the small resources in them.
//!
//! One lock guards all of it; it is held only as long as the catalog itself is read or changed.

mod containers;
mod databases;
mod kinds;
mod offers;
mod permissions;
mod resources;
mod retired;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cosmonaut_wire::model::{DatabaseProperties, Offer};
use cosmonaut_wire::{Etag, ResourceId, ResourcePath, ResourceType};

pub(crate) use kinds::Members;
pub use offers::{Migration, minimum_throughput};
pub(crate) use permissions::Opened;
pub use permissions::{Permission, PermissionMode};
pub use resources::{Resource, Upserted};

use super::container::{Container, owner_gone};
use super::throughput::Bucket;
use super::{Engine, locks};
use crate::failure::NOT_FOUND_HELP;
use crate::storage::{ResourceRecord, Saved, StorageError};
use crate::{Failure, Timestamp};
use resources::Resources;
use retired::Retired;

/// The most bytes in the name of a database or container, as the service puts it.
pub(super) const MAX_NAME: usize = 255;

/// Everything that has a name or an offer.
#[derive(Default)]
pub(super) struct Catalog {
    databases: BTreeMap<String, Database>,
    /// From a database's id to its name.
    database_names: HashMap<ResourceId, String>,
    offers: BTreeMap<ResourceId, Offer>,
    resources: Resources,
    retired: Retired,
}

struct Database {
    rid: ResourceId,
    properties: DatabaseProperties,
    containers: BTreeMap<String, Arc<Container>>,
    /// For the containers that share the database's throughput.
    bucket: Arc<Bucket>,
}

impl Catalog {
    /// A database by name or, if there is none of that name, by resource id.
    fn database(&self, name: &str) -> Option<&Database> {
        self.databases.get(name).or_else(|| {
            let rid: ResourceId = name.parse().ok()?;
            self.databases.get(self.database_names.get(&rid)?)
        })
    }

    /// All containers of all databases.
    pub(super) fn containers(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.databases.values().flat_map(|database| database.containers.values())
    }

    /// Takes over resources that the journal holds.
    fn restore_resources(
        &mut self,
        mut saved: Vec<(ResourceId, ResourceRecord)>,
    ) -> Result<(), StorageError> {
        // What others lie in has the shorter id.
        saved.sort_by_key(|(rid, _)| rid.as_bytes().len());
        for (rid, kept) in saved {
            let has_owner = rid.parent().is_some_and(|owner| {
                self.database_names.contains_key(&owner)
                    || self.resources.by_rid(owner).is_some()
                    || self.containers().any(|container| container.rid() == owner)
            });
            if !has_owner {
                return Err(StorageError::corrupt(format!("resource {rid} belongs to nothing")));
            }
            self.resources.add(Arc::new(Resource::restore(rid, kept)));
        }
        Ok(())
    }

    fn offer_of(&self, resource: ResourceId) -> Option<&Offer> {
        let id = resource.to_string();
        self.offers.values().find(|offer| offer.offer_resource_id == id)
    }
}

impl Database {
    /// The number that its resource id packs.
    fn number(&self) -> u32 {
        let bytes = self.rid.as_bytes().try_into();
        u32::from_be_bytes(bytes.expect("the resource id of a database has four bytes"))
    }

    /// A container by name or, if there is none of that name, by resource id.
    fn container(&self, name: &str) -> Option<&Arc<Container>> {
        self.containers.get(name).or_else(|| {
            let rid: ResourceId = name.parse().ok()?;
            self.containers.values().find(|container| container.rid() == rid)
        })
    }
}

/// The name at a level of a path; 400 if the path does not go that deep.
fn named(path: &ResourcePath, kind: ResourceType) -> Result<String, Failure> {
    let mut segments = path.segments();
    let name = segments.find_map(|(found, name)| (found == kind).then_some(name).flatten());
    name.map(Into::into).ok_or_else(|| {
        Failure::bad_request(format!("the path {path} names no {}", kind.segment().trim_end_matches('s')))
    })
}

fn no_such(kind: &str, name: &str) -> Failure {
    Failure::not_found(format!(
        "Resource Not Found. Learn more: {NOT_FOUND_HELP} (there is no {kind} {name:?})"
    ))
}

fn taken(kind: &str, name: &str) -> Failure {
    Failure::conflict(format!(
        "Resource with specified id, name, or unique index already exists. It is the {kind} {name:?}"
    ))
}

impl Engine {
    /// The container that a path leads to or through: 404 if it is not there and the path ends at it, 404/1003 if the
    /// path goes on or the database is missing.
    pub fn container(&self, path: &ResourcePath) -> Result<Arc<Container>, Failure> {
        let mut segments = path.segments();
        let (
            Some((ResourceType::Database, Some(database))),
            Some((ResourceType::Container, Some(container))),
        ) = (segments.next(), segments.next())
        else {
            return Err(Failure::bad_request(format!("the path {path} names no container")));
        };
        let catalog = locks::read(&self.catalog);
        let found = catalog.database(&database).ok_or_else(owner_gone)?.container(&container);
        let ends_here = path.kind() == ResourceType::Container;
        found.cloned().ok_or_else(|| if ends_here { no_such("container", &container) } else { owner_gone() })
    }

    /// All containers of all databases.
    pub(crate) fn containers(&self) -> Vec<Arc<Container>> {
        locks::read(&self.catalog).containers().cloned().collect()
    }

    /// Takes over what the journal holds.
    pub(super) fn restore(&self, saved: Saved) -> Result<(), StorageError> {
        let mut catalog = locks::write(&self.catalog);
        let catalog = &mut *catalog;
        catalog.offers = saved.offers.into_iter().collect();
        for (rid, properties) in saved.databases {
            let shared = catalog.offer_of(rid).and_then(Offer::throughput);
            let database = self.new_database(rid, properties, shared);
            catalog.database_names.insert(rid, database.properties.id.clone());
            catalog.databases.insert(database.properties.id.clone(), database);
        }
        for container in saved.containers {
            let rid = container.rid;
            let own = catalog.offer_of(rid).and_then(Offer::throughput);
            let name = rid.parent().and_then(|database| catalog.database_names.get(&database));
            let Some(database) = name.and_then(|name| catalog.databases.get_mut(name)) else {
                return Err(StorageError::corrupt(format!("container {rid} belongs to no database")));
            };
            let around = self.surroundings(database, own);
            let container = Container::restore(container, around)
                .map_err(|failure| StorageError::corrupt(format!("container {rid}: {failure}")))?;
            database.containers.insert(container.properties().id.clone(), Arc::new(container));
        }
        catalog.restore_resources(saved.resources)
    }

    /// A tag unlike any other, for what is in the catalog.
    fn new_etag(&self, now: Timestamp) -> Etag {
        let chance = self.world.random();
        Etag::from(format!(
            "\"{:08x}-{:04x}-{:04x}-0000-{:08x}0000\"",
            chance as u32,
            (chance >> 32) as u16,
            (chance >> 48) as u16,
            now.seconds() as u32
        ))
    }

    /// A number for a new resource id, by chance so that none comes again soon after it was given up.
    fn new_number(&self, is_free: impl Fn(u32) -> bool) -> u32 {
        loop {
            let number = self.world.random() as u32;
            if is_free(number) {
                return number;
            }
        }
    }
}
