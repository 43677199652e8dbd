//! One change of the feed that keeps every version.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use cosmonaut_wire::model::{ChangeOperationType, FullFidelityChange, from_json};
use serde_json::value::RawValue;

use crate::{Error, FromItem, Result};

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It came to be.
    Create,
    /// It was replaced or patched.
    Replace,
    /// It was deleted, or its time to live ended.
    Delete,
    /// Something that the service has begun to tell and this version does not know.
    Other,
}

/// One change to an item.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change<T> {
    /// What happened.
    pub kind: ChangeKind,
    /// The item after the change; `None` for a delete.
    pub current: Option<T>,
    /// The item before the change, where the service still has it.
    pub previous: Option<T>,
    /// The change's place in the sequence of its partition.
    pub lsn: i64,
    /// When it was made, to the second.
    pub time: SystemTime,
    /// The name of the item, for a delete.
    pub id: Option<String>,
    /// The partition key of the item, for a delete: an object from the names in the key's paths to values.
    pub partition_key: Option<serde_json::Value>,
    /// Whether a delete was the end of the item's time to live.
    pub expired: bool,
}

impl<T: FromItem> FromItem for Change<T> {
    fn from_json(json: &Bytes, what: impl std::fmt::Display) -> Result<Self> {
        let read: FullFidelityChange<'_> =
            from_json("change", json).map_err(|error| Error::unreadable::<Self>(&what, error))?;
        let metadata = &read.metadata;
        let kind = match metadata.operation_type {
            ChangeOperationType::Create => ChangeKind::Create,
            ChangeOperationType::Replace => ChangeKind::Replace,
            ChangeOperationType::Delete => ChangeKind::Delete,
            ChangeOperationType::Other => ChangeKind::Other,
        };
        let image = |image: &RawValue| T::from_json(&json.slice_ref(image.get().as_bytes()), &what);
        Ok(Self {
            kind,
            current: read.current_item().map(image).transpose()?,
            previous: read.previous.map(image).transpose()?,
            lsn: metadata.lsn,
            time: UNIX_EPOCH + Duration::from_secs(u64::try_from(metadata.crts).unwrap_or(0)),
            id: metadata.id.clone(),
            partition_key: metadata.partition_key.clone(),
            expired: metadata.time_to_live_expired.unwrap_or(false),
        })
    }
}
