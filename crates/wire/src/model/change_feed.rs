//! An entry of the change feed that keeps every version and every delete.
//!
//! The feed of latest versions has no shape of its own: its entries are the items.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// One change, borrowed from the page that holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FullFidelityChange<'a> {
    /// As written; see [`FullFidelityChange::current_item`].
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub current: Option<&'a RawValue>,
    /// The item before the change, where the service still has it.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub previous: Option<&'a RawValue>,
    /// What happened, and when.
    pub metadata: ChangeMetadata,
}

impl<'a> FullFidelityChange<'a> {
    /// The item after the change; `None` for a delete, where the service writes `{}` or nothing.
    pub fn current_item(&self) -> Option<&'a RawValue> {
        match self.metadata.operation_type {
            ChangeOperationType::Create | ChangeOperationType::Replace | ChangeOperationType::Other => {
                self.current
            }
            ChangeOperationType::Delete => None,
        }
    }
}

/// What a change was, and when it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeMetadata {
    /// Its place in the partition's sequence of changes.
    pub lsn: i64,
    /// When the write won over all regions, in seconds since 1970.
    pub crts: i64,
    /// What happened.
    pub operation_type: ChangeOperationType,
    /// The place of the change before it to the same item; 0 for the first.
    #[serde(rename = "previousImageLSN", skip_serializing_if = "Option::is_none")]
    pub previous_image_lsn: Option<i64>,
    /// Whether a delete was the end of the item's time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live_expired: Option<bool>,
    /// The item, for a delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The item's partition key, for a delete, as an object from name to value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<Value>,
}

/// What happened to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeOperationType {
    /// It came to be.
    Create,
    /// It was replaced or patched.
    Replace,
    /// It was deleted, or its time to live ended.
    Delete,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_change_that_is_not_known_can_be_read() {
        let text = r#"{"current":{"id":"1"},"metadata":{"lsn":7,"crts":1,"operationType":"archive"}}"#;
        let change: FullFidelityChange<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(change.metadata.operation_type, ChangeOperationType::Other);
        assert_eq!(change.current_item().map(RawValue::get), Some(r#"{"id":"1"}"#));
    }

    #[test]
    fn changes_survive_a_round_trip() {
        let texts = [
            r#"{"current":{"id":"1", "n":1},"metadata":{"lsn":7,"crts":1700000000,"operationType":"create","previousImageLSN":0}}"#,
            r#"{"current":{"id":"1"},"previous":{"id":"1"},"metadata":{"lsn":8,"crts":1,"operationType":"replace","previousImageLSN":7}}"#,
            r#"{"current":{},"previous":{"id":"1"},"metadata":{"lsn":9,"crts":1,"operationType":"delete","previousImageLSN":8,"timeToLiveExpired":true,"id":"1","partitionKey":{"pk":"a"}}}"#,
        ];
        let current = [Some(r#"{"id":"1", "n":1}"#), Some(r#"{"id":"1"}"#), None];
        for (text, current) in texts.into_iter().zip(current) {
            let change: FullFidelityChange<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(change.current_item().map(RawValue::get), current, "{text}");
            assert_eq!(serde_json::to_string(&change).unwrap(), text);
        }
    }
}
