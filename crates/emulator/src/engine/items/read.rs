//! Reading one item.
//!
//! Feeds and queries read many, and have their own way in.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, PartitionKey, ResourceId, ResourceType};

use super::{Conditions, ItemReply, ItemRequest, Outcome, find_live, not_found, required_key};
use crate::engine::replica::ReplicaState;
use crate::engine::{Container, RegionId, charge};
use crate::{Failure, Timestamp};

/// A read, ready to be applied.
pub(super) struct Read<'a> {
    pub(super) key: &'a PartitionKey,
    pub(super) id: &'a str,
    pub(super) conditions: Conditions<'a>,
}

impl Container {
    /// Reads an item; 304 if the reader has it already.
    pub fn read_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        let key = required_key(self, request.key.as_ref())?;
        let epk = self.keys().place(key)?;
        let read = Read { key, id: request.id, conditions: request.conditions };
        let layout = self.layout();
        let range = layout.range_of(&epk);
        let replica = range.replica(region);
        let now = self.now();
        replica.admit(now)?;
        let reply = replica.read(|state| {
            self.check_alive(state)?;
            range.check_session(request.session, state)?;
            let outcome = read.apply(self, state, now).map_err(|failure| failure.seen_in(range, state))?;
            let commit = state.commit_of(outcome.item_lsn);
            Ok(outcome.reply(Arc::clone(range), range.standing(state), commit))
        });
        replica.spend(reply.as_ref().map_or_else(|failure: &Failure| failure.charge, |reply| reply.charge));
        reply
    }
}

impl Container {
    /// Whether a partition key is another, or in a hierarchical container begins with it.
    pub(crate) fn covers(&self, prefix: &PartitionKey, key: &PartitionKey) -> bool {
        self.keys().covers(prefix, key)
    }

    /// The resource id and the id of an item, by its id or its resource id; 404 if there is none.
    pub(crate) fn identify(
        &self,
        region: RegionId,
        key: &PartitionKey,
        id: &str,
    ) -> Result<(ResourceId, String), Failure> {
        let epk = self.keys().place(key)?;
        let layout = self.layout();
        layout.range_of(&epk).replica(region).read(|state| {
            let document = find_live(state, self.rid(), key, id, self.now()).ok_or_else(|| not_found(id))?;
            let rid = self.rid().child(ResourceType::Document, document.number);
            Ok((rid.ok_or_else(|| not_found(id))?, document.id().to_owned()))
        })
    }
}

impl Read<'_> {
    pub(super) fn apply(
        &self,
        container: &Container,
        state: &ReplicaState,
        now: Timestamp,
    ) -> Result<Outcome, Failure> {
        let document =
            find_live(state, container.rid(), self.key, self.id, now).ok_or_else(|| not_found(self.id))?;
        let unmodified = self.conditions.is_unmodified(document.etag);
        let body = if unmodified { Bytes::new() } else { document.text().into() };
        Ok(Outcome {
            status: if unmodified { CosmosStatus::NOT_MODIFIED } else { CosmosStatus::OK },
            charge: if unmodified { charge::NOTHING } else { charge::read(body.len()) },
            body,
            etag: Some(document.etag.to_etag()),
            item_lsn: document.lsn,
        })
    }
}
