//! Small resources that lie in a container, a database or a user: scripts, users, permissions, client encryption keys.
//!
//! They are all made, found, changed and deleted alike; what a kind must say is in `kinds`. Running a script, and what a
//! permission opens, is not known here.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmonaut_wire::{Etag, ResourceId, ResourcePath, ResourceType};
use serde_json::Value;

use super::kinds::{Kind, Members, Renaming};
use super::permissions::{Opened, open_alike};
use super::{Catalog, no_such, taken};
use crate::Failure;
use crate::engine::container::{Container, Written, owner_gone};
use crate::engine::{Conditions, Engine, RegionId, locks};
use crate::storage::{Commit, Record, ResourceRecord};

/// A script, user, permission or client encryption key.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    rid: ResourceId,
    kept: ResourceRecord,
}

impl Resource {
    /// A resource as it was written to disk.
    pub(crate) fn restore(rid: ResourceId, kept: ResourceRecord) -> Self {
        Self { rid, kept }
    }

    /// Its resource id, from which its kind and its owner follow.
    pub fn rid(&self) -> ResourceId {
        self.rid
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// Its entity tag.
    pub fn etag(&self) -> Etag {
        Etag::from(self.text("_etag"))
    }

    /// All that a client sees of it.
    pub fn members(&self) -> &Members {
        &self.kept.members
    }

    /// A member that is text; empty if it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.kept.members.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// What is written to disk.
    pub(crate) fn kept(&self) -> &ResourceRecord {
        &self.kept
    }
}

/// What an upsert came to.
pub struct Upserted {
    /// The resource as it is now.
    pub written: Written<Arc<Resource>>,
    /// Whether it was not there before.
    pub is_new: bool,
}

/// A resource as a client wants it, checked.
struct Draft {
    id: String,
    members: Members,
    opened: Option<Opened>,
}

/// The resources of an account.
#[derive(Default)]
pub(super) struct Resources {
    /// By owner and kind, and by id.
    by_owner: BTreeMap<(ResourceId, &'static str), BTreeMap<String, Arc<Resource>>>,
    by_rid: BTreeMap<ResourceId, Arc<Resource>>,
}

impl Resources {
    /// A resource by name or, if there is none of that name, by resource id.
    fn find(&self, owner: ResourceId, kind: ResourceType, name: &str) -> Option<&Arc<Resource>> {
        let named = self.by_owner.get(&(owner, kind.segment()))?;
        named.get(name).or_else(|| {
            let found = self.by_rid(name.parse().ok()?)?;
            (found.rid.parent() == Some(owner) && found.rid.kind() == kind).then_some(found)
        })
    }

    /// A resource by its resource id alone.
    pub(super) fn by_rid(&self, rid: ResourceId) -> Option<&Arc<Resource>> {
        self.by_rid.get(&rid)
    }

    /// All of a kind, by id.
    fn all(&self, owner: ResourceId, kind: ResourceType) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_owner.get(&(owner, kind.segment())).into_iter().flat_map(BTreeMap::values)
    }

    /// 409 if there is another of that id, or another permission for the same; `replaced` is no other.
    fn check_free(
        &self,
        owner: ResourceId,
        kind: ResourceType,
        draft: &Draft,
        replaced: Option<ResourceId>,
    ) -> Result<(), Failure> {
        for other in self.all(owner, kind).filter(|other| Some(other.rid) != replaced) {
            if other.id() == draft.id {
                return Err(taken(called(kind), &draft.id));
            }
            if draft.opened.as_ref().is_some_and(|opened| open_alike(other, opened, &draft.members)) {
                return Err(Failure::conflict(format!(
                    "Resource with specified id, name, or unique index already exists. Permission {:?} of this user is for \
                     the same resource",
                    other.id()
                )));
            }
        }
        Ok(())
    }

    /// Adds a resource that has an owner.
    pub(super) fn add(&mut self, resource: Arc<Resource>) {
        let owner = resource.rid.parent().unwrap_or(resource.rid);
        let named = self.by_owner.entry((owner, resource.rid.kind().segment())).or_default();
        named.insert(resource.id().to_owned(), Arc::clone(&resource));
        self.by_rid.insert(resource.rid, resource);
    }

    fn remove(&mut self, resource: &Resource) {
        let owner = resource.rid.parent().unwrap_or(resource.rid);
        if let Some(named) = self.by_owner.get_mut(&(owner, resource.rid.kind().segment())) {
            named.remove(resource.id());
        }
        self.by_rid.remove(&resource.rid);
    }

    /// Removes all that lies in an owner, directly or further down; returns what the journal is to be told.
    pub(super) fn remove_in(&mut self, owner: ResourceId) -> Vec<Record> {
        self.by_owner.retain(|(of, _), _| *of != owner && !of.is_in(&owner));
        let removed = self.by_rid.extract_if(.., |rid, _| rid.is_in(&owner));
        removed.map(|(rid, _)| Record::DropResource(rid)).collect()
    }
}

/// What resources lie in.
struct Owner<'c> {
    rid: ResourceId,
    /// The container, if it is one.
    container: Option<&'c Arc<Container>>,
}

impl Catalog {
    /// What the resources lie in that a path leads to; 404/1003 if that is not there.
    fn owner(&self, path: &ResourcePath) -> Result<Owner<'_>, Failure> {
        let mut names = path.segments().filter_map(|(kind, name)| Some((kind, name?)));
        let mut next = |expected: ResourceType| {
            names.next().filter(|(kind, _)| *kind == expected).map(|(_, name)| name).ok_or_else(owner_gone)
        };
        let database = self.database(&next(ResourceType::Database)?).ok_or_else(owner_gone)?;
        match path.kind().parents() {
            [ResourceType::Container] => {
                let container = database.container(&next(ResourceType::Container)?).ok_or_else(owner_gone)?;
                Ok(Owner { rid: container.rid(), container: Some(container) })
            }
            [ResourceType::User] => {
                let name = next(ResourceType::User)?;
                let user = self.resources.find(database.rid, ResourceType::User, &name);
                Ok(Owner { rid: user.ok_or_else(owner_gone)?.rid, container: None })
            }
            _ => Ok(Owner { rid: database.rid, container: None }),
        }
    }

    /// The resource that a path leads to; 404 if it is not there.
    fn resource(&self, path: &ResourcePath) -> Result<&Arc<Resource>, Failure> {
        let owner = self.owner(path)?;
        let found = self.resources.find(owner.rid, path.kind(), path.name());
        found.ok_or_else(|| no_such(called(path.kind()), path.name()))
    }
}

fn called(kind: ResourceType) -> &'static str {
    Kind::of(kind).map_or("resource", |kind| kind.called)
}

impl Engine {
    /// Makes a resource in the feed that a path leads to; 409 if there is one of its id.
    pub fn create_resource(
        &self,
        region: RegionId,
        path: &ResourcePath,
        members: Members,
    ) -> Result<Written<Arc<Resource>>, Failure> {
        locks::read(&self.catalog).owner(path)?;
        let draft = self.draft(region, path.kind(), members)?;
        let mut catalog = locks::write(&self.catalog);
        let owner = catalog.owner(path)?.rid;
        catalog.resources.check_free(owner, path.kind(), &draft, None)?;
        let rid = self.new_resource_rid(&catalog, owner, path.kind())?;
        Ok(self.keep_resource(&mut catalog, rid, draft))
    }

    /// Makes a resource, or replaces the one of its id.
    pub fn upsert_resource(
        &self,
        region: RegionId,
        path: &ResourcePath,
        members: Members,
        conditions: Conditions<'_>,
    ) -> Result<Upserted, Failure> {
        locks::read(&self.catalog).owner(path)?;
        let draft = self.draft(region, path.kind(), members)?;
        let mut catalog = locks::write(&self.catalog);
        let owner = catalog.owner(path)?.rid;
        let current = catalog.resources.all(owner, path.kind()).find(|other| other.id() == draft.id);
        let known = current.map(|current| (current.rid, current.etag()));
        let replaced = known.as_ref().map(|(rid, _)| *rid);
        catalog.resources.check_free(owner, path.kind(), &draft, replaced)?;
        let rid = match &known {
            Some((rid, etag)) => {
                conditions.check_write(Some(etag))?;
                *rid
            }
            None => self.new_resource_rid(&catalog, owner, path.kind())?,
        };
        let written = self.keep_resource(&mut catalog, rid, draft);
        Ok(Upserted { written, is_new: known.is_none() })
    }

    /// Replaces the resource that a path leads to, with another id where its kind allows that.
    pub fn replace_resource(
        &self,
        region: RegionId,
        path: &ResourcePath,
        members: Members,
        conditions: Conditions<'_>,
    ) -> Result<Written<Arc<Resource>>, Failure> {
        self.resource(path)?;
        let draft = self.draft(region, path.kind(), members)?;
        let mut catalog = locks::write(&self.catalog);
        let current = Arc::clone(catalog.resource(path)?);
        let owner = catalog.owner(path)?;
        if draft.id != current.id() {
            check_renaming(Kind::of(path.kind())?, owner.container)?;
        }
        catalog.resources.check_free(owner.rid, path.kind(), &draft, Some(current.rid))?;
        conditions.check_write(Some(&current.etag()))?;
        catalog.resources.remove(&current);
        Ok(self.keep_resource(&mut catalog, current.rid, draft))
    }

    fn draft(&self, region: RegionId, kind: ResourceType, members: Members) -> Result<Draft, Failure> {
        let id = Kind::of(kind)?.check(&members)?;
        let opened = self.opened(region, kind, &members)?;
        Ok(Draft { id, members, opened })
    }

    /// The resource that a path leads to.
    pub fn resource(&self, path: &ResourcePath) -> Result<Arc<Resource>, Failure> {
        locks::read(&self.catalog).resource(path).cloned()
    }

    /// The resources of the feed that a path leads to, by id, and the resource id of what they lie in.
    pub fn resources(&self, path: &ResourcePath) -> Result<(ResourceId, Vec<Arc<Resource>>), Failure> {
        let catalog = locks::read(&self.catalog);
        let owner = catalog.owner(path)?.rid;
        Ok((owner, catalog.resources.all(owner, path.kind()).cloned().collect()))
    }

    /// Deletes the resource that a path leads to, with all that lies in it.
    pub fn delete_resource(
        &self,
        path: &ResourcePath,
        conditions: Conditions<'_>,
    ) -> Result<Commit, Failure> {
        let mut catalog = locks::write(&self.catalog);
        let current = Arc::clone(catalog.resource(path)?);
        conditions.check_write(Some(&current.etag()))?;
        catalog.resources.remove(&current);
        let mut records = catalog.resources.remove_in(current.rid);
        records.push(Record::DropResource(current.rid));
        Ok(self.journal.append(records))
    }

    /// A stored procedure, trigger or user-defined function of a container, by its id.
    pub fn script(&self, container: &Container, kind: ResourceType, id: &str) -> Option<Arc<Resource>> {
        locks::read(&self.catalog).resources.find(container.rid(), kind, id).cloned()
    }

    /// All stored procedures, triggers or user-defined functions of a container, by id.
    pub fn scripts(&self, container: &Container, kind: ResourceType) -> Vec<Arc<Resource>> {
        locks::read(&self.catalog).resources.all(container.rid(), kind).cloned().collect()
    }

    fn new_resource_rid(
        &self,
        catalog: &Catalog,
        owner: ResourceId,
        kind: ResourceType,
    ) -> Result<ResourceId, Failure> {
        let rid = |number: u32| match kind {
            ResourceType::User => Some(ResourceId::user(number_of(owner), number)),
            ResourceType::ClientEncryptionKey => {
                Some(ResourceId::client_encryption_key(number_of(owner), number))
            }
            kind => owner.child(kind, number.into()),
        };
        let number =
            self.new_number(|number| rid(number).is_none_or(|rid| catalog.resources.by_rid(rid).is_none()));
        rid(number).ok_or_else(owner_gone)
    }

    /// Puts a resource into the catalog, with the members that the service adds.
    fn keep_resource(&self, catalog: &mut Catalog, rid: ResourceId, draft: Draft) -> Written<Arc<Resource>> {
        let (now, Draft { mut members, opened, .. }) = (self.now(), draft);
        if rid.kind() == ResourceType::User {
            members.insert("_permissions".to_owned(), "permissions/".into());
        }
        // Clients send back what they have read.
        members.remove("_token");
        members.insert("_rid".to_owned(), rid.to_string().into());
        members.insert("_self".to_owned(), self_link(rid).into());
        members.insert("_etag".to_owned(), self.new_etag(now).to_string().into());
        members.insert("_ts".to_owned(), now.seconds().into());
        let resource = Arc::new(Resource { rid, kept: ResourceRecord { members, opened } });
        catalog.resources.add(Arc::clone(&resource));
        let commit = self.journal.append([Record::Resource(Arc::clone(&resource))]);
        Written { value: resource, commit }
    }
}

/// The number that the resource id of a database packs.
fn number_of(database: ResourceId) -> u32 {
    database.as_bytes().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// The link of a resource by resource ids: `dbs/…/colls/…/sprocs/…/`.
fn self_link(rid: ResourceId) -> String {
    let owner = rid.parent().map(self_link).unwrap_or_default();
    format!("{owner}{}/{rid}/", rid.kind().segment())
}

fn check_renaming(kind: &Kind, container: Option<&Arc<Container>>) -> Result<(), Failure> {
    let partitions = container.map_or(1, |container| container.layout().ranges().len());
    match kind.renaming {
        Renaming::Always => Ok(()),
        Renaming::OfOnePartition if partitions == 1 => Ok(()),
        Renaming::OfOnePartition => Err(Failure::bad_request(
            "Changing id of a script in collections with multiple partitions is not supported.",
        )),
        Renaming::Never => {
            Err(Failure::bad_request(format!("the id of a {} cannot be changed", kind.called)))
        }
    }
}
