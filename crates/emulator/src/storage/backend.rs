//! A file of a volume as the storage engine wants it.

use std::io;
use std::ops::Bound;
use std::sync::Arc;

use cosmonaut_wire::mutation;
use redb::{BackendError, StorageBackend};

use super::mark::Mark;
use super::volume::VolumeFile;

/// A file that the storage engine reads and writes.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) file: Box<dyn VolumeFile>,
    pub(super) mark: Arc<Mark>,
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.file.sync();
        if mutation!("failed-sync-counts-as-done") {
            return Ok(());
        }
        synced.inspect_err(|_| {
            // Where not even that can be written, there is nothing left to do.
            let _ = self.mark.note_failed_sync();
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        check_whole(start, end)?;
        Ok(self.file.lock()?)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        check_whole(start, end)?;
        Ok(self.file.unlock()?)
    }
}

/// Files are locked as a whole: the storage engine asks for that if it cannot have parts.
fn check_whole(start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
    match (start, end) {
        (Bound::Unbounded | Bound::Included(0), Bound::Unbounded) => Ok(()),
        _ => Err(BackendError::Unsupported),
    }
}
