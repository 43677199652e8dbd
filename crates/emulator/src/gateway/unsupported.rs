//! Kinds of resources that this emulator never has: their feeds are empty, and making one is refused.

use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};

use super::Gateway;
use super::call::Call;
use super::reply::Reply;
use crate::Failure;
use crate::engine::charge;

impl Gateway {
    /// The feed of a kind of which there are none, in an owner that must exist.
    pub(super) fn list_none(&self, kind: ResourceType, call: &Call<'_>) -> Result<Reply, Failure> {
        let rid = self.owner(call)?;
        let body = FeedEnvelope::write(kind, &rid, std::iter::empty::<&[u8]>());
        let mut reply = Reply::new(CosmosStatus::OK, body).charged(charge::CATALOG_READ);
        reply.number(headers::ITEM_COUNT, 0);
        Ok(reply)
    }

    /// The resource id of the container or database that the path leads through.
    fn owner(&self, call: &Call<'_>) -> Result<String, Failure> {
        let in_container = call.path.segments().any(|(kind, _)| kind == ResourceType::Container);
        if in_container {
            return Ok(self.container(call)?.rid().to_string());
        }
        Ok(self.engine.database(&call.path)?.rid.unwrap_or_default())
    }

    /// One of a kind of which there are none.
    pub(super) fn read_none(&self, kind: ResourceType, call: &Call<'_>) -> Result<Reply, Failure> {
        self.owner(call)?;
        Err(Failure::not_found(format!("{} does not exist: there are no {}", call.path, plural(kind))))
    }

    /// Making, changing or running one.
    pub(super) fn refuse_kind(&self, kind: ResourceType, _: &Call<'_>) -> Result<Reply, Failure> {
        Err(refuse(kind))
    }
}

/// 501 for making, changing or running one.
pub(super) fn refuse(kind: ResourceType) -> Failure {
    Failure::new(
        CosmosStatus::NOT_IMPLEMENTED,
        format!("{} are not available in this emulator", plural(kind)),
    )
}

fn plural(kind: ResourceType) -> &'static str {
    match kind {
        ResourceType::StoredProcedure => "stored procedures",
        ResourceType::Trigger => "triggers",
        ResourceType::UserDefinedFunction => "user-defined functions",
        ResourceType::User => "users",
        ResourceType::Permission => "permissions",
        ResourceType::Conflict => "conflicts",
        ResourceType::ClientEncryptionKey => "client encryption keys",
        ResourceType::DatabaseAccount => "accounts",
        ResourceType::Database => "databases",
        ResourceType::Container => "containers",
        ResourceType::Document => "items",
        ResourceType::PartitionKeyRange => "partition key ranges",
        ResourceType::Offer => "offers",
        ResourceType::Operation => "operations",
    }
}
