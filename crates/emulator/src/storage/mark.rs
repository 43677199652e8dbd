//! A small file beside the data that says which batch was acknowledged last, and keeps other processes out.
//!
//! The storage engine goes back to the batch before if it finds the last one damaged after a sudden stop. That is right
//! if the stop was in the middle of it, and a loss if it had been acknowledged; the mark tells the two apart. It is not
//! synced with each batch, so after a power failure it may be behind, which does no harm.

use std::io::{self, ErrorKind};

use super::StorageError;
use super::checksum::Checksum;
use super::error::Remedy;
use super::volume::{Volume, VolumeFile};

pub(super) const FILE: &str = "account.mark";

const LEN: usize = 16;

/// The mark of an open journal.
#[derive(Debug)]
pub(super) struct Mark(Box<dyn VolumeFile>);

impl Mark {
    /// Opens the mark and locks it; tells the batch that it names, if it names one.
    pub(super) fn open(volume: &dyn Volume) -> Result<(Self, Option<u64>), StorageError> {
        let file = volume.open(FILE).map_err(StorageError::other)?;
        match file.lock() {
            Ok(true) => {}
            Ok(false) => return Err(StorageError::in_use()),
            // The data file is locked too.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            Err(error) => return Err(StorageError::other(error)),
        }
        let size = file.size().map_err(StorageError::other)?;
        if size == 0 {
            return Ok((Self(file), None));
        }
        let mut text = [0; LEN];
        let damaged = || StorageError::damaged(format!("{FILE} is damaged"), Remedy::DeleteMark);
        if size != LEN as u64 {
            return Err(damaged());
        }
        file.read(0, &mut text).map_err(StorageError::other)?;
        let batch = decode(&text).ok_or_else(damaged)?;
        Ok((Self(file), Some(batch)))
    }

    /// From now on, this batch is the last.
    pub(super) fn set(&self, batch: u64) -> io::Result<()> {
        let mut text = [0; LEN];
        text[..8].copy_from_slice(&batch.to_le_bytes());
        text[8..].copy_from_slice(&Checksum::of_numbers([batch]).to_le_bytes());
        self.0.write(0, &text)
    }
}

fn decode(text: &[u8; LEN]) -> Option<u64> {
    let number = |at: usize| Some(u64::from_le_bytes(text[at..at + 8].try_into().ok()?));
    let (batch, check) = (number(0)?, number(8)?);
    (Checksum::of_numbers([batch]) == check).then_some(batch)
}
