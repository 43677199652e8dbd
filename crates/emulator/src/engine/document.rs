//! An item as it is stored, and the members that the service adds to it.
//!
//! What a client may send is checked before; see `items::incoming`. There can be millions of documents in memory, so a
//! document keeps nothing that follows from the rest of it: the system members are written into its text when somebody
//! asks for the text.

use cosmonaut_wire::model::TimeToLive;
use cosmonaut_wire::{EffectivePartitionKey, PartitionKey, ResourceId, ResourceType};

use super::{RegionId, VersionTag};
use crate::Timestamp;

/// One version of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Unique in the container, in the order of creation; the last part of `_rid`.
    pub number: u64,
    /// The item's partition key.
    pub key: PartitionKey,
    /// The key's place on the ring.
    pub epk: EffectivePartitionKey,
    /// The tag of this version.
    pub etag: VersionTag,
    /// The commit that wrote it.
    pub lsn: i64,
    /// The sequence that this commit is part of.
    pub origin: RegionId,
    /// Its place among the changes of that commit.
    pub nth: u32,
    /// Whether it is in the index.
    pub indexed: bool,
    /// The id, and after it the item as JSON text without blanks, without system members and without its closing brace.
    content: Box<[u8]>,
    id_len: u16,
    ts: u32,
    /// The item's own time to live in seconds, -1 without end; 0 if it has none.
    ttl: i32,
    database: u32,
    container: u32,
}

/// What a document is made of.
#[derive(Clone, Debug)]
pub(crate) struct DocumentParts<'a> {
    pub(crate) container: ResourceId,
    pub(crate) number: u64,
    /// No longer than the service takes.
    pub(crate) id: &'a str,
    pub(crate) key: PartitionKey,
    pub(crate) epk: EffectivePartitionKey,
    /// The JSON object without system members and without its closing brace.
    pub(crate) open: &'a [u8],
    pub(crate) etag: VersionTag,
    /// When it was written, in seconds since 1970.
    pub(crate) ts: u64,
    pub(crate) lsn: i64,
    pub(crate) origin: RegionId,
    pub(crate) nth: u32,
    pub(crate) ttl: Option<TimeToLive>,
    pub(crate) indexed: bool,
}

impl From<DocumentParts<'_>> for Document {
    fn from(parts: DocumentParts<'_>) -> Self {
        let mut content = Vec::with_capacity(parts.id.len() + parts.open.len());
        content.extend_from_slice(parts.id.as_bytes());
        content.extend_from_slice(parts.open);
        let place = parts.container.as_bytes().as_chunks::<4>().0;
        let number_at = |nth: usize| place.get(nth).map_or(0, |bytes| u32::from_be_bytes(*bytes));
        Self {
            number: parts.number,
            key: parts.key,
            epk: parts.epk,
            etag: parts.etag,
            lsn: parts.lsn,
            origin: parts.origin,
            nth: parts.nth,
            indexed: parts.indexed,
            content: content.into_boxed_slice(),
            id_len: parts.id.len() as u16,
            ttl: parts.ttl.map_or(0, |ttl| i64::from(ttl) as i32),
            ts: u32::try_from(parts.ts).unwrap_or(u32::MAX),
            database: number_at(0),
            container: number_at(1),
        }
    }
}

impl Document {
    /// The item's id.
    pub fn id(&self) -> &str {
        std::str::from_utf8(&self.content[..usize::from(self.id_len)]).unwrap_or_default()
    }

    /// `_ts`: when it was written, in seconds since 1970.
    pub fn ts(&self) -> u64 {
        u64::from(self.ts)
    }

    /// The item's own time to live.
    pub fn ttl(&self) -> Option<TimeToLive> {
        // 0 is no time to live.
        TimeToLive::try_from(i64::from(self.ttl)).ok()
    }

    #[cfg(test)]
    pub(crate) fn with_ttl(&self, ttl: TimeToLive) -> Self {
        Self { ttl: i64::from(ttl) as i32, ..self.clone() }
    }

    /// The JSON object without system members and without its closing brace.
    pub(crate) fn open(&self) -> &[u8] {
        &self.content[usize::from(self.id_len)..]
    }

    /// The item as JSON text without blanks, its system members included.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.text_len());
        self.append_text(&mut text);
        text
    }

    /// Puts the item's text in the place of what `into` held.
    pub(crate) fn write_text(&self, into: &mut Vec<u8>) {
        into.clear();
        self.append_text(into);
    }

    /// How many bytes the item's text has.
    pub fn text_len(&self) -> usize {
        self.open().len() + self.system().len()
    }

    fn append_text(&self, into: &mut Vec<u8>) {
        let system = self.system();
        into.reserve(self.open().len() + system.len());
        into.extend_from_slice(self.open());
        system.append(into);
    }

    fn system(&self) -> SystemMembers {
        SystemMembers {
            container: ResourceId::container(self.database, self.container),
            number: self.number,
            etag: self.etag,
            ts: self.ts(),
            are_first: self.open() == b"{",
        }
    }

    /// When it expires, in seconds since 1970, where items live for `default_ttl`.
    pub fn expires(&self, default_ttl: Option<TimeToLive>) -> Option<u64> {
        match (default_ttl, self.ttl().or(default_ttl)) {
            // An item's own time counts only where the container has expiry switched on.
            (None, _) | (_, None | Some(TimeToLive::NoExpiry)) => None,
            (Some(_), Some(TimeToLive::Seconds(seconds))) => Some(self.ts() + u64::from(seconds.get())),
        }
    }
}

/// The members that only the service writes.
pub(crate) const SYSTEM_MEMBERS: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The values of the members that only the service writes.
pub(crate) struct SystemMembers {
    pub(crate) container: ResourceId,
    pub(crate) number: u64,
    pub(crate) etag: VersionTag,
    pub(crate) ts: u64,
    /// Whether the item has no member before them.
    pub(crate) are_first: bool,
}

/// The system members with dots for the values that differ, up to `_ts`, the only one without a fixed length.
const FORM: [u8; 195] = *br#","_rid":"........................","_self":"dbs/......../colls/............/docs/......................../","_etag":"\"....................................\"","_attachments":"attachments/","_ts":"#;

/// Where the values begin in [`FORM`]: `_rid`; the ids of database, container and document in `_self`; `_etag`.
const PLACES: [usize; 5] = [9, 48, 63, 81, 119];

impl SystemMembers {
    /// How many bytes [`SystemMembers::append`] appends.
    fn len(&self) -> usize {
        let digits = self.ts.checked_ilog10().unwrap_or(0) as usize + 1;
        FORM.len() - usize::from(self.are_first) + digits + 1
    }

    /// Appends them to an object, and closes it.
    pub(crate) fn append(&self, into: &mut Vec<u8>) {
        let container = self.container;
        let database = container.parent().unwrap_or(container);
        let document = container.child(ResourceType::Document, self.number).unwrap_or(container);
        let mut text = FORM;
        let mut put = |place: usize, value: &[u8]| {
            text[place..place + value.len()].copy_from_slice(value);
        };
        let [rid, in_database, in_container, in_self, etag] = PLACES;
        let mut id = [0; ResourceId::MAX_TEXT];
        put(in_database, database.write_text(&mut id));
        put(in_container, container.write_text(&mut id));
        let document = document.write_text(&mut id);
        put(rid, document);
        put(in_self, document);
        put(etag, &self.etag.bare());
        into.extend_from_slice(&text[usize::from(self.are_first)..]);
        append_number(self.ts, into);
        into.push(b'}');
    }
}

/// Appends the decimal digits. What the standard library does for this is as much work as all else here.
fn append_number(mut number: u64, into: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    into.extend_from_slice(&digits[start..]);
}

/// What the service knows about a version that is being written.
pub(crate) struct Stamp {
    pub(crate) lsn: i64,
    pub(crate) nth: u32,
    pub(crate) range: u32,
    pub(crate) region: RegionId,
    pub(crate) now: Timestamp,
}

impl Stamp {
    /// The tag of this version. Unlike any other of the container: a partition's LSN never comes again, and a
    /// child partition has another number than its parent.
    pub(crate) fn etag(&self) -> VersionTag {
        let lsn = self.lsn as u64;
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&(lsn as u32).to_be_bytes());
        bytes[4..6].copy_from_slice(&(self.nth as u16).to_be_bytes());
        bytes[6] = self.region.0;
        bytes[8..10].copy_from_slice(&(self.range as u16).to_be_bytes());
        bytes[10..14].copy_from_slice(&(self.now.seconds() as u32).to_be_bytes());
        bytes[14..].copy_from_slice(&((lsn >> 32) as u16).to_be_bytes());
        VersionTag(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(open: &str, number: u64, ts: u64) -> Document {
        let container = ResourceId::container(7, 9);
        let stamp = Stamp { lsn: 3, nth: 2, range: 5, region: RegionId(1), now: Timestamp(ts * 1_000_000) };
        Document::from(DocumentParts {
            container,
            number,
            id: "é",
            key: PartitionKey::NONE,
            epk: EffectivePartitionKey::MIN,
            open: open.as_bytes(),
            etag: stamp.etag(),
            ts,
            lsn: 3,
            origin: RegionId(0),
            nth: 2,
            ttl: None,
            indexed: true,
        })
    }

    #[test]
    fn the_form_has_a_place_for_every_value() {
        let is_place = |at: usize| FORM[at] == b'.' && FORM[at - 1] != b'.';
        let found: Vec<usize> = (1..FORM.len()).filter(|at| is_place(*at)).collect();
        assert_eq!(found, PLACES);
    }

    #[test]
    fn the_text_has_the_system_members_last() {
        for (open, number, ts, text) in [
            (
                r#"{"id":"é""#,
                1,
                1_700_000_000,
                r#"{"id":"é","_rid":"AAAAB4AAAAkBAAAAAAAAAA==","_self":"dbs/AAAABw==/colls/AAAAB4AAAAk=/docs/AAAAB4AAAAkBAAAAAAAAAA==/","_etag":"\"00000003-0002-0100-0005-6553f1000000\"","_attachments":"attachments/","_ts":1700000000}"#,
            ),
            (
                "{",
                258,
                0,
                r#"{"_rid":"AAAAB4AAAAkCAQAAAAAAAA==","_self":"dbs/AAAABw==/colls/AAAAB4AAAAk=/docs/AAAAB4AAAAkCAQAAAAAAAA==/","_etag":"\"00000003-0002-0100-0005-000000000000\"","_attachments":"attachments/","_ts":0}"#,
            ),
        ] {
            let document = document(open, number, ts);
            assert_eq!(String::from_utf8(document.text()).unwrap(), text);
            assert_eq!(document.text_len(), text.len());
            assert_eq!((document.id(), document.ts(), document.open()), ("é", ts, open.as_bytes()));
        }
    }

    /// A million documents take a gigabyte and a quarter; this part of it must not grow unnoticed.
    #[test]
    fn a_document_is_small_beside_its_text() {
        assert!(size_of::<Document>() <= 120, "{}", size_of::<Document>());
    }
}
