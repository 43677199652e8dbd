//! Opening the data file with the storage engine, or making it.

use std::io;
use std::sync::Arc;

use redb::{Database, ReadableDatabase};

use super::backend::Backend;
use super::disk::FILE;
use super::mark::Mark;
use super::volume::{Volume, VolumeFile};
use super::{StorageError, migrate};

/// The name of a file that is being made.
const UNFINISHED: &str = "account.redb.new";

/// How much of the file the storage engine keeps in memory. All documents are in memory already.
const CACHE_BYTES: usize = 64 << 20;

/// How much of the file is written again at once.
const WRITTEN_AT_ONCE: usize = 1 << 20;

/// Opens the file after all of its pages, and what the storage engine notes of them, have been checked.
pub(super) fn whole(volume: &dyn Volume, mark: &Arc<Mark>) -> Result<Database, StorageError> {
    let file = volume.open(FILE).map_err(StorageError::other)?;
    if file.size().map_err(StorageError::other)? == 0 {
        return Err(StorageError::corrupt("the file is empty"));
    }
    if mark.sync_has_failed() {
        write_again(&*file).map_err(StorageError::other)?;
    }
    let mark = Arc::clone(mark);
    let mut database = builder().create_with_backend(Backend { file, mark }).map_err(StorageError::engine)?;
    // It mends its notes on free pages if it can; that nothing else has changed is for the sum and the mark to tell.
    database.check_integrity().map_err(StorageError::engine)?;
    Ok(database)
}

/// Makes the file under another name, so that one with its own name is whole whenever the process ends.
pub(super) fn create(volume: &dyn Volume, mark: &Arc<Mark>) -> Result<Database, StorageError> {
    let file = volume.open(UNFINISHED).map_err(StorageError::other)?;
    file.set_size(0).map_err(StorageError::other)?;
    let mark = Arc::clone(mark);
    let database = builder().create_with_backend(Backend { file, mark }).map_err(StorageError::engine)?;
    let reading = database.begin_read().map_err(StorageError::engine)?;
    migrate::migrate(&database, &reading).map_err(StorageError::other)?;
    drop(reading);
    volume.rename(UNFINISHED, FILE).map_err(StorageError::other)?;
    Ok(database)
}

/// Writes everything that the file has, so that a sync makes it last: the operating system may take it for written.
fn write_again(file: &dyn VolumeFile) -> io::Result<()> {
    let (mut offset, size) = (0, file.size()?);
    let mut bytes = vec![0; WRITTEN_AT_ONCE];
    while offset < size {
        let len = bytes.len().min(usize::try_from(size - offset).unwrap_or(usize::MAX));
        file.read(offset, &mut bytes[..len])?;
        file.write(offset, &bytes[..len])?;
        offset += len as u64;
    }
    file.sync()
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}
