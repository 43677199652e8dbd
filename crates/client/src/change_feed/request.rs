//! One request for changes: of which part, from where on, and what its answer says.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, CosmosResponse, OperationType, PartitionTarget, Precondition};
use cosmonaut_wire::model::FeedEnvelope;
use cosmonaut_wire::{ResourceId, ResourceType, headers};
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};

use super::start::Opening;
use super::token;
use crate::container::ContainerHandle;
use crate::{Error, ErrorKind, Result};

/// Which changes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Mode {
    LatestVersion,
    AllVersionsAndDeletes,
}

/// Where a request begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// Nothing was read yet.
    Opening(Opening),
    /// Behind the answer that had this etag.
    Etag(String),
}

/// A request for the changes of one part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChangesRequest {
    pub(crate) mode: Mode,
    pub(crate) target: PartitionTarget,
    pub(crate) from: ReadFrom,
    pub(crate) max_item_count: Option<u32>,
    /// The only container that may answer, where the reader does not find out by itself.
    pub(crate) container: Option<ResourceId>,
}

impl ChangesRequest {
    /// The operation for the driver.
    pub(crate) fn operation(self, handle: &ContainerHandle) -> Result<CosmosOperation> {
        let mut operation = CosmosOperation::new(OperationType::ChangeFeed, Arc::clone(&handle.items))
            .with_target(self.target);
        if let Some(container) = self.container {
            operation = operation.with_container(container);
        }
        if let Some(count) = self.max_item_count {
            operation = operation.with_header(headers::MAX_ITEM_COUNT, HeaderValue::from(count.max(1)));
        }
        operation = match self.mode {
            Mode::LatestVersion => operation,
            Mode::AllVersionsAndDeletes => operation
                .with_header(headers::A_IM, HeaderValue::from_static("Full-Fidelity Feed"))
                .with_header(
                    headers::CHANGE_FEED_WIRE_FORMAT_VERSION,
                    HeaderValue::from_static("2021-09-15"),
                ),
        };
        match self.from {
            ReadFrom::Opening(opening) => Ok(opening.apply(operation)),
            ReadFrom::Etag(etag) => {
                let etag = HeaderValue::try_from(etag).map_err(|_| {
                    crate::feeds::token::refused(token::KIND, "it holds a place that no header can carry")
                })?;
                Ok(operation.with_precondition(Precondition::IfNoneMatch(etag)))
            }
        }
    }
}

/// What changes are called in an error.
pub(crate) const CHANGE: &str = "an item of the change feed";

/// The changes that an answer holds, as JSON; none for a 304.
pub(crate) fn changes_in(response: &CosmosResponse) -> Result<VecDeque<Bytes>> {
    if response.status().code() == StatusCode::NOT_MODIFIED {
        return Ok(VecDeque::new());
    }
    let body = response.body();
    let envelope = FeedEnvelope::parse(ResourceType::Document, body).map_err(|error| {
        Error::caused_by(ErrorKind::InvalidResponse, format!("a page of changes: {error}"), error)
    })?;
    Ok(envelope.items.iter().map(|change| body.slice_ref(change.get().as_bytes())).collect())
}

/// Where to go on behind an answer. A page of changes has to move on, or it would be asked for again for ever.
pub(crate) fn next_etag(response: &CosmosResponse, from: Option<&str>) -> Result<String> {
    let is_unchanged = response.status().code() == StatusCode::NOT_MODIFIED;
    match response.etag() {
        Some(etag) if is_unchanged || from != Some(etag) => Ok(etag.to_owned()),
        Some(_) => Err(stuck("an etag that does not move")),
        None => Err(stuck("no etag")),
    }
}

fn stuck(how: &str) -> Error {
    let message = format!(
        "changes came with {how}, so that where to go on is not known (the server has to send another etag with each \
         page of changes)"
    );
    Error::new(ErrorKind::InvalidResponse, message)
}
