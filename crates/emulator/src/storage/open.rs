//! Opening the data file with the storage engine, or making it.

use redb::{Database, ReadableDatabase};

use super::backend::Backend;
use super::disk::FILE;
use super::volume::Volume;
use super::{StorageError, migrate};

/// The name of a file that is being made.
const UNFINISHED: &str = "account.redb.new";

/// How much of the file the storage engine keeps in memory. All documents are in memory already.
const CACHE_BYTES: usize = 64 << 20;

/// Opens the file after all of its pages, and what the storage engine notes of them, have been checked.
pub(super) fn whole(volume: &dyn Volume) -> Result<Database, StorageError> {
    let file = volume.open(FILE).map_err(StorageError::other)?;
    if file.size().map_err(StorageError::other)? == 0 {
        return Err(StorageError::corrupt("the file is empty"));
    }
    let mut database = builder().create_with_backend(Backend(file)).map_err(StorageError::engine)?;
    // It mends its notes on free pages if it can; that nothing else has changed is for the sum and the mark to tell.
    database.check_integrity().map_err(StorageError::engine)?;
    Ok(database)
}

/// Makes the file under another name, so that one with its own name is whole whenever the process ends.
pub(super) fn create(volume: &dyn Volume) -> Result<Database, StorageError> {
    let file = volume.open(UNFINISHED).map_err(StorageError::other)?;
    file.set_size(0).map_err(StorageError::other)?;
    let database = builder().create_with_backend(Backend(file)).map_err(StorageError::engine)?;
    let reading = database.begin_read().map_err(StorageError::engine)?;
    migrate::migrate(&database, &reading).map_err(StorageError::other)?;
    drop(reading);
    volume.rename(UNFINISHED, FILE).map_err(StorageError::other)?;
    Ok(database)
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}
