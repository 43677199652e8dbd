//! Queries over items, their plans, and the plain feed of all items.

use cosmonaut_query::eval::Rows;
use cosmonaut_wire::model::{FeedEnvelope, QuerySpec};
use cosmonaut_wire::{CosmosStatus, ResourceType, headers};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Gateway;
use super::call::Call;
use super::located::Located;
use super::metadata::json_body;
use super::reply::Reply;
use crate::Failure;
use crate::engine::query::{self, IndexMetrics, QueryFeatures, QueryPage, QueryRequest, ResumeFilter};
use crate::engine::{FeedRequest, charge};

impl Gateway {
    /// A page of what a query finds.
    pub(super) fn query_items(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let reading = self.reading(call, &container)?;
        let spec = call.json::<QuerySpec>("query")?;
        let request = QueryRequest {
            page_size: call.page_size()?,
            continuation: call.continuation()?.map(str::to_owned),
            cross_partition: call.flag(&headers::ENABLE_CROSS_PARTITION_QUERY),
            populate_metrics: call.flag(&headers::POPULATE_QUERY_METRICS),
            index_metrics: index_metrics(call),
            session: reading.session.clone(),
            ties: self.engine.ties(),
            resume: resume_filter(call)?,
            pace: call.pace.clone(),
            functions: self.callable(call, &container, &spec.query),
            ..QueryRequest::new(spec, call.scope()?)
        };
        let room = call.continuation_limit()?;
        let page = query::run(&container, self.region, &request, &*self.world)?;
        check_continuation(page.continuation.as_deref(), room)?;
        let hold = reading.hold(&container, &page.session);
        Ok(page_reply(&container, page).held(hold))
    }

    /// A page of all items.
    pub(super) fn list_items(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let (scope, reading) = (call.scope()?, self.reading(call, &container)?);
        let request = FeedRequest {
            scope: &scope,
            max_items: call.most_items()?,
            continuation: call.continuation()?,
            session: reading.session.as_ref(),
            pace: call.pace.clone(),
        };
        let page = container.read_feed(self.region, &request)?;
        let rid = container.rid().to_string();
        let body = FeedEnvelope::write(ResourceType::Document, &rid, &page.items);
        let hold = reading.hold(&container, &page.session);
        let mut reply =
            Reply::new(CosmosStatus::OK, body).charged(page.charge).after_all(page.commits).held(hold);
        reply.number(headers::ITEM_COUNT, page.items.len() as u64);
        reply.of_container(&container);
        reply.session(&page.session);
        reply.sequence_numbers(page.lsn, page.committed);
        if let Some(range) = &page.range {
            reply.text(headers::PARTITION_KEY_RANGE_ID, range.id.as_str());
        }
        if let Some(continuation) = page.continuation {
            reply.owned(headers::CONTINUATION, continuation);
        }
        Ok(reply)
    }

    /// How a client is to run a query over many partitions.
    pub(super) fn plan_query(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        let features =
            QueryFeatures::from_header(call.text(&headers::SUPPORTED_QUERY_FEATURES)?.unwrap_or(""));
        let plan = query::plan(&container, &call.json("query")?, &features)?;
        let mut reply = Reply::new(CosmosStatus::OK, json_body(&plan)).charged(charge::CATALOG_READ);
        reply.of_container(&container);
        Ok(reply)
    }
}

/// 400 if a continuation has more bytes than the client takes.
fn check_continuation(continuation: Option<&str>, most: Option<usize>) -> Result<(), Failure> {
    match (continuation, most) {
        (Some(continuation), Some(most)) if continuation.len() > most => Err(Failure::bad_request(format!(
            "The continuation token limit specified is not large enough: the token has {} bytes (raise {}, or leave it \
             out)",
            continuation.len(),
            headers::RESPONSE_CONTINUATION_TOKEN_LIMIT_IN_KB
        ))),
        _ => Ok(()),
    }
}

fn index_metrics(call: &Call<'_>) -> Option<IndexMetrics> {
    let newer = call.flag(&headers::POPULATE_INDEX_METRICS_V2).then_some(IndexMetrics::UriEncoded);
    newer.or(call.flag(&headers::POPULATE_INDEX_METRICS).then_some(IndexMetrics::Base64))
}

/// The place that the body names beside the query.
fn resume_filter(call: &Call<'_>) -> Result<Option<ResumeFilter>, Failure> {
    #[derive(Deserialize)]
    struct Body<'b> {
        #[serde(rename = "resumeFilter", borrow, default)]
        resume_filter: Option<&'b RawValue>,
    }
    let body: Body<'_> = call.json("query")?;
    body.resume_filter.map(ResumeFilter::read).transpose()
}

fn page_reply(container: &Located<'_>, page: QueryPage) -> Reply {
    let mut reply = Reply::new(CosmosStatus::OK, documents(container, &page.rows))
        .charged(page.charge)
        .after_all(page.commits);
    reply.number(headers::ITEM_COUNT, page.rows.len() as u64);
    reply.of_container(container);
    reply.session(&page.session);
    reply.sequence_numbers(page.lsn, page.committed);
    for (name, value) in [
        (headers::CONTINUATION, page.continuation),
        (headers::QUERY_METRICS, page.metrics),
        (headers::QUERY_EXECUTION_INFO, serde_json::to_string(&page.execution_info).ok()),
        (headers::INDEX_UTILIZATION, page.index_utilization),
        (headers::PARTITION_KEY_RANGE_ID, page.range_id.map(|id| id.to_string())),
    ] {
        if let Some(value) = value {
            reply.owned(name, value);
        }
    }
    reply
}

fn documents(container: &Located<'_>, rows: &Rows) -> Vec<u8> {
    FeedEnvelope::write(ResourceType::Document, &container.rid().to_string(), rows.iter())
}
