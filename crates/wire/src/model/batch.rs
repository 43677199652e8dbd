//! Transactional batches and bulk requests: the operations sent, and the results received.
//!
//! Bodies stay the JSON text they are; nothing here parses or runs them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::PatchDocument;

/// The most operations in one request.
pub const MAX_BATCH_OPERATIONS: usize = 100;

/// The most bytes in the body of one request.
pub const MAX_BATCH_BYTES: usize = 2 * 1024 * 1024;

/// What an operation of a batch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BatchOperationType {
    /// Creates an item; it must not exist.
    Create,
    /// Creates or replaces an item.
    Upsert,
    /// Reads an item.
    Read,
    /// Replaces an item; it must exist.
    Replace,
    /// Deletes an item.
    Delete,
    /// Changes parts of an item.
    Patch,
}

/// One operation of a batch.
///
/// ```
/// use cosmonaut_wire::model::BatchOperation;
///
/// let operation = BatchOperation::delete("7").with_if_match("\"v1\"");
/// let text = serde_json::to_string(&operation).unwrap();
/// assert_eq!(text, r#"{"operationType":"Delete","id":"7","ifMatch":"\"v1\""}"#);
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchOperation {
    /// What it does.
    pub operation_type: BatchOperationType,
    /// The item; creating and upserting find it in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The item, or the [`PatchDocument`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_body: Option<Box<RawValue>>,
    /// The version that the item must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_match: Option<String>,
    /// The version that the item must not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_none_match: Option<String>,
    /// The item's partition key as its header would say it; in bulk requests only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<String>,
    /// Whether the answer leaves out what was written; in bulk requests only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minimal_return_preference: bool,
}

impl BatchOperation {
    /// Creates the item in `body`.
    pub fn create(body: Box<RawValue>) -> Self {
        Self::of(BatchOperationType::Create, None, Some(body))
    }

    /// Creates or replaces the item in `body`.
    pub fn upsert(body: Box<RawValue>) -> Self {
        Self::of(BatchOperationType::Upsert, None, Some(body))
    }

    /// Reads the item `id`.
    pub fn read(id: impl Into<String>) -> Self {
        Self::of(BatchOperationType::Read, Some(id.into()), None)
    }

    /// Replaces the item `id` by the one in `body`.
    pub fn replace(id: impl Into<String>, body: Box<RawValue>) -> Self {
        Self::of(BatchOperationType::Replace, Some(id.into()), Some(body))
    }

    /// Deletes the item `id`.
    pub fn delete(id: impl Into<String>) -> Self {
        Self::of(BatchOperationType::Delete, Some(id.into()), None)
    }

    /// Changes parts of the item `id`.
    pub fn patch(id: impl Into<String>, patch: &PatchDocument) -> Self {
        let body = to_raw_value(patch).expect("a patch is strings, JSON values and finite numbers");
        Self::of(BatchOperationType::Patch, Some(id.into()), Some(body))
    }

    fn of(operation_type: BatchOperationType, id: Option<String>, body: Option<Box<RawValue>>) -> Self {
        Self {
            operation_type,
            id,
            resource_body: body,
            if_match: None,
            if_none_match: None,
            partition_key: None,
            minimal_return_preference: false,
        }
    }

    /// Sets the version that the item must have.
    #[must_use]
    pub fn with_if_match(mut self, etag: impl Into<String>) -> Self {
        self.if_match = Some(etag.into());
        self
    }

    /// Sets the version that the item must not have.
    #[must_use]
    pub fn with_if_none_match(mut self, etag: impl Into<String>) -> Self {
        self.if_none_match = Some(etag.into());
        self
    }

    /// Checks that the operation has the id and the body that its type needs.
    pub fn validate(&self) -> Result<(), InvalidBatchOperation> {
        use BatchOperationType::{Create, Delete, Patch, Read, Replace, Upsert};
        let operation_type = self.operation_type;
        let (needs_id, needs_body) = match operation_type {
            Create | Upsert => (false, true),
            Replace | Patch => (true, true),
            Read | Delete => (true, false),
        };
        let missing = |member| Err(InvalidBatchOperation { operation_type, member });
        if needs_id && self.id.is_none() {
            return missing("id");
        }
        if needs_body && self.resource_body.is_none() {
            return missing("resourceBody");
        }
        Ok(())
    }
}

/// An operation that lacks what its type needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidBatchOperation {
    /// What the operation does.
    pub operation_type: BatchOperationType,
    /// The member that is missing.
    pub member: &'static str,
}

impl fmt::Display for InvalidBatchOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a batch operation of type {:?} needs `{}`", self.operation_type, self.member)
    }
}

impl std::error::Error for InvalidBatchOperation {}

/// The result of one operation of a batch, at the operation's place.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// The status; 424 if another operation's failure undid this one.
    pub status_code: u16,
    /// The sub-status, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_status_code: Option<u32>,
    /// What it cost, in request units.
    #[serde(default, deserialize_with = "charge")]
    pub request_charge: f64,
    /// The item's version after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e_tag: Option<String>,
    /// The item after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_body: Option<Box<RawValue>>,
    /// How long to wait before trying again.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "milliseconds")]
    pub retry_after_milliseconds: Option<u64>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A charge; nothing if it is null. One odd number is no reason to lose the results of all operations.
fn charge<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or_default())
}

/// A time, which need not be whole.
fn milliseconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let time = Option::<f64>::deserialize(deserializer)?;
    Ok(time.filter(|time| *time >= 0.0).map(|time| time.ceil() as u64))
}

impl BatchResult {
    /// A result that is its status and charge alone.
    pub fn new(status_code: u16, request_charge: f64) -> Self {
        Self {
            status_code,
            sub_status_code: None,
            request_charge,
            e_tag: None,
            resource_body: None,
            retry_after_milliseconds: None,
            message: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{PatchOperation, PatchPath, from_json};

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn bodies_keep_their_text() {
        let text = r#"[{"operationType":"Create","resourceBody":{"id":"1",  "n":1.0e2}},
            {"operationType":"Read","id":"1","resourceBody":null,"partitionKey":"[\"a\"]","later":true}]"#;
        let operations: Vec<BatchOperation> = from_json("batch", text.as_bytes()).unwrap();
        assert_eq!(operations[0].resource_body.as_ref().unwrap().get(), r#"{"id":"1",  "n":1.0e2}"#);
        assert!(operations[1].resource_body.is_none());
        assert_eq!(operations[1].partition_key.as_deref(), Some("[\"a\"]"));
    }

    #[test]
    fn operations_are_written_with_what_they_need_and_no_more() {
        let path = PatchPath::new("/n").unwrap();
        let patch = PatchDocument::new([PatchOperation::increment(path, 1)]);
        let cases = [
            (BatchOperation::create(raw("{}")), json!({"operationType": "Create", "resourceBody": {}})),
            (BatchOperation::upsert(raw("{}")), json!({"operationType": "Upsert", "resourceBody": {}})),
            (BatchOperation::read("1"), json!({"operationType": "Read", "id": "1"})),
            (
                BatchOperation::replace("1", raw("{}")).with_if_none_match("*"),
                json!({"operationType": "Replace", "id": "1", "resourceBody": {}, "ifNoneMatch": "*"}),
            ),
            (BatchOperation::delete("1"), json!({"operationType": "Delete", "id": "1"})),
            (
                BatchOperation::patch("1", &patch),
                json!({"operationType": "Patch", "id": "1",
                    "resourceBody": {"operations": [{"op": "incr", "path": "/n", "value": 1}]}}),
            ),
        ];
        for (operation, expected) in cases {
            let text = serde_json::to_string(&operation).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
            assert_eq!(operation.validate(), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_operation_without_what_it_needs_is_named() {
        for (text, member) in [
            (r#"{"operationType":"Create"}"#, "resourceBody"),
            (r#"{"operationType":"Read"}"#, "id"),
            (r#"{"operationType":"Patch","id":"1"}"#, "resourceBody"),
        ] {
            let operation: BatchOperation = serde_json::from_str(text).unwrap();
            assert_eq!(operation.validate().unwrap_err().member, member, "{text}");
        }
        assert!(serde_json::from_str::<BatchOperation>(r#"{"operationType":"Truncate"}"#).is_err());
    }

    #[test]
    fn results_survive_a_round_trip() {
        let text = r#"{"statusCode":429,"subStatusCode":3200,"requestCharge":5.3,"eTag":"\"e\"","resourceBody":{"id":"1"},"retryAfterMilliseconds":8,"message":"later"}"#;
        let odd = r#"{"statusCode":429,"requestCharge":null,"retryAfterMilliseconds":12.5}"#;
        let odd: BatchResult = serde_json::from_str(odd).unwrap();
        assert_eq!((odd.request_charge, odd.retry_after_milliseconds), (0.0, Some(13)));
        let result: BatchResult = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
        let least = r#"{"statusCode":424,"requestCharge":0.0}"#;
        assert_eq!(serde_json::to_string(&BatchResult::new(424, 0.0)).unwrap(), least);
    }
}
