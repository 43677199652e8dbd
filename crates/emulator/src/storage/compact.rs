//! Giving back to the file system what a file does not need any more.
//!
//! Deleted rows leave free pages, which later rows fill; the file itself shrinks only here, when it is opened.

use redb::Database;

use super::StorageError;

/// How large a file is at least before it is looked at.
const WORTHWHILE: u64 = if cfg!(test) { 1 } else { 32 } * 1024 * 1024;

/// Shrinks a file of which more than half is free.
pub(super) fn shrink(database: &mut Database, len: u64) -> Result<(), StorageError> {
    if len < WORTHWHILE {
        return Ok(());
    }
    let stats = {
        let writing = database.begin_write().map_err(StorageError::engine)?;
        let stats = writing.stats().map_err(StorageError::engine)?;
        writing.abort().map_err(StorageError::engine)?;
        stats
    };
    if stats.fragmented_bytes() > len / 2 {
        database.compact().map_err(StorageError::other)?;
    }
    Ok(())
}
