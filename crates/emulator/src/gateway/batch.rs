//! Transactional batches and bulk requests: several operations in one request.

use cosmonaut_wire::model::{BatchOperation, BatchOperationType, BatchResult, MAX_BATCH_BYTES};
use cosmonaut_wire::{CosmosStatus, headers};

use super::Gateway;
use super::call::Call;
use super::located::Located;
use super::metadata::json_body;
use super::reply::Reply;
use crate::Failure;
use crate::engine::{BatchReply, BatchRequest, FeedScope};

impl Gateway {
    /// All or none, on one partition key; or each by itself, on one physical partition.
    pub(super) fn run_batch(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let container = self.container(call)?;
        if call.body.len() > MAX_BATCH_BYTES {
            let bytes = call.body.len();
            return Err(Failure::too_large(format_args!(
                "a batch has at most {MAX_BATCH_BYTES} bytes, not {bytes}: divide it"
            )));
        }
        refuse_triggers(call)?;
        let operations: Vec<BatchOperation> = call.json("batch")?;
        let continue_on_error = call.flag(&headers::BATCH_CONTINUE_ON_ERROR);
        let writing = self.writing(call, &container)?;
        let request = BatchRequest {
            operations: &operations,
            session: writing.session.as_ref(),
            pace: call.pace.clone(),
        };
        let mut done = match (call.flag(&headers::BATCH_ATOMIC), call.scope()?) {
            (true, FeedScope::Key(key)) => container.batch(self.region, &key, &request)?,
            // Clients there are say no more than that the first error ends it, and rely on all or none.
            (false, FeedScope::Key(key)) if !continue_on_error => {
                container.batch(self.region, &key, &request)?
            }
            (true, _) => {
                return Err(Failure::bad_request(format!(
                    "a transactional batch is for one partition key: send the header {}",
                    headers::PARTITION_KEY
                )));
            }
            // Each operation is looked for in the whole partition: a stretch of it only routes.
            (false, FeedScope::Range(id) | FeedScope::RangePart { id, .. }) => {
                container.bulk(self.region, &id, &request, continue_on_error)?
            }
            (false, _) => {
                return Err(Failure::bad_request(format!(
                    "a batch that is not atomic is for one physical partition: send the header {}",
                    headers::PARTITION_KEY_RANGE_ID
                )));
            }
        };
        if done.status == CosmosStatus::MULTI_STATUS {
            done.hold.extend(writing.hold(&container, &done.session()));
        }
        leave_out_what_was_written(&operations, &mut done.results, call.is_minimal());
        Ok(batch_reply(&container, done))
    }
}

/// 400 if a batch names triggers: a write that is to run a trigger must not succeed without it.
fn refuse_triggers(call: &Call<'_>) -> Result<(), Failure> {
    for header in [headers::PRE_TRIGGER_INCLUDE, headers::POST_TRIGGER_INCLUDE] {
        if call.text(&header)?.is_some_and(|names| !names.trim().is_empty()) {
            return Err(Failure::bad_request(format!(
                "triggers are not run with a batch: leave the header {header} out, or write the items one by one"
            )));
        }
    }
    Ok(())
}

/// What was read is an answer; what was written the client has already.
fn leave_out_what_was_written(operations: &[BatchOperation], results: &mut [BatchResult], of_all: bool) {
    for (operation, result) in operations.iter().zip(results) {
        let is_minimal = of_all || operation.minimal_return_preference;
        if is_minimal && operation.operation_type != BatchOperationType::Read {
            result.resource_body = None;
        }
    }
}

fn batch_reply(container: &Located<'_>, done: BatchReply) -> Reply {
    let mut reply = Reply::new(done.status, json_body(&done.results))
        .charged(done.charge)
        .after(done.commit)
        .held(done.hold);
    reply.number(headers::ITEM_COUNT, done.results.len() as u64);
    reply.of_partition(container, &done.range, done.standing);
    reply
}
