//! Tables whose every row has a checksum, and that keep the file's sum in step.

use std::borrow::Borrow;
use std::cell::Cell;
use std::ops::RangeBounds;

use redb::{
    Key, Range, ReadTransaction, ReadableTable, Table, TableDefinition, TableHandle, WriteTransaction,
};

use super::StorageError;
use super::checksum::Checksum;
use super::disk::WriteError;
use super::ledger::Ledger;

/// A table of rows that end in their checksum.
pub(super) type Definition<K> = TableDefinition<'static, K, &'static [u8]>;

/// A table that is open for writing.
pub(super) struct Sealed<'t, K: Key + 'static> {
    table: Table<'t, K, &'static [u8]>,
    start: Checksum,
    ledger: &'t Cell<Ledger>,
}

impl<'t, K: Key + 'static> Sealed<'t, K> {
    pub(super) fn open(
        writing: &'t WriteTransaction,
        table: Definition<K>,
        ledger: &'t Cell<Ledger>,
    ) -> Result<Self, WriteError> {
        let start = Checksum::of_table(table.name());
        Ok(Self { table: writing.open_table(table)?, start, ledger })
    }

    /// Puts a row in the place of the one that the key has, if any.
    pub(super) fn insert(&mut self, key: K::SelfType<'_>, mut value: Vec<u8>) -> Result<(), WriteError> {
        let checksum = self.start.of_row::<K>(&key, &value);
        value.extend_from_slice(&checksum.to_le_bytes());
        let replaced = self.table.insert(key, &value[..])?;
        let mut ledger = self.ledger.get();
        if let Some(replaced) = replaced {
            ledger.take(stored_checksum(replaced.value())?);
        }
        ledger.add(checksum);
        self.ledger.set(ledger);
        Ok(())
    }

    pub(super) fn remove(&mut self, key: K::SelfType<'_>) -> Result<(), WriteError> {
        if let Some(removed) = self.table.remove(key)? {
            let mut ledger = self.ledger.get();
            ledger.take(stored_checksum(removed.value())?);
            self.ledger.set(ledger);
        }
        Ok(())
    }

    pub(super) fn remove_in<'a, B: Borrow<K::SelfType<'a>> + 'a>(
        &mut self,
        keys: impl RangeBounds<B> + 'a,
    ) -> Result<(), WriteError> {
        let mut ledger = self.ledger.get();
        let mut unsealed = None;
        self.table.retain_in(keys, |_, value| {
            match stored_checksum(value) {
                Ok(checksum) => ledger.take(checksum),
                Err(error) => unsealed = Some(error),
            }
            false
        })?;
        self.ledger.set(ledger);
        unsealed.map_or(Ok(()), Err)
    }

    /// The value of a key.
    pub(super) fn get<T>(
        &self,
        key: K::SelfType<'_>,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, WriteError> {
        let Some(found) = self.table.get(key)? else { return Ok(None) };
        let (value, _) = split(found.value()).ok_or("a row has no checksum")?;
        Ok(Some(read(value).ok_or("a row is not readable")?))
    }
}

/// Reads all rows of a table in the order of their keys, checks each, and adds it to a sum.
pub(super) fn read_rows<K: Key + 'static>(
    reading: &ReadTransaction,
    table: Definition<K>,
    sum: &mut Ledger,
    take: impl FnMut(K::SelfType<'_>, &[u8]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let opened = reading.open_table(table).map_err(StorageError::engine)?;
    check_rows(opened.iter().map_err(StorageError::engine)?, table, sum, take)
}

/// The same for some rows of a table.
pub(super) fn check_rows<K: Key + 'static>(
    rows: Range<'_, K, &'static [u8]>,
    table: Definition<K>,
    sum: &mut Ledger,
    mut take: impl FnMut(K::SelfType<'_>, &[u8]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let start = Checksum::of_table(table.name());
    for row in rows {
        let (key, value) = row.map_err(StorageError::engine)?;
        let value =
            split(value.value()).filter(|(value, sum)| start.of_row::<K>(&key.value(), value) == *sum);
        let Some((value, checksum)) = value else {
            return Err(StorageError::corrupt(format!("a stored {} is altered", table.name())));
        };
        sum.add(checksum);
        take(key.value(), value)?;
    }
    Ok(())
}

fn stored_checksum(sealed: &[u8]) -> Result<u64, WriteError> {
    Ok(split(sealed).ok_or("a row has no checksum")?.1)
}

/// A value and its checksum.
fn split(sealed: &[u8]) -> Option<(&[u8], u64)> {
    let (value, checksum) = sealed.split_last_chunk::<{ Checksum::LEN }>()?;
    Some((value, u64::from_le_bytes(*checksum)))
}
