//! Transactional batches: several operations on items of one partition key, all applied or none.

mod result;

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::{CosmosOperation, OperationOptions, OperationType};
use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::{BatchOperation, MAX_BATCH_BYTES, MAX_BATCH_OPERATIONS};
use serde_json::value::RawValue;

use crate::items::Patch;
use crate::metadata::json_body;
use crate::options::BatchOptions;
use crate::{ContainerClient, Error, ErrorKind, Etag, IntoItem, Request, Result};

pub use result::{BatchFailure, BatchResponse, BatchResult};

/// Operations on items of one partition key, in order, of which all are applied or none; at most 100, and 2 MB.
///
/// An item that cannot be written, or a patch that cannot be, shows in [`execute`](Self::execute).
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// use cosmonaut::Patch;
/// use serde_json::{Value, json};
///
/// let done = orders
///     .batch("contoso")
///     .create(json!({"id": "8", "customer": "contoso"}))
///     .patch("summary", Patch::new().increment("/orders", 1))
///     .delete("draft")
///     .read("summary")
///     .execute()
///     .await?;
/// let summary: Value = done.get(3)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a batch does nothing until it is executed"]
pub struct Batch {
    container: ContainerClient,
    partition_key: PartitionKey,
    operations: Vec<BatchOperation>,
    /// What is wrong with the first operation that cannot be.
    error: Option<Error>,
}

impl ContainerClient {
    /// Begins a transactional batch on items with this partition key.
    pub fn batch(&self, partition_key: impl Into<PartitionKey>) -> Batch {
        let (container, partition_key) = (self.clone(), partition_key.into());
        Batch { container, partition_key, operations: Vec::new(), error: None }
    }
}

impl Batch {
    /// Creates an item; there must be none of its id.
    pub fn create(self, item: impl IntoItem) -> Self {
        self.push(|| Ok(BatchOperation::create(raw(item)?)))
    }

    /// Creates an item, or replaces the one of its id.
    pub fn upsert(self, item: impl IntoItem) -> Self {
        self.push(|| Ok(BatchOperation::upsert(raw(item)?)))
    }

    /// Replaces an item, which must be there.
    pub fn replace(self, id: impl Into<String>, item: impl IntoItem) -> Self {
        self.push(|| Ok(BatchOperation::replace(id, raw(item)?)))
    }

    /// Changes parts of an item, which must be there.
    pub fn patch(self, id: impl Into<String>, patch: Patch) -> Self {
        self.push(|| Ok(BatchOperation::patch(id, &patch.into_document()?)))
    }

    /// Deletes an item, which must be there.
    pub fn delete(self, id: impl Into<String>) -> Self {
        self.push(|| Ok(BatchOperation::delete(id)))
    }

    /// Reads an item, which must be there, as the operations before it leave it.
    pub fn read(self, id: impl Into<String>) -> Self {
        self.push(|| Ok(BatchOperation::read(id)))
    }

    /// Replaces an item if it is of a version that was seen.
    pub fn replace_if_match(self, id: impl Into<String>, item: impl IntoItem, etag: impl Into<Etag>) -> Self {
        self.push(|| Ok(if_match(BatchOperation::replace(id, raw(item)?), etag)))
    }

    /// Changes parts of an item if it is of a version that was seen.
    pub fn patch_if_match(self, id: impl Into<String>, patch: Patch, etag: impl Into<Etag>) -> Self {
        self.push(|| Ok(if_match(BatchOperation::patch(id, &patch.into_document()?), etag)))
    }

    /// Deletes an item if it is of a version that was seen.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient, seen: cosmonaut::Etag) -> cosmonaut::Result<()> {
    /// orders.batch("contoso").delete_if_match("7", seen).delete("8").execute().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_if_match(self, id: impl Into<String>, etag: impl Into<Etag>) -> Self {
        self.push(|| Ok(if_match(BatchOperation::delete(id), etag)))
    }

    /// Reads an item if it is of another version than one that was seen.
    pub fn read_if_none_match(self, id: impl Into<String>, etag: impl Into<Etag>) -> Self {
        self.push(|| {
            let if_none_match = Some(etag.into().to_string());
            Ok(BatchOperation { if_none_match, ..BatchOperation::read(id) })
        })
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    fn push(mut self, operation: impl FnOnce() -> Result<BatchOperation>) -> Self {
        if self.error.is_none() {
            match operation() {
                Ok(operation) => self.operations.push(operation),
                Err(error) => self.error = Some(error.in_batch_at(self.operations.len())),
            }
        }
        self
    }

    /// Applies the batch. Dropping the future leaves it applied as a whole or not at all.
    ///
    /// # Errors
    /// If an operation fails, none is applied, and the error is that operation's: its kind and its status, with
    /// [`batch_failure`](Error::batch_failure) naming it.
    pub fn execute(self) -> Request<BatchOptions, BatchResponse> {
        Request::new(async move |options: Option<BatchOptions>| {
            let body = self.check()?;
            let handle = self.container.handle()?;
            let operation = CosmosOperation::new(OperationType::Batch, Arc::clone(&handle.items))
                .with_target(self.partition_key)
                .with_body(body);
            let BatchOptions { request, diagnostics, retry_limits, session_token } =
                options.unwrap_or_default();
            let layer =
                OperationOptions { request, diagnostics, retry_limits, session_token, ..Default::default() };
            BatchResponse::of(self.operations, handle.run(&operation, &layer).await?)
        })
    }

    /// The body, if the service would take it.
    fn check(&self) -> Result<Bytes> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let count = self.operations.len();
        if !(1..=MAX_BATCH_OPERATIONS).contains(&count) {
            let message = format!("a batch has 1 to {MAX_BATCH_OPERATIONS} operations, not {count}");
            return Err(Error::new(ErrorKind::BadRequest, message));
        }
        let body = json_body(&self.operations)?;
        if body.len() > MAX_BATCH_BYTES {
            let message = format!(
                "a batch of {count} operations has {} bytes (at most {MAX_BATCH_BYTES}: split it)",
                body.len()
            );
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        Ok(body)
    }
}

fn if_match(operation: BatchOperation, etag: impl Into<Etag>) -> BatchOperation {
    BatchOperation { if_match: Some(etag.into().to_string()), ..operation }
}

/// An item as it is written into a request for several.
pub(crate) fn raw(item: impl IntoItem) -> Result<Box<RawValue>> {
    let json = item.into_json()?;
    serde_json::from_slice(&json).map_err(|error| {
        Error::caused_by(ErrorKind::Serialization, format!("the item is no JSON: {error}"), error)
    })
}
