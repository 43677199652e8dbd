//! Containers: create, replace, list, delete. Finding one is in the module above.

use std::sync::Arc;

use cosmonaut_wire::model::{ContainerProperties, ThroughputProperties};
use cosmonaut_wire::{ResourceId, ResourcePath, ResourceType};

use super::{Catalog, Database, named, no_such, taken};
use crate::Failure;
use crate::engine::container::{Container, Surroundings, Written, complete, owner_gone};
use crate::engine::throughput;
use crate::engine::{Conditions, Engine, locks};
use crate::storage::{Commit, Record};

impl Engine {
    /// Creates a container in the database that a path leads to.
    ///
    /// Without a throughput it shares the database's or, if that has none, gets the least there is.
    pub fn create_container(
        &self,
        path: &ResourcePath,
        properties: ContainerProperties,
        throughput: Option<ThroughputProperties>,
    ) -> Result<Written<Arc<Container>>, Failure> {
        // A container that was made without a partition key has one partition.
        let is_fixed = properties.partition_key.system_key == Some(true);
        let most = throughput::most(is_fixed);
        throughput
            .map_or(Ok(()), |throughput| throughput::check(throughput, throughput::MIN_MANUAL, most))?;
        let mut catalog = locks::write(&self.catalog);
        let database = catalog.database(&named(path, ResourceType::Database)?).ok_or_else(owner_gone)?;
        if database.containers.contains_key(&properties.id) {
            return Err(taken("container", &properties.id));
        }
        let is_shared = throughput.is_none() && catalog.offer_of(database.rid).is_some();
        let own =
            (!is_shared).then(|| throughput.unwrap_or(ThroughputProperties::manual(throughput::MIN_MANUAL)));
        let rid = self.new_container_rid(database);
        let now = self.now();
        let properties = complete(properties, rid, &self.new_etag(now), now)?;
        let (name, database_name) = (properties.id.clone(), database.properties.id.clone());
        let partitions = own.filter(|_| !is_fixed).map_or(1, throughput::partitions);
        let around = self.surroundings(database, own);
        let first_version = catalog.retired.first_version(&database_name, &name);
        let (container, record) = Container::create(rid, properties, partitions, first_version, around)?;
        let container = Arc::new(container);
        let mut records = vec![Record::Container(rid, record)];
        records.extend(own.map(|own| self.add_offer(&mut catalog, rid, own)));
        if let Some(database) = catalog.databases.get_mut(&database_name) {
            database.containers.insert(name, Arc::clone(&container));
        }
        Ok(Written { value: container, commit: self.journal.append(records) })
    }

    /// Replaces the properties of a container.
    pub fn replace_container(
        &self,
        path: &ResourcePath,
        properties: ContainerProperties,
        conditions: Conditions<'_>,
    ) -> Result<Written<Arc<ContainerProperties>>, Failure> {
        let container = self.container(path)?;
        container.replace_properties(properties, conditions, &self.new_etag(self.now()))
    }

    /// The containers of a database, by name, and the database's resource id.
    pub fn list_containers(
        &self,
        path: &ResourcePath,
    ) -> Result<(ResourceId, Vec<Arc<ContainerProperties>>), Failure> {
        let name = named(path, ResourceType::Database)?;
        let catalog = locks::read(&self.catalog);
        let database = catalog.database(&name).ok_or_else(owner_gone)?;
        Ok((database.rid, database.containers.values().map(|container| container.properties()).collect()))
    }

    /// Deletes a container with all that is in it.
    pub fn delete_container(&self, path: &ResourcePath) -> Result<Commit, Failure> {
        let name = named(path, ResourceType::Container)?;
        let database_name = named(path, ResourceType::Database)?;
        let find = |catalog: &Catalog| {
            let database = catalog.database(&database_name).ok_or_else(owner_gone)?;
            let container = database.container(&name).cloned().ok_or_else(|| no_such("container", &name))?;
            Ok::<_, Failure>((container, database.properties.id.clone()))
        };
        let (container, _) = find(&locks::read(&self.catalog))?;
        // From here on no write to it can reach the journal, so that nothing follows its deletion. That may have to wait
        // for a change of the container, and so comes before the catalog is locked.
        container.retire();
        let mut catalog = locks::write(&self.catalog);
        let (found, database_name) = find(&catalog)?;
        if !Arc::ptr_eq(&found, &container) {
            return Err(no_such("container", &name));
        }
        if let Some(database) = catalog.databases.get_mut(&database_name) {
            database.containers.remove(&container.properties().id);
        }
        catalog.retired.add(&database_name, &container);
        let mut records = vec![Record::DropContainer(container.rid())];
        records.extend(self.drop_offer(&mut catalog, container.rid()));
        records.extend(catalog.resources.remove_in(container.rid()));
        let commit = self.journal.append(records);
        // What is in it is freed when nobody waits for the catalog.
        drop(catalog);
        Ok(commit)
    }

    fn new_container_rid(&self, database: &Database) -> ResourceId {
        let rid = |number: u32| ResourceId::container(database.number(), number);
        let is_free =
            |number: u32| database.containers.values().all(|container| container.rid() != rid(number));
        rid(self.new_number(is_free))
    }

    /// What a container of a database is made with; `own` is its own throughput.
    pub(super) fn surroundings(
        &self,
        database: &Database,
        own: Option<ThroughputProperties>,
    ) -> Surroundings {
        Surroundings {
            account: Arc::clone(&self.account),
            journal: self.journal.clone(),
            one_thread: self.config.one_thread,
            enforced: self.config.enforce_throughput,
            shared: own.is_none().then(|| Arc::clone(&database.bucket)),
            throughput: own.map_or(0, throughput::ceiling),
        }
    }
}
