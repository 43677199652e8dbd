//! What the feeds of databases, containers and offers have in common: lists, pages, and queries over descriptions.
//!
//! These feeds are short, so a query looks at every description for each page; items have their own queries.

use bytes::Bytes;
use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use serde::Serialize;

use super::call::Call;
use super::reply::Reply;
use crate::engine::query::{FeedQuery, FeedQueryPage, list_over, run_over};
use crate::{Failure, World};

/// The JSON text of a description.
pub(super) fn json_body(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("descriptions are strings, numbers and lists").into()
}

/// All descriptions of a kind in one owner.
pub(super) struct Descriptions<'d> {
    pub(super) kind: ResourceType,
    /// The owner's resource id; empty for the account.
    pub(super) owner: String,
    /// The one at a place. It is written when it is asked for.
    pub(super) entry: Box<dyn Fn(usize) -> Option<Bytes> + 'd>,
}

impl<'d> Descriptions<'d> {
    /// Those of `values`, as `write` writes them.
    pub(super) fn new<T: 'd>(
        kind: ResourceType,
        owner: String,
        values: Vec<T>,
        write: impl Fn(&T) -> Bytes + 'd,
    ) -> Self {
        Descriptions { kind, owner, entry: Box::new(move |nth| values.get(nth).map(&write)) }
    }

    /// A page of them.
    pub(super) fn list(self, call: &Call<'_>) -> Result<Reply, Failure> {
        let page = list_over(&self.entry, call.page_size()?, call.continuation()?)?;
        Ok(self.reply(page))
    }

    /// A page of what the query in the body makes of them.
    pub(super) fn query(self, call: &Call<'_>, world: &dyn World) -> Result<Reply, Failure> {
        let continuation = call.continuation()?.map(str::to_owned);
        let query = FeedQuery { spec: call.json("query")?, page_size: call.page_size()?, continuation };
        let page = run_over((0..).map_while(&self.entry), &query, &call.pace, world)?;
        Ok(self.reply(page))
    }

    fn reply(&self, page: FeedQueryPage) -> Reply {
        let body = FeedEnvelope::write(self.kind, &self.owner, page.rows.iter());
        let mut reply = Reply::new(CosmosStatus::OK, body).charged(page.charge);
        reply.number(headers::ITEM_COUNT, page.rows.len() as u64);
        if let Some(continuation) = page.continuation {
            reply.owned(headers::CONTINUATION, continuation);
        }
        reply
    }
}
