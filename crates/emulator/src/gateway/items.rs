//! Single items: create, upsert, read, replace, patch, delete, and deletion of a whole partition key.

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, IndexingDirective, headers};
use http::{HeaderValue, header};

use super::Gateway;
use super::call::Call;
use super::located::Located;
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Container, ItemReply, ItemRequest, RegionId};

/// A write of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemWrite {
    Create,
    Upsert,
    Replace,
    Patch,
    Delete,
}

impl ItemWrite {
    fn run(
        self,
        container: &Container,
        region: RegionId,
        request: ItemRequest<'_>,
    ) -> Result<ItemReply, Failure> {
        match self {
            Self::Create => container.create_item(region, request),
            Self::Upsert => container.upsert_item(region, request),
            Self::Replace => container.replace_item(region, request),
            Self::Patch => container.patch_item(region, request),
            Self::Delete => container.delete_item(region, request),
        }
    }
}

impl Gateway {
    pub(super) fn create_item(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.write_item(call, ItemWrite::Create)
    }

    pub(super) fn upsert_item(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.write_item(call, ItemWrite::Upsert)
    }

    pub(super) fn replace_item(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.write_item(call, ItemWrite::Replace)
    }

    pub(super) fn patch_item(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.write_item(call, ItemWrite::Patch)
    }

    pub(super) fn delete_item(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        self.write_item(call, ItemWrite::Delete)
    }

    pub(super) fn read_item(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let reading = self.reading(call, &container)?;
        let request = ItemRequest { session: reading.session.as_ref(), ..request(call)? };
        match container.read_item(self.region, request) {
            Ok(mut reply) => {
                reply.hold = reading.hold(&container, &reply.session());
                Ok(item_reply(&container, reply))
            }
            Err(failure) => reading.refusal(&container, failure),
        }
    }

    fn write_item(&self, call: &Call<'_>, write: ItemWrite) -> Result<Reply, Failure> {
        if call.has_triggers()? {
            return self.write_with_triggers(call, write);
        }
        let container = self.container(call)?;
        let indexing = call.parsed(&headers::INDEXING_DIRECTIVE)?.unwrap_or(IndexingDirective::Default);
        let writing = self.writing(call, &container)?;
        let session = writing.session.as_ref();
        let pace = call.pace.clone();
        let request = ItemRequest { body: call.body.clone(), indexing, session, pace, ..request(call)? };
        let reply = match write.run(&container, self.region, request) {
            Ok(reply) => item_reply(&container, reply),
            Err(failure) => return writing.refusal(&container, failure),
        };
        Ok(if call.is_minimal() { reply.without_body() } else { reply })
    }

    /// Deletes all items of a partition key, or of a hierarchical prefix.
    pub(super) fn delete_by_partition_key(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let key = call.partition_key()?.ok_or_else(|| {
            let name = headers::PARTITION_KEY;
            Failure::bad_request(format!("Required header '{name}' is not specified in the request."))
        })?;
        let deleted = container.delete_partition_key(self.region, &key)?;
        let mut reply = Reply::new(CosmosStatus::OK, Bytes::new())
            .charged(deleted.charge)
            .after_all(deleted.commits)
            .held(deleted.hold);
        reply.of_container(&container);
        Ok(reply)
    }
}

impl Call<'_> {
    /// Whether a trigger is to be run with a write.
    pub(super) fn has_triggers(&self) -> Result<bool, Failure> {
        for name in [headers::PRE_TRIGGER_INCLUDE, headers::POST_TRIGGER_INCLUDE] {
            if self.text(&name)?.is_some_and(|triggers| !triggers.trim().is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What every operation on an item is asked with.
pub(super) fn request<'a>(call: &'a Call<'_>) -> Result<ItemRequest<'a>, Failure> {
    // An id has no slash in it, so the last segment of the plain path is all of it.
    let id = call.path.plain().rsplit('/').next().unwrap_or_default();
    let conditions = call.conditions()?;
    Ok(ItemRequest { conditions, ..ItemRequest::new(call.partition_key()?, id, Bytes::new()) })
}

pub(super) fn item_reply(container: &Located<'_>, item: ItemReply) -> Reply {
    let mut reply =
        Reply::new(item.status, item.body).charged(item.charge).after(item.commit).held(item.hold);
    if let Some(etag) = &item.etag {
        reply.text(header::ETAG, etag.as_str());
    }
    reply.set(headers::ITEM_LSN, HeaderValue::from(item.item_lsn));
    reply.of_partition(container, &item.range, item.standing);
    reply
}
