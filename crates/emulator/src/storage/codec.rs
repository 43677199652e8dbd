//! Documents and commits as bytes on disk: fields in order, each text with its length before it.
//!
//! The format number in the file says which order that is; a change here is a new format.

use std::sync::Arc;

use cosmonaut_wire::model::TimeToLive;
use cosmonaut_wire::{EffectivePartitionKey, PartitionKey, ResourceId, mutation};

use super::StorageError;
use crate::Timestamp;
use crate::engine::{Causes, Change, Document, DocumentParts, LogEntry, RegionId, SystemMembers, VersionTag};

/// A document, but for its number, which is its key.
pub(super) fn encode_document(document: &Document) -> Vec<u8> {
    let mut out = Vec::with_capacity(document.text_len() + 256);
    put_document(document, &mut out);
    out
}

pub(super) fn decode_document(container: ResourceId, bytes: &[u8]) -> Result<Document, StorageError> {
    let mut reader = Reader { rest: bytes, container };
    let document = reader.document();
    finished(document.filter(|_| reader.rest.is_empty()), "document")
}

pub(super) fn encode_entry(entry: &LogEntry) -> Vec<u8> {
    let mut out = Vec::new();
    put_u64(entry.lsn as u64, &mut out);
    put_u64(entry.timestamp.0, &mut out);
    // Few enough to leave room for the sequence, of which there is only one on most accounts.
    put_u64(entry.changes.len() as u64 | u64::from(entry.origin().0) << 56, &mut out);
    for change in &entry.changes {
        let kind = match change {
            Change::Create { .. } => CREATE,
            Change::Replace { .. } => REPLACE,
            Change::Delete { expired: false, .. } => DELETE,
            Change::Delete { expired: true, .. } => EXPIRE,
        };
        out.push(kind);
        change.current().into_iter().for_each(|document| put_document(document, &mut out));
        change.previous().into_iter().for_each(|document| put_document(document, &mut out));
    }
    out
}

pub(super) fn decode_entry(container: ResourceId, bytes: &[u8]) -> Result<LogEntry, StorageError> {
    let mut reader = Reader { rest: bytes, container };
    let entry = reader.entry();
    finished(entry.filter(|_| reader.rest.is_empty()), "commit")
}

/// The latest commit of a sequence, and one past the highest document number that it has written.
pub(super) fn encode_sequence(lsn: i64, next: u64) -> Vec<u8> {
    [lsn.to_le_bytes(), next.to_le_bytes()].concat()
}

pub(super) fn decode_sequence(bytes: &[u8]) -> Option<(i64, u64)> {
    let (lsn, next) = bytes.split_first_chunk()?;
    Some((i64::from_le_bytes(*lsn), u64::from_le_bytes(next.try_into().ok()?)))
}

const CREATE: u8 = 0;
const REPLACE: u8 = 1;
const DELETE: u8 = 2;
const EXPIRE: u8 = 3;

/// The document is in the index.
const INDEXED: u8 = 1;
/// The document's text is without system members and closing brace. Earlier formats have it whole.
const OPEN: u8 = 2;

fn finished<T>(read: Option<T>, what: &str) -> Result<T, StorageError> {
    read.ok_or_else(|| StorageError::corrupt(format!("a stored {what} is not readable")))
}

fn put_u64(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(value: &[u8], out: &mut Vec<u8>) {
    put_u64(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn put_document(document: &Document, out: &mut Vec<u8>) {
    put_u64(document.number, out);
    put_bytes(document.id().as_bytes(), out);
    put_bytes(document.key.to_string().as_bytes(), out);
    put_bytes(document.epk.as_bytes(), out);
    put_bytes(document.etag.to_string().as_bytes(), out);
    put_u64(document.ts(), out);
    put_u64(document.lsn as u64, out);
    put_u64(u64::from(document.nth) | u64::from(document.origin.0) << 32, out);
    // 0 is no time to live, so it can stand for none.
    put_u64(document.ttl().map_or(0, |ttl| i64::from(ttl) as u64), out);
    out.push(if document.indexed { INDEXED | OPEN } else { OPEN });
    put_bytes(document.open(), out);
}

struct Reader<'b> {
    rest: &'b [u8],
    /// The container that all documents are of.
    container: ResourceId,
}

impl<'b> Reader<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let len = self.u64()?;
        self.take(usize::try_from(len).ok()?)
    }

    fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn document(&mut self) -> Option<Document> {
        let (number, id, key) = (self.u64()?, self.text()?, read_key(self.text()?)?);
        // No id that was ever accepted is longer.
        u16::try_from(id.len()).ok()?;
        let epk = EffectivePartitionKey::from_bytes(self.bytes()?);
        let (etag, ts) = (self.text()?.parse().ok()?, self.u64()?);
        let (lsn, place) = (self.u64()? as i64, self.u64()?);
        let ttl = match self.u64()? as i64 {
            0 => None,
            seconds => Some(TimeToLive::try_from(seconds).ok()?),
        };
        let (flags, text) = (self.byte()?, self.bytes()?);
        let etag = if mutation!("version-tags-are-not-restored") { VersionTag([0; 16]) } else { etag };
        let container = self.container;
        let open = match flags & OPEN {
            0 => {
                without_system_members(text, SystemMembers { container, number, etag, ts, are_first: false })?
            }
            _ => text,
        };
        Some(Document::from(DocumentParts {
            container,
            number,
            id,
            key,
            epk,
            open,
            etag,
            ts,
            lsn,
            nth: place as u32,
            origin: RegionId(u8::try_from(place >> 32).ok()?),
            ttl,
            indexed: flags & INDEXED != 0,
        }))
    }

    fn entry(&mut self) -> Option<LogEntry> {
        let (lsn, timestamp, count) = (self.u64()? as i64, Timestamp(self.u64()?), self.u64()?);
        let origin = RegionId((count >> 56) as u8);
        let mut changes = Vec::new();
        for _ in 0..count & ((1 << 56) - 1) {
            changes.push(match self.byte()? {
                CREATE => Change::Create { current: Arc::new(self.document()?) },
                REPLACE => Change::Replace {
                    current: Arc::new(self.document()?),
                    previous: Arc::new(self.document()?),
                },
                DELETE => Change::Delete { previous: Arc::new(self.document()?), expired: false },
                EXPIRE => Change::Delete { previous: Arc::new(self.document()?), expired: true },
                _ => return None,
            });
        }
        // What is read from disk has arrived everywhere, so nobody compares it any more.
        let causes =
            (origin != RegionId::default()).then(|| Box::new(Causes { origin, ..Causes::default() }));
        Some(LogEntry { lsn, timestamp, changes, causes })
    }
}

/// The text of an item as formats before the fourth have it, without the end that follows from the other fields.
fn without_system_members(text: &[u8], system: SystemMembers) -> Option<&[u8]> {
    let mut end = Vec::new();
    system.append(&mut end);
    // No item is without a member of its own, as it has an id.
    text.strip_suffix(&end[..])
}

/// A partition key from its header form; the usual one, a single text without escapes, without a parser.
fn read_key(text: &str) -> Option<PartitionKey> {
    let plain = text.strip_prefix("[\"").and_then(|text| text.strip_suffix("\"]"));
    match plain.filter(|text| !text.contains(['"', '\\'])) {
        Some(text) => Some(PartitionKey::from(text)),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::VersionTag;

    fn container() -> ResourceId {
        ResourceId::container(3, 4)
    }

    fn document(number: u64, id: &str, key: PartitionKey, ttl: Option<i64>) -> Document {
        Document::from(DocumentParts {
            container: container(),
            number,
            id,
            key,
            epk: EffectivePartitionKey::from_bytes(&number.to_be_bytes()),
            open: format!("{{\"id\":{number}").as_bytes(),
            etag: VersionTag([7; 16]),
            ts: 5,
            lsn: 7,
            nth: 1,
            origin: RegionId((number % 5) as u8),
            ttl: ttl.and_then(|ttl| TimeToLive::try_from(ttl).ok()),
            indexed: number.is_multiple_of(2),
        })
    }

    proptest! {
        #[test]
        fn documents_and_commits_come_back_as_they_were(number: u64, id in ".*", text in ".*", ttl in prop::option::of(-1i64..100)) {
            let current = Arc::new(document(number, &id, PartitionKey::from(text), ttl));
            prop_assert_eq!(&decode_document(container(), &encode_document(&current)).unwrap(), &*current);
            let previous = Arc::new(document(3, "p", PartitionKey::NONE, None));
            let entry = LogEntry {
                lsn: 9,
                timestamp: Timestamp(11),
                causes: (number % 2 == 0).then(|| Box::new(Causes { origin: RegionId(3), ..Causes::default() })),
                changes: vec![
                    Change::Create { current: Arc::clone(&current) },
                    Change::Replace { current, previous: Arc::clone(&previous) },
                    Change::Delete { previous: Arc::clone(&previous), expired: true },
                    Change::Delete { previous, expired: false },
                ],
            };
            prop_assert_eq!(decode_entry(container(), &encode_entry(&entry)).unwrap(), entry);
        }

        #[test]
        fn a_text_with_its_system_members_is_read_too(number in 0u64..1 << 48) {
            let document = document(number, "i", PartitionKey::NONE, None);
            let (open, whole) = (document.open(), document.text());
            let row = encode_document(&document);
            let mut earlier = row[..row.len() - open.len() - 9].to_vec();
            earlier.push(u8::from(document.indexed));
            put_bytes(&whole, &mut earlier);
            prop_assert_eq!(decode_document(container(), &earlier).unwrap(), document);
            let last = earlier.len() - 2;
            earlier[last] ^= 1;
            prop_assert!(decode_document(container(), &earlier).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode_document(container(), &bytes);
            let _ = decode_entry(container(), &bytes);
        }
    }
}
