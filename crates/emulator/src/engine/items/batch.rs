//! Transactional batches: several operations on one partition key, all or none.
//!
//! What each operation does is in its own file; reading the request and writing the reply is the gateway's.

use std::collections::HashSet;
use std::sync::Arc;

use cosmonaut_wire::model::{
    BatchOperation, BatchOperationType, BatchResult, MAX_BATCH_BYTES, MAX_BATCH_OPERATIONS,
};
use cosmonaut_wire::{CosmosStatus, IndexingDirective, PartitionKey, SessionToken};
use serde_json::value::RawValue;

use super::delete::Delete;
use super::patch::Patch;
use super::put::{Put, PutMode};
use super::read::Read;
use super::{Conditions, ItemRequest, Outcome, Site};
use crate::engine::key::KeyReader;
use crate::engine::replica::Transaction;
use crate::engine::{Container, Hold, PartitionRange, RegionId, Standing};
use crate::storage::Commit;
use crate::{Failure, Pace};

/// What a batch or bulk request is asked with.
#[derive(Clone, Debug)]
pub struct BatchRequest<'a> {
    /// What is to be done, in order.
    pub operations: &'a [BatchOperation],
    /// What the session has seen.
    pub session: Option<&'a SessionToken>,
    /// How long it may take to decide about its patches.
    pub pace: Pace,
}

impl<'a> BatchRequest<'a> {
    /// A request without a session.
    pub fn new(operations: &'a [BatchOperation]) -> Self {
        Self { operations, session: None, pace: Pace::default() }
    }
}

/// What a batch or bulk request came to.
#[derive(Debug)]
pub struct BatchReply {
    /// 200 if every operation succeeded, else 207.
    pub status: CosmosStatus,
    /// A result for each operation, in order.
    pub results: Vec<BatchResult>,
    /// How far the partition is.
    pub standing: Standing,
    /// What it cost.
    pub charge: f64,
    /// The partition.
    pub range: Arc<PartitionRange>,
    /// Resolves when the reply is safe to be sent.
    pub commit: Commit,
    /// Resolves when other regions have what they must before it is sent.
    pub hold: Hold,
}

impl BatchReply {
    /// The session token of the reply.
    pub fn session(&self) -> SessionToken {
        SessionToken::of(self.range.id.clone(), self.standing.seen.clone())
    }
}

/// One operation of a batch, ready to be applied.
pub(super) enum Prepared<'a> {
    Put(Put<'a>),
    Read(Read<'a>),
    Delete(Delete<'a>),
    Patch(Patch<'a>),
}

impl Prepared<'_> {
    pub(super) fn apply(&mut self, site: Site<'_>, tx: &mut Transaction<'_>) -> Result<Outcome, Failure> {
        match self {
            Self::Put(put) => put.apply(site, tx),
            Self::Read(read) => read.apply(site.container, tx.state(), tx.now()),
            Self::Delete(delete) => delete.apply(site, tx),
            Self::Patch(patch) => patch.apply(site, tx),
        }
    }

    /// Judges what has to be before it can be applied; false if nothing has. No lock may be held.
    pub(super) fn judge_wanted(&mut self, keys: &KeyReader, pace: &Pace) -> bool {
        match self {
            Self::Patch(patch) => patch.judge_wanted(keys, pace),
            Self::Put(_) | Self::Read(_) | Self::Delete(_) => false,
        }
    }
}

/// Operations as far as they can be checked without looking at the container.
struct All<'a>(Vec<Result<Prepared<'a>, Failure>>);

impl All<'_> {
    /// Applies them; `tried` says which was the last.
    fn apply(
        &mut self,
        site: Site<'_>,
        tx: &mut Transaction<'_>,
        tried: &mut Option<usize>,
    ) -> Result<Vec<Outcome>, Failure> {
        let mut outcomes = Vec::with_capacity(self.0.len());
        for (nth, operation) in self.0.iter_mut().enumerate() {
            *tried = Some(nth);
            match operation.as_mut().map_err(|failure| failure.clone())?.apply(site, tx) {
                Ok(outcome) => outcomes.push(outcome),
                Err(failure) => {
                    self.look_after(nth, site, tx);
                    return Err(failure);
                }
            }
        }
        Ok(outcomes)
    }

    /// If an operation has to be judged, looks which of those after it have to be too: most batches need only one more
    /// attempt then.
    fn look_after(&mut self, nth: usize, site: Site<'_>, tx: &Transaction<'_>) {
        let (done, rest) = self.0.split_at_mut(nth + 1);
        let Some(Ok(Prepared::Patch(first))) = done.last() else { return };
        if !first.wants_judging() {
            return;
        }
        // A second patch of an item is about what the first one makes of it.
        let mut items = HashSet::from([first.id()]);
        for operation in rest {
            if let Ok(Prepared::Patch(patch)) = operation
                && !items.contains(patch.id())
            {
                patch.look(site, tx);
                items.insert(patch.id());
            }
        }
    }

    /// Judges what has to be; false if nothing has.
    fn judge_wanted(&mut self, keys: &KeyReader, pace: &Pace) -> bool {
        let mut any = false;
        for operation in self.0.iter_mut().flatten() {
            any |= operation.judge_wanted(keys, pace);
        }
        any
    }
}

impl Container {
    /// Runs operations on one partition key in one commit. If one fails, none has happened: it has its own status, the
    /// others 424.
    pub fn batch(
        &self,
        region: RegionId,
        key: &PartitionKey,
        request: &BatchRequest<'_>,
    ) -> Result<BatchReply, Failure> {
        let &BatchRequest { operations, session, ref pace } = request;
        check_limits(operations)?;
        check_same_key(operations, key)?;
        let epk = self.keys().place(key)?;
        // A malformed operation fails as the operation it is, at its place.
        let mut prepared = All(operations.iter().map(|operation| self.prepare(operation, key)).collect());
        let (done, tried) = loop {
            let mut tried = None;
            let done = self.transact(region, &epk, |site, tx| {
                site.range.check_session(session, tx.state())?;
                prepared.apply(site, tx, &mut tried)
            });
            if !prepared.judge_wanted(self.keys(), pace) {
                break (done, tried);
            }
        };
        let (results, standing, range, commit, hold) = match (done, tried) {
            (Ok(done), _) => {
                let results: Vec<_> = done.value.into_iter().map(result).collect();
                (results, done.standing, done.range, done.commit, done.hold)
            }
            // The batch was not let in at all.
            (Err(failure), None) => return Err(failure),
            (Err(failure), Some(nth)) => {
                let range = Arc::clone(self.layout().range_of(&epk));
                let (standing, commit) =
                    range.replica(region).read(|state| (range.standing(state), state.commit()));
                (failed_results(operations.len(), nth, &failure), standing, range, commit, Hold::none())
            }
        };
        let charge = results.iter().map(|result| result.request_charge).sum();
        range.replica(region).spend(charge);
        Ok(BatchReply { status: overall(&results), results, standing, charge, range, commit, hold })
    }

    /// Checks all of an operation that can be checked without looking at the container.
    pub(super) fn prepare<'a>(
        &self,
        operation: &'a BatchOperation,
        key: &'a PartitionKey,
    ) -> Result<Prepared<'a>, Failure> {
        operation.validate().map_err(|error| Failure::bad_request(error.to_string()))?;
        let id = operation.id.as_deref().unwrap_or_default();
        let body = operation.resource_body.as_ref().map_or("", |body| body.get());
        let conditions = Conditions {
            if_match: operation.if_match.as_deref(),
            if_none_match: operation.if_none_match.as_deref(),
        };
        let request = || ItemRequest {
            key: Some(key.clone()),
            id,
            body: body.to_owned().into(),
            conditions,
            session: None,
            indexing: IndexingDirective::Default,
            pace: Pace::default(),
        };
        Ok(match operation.operation_type {
            BatchOperationType::Create => Prepared::Put(self.prepare_put(PutMode::Create, &request())?),
            BatchOperationType::Upsert => Prepared::Put(self.prepare_put(PutMode::Upsert, &request())?),
            BatchOperationType::Replace => Prepared::Put(self.prepare_put(PutMode::Replace, &request())?),
            BatchOperationType::Read => Prepared::Read(Read { key, id, conditions }),
            BatchOperationType::Delete => Prepared::Delete(Delete { key, id, conditions }),
            BatchOperationType::Patch => Prepared::Patch(self.prepare_patch(key.clone(), &request())?),
        })
    }
}

/// 400 if an operation of a batch names another partition key than the request. Some clients write a text as it is.
fn check_same_key(operations: &[BatchOperation], key: &PartitionKey) -> Result<(), Failure> {
    let is_other = |named: &String| match named.parse::<PartitionKey>() {
        Ok(named) => named != *key,
        Err(_) => PartitionKey::from(named.as_str()) != *key,
    };
    match operations.iter().filter_map(|operation| operation.partition_key.as_ref()).any(is_other) {
        true => Err(Failure::bad_request(
            "One or more operations within the batch request have a different partition key value than the request.",
        )),
        false => Ok(()),
    }
}

/// 400 or 413 unless a request has as many operations, and as many bytes, as it may.
pub(super) fn check_limits(operations: &[BatchOperation]) -> Result<(), Failure> {
    let count = operations.len();
    if count == 0 {
        return Err(Failure::bad_request("Batch request has no operations."));
    }
    if count > MAX_BATCH_OPERATIONS {
        return Err(Failure::bad_request(format!(
            "Batch request has more operations than what is supported. It has {count}, and {MAX_BATCH_OPERATIONS} at \
             most are taken: divide it"
        )));
    }
    let bytes: usize =
        operations.iter().filter_map(|one| Some(one.resource_body.as_ref()?.get().len())).sum();
    if bytes > MAX_BATCH_BYTES {
        return Err(Failure::too_large(format_args!(
            "a batch has at most {MAX_BATCH_BYTES} bytes, not {bytes}: divide it"
        )));
    }
    Ok(())
}

pub(super) fn overall(results: &[BatchResult]) -> CosmosStatus {
    let is_success =
        |result: &BatchResult| (200..300).contains(&result.status_code) || result.status_code == 304;
    if results.iter().all(is_success) { CosmosStatus::OK } else { CosmosStatus::MULTI_STATUS }
}

pub(super) fn result(outcome: Outcome) -> BatchResult {
    let body = String::from_utf8(outcome.body.into()).ok().filter(|body| !body.is_empty());
    BatchResult {
        e_tag: outcome.etag.map(|etag| etag.to_string()),
        resource_body: body.and_then(|body| RawValue::from_string(body).ok()),
        ..BatchResult::new(outcome.status.code().as_u16(), outcome.charge)
    }
}

pub(super) fn failure_result(failure: &Failure) -> BatchResult {
    let status = failure.status;
    BatchResult {
        sub_status_code: Some(status.sub_status()).filter(|sub_status| *sub_status != 0),
        retry_after_milliseconds: failure.retry_after_ms,
        message: Some(failure.message.clone()),
        ..BatchResult::new(status.code().as_u16(), failure.charge)
    }
}

fn failed_results(count: usize, nth: usize, failure: &Failure) -> Vec<BatchResult> {
    let undone = CosmosStatus::FAILED_DEPENDENCY.code().as_u16();
    let one = |at| if at == nth { failure_result(failure) } else { BatchResult::new(undone, 0.0) };
    (0..count).map(one).collect()
}
