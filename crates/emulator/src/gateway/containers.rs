//! Containers: create, list, query, read, replace, delete.

use bytes::Bytes;
use cosmonaut_wire::model::ContainerProperties;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use http::header;

use super::Gateway;
use super::call::Call;
use super::metadata::{Descriptions, json_body};
use super::reply::Reply;
use crate::Failure;
use crate::engine::charge;

impl Gateway {
    pub(super) fn create_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let made = self.engine.create_container(&call.path, call.json("container")?, call.throughput()?)?;
        let reply = container_reply(CosmosStatus::CREATED, &made.value.properties());
        Ok(reply.charged(charge::CATALOG_WRITE).after(made.commit))
    }

    pub(super) fn list_containers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.containers(call)?.list(call, &*self.world)
    }

    pub(super) fn query_containers(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.containers(call)?.query(call, &*self.world)
    }

    pub(super) fn read_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let mut reply = container_reply(CosmosStatus::OK, &container.properties());
        reply.of_container(&container);
        // An index is complete when a policy's replacement is answered.
        reply.number(headers::INDEX_TRANSFORMATION_PROGRESS, 100);
        if call.flag(&headers::POPULATE_QUOTA_INFO) {
            let usage = container.usage(self.region);
            reply.owned(headers::RESOURCE_QUOTA, usage.quota());
            reply.owned(headers::RESOURCE_USAGE, usage.to_string());
        }
        Ok(reply)
    }

    pub(super) fn replace_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let container = self.container(call)?;
        let properties = call.json("container")?;
        let replaced = self.engine.replace_container(&call.path, properties, call.conditions()?)?;
        let mut reply = container_reply(CosmosStatus::OK, &replaced.value);
        reply.of_container(&container);
        Ok(reply.charged(charge::CATALOG_WRITE).after(replaced.commit))
    }

    pub(super) fn delete_container(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        self.container(call)?;
        let commit = self.engine.delete_container(&call.path)?;
        Ok(Reply::new(CosmosStatus::NO_CONTENT, Bytes::new()).charged(charge::CATALOG_WRITE).after(commit))
    }

    fn containers(&self, call: &Call<'_>) -> Result<Descriptions, Failure> {
        let (owner, containers) = self.engine.list_containers(&call.path)?;
        let entries = containers.iter().map(|properties| json_body(&**properties)).collect();
        Ok(Descriptions { kind: ResourceType::Container, owner: owner.to_string(), entries })
    }
}

fn container_reply(status: CosmosStatus, properties: &ContainerProperties) -> Reply {
    let mut reply = Reply::new(status, json_body(properties)).charged(charge::CATALOG_READ);
    if let Some(etag) = &properties.etag {
        reply.text(header::ETAG, etag);
    }
    reply
}
