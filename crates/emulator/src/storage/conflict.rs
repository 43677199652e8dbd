//! Conflicts as bytes on disk: when they were made, what had been done, and the version that has lost.

use std::sync::Arc;

use cosmonaut_wire::ResourceId;

use super::StorageError;
use super::codec::{decode_document, encode_document};
use crate::Timestamp;
use crate::engine::{Conflict, Document};

/// A conflict as it was written.
pub(crate) struct SavedConflict {
    pub(crate) number: u64,
    pub(crate) loser: Arc<Document>,
    /// Whether it was the item's first version.
    pub(crate) created: bool,
    pub(crate) made: Timestamp,
}

/// A conflict, but for its number, which is its key.
pub(super) fn encode_conflict(conflict: &Conflict) -> Vec<u8> {
    let mut out = conflict.made().0.to_le_bytes().to_vec();
    out.push(u8::from(conflict.is_created()));
    out.extend(encode_document(conflict.loser()));
    out
}

pub(super) fn decode_conflict(
    container: ResourceId,
    number: u64,
    bytes: &[u8],
) -> Result<SavedConflict, StorageError> {
    let unreadable = || StorageError::corrupt("a stored conflict is not readable");
    let (made, rest) = bytes.split_first_chunk().ok_or_else(unreadable)?;
    let (created, loser) = rest.split_first().ok_or_else(unreadable)?;
    Ok(SavedConflict {
        number,
        loser: Arc::new(decode_document(container, loser)?),
        created: *created != 0,
        made: Timestamp(u64::from_le_bytes(*made)),
    })
}
