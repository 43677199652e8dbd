//! A small file beside the data that says which batch was acknowledged last, and keeps other processes out.
//!
//! The storage engine goes back to the batch before if it finds the last one damaged after a sudden stop. That is right
//! if the stop was in the middle of it, and a loss if it had been acknowledged; the mark tells the two apart. It is not
//! synced with each batch, so after a power failure it may be behind, which does no harm. It has two halves that are
//! written in turn: if the power fails while one is written, the other is whole.
//!
//! It also says if a sync of the data has failed. The operating system may then take for written what is only in its
//! cache, so the next process writes all of the data again. A power failure may lose this note, but then it has emptied
//! the cache too.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

use super::StorageError;
use super::checksum::Checksum;
use super::error::Remedy;
use super::volume::{Volume, VolumeFile};

pub(super) const FILE: &str = "account.mark";

/// A batch and its checksum.
const HALF: usize = 16;

/// Follows the halves, as a batch that there is not, if a sync has failed.
const SYNC_FAILED: u64 = u64::MAX;

/// The mark of an open journal.
#[derive(Debug)]
pub(super) struct Mark {
    file: Box<dyn VolumeFile>,
    sync_has_failed: AtomicBool,
}

/// What a mark says when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// Nothing: it was never written.
    Nothing,
    /// Nothing: the power failed when it was written for the first time.
    Unfinished,
    /// This batch was acknowledged.
    Batch(u64),
}

impl Mark {
    /// Opens the mark and locks it.
    pub(super) fn open(volume: &dyn Volume) -> Result<(Self, Marked), StorageError> {
        let file = volume.open(FILE).map_err(StorageError::other)?;
        match file.lock() {
            Ok(true) => {}
            Ok(false) => return Err(StorageError::in_use()),
            // The data file is locked too.
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            Err(error) => return Err(StorageError::other(error)),
        }
        let mut text = [0; 3 * HALF];
        let size = file.size().map_err(StorageError::other)?;
        let damaged = || StorageError::damaged(format!("{FILE} is damaged"), Remedy::DeleteMark);
        let len = usize::try_from(size).ok().filter(|len| *len <= text.len()).ok_or_else(damaged)?;
        file.read(0, &mut text[..len]).map_err(StorageError::other)?;
        let ([first, second, note], _) = text.as_chunks::<HALF>() else { return Err(damaged()) };
        let marked = decode(first, second);
        let sync_has_failed = AtomicBool::new(decode_half(note) == Some(SYNC_FAILED));
        Ok((Self { file, sync_has_failed }, marked.ok_or_else(damaged)?))
    }

    /// Makes both halves name this batch, so that either may be lost. What the mark said of a sync is settled.
    pub(super) fn begin(&self, batch: u64) -> io::Result<()> {
        self.file.write(0, &[encode(batch); 2].concat())?;
        self.file.set_size(2 * HALF as u64)?;
        self.file.sync()
    }

    /// Whether a sync of the data has failed, in this process or in one before.
    pub(super) fn sync_has_failed(&self) -> bool {
        self.sync_has_failed.load(Ordering::Relaxed)
    }

    /// A sync of the data has failed. This is for a process that finds the same cache, so it need not be synced.
    pub(super) fn note_failed_sync(&self) -> io::Result<()> {
        self.sync_has_failed.store(true, Ordering::Relaxed);
        self.file.write(2 * HALF as u64, &encode(SYNC_FAILED))
    }

    /// From now on, this batch is the last.
    pub(super) fn set(&self, batch: u64) -> io::Result<()> {
        let offset = (batch % 2) * HALF as u64;
        self.file.write(offset, &encode(batch))
    }
}

fn encode(batch: u64) -> [u8; HALF] {
    let mut text = [0; HALF];
    text[..8].copy_from_slice(&batch.to_le_bytes());
    text[8..].copy_from_slice(&Checksum::of_numbers([batch]).to_le_bytes());
    text
}

/// What the halves say; `None` if neither is as it was written.
fn decode(first: &[u8; HALF], second: &[u8; HALF]) -> Option<Marked> {
    const NONE: [u8; HALF] = [0; HALF];
    match (decode_half(first).max(decode_half(second)), *first, *second) {
        (Some(batch), ..) => Some(Marked::Batch(batch)),
        (None, NONE, NONE) => Some(Marked::Nothing),
        // The second half is there when the mark was once written as a whole.
        (None, _, NONE) => Some(Marked::Unfinished),
        (None, ..) => None,
    }
}

fn decode_half(text: &[u8; HALF]) -> Option<u64> {
    let (numbers, _) = text.as_chunks::<8>();
    let [batch, check] = [numbers[0], numbers[1]].map(u64::from_le_bytes);
    (Checksum::of_numbers([batch]) == check).then_some(batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &[u8]) -> Option<Marked> {
        let (halves, _) = text.as_chunks::<HALF>();
        decode(&halves[0], &halves[1])
    }

    #[test]
    fn a_mark_of_which_any_part_was_written_names_one_of_its_batches() {
        for (before, after) in [([6, 6], [6, 7]), ([6, 7], [8, 7]), ([6, 6], [8, 7]), ([4, 5], [1 << 40, 9])]
        {
            let [old, new] = [before, after].map(|batches| batches.map(encode).concat());
            for cut in 0..=2 * HALF {
                let text = [&new[..cut], &old[cut..]].concat();
                let Some(Marked::Batch(found)) = decoded(&text) else { panic!("cut at {cut}") };
                assert!(before.contains(&found) || after.contains(&found), "cut at {cut}: {found}");
            }
        }
    }

    #[test]
    fn a_first_mark_of_which_any_part_was_written_is_no_damage() {
        let new = [0, 0].map(encode).concat();
        for cut in 0..=2 * HALF {
            let text = [&new[..cut], &[0; 2 * HALF][cut..]].concat();
            assert!(decoded(&text).is_some(), "cut at {cut}");
        }
    }

    #[test]
    fn a_mark_with_one_half_is_read_and_one_without_a_whole_half_is_refused() {
        let mut text = [0; 2 * HALF];
        text[..HALF].copy_from_slice(&encode(7));
        assert_eq!(decoded(&text), Some(Marked::Batch(7)));
        text.fill(1);
        assert_eq!(decoded(&text), None);
    }
}
