//! Where writes go to be safe: nowhere, or a file.
//!
//! The engine keeps everything in memory and tells the journal what it did. The journal neither answers reads nor
//! knows what the records mean to a client.

mod backend;
mod checksum;
mod codec;
mod commit;
mod compact;
mod conflict;
mod disk;
mod documents;
mod error;
mod guard;
mod ledger;
mod load;
mod local_directory;
mod mark;
mod migrate;
mod open;
mod record;
mod sealed;
#[cfg(test)]
mod tests;
mod volume;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use commit::Commit;
pub(crate) use conflict::SavedConflict;
pub use error::StorageError;
pub(crate) use load::{Saved, SavedContainer};
#[cfg(test)]
pub(crate) use migrate::tests::{back_to_format_2, back_to_format_3};
pub(crate) use record::{ContainerRecord, RangeRecord, Record, ResourceRecord};

pub use volume::{Volume, VolumeFile};

use crate::Failure;
use disk::Disk;
use local_directory::LocalDirectory;
use writer::Writer;

/// Where the files of an account are to live.
pub(crate) enum DataPlace {
    /// In a directory of the machine.
    Directory(PathBuf),
    /// Where a caller wants them.
    Volume(Arc<dyn Volume>),
}

/// The journal of an account. Clones write to the same one.
#[derive(Clone, Default)]
pub struct Journal {
    writer: Option<Arc<Writer>>,
}

impl Journal {
    /// Keeps nothing: what the process holds ends with it.
    pub fn memory() -> Self {
        Self { writer: None }
    }

    /// Opens the journal in a directory, which is made if it is not there. One process at a time may have it open.
    pub fn open(directory: &Path) -> Result<Self, StorageError> {
        Ok(Self { writer: Some(Arc::new(Writer::start(open_directory(directory)?)?)) })
    }

    /// Opens the journal in a directory or on a volume, with a thread that writes or, in a runtime, with a task.
    pub(crate) async fn start(place: &DataPlace, threads: bool) -> Result<Self, StorageError> {
        let disk = match place {
            DataPlace::Directory(path) => open_directory(path)?,
            DataPlace::Volume(volume) => Disk::open(Arc::clone(volume), None)?,
        };
        disk.settled().await.map_err(StorageError::other)?;
        let writer = if threads { Writer::start(disk)? } else { Writer::start_task(disk) };
        Ok(Self { writer: Some(Arc::new(writer)) })
    }

    /// What did not go well when it was opened, and need not stop anybody.
    pub fn warning(&self) -> Option<&str> {
        self.writer.as_ref().and_then(|writer| writer.disk().warning())
    }

    /// Writes records in one piece, after all that were appended before.
    ///
    /// To keep that order, call it while holding the lock under which the change was made; it does no IO itself.
    pub(crate) fn append(&self, records: impl IntoIterator<Item = Record>) -> Commit {
        match &self.writer {
            None => Commit::done(),
            Some(writer) => writer.append(records.into_iter().collect()),
        }
    }

    /// Resolves once writing has failed: nothing is acknowledged any more. Never in memory.
    pub(crate) async fn failed(&self) -> Failure {
        let end = match &self.writer {
            None => std::future::pending().await,
            Some(writer) => writer.end(),
        };
        match end.await {
            Err(failure) => failure,
            Ok(()) => std::future::pending().await,
        }
    }

    /// What was written in earlier runs.
    pub(crate) fn load(&self) -> Result<Saved, StorageError> {
        match &self.writer {
            None => Ok(Saved::default()),
            Some(writer) => writer.load().map_err(|error| self.located(error)),
        }
    }

    /// The error with the file that it is about.
    pub(crate) fn located(&self, error: StorageError) -> StorageError {
        match self.writer.as_ref().and_then(|writer| writer.disk().path()) {
            Some(path) => error.at(path),
            None => error,
        }
    }
}

fn open_directory(path: &Path) -> Result<Disk, StorageError> {
    let file = path.join(disk::FILE);
    let directory = LocalDirectory::new(path).map_err(|error| StorageError::other(error).at(&file))?;
    Disk::open(Arc::new(directory), Some(file))
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.writer.is_some() { "Journal(disk)" } else { "Journal(memory)" })
    }
}
