//! What the whole file adds up to: how many batches were written, how many rows there are, and the sum of their
//! checksums.
//!
//! A row that is missing, or that has come back from an earlier batch, has a right checksum of its own; only the sum
//! tells.

use redb::{ReadableTable, StorageError, Table};

use super::checksum::Checksum;

type Meta<'t> = Table<'t, &'static str, u64>;

/// The sum of a file after a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ledger {
    pub(super) batch: u64,
    pub(super) rows: u64,
    digest: u64,
}

impl Ledger {
    /// Where the next batch begins.
    pub(super) fn next(self) -> Self {
        Self { batch: self.batch + 1, ..self }
    }

    pub(super) fn add(&mut self, checksum: u64) {
        self.rows += 1;
        self.digest = self.digest.wrapping_add(checksum);
    }

    pub(super) fn take(&mut self, checksum: u64) {
        self.rows = self.rows.wrapping_sub(1);
        self.digest = self.digest.wrapping_sub(checksum);
    }

    /// Adds the rows of another part of the file.
    pub(super) fn join(&mut self, other: Self) {
        self.rows += other.rows;
        self.digest = self.digest.wrapping_add(other.digest);
    }

    /// Whether both have the same rows.
    pub(super) fn has_rows_of(&self, other: &Self) -> bool {
        (self.rows, self.digest) == (other.rows, other.digest)
    }

    /// Reads it; `None` if it is not there, or not as it was written.
    pub(super) fn read(meta: &impl ReadableTable<&'static str, u64>) -> Result<Option<Self>, StorageError> {
        let number = |name: &str| meta.get(name).map(|found| found.map(|found| found.value()));
        let (Some(batch), Some(rows), Some(digest), Some(check)) =
            (number("batch")?, number("rows")?, number("digest")?, number("check")?)
        else {
            return Ok(None);
        };
        let found = Self { batch, rows, digest };
        Ok((found.check() == check).then_some(found))
    }

    pub(super) fn write(&self, meta: &mut Meta<'_>) -> Result<(), StorageError> {
        let numbers =
            [("batch", self.batch), ("rows", self.rows), ("digest", self.digest), ("check", self.check())];
        for (name, number) in numbers {
            meta.insert(name, number)?;
        }
        Ok(())
    }

    fn check(&self) -> u64 {
        Checksum::of_numbers([self.batch, self.rows, self.digest])
    }
}
