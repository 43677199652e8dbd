//! What came of a batch: a result for each operation, or the one that failed.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::CosmosResponse;
use cosmonaut_wire::model::{self, BatchOperation, BatchOperationType, from_json};
use cosmonaut_wire::{CosmosStatus, Etag};
use http::StatusCode;

use crate::{Error, ErrorKind, FromItem, RawItem, Response, Result};

/// What came of each operation of a batch that was applied, in order.
///
/// It also is a [`Response`]: charge, session token and diagnostics are those of the whole batch.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// let done = orders.batch("contoso").read("7").read("8").execute().await?;
/// for result in done.results() {
///     println!("{} for {:.2} RU", result.status(), result.request_charge());
/// }
/// println!("{:.2} RU in all", done.response().request_charge());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BatchResponse(Response<Vec<BatchResult>>);

impl BatchResponse {
    pub(super) fn of(operations: Vec<BatchOperation>, response: CosmosResponse) -> Result<Self> {
        let has_writes = operations.iter().any(|one| one.operation_type != BatchOperationType::Read);
        // What cannot be read may have been applied.
        let unreadable = if has_writes { ErrorKind::OutcomeUnknown } else { ErrorKind::InvalidResponse };
        let results = match from_json::<Vec<model::BatchResult>>("batch", response.body()) {
            Ok(results) if results.len() == operations.len() => results,
            Ok(results) => {
                let message =
                    format!("a batch of {} operations has {} results", operations.len(), results.len());
                return Err(Error::of_answer(unreadable, message, response));
            }
            Err(error) => {
                let error = Error::caused_by(unreadable, error.to_string(), error);
                return Err(error.found_in(response));
            }
        };
        match failed(&results) {
            Some(index) => {
                let (operation, result) = (&operations[index], &results[index]);
                Err(Error::of_batch(BatchFailure::new(index, operation, result), response))
            }
            None => Ok(Self(Response::new(results.into_iter().map(BatchResult::from).collect(), response))),
        }
    }

    /// The results, in the order of the operations.
    pub fn results(&self) -> &[BatchResult] {
        self.0.value()
    }

    /// The item that an operation answered with.
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if there is no such operation, it answered with none, as a deletion does, or
    /// the item is no `T`.
    pub fn get<T: FromItem>(&self, index: usize) -> Result<T> {
        let item = self.results().get(index).map(BatchResult::item).filter(|item| !item.is_empty());
        let Some(item) = item else {
            let message = format!("operation {index} of the batch answered with no item");
            return Err(Error::new(ErrorKind::Serialization, message));
        };
        T::from_json(&item.clone().into_bytes(), format_args!("the item of operation {index} of the batch"))
    }

    /// The answer as a whole: its charge, session token, region and diagnostics.
    pub fn response(&self) -> &Response<Vec<BatchResult>> {
        &self.0
    }
}

/// The operation that the others depend on: the first that is neither a success nor undone because of another.
fn failed(results: &[model::BatchResult]) -> Option<usize> {
    let code = |result: &model::BatchResult| result.status_code;
    let is_failure = |result: &model::BatchResult| !(200..300).contains(&code(result));
    let is_undone = |result: &model::BatchResult| code(result) == StatusCode::FAILED_DEPENDENCY.as_u16();
    let guilty = results.iter().position(|result| is_failure(result) && !is_undone(result));
    guilty.or_else(|| results.iter().position(is_failure))
}

fn status_of(result: &model::BatchResult) -> CosmosStatus {
    let code = StatusCode::from_u16(result.status_code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    CosmosStatus::new(code, result.sub_status_code.unwrap_or(0))
}

/// What came of one operation of a batch.
#[derive(Clone, Debug)]
pub struct BatchResult {
    status: CosmosStatus,
    etag: Option<Etag>,
    request_charge: f64,
    item: RawItem,
}

impl BatchResult {
    /// The status, such as 200 or 201.
    pub fn status(&self) -> CosmosStatus {
        self.status
    }

    /// The item's version after it.
    pub fn etag(&self) -> Option<&Etag> {
        self.etag.as_ref()
    }

    /// What it cost, in request units.
    pub fn request_charge(&self) -> f64 {
        self.request_charge
    }

    /// The item after it; empty where there is none.
    pub fn item(&self) -> &RawItem {
        &self.item
    }
}

impl From<model::BatchResult> for BatchResult {
    fn from(result: model::BatchResult) -> Self {
        let text: Option<Box<str>> = result.resource_body.clone().map(Into::into);
        Self {
            status: status_of(&result),
            etag: result.e_tag.map(Etag::from),
            request_charge: result.request_charge,
            item: RawItem::from(text.map(|text| Bytes::from(String::from(text))).unwrap_or_default()),
        }
    }
}

/// The operation because of which a batch was not applied.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// if let Err(error) = orders.batch("contoso").delete("7").delete("8").execute().await {
///     if let Some(failure) = error.batch_failure().filter(|_| error.is_not_found()) {
///         println!("operation {} found nothing to delete", failure.index());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BatchFailure {
    index: usize,
    operation: BatchOperationType,
    id: Option<String>,
    status: CosmosStatus,
    retry_after: Option<Duration>,
    message: Option<String>,
}

impl BatchFailure {
    pub(crate) fn new(index: usize, operation: &BatchOperation, result: &model::BatchResult) -> Self {
        Self {
            index,
            operation: operation.operation_type,
            id: operation.id.clone(),
            status: status_of(result),
            retry_after: result.retry_after_milliseconds.map(Duration::from_millis),
            message: result.message.clone(),
        }
    }

    /// Its place in the batch, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What it was to do.
    pub fn operation(&self) -> BatchOperationType {
        self.operation
    }

    /// Its own status; those of the others say only that they were undone.
    pub fn status(&self) -> CosmosStatus {
        self.status
    }

    /// How long the service asks to wait before a repeat.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl BatchFailure {
    /// The failure in the words of an operation that stands by itself.
    pub(crate) fn alone(&self) -> String {
        let operation = format!("{:?}", self.operation).to_lowercase();
        let of = self.id.as_ref().map_or_else(String::new, |id| format!(" of {id:?}"));
        let said = self.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        format!("the {operation}{of} was answered {}{said}", self.status)
    }
}

impl fmt::Display for BatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the batch was not applied: operation {}, {:?}", self.index, self.operation)?;
        if let Some(id) = &self.id {
            write!(f, " of {id:?}")?;
        }
        write!(f, ", was answered {}", self.status)?;
        match &self.message {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_that_failed_is_never_one_that_was_undone() {
        for (codes, expected) in [
            (&[200u16, 201, 204][..], None),
            (&[424, 409, 424], Some(1)),
            (&[412, 424, 424], Some(0)),
            (&[304, 424], Some(0)),
            (&[424, 424], Some(0)),
            (&[], None),
        ] {
            let results: Vec<_> = codes.iter().map(|code| model::BatchResult::new(*code, 0.0)).collect();
            assert_eq!(failed(&results), expected, "{codes:?}");
        }
    }
}
