//! What a bulk run gives: a result for each operation, and sums.

use cosmonaut_driver::CosmosResponse;
use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::{self, BatchOperationType};

use crate::batch::BatchFailure;
use crate::{BatchResult, Error, FromItem, Result};

/// What came of one operation of a bulk run.
#[derive(Clone, Debug)]
pub struct BulkResult {
    pub(super) index: u64,
    pub(super) kind: BatchOperationType,
    pub(super) partition_key: PartitionKey,
    pub(super) id: Option<String>,
    pub(super) tries: u32,
    pub(super) outcome: Result<BatchResult>,
}

impl BulkResult {
    /// Its place among the operations that were given, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// What was done.
    pub fn operation(&self) -> BatchOperationType {
        self.kind
    }

    /// The partition key of the item.
    pub fn partition_key(&self) -> &PartitionKey {
        &self.partition_key
    }

    /// The id of the item; `None` if it has none.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// How often it was sent: more than once if it was throttled, or its partition has split.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// What the service answered, or why the operation was not done.
    ///
    /// # Errors
    /// The operation's own error, as that of the same operation on its own would be. Each operation of a request whose
    /// answer was lost is of [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown).
    pub fn outcome(&self) -> Result<&BatchResult, &Error> {
        self.outcome.as_ref()
    }

    /// What the service answered, for keeping.
    ///
    /// # Errors
    /// As [`outcome`](Self::outcome).
    pub fn into_outcome(self) -> Result<BatchResult> {
        self.outcome
    }

    /// The item: what was read or, if that was asked for, what was written.
    ///
    /// # Errors
    /// The operation's own, or [`ErrorKind::Serialization`](crate::ErrorKind::Serialization) if there is no item or it
    /// is no `T`.
    pub fn item<T: FromItem>(&self) -> Result<T> {
        let item = self.outcome.as_ref().map_err(Clone::clone)?.item();
        let name = self.id.as_deref().unwrap_or("without an id");
        T::from_json(&item.clone().into_bytes(), format_args!("item {name:?}"))
    }
}

/// How far a bulk run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BulkProgress {
    /// Operations that were taken from those given.
    pub taken: u64,
    /// Operations that were done.
    pub succeeded: u64,
    /// Operations that were not done, or of which nobody knows.
    pub failed: u64,
    /// How often an operation was throttled and sent again.
    pub throttled: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// What all of it cost, in request units.
    pub request_charge: f64,
}

/// What came of a bulk run as a whole.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BulkSummary {
    /// The sums.
    pub progress: BulkProgress,
    /// The first operations that failed; at most 100 are kept.
    pub failures: Vec<BulkResult>,
    /// Whether every operation has had a result.
    pub(super) is_over: bool,
}

impl BulkSummary {
    /// Whether every operation was done. Not if the run has not come to its end, because what gave the operations, or
    /// heard of progress, has panicked.
    pub fn is_complete(&self) -> bool {
        self.is_over && self.progress.failed == 0
    }
}

/// What came of an operation that the service has answered.
pub(super) fn outcome(
    place: usize,
    operation: &model::BatchOperation,
    result: model::BatchResult,
    response: &CosmosResponse,
) -> Result<BatchResult> {
    if (200..300).contains(&result.status_code) {
        return Ok(BatchResult::from(result));
    }
    Err(Error::of_bulk(BatchFailure::new(place, operation, &result), response.without_body()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_write_that_may_have_been_applied_is_said_to_be_unknown_and_a_read_is_not() {
        let write = model::BatchOperation::delete("1");
        let read = model::BatchOperation::read("1");
        for (status, sub_status, of_write, of_read) in [
            (404, 0, ErrorKind::NotFound, ErrorKind::NotFound),
            (404, 1002, ErrorKind::SessionNotAvailable, ErrorKind::SessionNotAvailable),
            (408, 0, ErrorKind::OutcomeUnknown, ErrorKind::Unavailable),
            (409, 0, ErrorKind::Conflict, ErrorKind::Conflict),
            (412, 0, ErrorKind::PreconditionFailed, ErrorKind::PreconditionFailed),
            (429, 3200, ErrorKind::Throttled, ErrorKind::Throttled),
            (500, 0, ErrorKind::OutcomeUnknown, ErrorKind::Unavailable),
            (503, 0, ErrorKind::OutcomeUnknown, ErrorKind::Unavailable),
        ] {
            for (operation, expected) in [(&write, of_write), (&read, of_read)] {
                let result = model::BatchResult {
                    sub_status_code: Some(sub_status),
                    ..model::BatchResult::new(status, 0.0)
                };
                let failure = BatchFailure::new(0, operation, &result);
                assert_eq!(Error::kind_of_bulk(&failure), expected, "{status}/{sub_status}");
            }
        }
    }
}
