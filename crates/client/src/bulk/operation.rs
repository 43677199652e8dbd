//! What a bulk run is given: operations on items of any partition key.

use cosmonaut_wire::model::{BatchOperation, BatchOperationType, PartitionKeyDefinition};
use cosmonaut_wire::{PartitionKey, PartitionKeyValue};
use serde::Deserialize;

use super::backlog::Held;
use super::pace::Refused;
use crate::batch::raw;
use crate::{Error, ErrorKind, Etag, IntoItem, Patch, Result};

/// What an operation takes beside its item, about.
const OVERHEAD: usize = 300;

/// One operation of a bulk run.
///
/// What is wrong with an item or a patch shows in the result of its operation.
///
/// ```
/// use cosmonaut::{BulkOperation, Patch};
/// use serde_json::json;
///
/// let operations = [
///     BulkOperation::upsert("contoso", json!({"id": "7", "customer": "contoso"})),
///     BulkOperation::patch("contoso", "summary", Patch::new().increment("/orders", 1)),
///     BulkOperation::delete(("fabrikam", 12), "cart"),
/// ];
/// ```
#[derive(Clone, Debug)]
pub struct BulkOperation {
    pub(super) key: PartitionKey,
    pub(super) kind: BatchOperationType,
    pub(super) id: Option<String>,
    pub(super) operation: Result<BatchOperation>,
}

/// What makes two items the same, as far as their JSON shows it.
#[derive(Deserialize)]
struct Named {
    id: String,
}

impl BulkOperation {
    /// Creates an item; there must be none of its id.
    pub fn create(partition_key: impl Into<PartitionKey>, item: impl IntoItem) -> Self {
        Self::with_item(partition_key.into(), BatchOperationType::Create, item, BatchOperation::create)
    }

    /// Creates an item, or replaces the one of its id.
    pub fn upsert(partition_key: impl Into<PartitionKey>, item: impl IntoItem) -> Self {
        Self::with_item(partition_key.into(), BatchOperationType::Upsert, item, BatchOperation::upsert)
    }

    /// Replaces an item, which must be there.
    pub fn replace(
        partition_key: impl Into<PartitionKey>,
        id: impl Into<String>,
        item: impl IntoItem,
    ) -> Self {
        let id = id.into();
        let operation = raw(item).map(|item| BatchOperation::replace(id.clone(), item));
        Self::new(partition_key.into(), BatchOperationType::Replace, Some(id), operation)
    }

    /// Changes parts of an item, which must be there.
    pub fn patch(partition_key: impl Into<PartitionKey>, id: impl Into<String>, patch: Patch) -> Self {
        let id = id.into();
        let operation = patch.into_document().map(|patch| BatchOperation::patch(id.clone(), &patch));
        Self::new(partition_key.into(), BatchOperationType::Patch, Some(id), operation)
    }

    /// Deletes an item, which must be there.
    pub fn delete(partition_key: impl Into<PartitionKey>, id: impl Into<String>) -> Self {
        let id = id.into();
        let operation = BatchOperation::delete(id.clone());
        Self::new(partition_key.into(), BatchOperationType::Delete, Some(id), Ok(operation))
    }

    /// Reads an item, which must be there.
    pub fn read(partition_key: impl Into<PartitionKey>, id: impl Into<String>) -> Self {
        let id = id.into();
        let operation = BatchOperation::read(id.clone());
        Self::new(partition_key.into(), BatchOperationType::Read, Some(id), Ok(operation))
    }

    /// Only if the item is of a version that was seen: for replacing, patching and deleting.
    #[must_use]
    pub fn if_match(mut self, etag: impl Into<Etag>) -> Self {
        let etag = etag.into().to_string();
        self.operation = self.operation.map(|operation| operation.with_if_match(etag));
        self
    }

    /// Only if the item is of another version than one that was seen: for reading.
    #[must_use]
    pub fn if_none_match(mut self, etag: impl Into<Etag>) -> Self {
        let etag = etag.into().to_string();
        self.operation = self.operation.map(|operation| operation.with_if_none_match(etag));
        self
    }

    fn with_item(
        key: PartitionKey,
        kind: BatchOperationType,
        item: impl IntoItem,
        make: fn(Box<serde_json::value::RawValue>) -> BatchOperation,
    ) -> Self {
        let item = raw(item);
        // Without an id the service refuses it, in its own words.
        let id = item.as_ref().ok().and_then(|item| serde_json::from_str::<Named>(item.get()).ok());
        Self::new(key, kind, id.map(|named| named.id), item.map(make))
    }

    fn new(
        key: PartitionKey,
        kind: BatchOperationType,
        id: Option<String>,
        operation: Result<BatchOperation>,
    ) -> Self {
        Self { key, kind, id, operation }
    }

    /// The operation as it is kept by a run on a container with such keys.
    pub(super) fn held(
        &self,
        index: u64,
        definition: &PartitionKeyDefinition,
        returns_items: bool,
    ) -> Result<Held> {
        let Self { key, id, operation, .. } = self;
        let mut operation = operation.clone()?;
        let is_number =
            |value: &PartitionKeyValue| !matches!(value, PartitionKeyValue::Number(n) if !n.is_finite());
        if !key.components().iter().all(is_number) {
            return Err(Error::new(ErrorKind::BadRequest, "a partition key cannot be infinite or no number"));
        }
        let place = key
            .effective(definition)
            .map_err(|error| Error::caused_by(ErrorKind::BadRequest, error.to_string(), error))?;
        let written = key.to_string();
        let body = operation.resource_body.as_ref().map_or(0, |body| body.get().len());
        let bytes = body + written.len() * 2 + id.as_ref().map_or(0, String::len) + OVERHEAD;
        operation.partition_key = Some(written);
        operation.minimal_return_preference = !returns_items;
        let (key, id) = (key.clone(), id.clone());
        let (tries, strays, collisions, refused) = (0, 0, 0, Refused::default());
        Ok(Held { index, key, id, place, operation, bytes, tries, strays, collisions, refused })
    }
}
