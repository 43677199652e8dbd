//! Reading back the documents: nearly all that a file holds, so that two threads read half of it each where there may be
//! threads.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cosmonaut_wire::ResourceId;
use redb::{Database, ReadableDatabase, ReadableTable};

use super::StorageError;
use super::codec::decode_document;
use super::disk::{DOCUMENTS, InContainer, in_engine};
use super::ledger::Ledger;
use super::load::{SavedContainer, no_container};
use super::sealed::check_rows;
use crate::engine::Document;

/// Documents of containers, by the keys of these, and what their rows add up to.
type Half = (Vec<(u64, Vec<Arc<Document>>)>, Ledger);

/// Adds to all containers the documents that they hold.
pub(super) fn read_documents(
    database: &Database,
    threads: bool,
    containers: &mut BTreeMap<u64, SavedContainer>,
    sum: &mut Ledger,
) -> Result<(), StorageError> {
    let Some(middle) = middle(database)? else { return Ok(()) };
    let rids: BTreeMap<u64, ResourceId> = containers.iter().map(|(key, saved)| (*key, saved.rid)).collect();
    let (below, from) =
        ((Bound::Unbounded, Bound::Excluded(middle)), (Bound::Included(middle), Bound::Unbounded));
    let (read_lower, read_upper) =
        (|| read_between(database, below, &rids), || read_between(database, from, &rids));
    let (lower, upper) = match threads {
        false => (read_lower(), read_upper()),
        true => std::thread::scope(|scope| {
            let upper = scope.spawn(read_upper);
            let unreadable = || StorageError::corrupt("its documents cannot be read");
            (read_lower(), upper.join().unwrap_or_else(|_| Err(unreadable())))
        }),
    };
    for (found, half_sum) in [lower?, upper?] {
        sum.join(half_sum);
        for (container, documents) in found {
            containers.get_mut(&container).ok_or_else(no_container)?.documents.extend(documents);
        }
    }
    Ok(())
}

/// A key that has about half of the documents before it, if numbers are spread evenly; none if there is no document.
fn middle(database: &Database) -> Result<Option<InContainer>, StorageError> {
    let reading = database.begin_read().map_err(StorageError::engine)?;
    let table = reading.open_table(DOCUMENTS).map_err(StorageError::engine)?;
    let first = table.first().map_err(StorageError::engine)?.map(|(key, _)| key.value());
    let last = table.last().map_err(StorageError::engine)?.map(|(key, _)| key.value());
    Ok(first.zip(last).map(|(first, last)| match first.0 == last.0 {
        true => (first.0, first.1.midpoint(last.1)),
        false => (first.0.midpoint(last.0), 0),
    }))
}

fn read_between(
    database: &Database,
    keys: (Bound<InContainer>, Bound<InContainer>),
    rids: &BTreeMap<u64, ResourceId>,
) -> Result<Half, StorageError> {
    in_engine(|| {
        let reading = database.begin_read().map_err(StorageError::engine)?;
        let table = reading.open_table(DOCUMENTS).map_err(StorageError::engine)?;
        let rows = table.range(keys).map_err(StorageError::engine)?;
        let (mut found, mut sum): Half = (Vec::new(), Ledger::default());
        check_rows(rows, DOCUMENTS, &mut sum, |(container, _), value| {
            let rid = rids.get(&container).ok_or_else(no_container)?;
            let document = Arc::new(decode_document(*rid, value)?);
            match found.last_mut().filter(|(last, _)| *last == container) {
                Some((_, documents)) => documents.push(document),
                None => found.push((container, vec![document])),
            }
            Ok(())
        })?;
        Ok((found, sum))
    })
}
