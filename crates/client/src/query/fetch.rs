//! One page of one partition: the request, and its rows.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, CosmosResponse, OperationOptions, OperationType, PartitionTarget};
use cosmonaut_wire::model::{FeedEnvelope, QueryExecutionInfo};
use cosmonaut_wire::{ResourceId, ResourceType, headers};
use http::HeaderValue;
use serde_json::value::RawValue;

use crate::container::ContainerHandle;
use crate::feeds::source::check_progress;
use crate::{Error, ErrorKind, Result};

/// What the requests of one query have in common.
pub(super) struct Fetcher {
    pub(super) handle: Arc<ContainerHandle>,
    /// The only container that may answer, if that matters: continuations are of one container, and of no other that
    /// gets its name.
    pub(super) container: Option<ResourceId>,
    pub(super) options: OperationOptions,
    /// Whether answers are to say how they were found.
    pub(super) is_measured: bool,
}

/// What is asked.
pub(super) struct PageRequest {
    pub(super) target: PartitionTarget,
    pub(super) body: Bytes,
    pub(super) continuation: Option<String>,
    /// How many rows at most; `None` for as many as fit into an answer.
    pub(super) most: Option<u32>,
}

/// A page of one partition.
pub(super) struct PartitionPage {
    pub(super) rows: Vec<Box<RawValue>>,
    pub(super) continuation: Option<String>,
    /// How the partition read it.
    pub(super) execution_info: QueryExecutionInfo,
}

/// A page, and the answer that it came in.
pub(super) type Fetched = (PartitionPage, CosmosResponse);

impl Fetcher {
    /// Asks for a page.
    pub(super) fn fetch(
        self: &Arc<Self>,
        request: PageRequest,
    ) -> impl Future<Output = Result<Fetched>> + Send + 'static {
        let fetcher = Arc::clone(self);
        async move { fetcher.page(request).await }
    }

    pub(super) async fn page(&self, request: PageRequest) -> Result<Fetched> {
        let most = request.most.map_or(HeaderValue::from_static("-1"), HeaderValue::from);
        let mut operation = CosmosOperation::new(OperationType::Query, Arc::clone(&self.handle.items))
            .with_target(request.target)
            .with_header(headers::MAX_ITEM_COUNT, most)
            .with_body(request.body);
        if let Some(container) = self.container {
            operation = operation.with_container(container);
        }
        if let Some(continuation) = &request.continuation {
            let value = HeaderValue::try_from(continuation).map_err(|_| {
                let problem = "it holds a continuation that no header can carry";
                crate::feeds::token::refused(super::token::KIND, problem)
            })?;
            operation = operation.with_header(headers::CONTINUATION, value);
        }
        if self.is_measured {
            let yes = HeaderValue::from_static("true");
            operation = operation
                .with_header(headers::POPULATE_QUERY_METRICS, yes.clone())
                .with_header(headers::POPULATE_INDEX_METRICS, yes);
        }
        let response = self.handle.run(&operation, &self.options).await?;
        match rows(&response) {
            Ok(rows) => {
                let continuation = response.continuation().map(str::to_owned);
                let execution_info = execution_info(&response);
                match check_progress(rows.len(), request.continuation.as_deref(), continuation.as_deref()) {
                    Ok(()) => Ok((PartitionPage { rows, continuation, execution_info }, response)),
                    Err(error) => Err(error.found_in(response)),
                }
            }
            Err(error) => Err(error.found_in(response)),
        }
    }
}

/// What the answer says of how it was read; an answer that says nothing, or nothing known, was read in the usual way.
fn execution_info(response: &CosmosResponse) -> QueryExecutionInfo {
    let said = response.headers().get(&headers::QUERY_EXECUTION_INFO);
    said.and_then(|value| serde_json::from_slice(value.as_bytes()).ok()).unwrap_or(QueryExecutionInfo::UNSAID)
}

fn rows(response: &CosmosResponse) -> Result<Vec<Box<RawValue>>> {
    let page = FeedEnvelope::parse(ResourceType::Document, response.body()).map_err(|error| {
        Error::caused_by(ErrorKind::InvalidResponse, format!("a page of query results: {error}"), error)
    })?;
    Ok(page.items.into_iter().map(RawValue::to_owned).collect())
}
