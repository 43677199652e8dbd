//! One bulk request: operations of one partition, and what came of each.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::{
    CosmosOperation, CosmosResponse, Moment, OperationOptions, OperationType, PartitionTarget,
};
use cosmonaut_wire::model::{self, from_json};
use cosmonaut_wire::{CosmosStatus, mutation};
use http::StatusCode;

use super::backlog::{Held, Request};
use super::pace::Answered;
use super::result::outcome;
use crate::metadata::json_body;
use crate::throughput_control::Admitted;
use crate::{BatchResult, ContainerClient, Error, ErrorKind, Result};

/// 413 inside an answer: the answer had no room for this operation, which was not tried.
const NO_ROOM_IN_THE_ANSWER: u32 = 3402;

/// What came of an operation.
#[derive(Debug)]
pub(super) enum Came {
    /// It is over; the service has dealt with it.
    Answered(Result<BatchResult>),
    /// It is over: nobody knows, or the request could not be made.
    Failed(Error),
    /// It was not applied, because it was throttled.
    Throttled { retry_after: Option<Duration>, error: Error },
    /// It was not applied, because its partition is no more, or not yet.
    Strayed(Error),
    /// It was not applied, because it met another operation on its item.
    Collided(Error),
    /// It was not applied, because the answer had no room for what it gives.
    NoRoom(Error),
}

/// What came of a request.
pub(super) struct Answer {
    pub(super) request: Request,
    /// One for each operation, in their order.
    pub(super) came: Vec<Came>,
    pub(super) charge: f64,
}

impl Answer {
    /// What it means for the pace of its partition.
    pub(super) fn summed(&self, sent: Moment, answered: Moment) -> Answered {
        let (mut accepted, mut throttled, mut longest) = (0, 0, None);
        for came in &self.came {
            match came {
                Came::Answered(_) => accepted += 1,
                Came::Throttled { retry_after, .. } => {
                    throttled += 1;
                    longest = longest.max(*retry_after);
                }
                Came::Failed(_) | Came::Strayed(_) | Came::Collided(_) | Came::NoRoom(_) => {}
            }
        }
        let operations = self.came.len();
        Answered { sent, answered, operations, accepted, throttled, retry_after: longest }
    }
}

/// Sends a request. Gives what came of each operation, and what it cost.
pub(super) async fn send(
    container: &ContainerClient,
    turn: Result<Option<Admitted>>,
    request: &Request,
    options: &OperationOptions,
) -> (Vec<Came>, f64) {
    match ask(container, turn, request, options).await {
        Ok((mut results, response)) => {
            if mutation!("bulk-results-change-places") {
                results.reverse();
            }
            let results = request.operations.iter().zip(results);
            let came = results.map(|(held, result)| read(held, result, &response)).collect();
            (came, response.request_charge())
        }
        Err(error) => (request.operations.iter().map(|_| whole(&error)).collect(), error.request_charge()),
    }
}

async fn ask(
    container: &ContainerClient,
    turn: Result<Option<Admitted>>,
    request: &Request,
    options: &OperationOptions,
) -> Result<(Vec<model::BatchResult>, CosmosResponse)> {
    let handle = container.handle()?;
    let operations: Vec<_> = request.operations.iter().map(|held| &held.operation).collect();
    let operation = CosmosOperation::new(OperationType::Bulk, Arc::clone(&handle.items))
        .with_target(PartitionTarget::Range(request.partition.clone()))
        .with_body(json_body(&operations)?);
    let response = handle.run_in(turn?, &operation, options).await?;
    // What cannot be read may have been applied, each of it.
    match from_json::<Vec<model::BatchResult>>("bulk request", response.body()) {
        Ok(results) if results.len() == operations.len() => Ok((results, response)),
        Ok(results) => {
            let message = format!("{} operations have {} results", operations.len(), results.len());
            Err(Error::of_answer(ErrorKind::OutcomeUnknown, message, response.without_body()))
        }
        Err(error) => {
            let error = Error::caused_by(ErrorKind::OutcomeUnknown, error.to_string(), error);
            Err(error.found_in(response.without_body()))
        }
    }
}

/// What came of one operation, by its own status.
fn read(held: &Held, result: model::BatchResult, response: &CosmosResponse) -> Came {
    let code = StatusCode::from_u16(result.status_code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let status = CosmosStatus::new(code, result.sub_status_code.unwrap_or(0));
    let retry_after = result.retry_after_milliseconds.map(Duration::from_millis);
    let place = usize::try_from(held.index).unwrap_or(usize::MAX);
    match outcome(place, &held.operation, result, response) {
        Ok(done) => Came::Answered(Ok(done)),
        Err(error) if code == StatusCode::TOO_MANY_REQUESTS => Came::Throttled { retry_after, error },
        Err(error) if status.is_gone() => Came::Strayed(error),
        Err(error) if status.is_retry_with() => Came::Collided(error),
        Err(error)
            if code == StatusCode::PAYLOAD_TOO_LARGE && status.sub_status() == NO_ROOM_IN_THE_ANSWER =>
        {
            Came::NoRoom(error)
        }
        Err(error) => Came::Answered(Err(error)),
    }
}

/// What came of each operation of a request that failed as a whole.
fn whole(error: &Error) -> Came {
    let error = error.clone();
    match (error.kind(), error.status()) {
        (ErrorKind::OutcomeUnknown, _) if mutation!("bulk-repeats-what-is-unknown") => Came::Strayed(error),
        // Whatever the status was: none of it is sent again.
        (ErrorKind::OutcomeUnknown, _) => Came::Failed(error),
        (ErrorKind::Throttled, _) => Came::Throttled { retry_after: error.retry_after(), error },
        (_, Some(status)) if status.is_gone() => Came::Strayed(error),
        (_, Some(_) | None) => Came::Failed(error),
    }
}
