//! Files of earlier formats, whose rows have no checksums: they are written anew, in one transaction.

use std::cell::Cell;

use redb::{
    Database, Key, ReadTransaction, ReadableTable, TableDefinition, TableError, TableHandle, Value,
    WriteTransaction,
};

use super::codec::encode_sequence;
use super::disk::{CONFLICTS, FORMAT, InContainer, InLog, META, RESOURCES, Tables, WriteError};
use super::ledger::Ledger;
use super::sealed::{Definition, Sealed};

const DATABASES: Definition<&str> = TableDefinition::new("databases");
const CONTAINERS: Definition<&str> = TableDefinition::new("containers");
const OFFERS: Definition<&str> = TableDefinition::new("offers");
const RANGES: TableDefinition<'static, InContainer, (i64, u64)> = TableDefinition::new("ranges");
const DOCUMENTS: Definition<InContainer> = TableDefinition::new("documents");
const LOG: Definition<InLog> = TableDefinition::new("log");

/// Brings a file to the current format; one that holds nothing yet gets its tables.
pub(super) fn migrate(database: &Database, reading: &ReadTransaction) -> Result<Ledger, WriteError> {
    let writing = database.begin_write()?;
    let ledger = Cell::new(Ledger::default());
    {
        let mut tables = Tables::open(&writing, &ledger)?;
        copy(reading, DATABASES, &mut tables.databases, <[u8]>::to_vec)?;
        copy(reading, CONTAINERS, &mut tables.containers, <[u8]>::to_vec)?;
        copy(reading, OFFERS, &mut tables.offers, <[u8]>::to_vec)?;
        copy(reading, RANGES, &mut tables.ranges, |(lsn, next)| encode_sequence(lsn, next))?;
        copy(reading, DOCUMENTS, &mut tables.documents, <[u8]>::to_vec)?;
        copy(reading, LOG, &mut tables.log, <[u8]>::to_vec)?;
        let mut meta = writing.open_table(META)?;
        meta.insert("format", FORMAT)?;
        ledger.get().write(&mut meta)?;
    }
    delete_old(&writing)?;
    writing.commit()?;
    Ok(ledger.get())
}

/// Keeps earlier versions from reading what this one is about to write into a file whose rows it can read, and adds the
/// tables that such a file may lack.
pub(super) fn raise_format(database: &Database) -> Result<(), WriteError> {
    let writing = database.begin_write()?;
    writing.open_table(CONFLICTS)?;
    writing.open_table(RESOURCES)?;
    writing.open_table(META)?.insert("format", FORMAT)?;
    writing.commit()?;
    Ok(())
}

fn copy<K: Key + 'static, V: Value + 'static>(
    reading: &ReadTransaction,
    from: TableDefinition<'static, K, V>,
    to: &mut Sealed<'_, K>,
    encode: impl Fn(V::SelfType<'_>) -> Vec<u8>,
) -> Result<(), WriteError> {
    let table = match reading.open_table(from) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        table => table?,
    };
    for row in table.iter()? {
        let (key, value) = row?;
        to.insert(key.value(), encode(value.value()))?;
    }
    Ok(())
}

fn delete_old(writing: &WriteTransaction) -> Result<(), WriteError> {
    for table in [DATABASES.name(), CONTAINERS.name(), OFFERS.name()] {
        writing.delete_table(Definition::<&str>::new(table))?;
    }
    writing.delete_table(RANGES)?;
    writing.delete_table(DOCUMENTS)?;
    writing.delete_table(LOG)?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use redb::ReadableDatabase;

    use super::super::codec::decode_sequence;
    use super::super::{disk, mark, sealed};
    use super::*;

    /// Writes a directory's file as the version before this format would have.
    pub(crate) fn back_to_format_2(directory: &Path) {
        let database = Database::open(directory.join(disk::FILE)).unwrap();
        let (reading, writing) = (database.begin_read().unwrap(), database.begin_write().unwrap());
        unseal(&reading, &writing, disk::DATABASES, DATABASES);
        unseal(&reading, &writing, disk::CONTAINERS, CONTAINERS);
        unseal(&reading, &writing, disk::OFFERS, OFFERS);
        unseal(&reading, &writing, disk::DOCUMENTS, DOCUMENTS);
        unseal(&reading, &writing, disk::LOG, LOG);
        let mut ranges = writing.open_table(RANGES).unwrap();
        sealed::read_rows(&reading, disk::RANGES, &mut Ledger::default(), |key, value| {
            ranges.insert(key, decode_sequence(value).unwrap()).unwrap();
            Ok(())
        })
        .unwrap();
        drop(ranges);
        writing.delete_table(disk::RANGES).unwrap();
        writing.delete_table(disk::RESOURCES).unwrap();
        writing.delete_table(META).unwrap();
        writing.open_table(META).unwrap().insert("format", 2).unwrap();
        writing.commit().unwrap();
        std::fs::remove_file(directory.join(mark::FILE)).unwrap();
    }

    /// Writes a directory's file as a version of the third format would have that knew no conflicts.
    pub(crate) fn back_to_format_3(directory: &Path) {
        let database = Database::open(directory.join(disk::FILE)).unwrap();
        let writing = database.begin_write().unwrap();
        writing.delete_table(disk::CONFLICTS).unwrap();
        writing.delete_table(disk::RESOURCES).unwrap();
        writing.open_table(META).unwrap().insert("format", 3).unwrap();
        writing.commit().unwrap();
    }

    fn unseal<K: Key + 'static>(
        reading: &ReadTransaction,
        writing: &WriteTransaction,
        from: Definition<K>,
        to: Definition<K>,
    ) {
        let mut table = writing.open_table(to).unwrap();
        sealed::read_rows(reading, from, &mut Ledger::default(), |key, value| {
            table.insert(key, value).unwrap();
            Ok(())
        })
        .unwrap();
        drop(table);
        writing.delete_table(from).unwrap();
    }
}
