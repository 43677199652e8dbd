//! The conflict feed: what has lost against another region's write, listed, queried, read and deleted.

use bytes::Bytes;
use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};

use super::Gateway;
use super::call::Call;
use super::metadata::Descriptions;
use super::reply::Reply;
use crate::Failure;
use crate::engine::charge;

/// How many conflicts a page has if the request does not say.
const DEFAULT_PAGE: usize = 100;

impl Gateway {
    /// A page of conflicts. It goes on after the last one given, so that a reader may delete what it has dealt with.
    pub(super) fn list_conflicts(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let after = call.continuation()?.map_or(Ok(0), |text| {
            text.parse::<u64>().map_err(|_| {
                Failure::bad_request(format!(
                    "{text:?} is not a continuation of the conflict feed (send {} of the last page)",
                    headers::CONTINUATION
                ))
            })
        })?;
        let found = container.conflicts(&call.scope()?, after)?;
        let most = call.most_items()?.unwrap_or(DEFAULT_PAGE);
        let page = &found[..found.len().min(most)];
        let items = page.iter().map(|conflict| conflict.to_json()).collect::<Result<Vec<_>, Failure>>()?;
        let body = FeedEnvelope::write(ResourceType::Conflict, &container.rid().to_string(), &items);
        let charge = charge::feed(body.len());
        let mut reply = Reply::new(CosmosStatus::OK, body).charged(charge);
        reply.number(headers::ITEM_COUNT, items.len() as u64);
        reply.of_container(&container);
        if let Some(last) = page.last().filter(|_| page.len() < found.len()) {
            reply.number(headers::CONTINUATION, last.number());
        }
        Ok(reply)
    }

    pub(super) fn query_conflicts(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let found = container.conflicts(&call.scope()?, 0)?;
        let entries = found.iter().map(|conflict| Ok(conflict.to_json()?.into()));
        let entries = entries.collect::<Result<Vec<Bytes>, Failure>>()?;
        let owner = container.rid().to_string();
        Descriptions::new(ResourceType::Conflict, owner, entries, Bytes::clone).query(call, &*self.world)
    }

    pub(super) fn read_conflict(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let conflict = container.conflict(id(call))?;
        let mut reply = Reply::new(CosmosStatus::OK, conflict.to_json()?).charged(charge::CATALOG_READ);
        reply.of_container(&container);
        Ok(reply)
    }

    pub(super) fn delete_conflict(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let commit = container.delete_conflict(id(call))?;
        let mut reply =
            Reply::new(CosmosStatus::NO_CONTENT, Bytes::new()).charged(charge::CATALOG_WRITE).after(commit);
        reply.of_container(&container);
        Ok(reply)
    }
}

fn id<'a>(call: &'a Call<'_>) -> &'a str {
    call.path.plain().rsplit('/').next().unwrap_or_default()
}
