//! Containers: create, list, query, read, replace, delete.

use std::fmt::Display;

use bytes::Bytes;
use cosmonaut_wire::model::{ContainerProperties, from_json};
use cosmonaut_wire::{CosmosStatus, ResourcePath, ResourceType, headers};
use http::header;
use serde_json::{Map, Value, json};

use super::Gateway;
use super::call::Call;
use super::located::link;
use super::metadata::{Descriptions, json_body};
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Usage, charge};

impl Gateway {
    pub(super) fn create_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let made = self.engine.create_container(&call.path, call.container()?, call.throughput()?)?;
        let container = &made.value;
        let mut reply = container_reply(call, CosmosStatus::CREATED, &container.properties());
        reply.session(&container.session(self.region));
        reply.quota(container.usage(self.region));
        let database = self.engine.database(&call.path)?;
        // A new container is told of as what was added to its database.
        if let Ok(path) = ResourcePath::database(&database.id) {
            reply.text(headers::ALT_CONTENT_PATH, link(&path, 2));
        }
        reply.owned(headers::CONTENT_PATH, database.rid.unwrap_or_default());
        Ok(reply.charged(charge::CATALOG_WRITE).after(made.commit))
    }

    pub(super) fn list_containers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.containers(call)?.list(call)
    }

    pub(super) fn query_containers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.containers(call)?.query(call, &*self.world)
    }

    pub(super) fn read_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let mut reply = container_reply(call, CosmosStatus::OK, &container.properties());
        reply.of_container(&container);
        // An index is complete when a policy's replacement is answered.
        reply.number(headers::INDEX_TRANSFORMATION_PROGRESS, 100);
        if call.flag(&headers::POPULATE_QUOTA_INFO) {
            reply.quota(container.usage(self.region));
        }
        Ok(reply)
    }

    pub(super) fn replace_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let container = self.container(call)?;
        let properties = call.container()?;
        let replaced = self.engine.replace_container(&call.path, properties, call.conditions()?)?;
        let mut reply = container_reply(call, CosmosStatus::OK, &replaced.value);
        reply.of_container(&container);
        Ok(reply.charged(charge::CATALOG_WRITE).after(replaced.commit))
    }

    pub(super) fn delete_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        self.container(call)?;
        let commit = self.engine.delete_container(&call.path)?;
        Ok(Reply::new(CosmosStatus::NO_CONTENT, Bytes::new()).charged(charge::CATALOG_WRITE).after(commit))
    }

    fn containers(&self, call: &Call<'_>) -> Result<Descriptions<'_>, Failure> {
        let (owner, containers) = self.engine.list_containers(&call.path)?;
        let kind = ResourceType::Container;
        Ok(Descriptions::new(kind, owner.to_string(), containers, |properties| json_body(&**properties)))
    }
}

fn container_reply(call: &Call<'_>, status: CosmosStatus, properties: &ContainerProperties) -> Reply {
    let body = if properties.partition_key.system_key == Some(true) && call.may_leave_out_the_key() {
        without_key(properties)
    } else {
        json_body(properties)
    };
    let mut reply = Reply::new(status, body).charged(charge::CATALOG_READ);
    if let Some(etag) = &properties.etag {
        reply.text(header::ETAG, etag);
    }
    reply
}

/// A container as clients know it that know of no partition keys.
fn without_key(properties: &ContainerProperties) -> Bytes {
    let mut described = json!(properties);
    if let Some(members) = described.as_object_mut() {
        members.remove(KEY);
    }
    json_body(&described)
}

impl Reply {
    /// How much a container holds, and how much it may.
    pub(super) fn quota(&mut self, usage: Usage) {
        self.owned(headers::RESOURCE_QUOTA, usage.quota());
        self.owned(headers::RESOURCE_USAGE, usage.to_string());
    }
}

/// The member with a container's partition key.
const KEY: &str = "partitionKey";

/// The first version of the API in which every container has a partition key.
const ALWAYS_WITH_A_KEY: &str = "2018-12-31";

impl Call<'_> {
    /// The container in the body.
    fn container(&self) -> Result<ContainerProperties, Failure> {
        let invalid = |why: &dyn Display| {
            Failure::bad_request(format!("One of the specified inputs is invalid: {why}"))
        };
        if self.may_leave_out_the_key()
            && let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(&self.body)
            && !members.contains_key(KEY)
        {
            members.insert(
                KEY.to_owned(),
                json!({"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": true}),
            );
            return serde_json::from_value(Value::Object(members)).map_err(|error| invalid(&error));
        }
        from_json("container", &self.body).map_err(|error| invalid(&error))
    }

    /// Whether the client is of a time when containers could be without a partition key. Versions sort by their dates.
    fn may_leave_out_the_key(&self) -> bool {
        let version = self.headers.get(headers::VERSION);
        version.is_some_and(|version| version.as_bytes() < ALWAYS_WITH_A_KEY.as_bytes())
    }
}
