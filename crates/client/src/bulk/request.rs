//! One bulk request: operations of one partition, and what came of each.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::{CosmosOperation, CosmosResponse, OperationOptions, OperationType, PartitionTarget};
use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::model::{self, from_json};
use http::StatusCode;

use super::backlog::{Held, Request};
use super::result::outcome;
use crate::metadata::json_body;
use crate::{BatchResult, ContainerClient, Error, ErrorKind, Result};

/// 413 inside an answer: the answer had no room for this one, which was not tried.
const NO_ROOM_IN_THE_ANSWER: u32 = 3402;

/// What came of an operation.
#[derive(Debug)]
pub(super) enum Came {
    /// It is over.
    Over(Result<BatchResult>),
    /// It was throttled; `error` says so if it is not to be sent again.
    Throttled { retry_after: Option<Duration>, error: Error },
    /// Its partition is no more.
    Strayed(Error),
    /// It met another operation on its item, or did not fit into the answer; it was not applied.
    Again(Error),
}

/// What came of a request.
pub(super) struct Answer {
    pub(super) request: Request,
    /// One for each operation, in their order.
    pub(super) came: Vec<Came>,
    pub(super) charge: f64,
}

/// Sends a request.
pub(super) async fn send(
    container: &ContainerClient,
    mut request: Request,
    options: &OperationOptions,
) -> Answer {
    for held in &mut request.operations {
        held.tries += 1;
    }
    match ask(container, &request, options).await {
        Ok((results, response)) => {
            let charge = response.request_charge();
            let results = request.operations.iter().zip(results);
            let came = results.map(|(held, result)| read(held, result, &response)).collect();
            Answer { request, came, charge }
        }
        Err(error) => {
            let came = request.operations.iter().map(|_| whole(&error)).collect();
            Answer { request, came, charge: error.request_charge() }
        }
    }
}

async fn ask(
    container: &ContainerClient,
    request: &Request,
    options: &OperationOptions,
) -> Result<(Vec<model::BatchResult>, CosmosResponse)> {
    let handle = container.handle()?;
    let operations: Vec<_> = request.operations.iter().map(|held| &held.operation).collect();
    let operation = CosmosOperation::new(OperationType::Bulk, Arc::clone(&handle.items))
        .with_target(PartitionTarget::Range(request.partition.clone()))
        .with_body(json_body(&operations)?);
    let response = handle.run(&operation, options).await?;
    // What cannot be read may have been applied, each of it.
    match from_json::<Vec<model::BatchResult>>("bulk request", response.body()) {
        Ok(results) if results.len() == operations.len() => Ok((results, response)),
        Ok(results) => {
            let message = format!("{} operations have {} results", operations.len(), results.len());
            Err(Error::of_answer(ErrorKind::OutcomeUnknown, message, response))
        }
        Err(error) => {
            let error = Error::caused_by(ErrorKind::OutcomeUnknown, error.to_string(), error);
            Err(error.found_in(response))
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
        Ok(done) => Came::Over(Ok(done)),
        Err(error) if status.code() == StatusCode::TOO_MANY_REQUESTS => {
            Came::Throttled { retry_after, error }
        }
        Err(error) if status.is_partition_map_stale() => Came::Strayed(error),
        Err(error) if status.code().as_u16() == 449 => Came::Again(error),
        Err(error)
            if status.code() == StatusCode::PAYLOAD_TOO_LARGE
                && status.sub_status() == NO_ROOM_IN_THE_ANSWER =>
        {
            Came::Again(error)
        }
        Err(error) => Came::Over(Err(error)),
    }
}

/// What came of each operation of a request that failed as a whole.
fn whole(error: &Error) -> Came {
    let error = error.clone();
    match (error.kind(), error.status()) {
        (ErrorKind::Throttled, _) => Came::Throttled { retry_after: error.retry_after(), error },
        (_, Some(status)) if status.is_partition_map_stale() => Came::Strayed(error),
        (_, Some(_) | None) => Came::Over(Err(error)),
    }
}
