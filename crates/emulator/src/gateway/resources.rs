//! Scripts, users, permissions and client encryption keys: create, upsert, list, query, read, replace, delete.
//!
//! All kinds go the same way, but for the token that a permission is shown with. Running a script is in `scripts`.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, ResourceType};
use http::header;

use super::Gateway;
use super::call::Call;
use super::located::Located;
use super::metadata::{Descriptions, json_body};
use super::reply::Reply;
use super::resource_token::issue;
use crate::Failure;
use crate::engine::{Resource, Upserted, charge};

impl Gateway {
    pub(super) fn create_resource(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let (container, lifetime) = (self.container_of_resources(call)?, call.token_lifetime()?);
        let made = self.engine.create_resource(self.region, &call.path, call.json("resource")?)?;
        Ok(self
            .resource_reply(lifetime, container, CosmosStatus::CREATED, &made.value)
            .written(call)
            .after(made.commit))
    }

    pub(super) fn upsert_resource(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let (container, lifetime) = (self.container_of_resources(call)?, call.token_lifetime()?);
        let (members, conditions) = (call.json("resource")?, call.conditions()?);
        let Upserted { written, is_new } =
            self.engine.upsert_resource(self.region, &call.path, members, conditions)?;
        let status = if is_new { CosmosStatus::CREATED } else { CosmosStatus::OK };
        Ok(self
            .resource_reply(lifetime, container, status, &written.value)
            .written(call)
            .after(written.commit))
    }

    pub(super) fn replace_resource(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let (container, lifetime) = (self.container_of_resources(call)?, call.token_lifetime()?);
        let (members, conditions) = (call.json("resource")?, call.conditions()?);
        let replaced = self.engine.replace_resource(self.region, &call.path, members, conditions)?;
        let reply = self.resource_reply(lifetime, container, CosmosStatus::OK, &replaced.value);
        Ok(reply.written(call).after(replaced.commit))
    }

    pub(super) fn read_resource(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let (container, lifetime) = (self.container_of_resources(call)?, call.token_lifetime()?);
        let resource = self.engine.resource(&call.path)?;
        if call.conditions()?.names_known(&resource.etag()) {
            return Ok(self
                .resource_reply(lifetime, container, CosmosStatus::NOT_MODIFIED, &resource)
                .without_body());
        }
        Ok(self.resource_reply(lifetime, container, CosmosStatus::OK, &resource))
    }

    pub(super) fn delete_resource(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.engine.check_catalog_write(self.region)?;
        let container = self.container_of_resources(call)?;
        let commit = self.engine.delete_resource(&call.path, call.conditions()?)?;
        let mut reply =
            Reply::new(CosmosStatus::NO_CONTENT, Bytes::new()).charged(charge::CATALOG_WRITE).after(commit);
        container.iter().for_each(|container| reply.of_container(container));
        Ok(reply)
    }

    pub(super) fn list_resources(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container_of_resources(call)?;
        let mut reply = self.resources(call)?.list(call)?;
        container.iter().for_each(|container| reply.of_container(container));
        Ok(reply)
    }

    pub(super) fn query_resources(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container_of_resources(call)?;
        let mut reply = self.resources(call)?.query(call, &*self.world)?;
        container.iter().for_each(|container| reply.of_container(container));
        Ok(reply)
    }

    fn resources(&self, call: &Call<'_>) -> Result<Descriptions<'_>, Failure> {
        let (owner, resources) = self.engine.resources(&call.path)?;
        let lifetime = call.token_lifetime()?;
        let shown = move |resource: &Arc<Resource>| self.shown(resource, lifetime);
        Ok(Descriptions::new(call.path.kind(), owner.to_string(), resources, shown))
    }

    /// The container that the resources of a request lie in, if they lie in one.
    fn container_of_resources<'c>(&self, call: &'c Call<'_>) -> Result<Option<Located<'c>>, Failure> {
        let in_container = call.path.kind().parents() == [ResourceType::Container];
        if in_container {
            return self.container(call).map(Some);
        }
        self.engine.topology().check_present(self.region)?;
        Ok(None)
    }

    /// A resource as clients see it; a permission with a token that holds for some seconds.
    fn shown(&self, resource: &Resource, lifetime: u64) -> Bytes {
        let Some(permission) = resource.permission() else {
            return json_body(resource.members());
        };
        let mut members = resource.members().clone();
        let key = self.access.resource_token_key();
        members.insert("_token".to_owned(), issue(&key, permission, lifetime, &*self.world).into());
        json_body(&members)
    }

    fn resource_reply(
        &self,
        lifetime: u64,
        container: Option<Located<'_>>,
        status: CosmosStatus,
        resource: &Resource,
    ) -> Reply {
        let mut reply = Reply::new(status, self.shown(resource, lifetime)).charged(charge::CATALOG_READ);
        reply.text(header::ETAG, resource.etag().as_str());
        if let Some(container) = container {
            reply.of_container(&container);
            reply.quota(container.usage(self.region));
        }
        reply
    }
}

impl Reply {
    /// The reply to a write: it costs more, and has no body if none is wanted.
    fn written(self, call: &Call<'_>) -> Self {
        let reply = self.charged(charge::CATALOG_WRITE);
        if call.is_minimal() { reply.without_body() } else { reply }
    }
}
