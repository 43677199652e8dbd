//! Databases: create, read, list, delete.
//!
//! What is in a database is its containers' business.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmonaut_wire::model::{DatabaseProperties, ThroughputProperties};
use cosmonaut_wire::{ResourceId, ResourcePath, ResourceType};

use super::{Database, MAX_NAME, named, no_such, taken};
use crate::Failure;
use crate::engine::container::Written;
use crate::engine::throughput::{self, Bucket};
use crate::engine::{Engine, locks};
use crate::storage::{Commit, Record};

impl Engine {
    /// Creates a database, with throughput for its containers to share if `throughput` says so.
    pub fn create_database(
        &self,
        properties: DatabaseProperties,
        throughput: Option<ThroughputProperties>,
    ) -> Result<Written<DatabaseProperties>, Failure> {
        let name = properties.id.clone();
        ResourcePath::database(&name).map_err(|error| Failure::invalid_id(&name, MAX_NAME, error))?;
        throughput.map_or(Ok(()), |throughput| {
            throughput::check(throughput, throughput::MIN_MANUAL, throughput::MAX)
        })?;
        let mut catalog = locks::write(&self.catalog);
        if catalog.databases.contains_key(&name) {
            return Err(taken("database", &name));
        }
        let now = self.now();
        let number =
            self.new_number(|number| !catalog.database_names.contains_key(&ResourceId::database(number)));
        let rid = ResourceId::database(number);
        let properties = DatabaseProperties {
            rid: Some(rid.to_string()),
            self_link: Some(format!("dbs/{rid}/")),
            etag: Some(self.new_etag(now).to_string()),
            timestamp: Some(now.seconds()),
            containers_link: Some("colls/".to_owned()),
            users_link: Some("users/".to_owned()),
            ..properties
        };
        let mut records = vec![Record::Database(rid, Box::new(properties.clone()))];
        records.extend(throughput.map(|throughput| self.add_offer(&mut catalog, rid, throughput)));
        catalog.database_names.insert(rid, name.clone());
        catalog.databases.insert(name, self.new_database(rid, properties.clone(), throughput));
        Ok(Written { value: properties, commit: self.journal.append(records) })
    }

    /// The database that a path leads to or through.
    pub fn database(&self, path: &ResourcePath) -> Result<DatabaseProperties, Failure> {
        let name = named(path, ResourceType::Database)?;
        let catalog = locks::read(&self.catalog);
        catalog
            .database(&name)
            .map(|found| found.properties.clone())
            .ok_or_else(|| no_such("database", &name))
    }

    /// All databases, by name.
    pub fn list_databases(&self) -> Vec<DatabaseProperties> {
        locks::read(&self.catalog).databases.values().map(|database| database.properties.clone()).collect()
    }

    /// Deletes a database with all that is in it.
    pub fn delete_database(&self, path: &ResourcePath) -> Result<Commit, Failure> {
        let name = named(path, ResourceType::Database)?;
        // What changes a container is waited for before the catalog is locked.
        let containers: Vec<_> = match locks::read(&self.catalog).database(&name) {
            Some(database) => database.containers.values().cloned().collect(),
            None => return Err(no_such("database", &name)),
        };
        containers.iter().for_each(|container| container.retire());
        let mut catalog = locks::write(&self.catalog);
        let found = catalog.database(&name).map(|database| (database.rid, database.properties.id.clone()));
        let (rid, name) = found.ok_or_else(|| no_such("database", &name))?;
        let removed = catalog.databases.remove(&name).map(|database| database.containers).unwrap_or_default();
        catalog.database_names.remove(&rid);
        let mut records = Vec::new();
        for container in removed.values() {
            // Again, for one that was made meanwhile.
            container.retire();
            catalog.retired.add(&name, container);
            records.push(Record::DropContainer(container.rid()));
            records.extend(self.drop_offer(&mut catalog, container.rid()));
        }
        records.extend(self.drop_offer(&mut catalog, rid));
        records.extend(catalog.resources.remove_in(rid));
        records.push(Record::DropDatabase(rid));
        let commit = self.journal.append(records);
        // What is in it is freed when nobody waits for the catalog.
        drop(catalog);
        drop((removed, containers));
        Ok(commit)
    }

    pub(super) fn new_database(
        &self,
        rid: ResourceId,
        properties: DatabaseProperties,
        shared: Option<ThroughputProperties>,
    ) -> Database {
        let bucket = Arc::new(Bucket::default());
        let rate = shared.map(|throughput| f64::from(throughput::ceiling(throughput)));
        bucket.set_rate(rate.filter(|_| self.config.enforce_throughput));
        Database { rid, properties, containers: BTreeMap::new(), bucket }
    }
}
