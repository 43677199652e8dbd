//! `pkranges`: the physical partitions of a container, as clients cache them.

use bytes::Bytes;
use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{CosmosStatus, Etag, ResourceType, headers};
use http::header;

use super::Gateway;
use super::call::Call;
use super::metadata::json_body;
use super::reply::Reply;
use crate::Failure;
use crate::engine::charge;

impl Gateway {
    /// Lists the partitions; 304 to a client that has them, for clients ask until they get it.
    pub(super) fn list_ranges(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let layout = container.layout();
        // A container that was made again under its name has other partitions of the same version.
        let etag = Etag::from(format!("\"{}-{}\"", container.rid(), layout.version()));
        let known = call.text(&header::IF_NONE_MATCH)?.is_some_and(|tag| etag.is_named_by(tag));
        let mut reply = if known {
            Reply::new(CosmosStatus::NOT_MODIFIED, Bytes::new())
        } else {
            let ranges: Vec<_> = container.describe(&layout).iter().map(json_body).collect();
            let body =
                FeedEnvelope::write(ResourceType::PartitionKeyRange, &container.rid().to_string(), &ranges);
            let mut reply = Reply::new(CosmosStatus::OK, body);
            reply.number(headers::ITEM_COUNT, ranges.len() as u64);
            reply
        };
        reply.text(header::ETAG, etag.as_str());
        reply.of_container(&container);
        // A partition that nobody would know after a restart is not shown.
        Ok(reply.charged(charge::CATALOG_READ).after_all(container.commits(self.region)))
    }
}
