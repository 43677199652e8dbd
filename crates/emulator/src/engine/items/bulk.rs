//! Bulk requests: operations on items of one physical partition, each by itself.
//!
//! Nothing holds them together but the request: what all-or-none needs is in `batch`.

use std::sync::Arc;

use cosmonaut_wire::model::{BatchOperation, BatchResult};
use cosmonaut_wire::{CosmosStatus, PartitionKey, PartitionKeyRangeId};

use super::batch::{check_limits, failure_result, overall, result};
use super::{BatchReply, BatchRequest, Outcome};
use crate::engine::container::Transacted;
use crate::engine::layout::gone;
use crate::engine::{Container, Hold, PartitionRange, RegionId};
use crate::{Failure, Pace};

impl Container {
    /// Runs operations one by one; each names its partition key. 410/1002 if the partition is gone.
    ///
    /// Without `continue_on_error` the operations after the first failure are not tried and carry 424.
    pub fn bulk(
        &self,
        region: RegionId,
        range: &PartitionKeyRangeId,
        request: &BatchRequest<'_>,
        continue_on_error: bool,
    ) -> Result<BatchReply, Failure> {
        let &BatchRequest { operations, session, ref pace } = request;
        check_limits(operations)?;
        let range = Arc::clone(self.layout().range(range)?);
        let mut results: Vec<BatchResult> = Vec::with_capacity(operations.len());
        // What is asked for includes writes, so a region that takes none refuses all of it.
        self.check_writer(&range, region)?;
        let (mut standing, mut commit) = range.replica(region).read(|state| {
            range.check_session(session, state)?;
            Ok::<_, Failure>((range.standing(state), state.commit()))
        })?;
        let mut hold = Hold::none();
        let mut stopped = false;
        for operation in operations {
            if stopped {
                results.push(BatchResult::new(CosmosStatus::FAILED_DEPENDENCY.code().as_u16(), 0.0));
                continue;
            }
            match self.one_of_bulk(region, &range, operation, pace) {
                Ok(done) => {
                    // Commits resolve in order, so the last one stands for all.
                    (standing, commit, hold) = (done.standing, done.commit, done.hold);
                    results.push(result(done.value));
                }
                Err(failure) => {
                    stopped = !continue_on_error;
                    results.push(failure_result(&failure));
                }
            }
            // Each by itself: those after the last request unit are throttled.
            let charge = results.last().map_or(0.0, |result| result.request_charge);
            range.replica(region).spend(charge);
        }
        let charge = results.iter().map(|result| result.request_charge).sum();
        Ok(BatchReply { status: overall(&results), results, standing, charge, range, commit, hold })
    }

    fn one_of_bulk(
        &self,
        region: RegionId,
        range: &PartitionRange,
        operation: &BatchOperation,
        pace: &Pace,
    ) -> Result<Transacted<Outcome>, Failure> {
        let key = self.key_of_operation(operation)?;
        let epk = self.keys().place(&key)?;
        let mut prepared = self.prepare(operation, &key)?;
        loop {
            let done = self.transact(region, &epk, |site, tx| {
                // The client chose the partition by its own map, which may be out of date.
                if site.range.id != range.id {
                    return Err(gone(&range.id));
                }
                prepared.apply(site, tx)
            });
            if !prepared.judge_wanted(self.keys(), pace) {
                return done;
            }
        }
    }

    /// The key that an operation names or, if it does not, that of the item it carries.
    fn key_of_operation(&self, operation: &BatchOperation) -> Result<PartitionKey, Failure> {
        match (&operation.partition_key, &operation.resource_body) {
            (Some(key), _) => {
                key.parse().map_err(|error: cosmonaut_wire::partition_key::PartitionKeyError| {
                    Failure::bad_request(error.to_string())
                })
            }
            (None, Some(body)) => self.key_of(body.get().as_bytes()),
            (None, None) => {
                Err(Failure::bad_request("an operation of a bulk request needs its partitionKey"))
            }
        }
    }
}
