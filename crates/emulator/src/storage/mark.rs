//! A small file beside the data that says which batch was acknowledged last, and keeps other processes out.
//!
//! The storage engine goes back to the batch before if it finds the last one damaged after a sudden stop. That is right
//! if the stop was in the middle of it, and a loss if it had been acknowledged; the mark tells the two apart. It is not
//! synced with each batch, so after a power failure it may be behind, which does no harm.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::StorageError;
use super::checksum::Checksum;
use super::error::Remedy;

pub(super) const FILE: &str = "account.mark";

const LEN: usize = 16;

/// The mark of an open journal.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    /// Opens the mark and locks it; tells the batch that it names, if it names one.
    pub(super) fn open(path: &Path) -> Result<(Self, Option<u64>), StorageError> {
        let mut options = OpenOptions::new();
        let mut file = private(options.read(true).write(true).create(true).truncate(false))
            .open(path)
            .map_err(StorageError::other)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StorageError::in_use()),
            // The storage engine has a lock of its own.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(StorageError::other(error)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(StorageError::other)?;
        if text.is_empty() {
            return Ok((Self(file), None));
        }
        let batch = decode(&text)
            .ok_or_else(|| StorageError::damaged(format!("{FILE} is damaged"), Remedy::DeleteMark))?;
        Ok((Self(file), Some(batch)))
    }

    /// From now on, this batch is the last.
    pub(super) fn set(&self, batch: u64) -> std::io::Result<()> {
        let mut text = [0; LEN];
        text[..8].copy_from_slice(&batch.to_le_bytes());
        text[8..].copy_from_slice(&Checksum::of_numbers([batch]).to_le_bytes());
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&text)
    }
}

fn decode(text: &[u8]) -> Option<u64> {
    let text: &[u8; LEN] = text.try_into().ok()?;
    let number = |at: usize| Some(u64::from_le_bytes(text[at..at + 8].try_into().ok()?));
    let (batch, check) = (number(0)?, number(8)?);
    (Checksum::of_numbers([batch]) == check).then_some(batch)
}

/// Lets only the user who runs the process read what is made.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
