//! What the feeds of databases, containers and offers have in common: lists, pages, and queries over descriptions.
//!
//! These feeds are short, so each page looks at every description; items have their own queries.

use bytes::Bytes;
use cosmonaut_wire::model::{FeedEnvelope, QuerySpec};
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use serde::Serialize;

use super::call::Call;
use super::reply::Reply;
use crate::engine::query::{FeedQuery, run_over};
use crate::{Failure, World};

/// The JSON text of a description.
pub(super) fn json_body(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("descriptions are strings, numbers and lists").into()
}

/// All descriptions of a kind in one owner.
pub(super) struct Descriptions {
    pub(super) kind: ResourceType,
    /// The owner's resource id; empty for the account.
    pub(super) owner: String,
    pub(super) entries: Vec<Bytes>,
}

impl Descriptions {
    /// A page of them.
    pub(super) fn list(self, call: &Call<'_>, world: &dyn World) -> Result<Reply, Failure> {
        self.page(call, QuerySpec::new("SELECT * FROM c"), world)
    }

    /// A page of what the query in the body makes of them.
    pub(super) fn query(self, call: &Call<'_>, world: &dyn World) -> Result<Reply, Failure> {
        self.page(call, call.json("query")?, world)
    }

    fn page(self, call: &Call<'_>, spec: QuerySpec, world: &dyn World) -> Result<Reply, Failure> {
        let continuation = call.continuation()?.map(str::to_owned);
        let query = FeedQuery { spec, page_size: call.page_size()?, continuation };
        let page = run_over(self.entries, &query, world)?;
        let body = FeedEnvelope::write(self.kind, &self.owner, page.rows.iter());
        let mut reply = Reply::new(CosmosStatus::OK, body).charged(page.charge);
        reply.number(headers::ITEM_COUNT, page.rows.len() as u64);
        if let Some(continuation) = page.continuation {
            reply.owned(headers::CONTINUATION, continuation);
        }
        Ok(reply)
    }
}
