//! Giving back to the file system what a file does not need any more.
//!
//! Deleted rows leave free pages, which later rows fill; the file itself shrinks only here, when it is opened.

use std::error::Error as _;

use redb::Database;

use super::StorageError;
use super::disk::in_engine;
use super::guard::guarded;

/// How large a file is at least before it is looked at.
const WORTHWHILE: u64 = if cfg!(test) { 1 } else { 32 } * 1024 * 1024;

/// Shrinks a file of which more than half is free. A file that cannot be shrunk is opened again as it is, and the reason
/// is returned too: nobody needs the room to go on.
pub(super) fn shrink_if_possible(
    mut database: Database,
    len: u64,
    reopen: impl FnOnce() -> Result<Database, StorageError>,
) -> Result<(Database, Option<String>), StorageError> {
    let Err(error) = in_engine(|| shrink(&mut database, len)) else { return Ok((database, None)) };
    // After a failure the storage engine takes no more writes.
    let _ = guarded(|| drop(database));
    let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let warning = format!(
        "more than half of the data file is unused, but it could not be made smaller and is used as it is: {cause}"
    );
    Ok((reopen()?, Some(warning)))
}

/// Shrinks a file of which more than half is free.
fn shrink(database: &mut Database, len: u64) -> Result<(), StorageError> {
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
