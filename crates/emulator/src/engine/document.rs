//! An item as it is stored, and the members that the service adds to it.
//!
//! What a client may send is checked before; see `items::incoming`.

use bytes::{BufMut, Bytes, BytesMut};
use cosmonaut_wire::model::TimeToLive;
use cosmonaut_wire::{EffectivePartitionKey, Etag, PartitionKey, ResourceId, ResourceType};

use super::RegionId;
use crate::Timestamp;

/// One version of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Unique in the container, in the order of creation; the last part of `_rid`.
    pub number: u64,
    /// The item's id.
    pub id: Box<str>,
    /// The item's partition key.
    pub key: PartitionKey,
    /// The key's place on the ring.
    pub epk: EffectivePartitionKey,
    /// The item as JSON text without blanks, its system members included.
    pub body: Bytes,
    /// The entity tag of this version, quotes included.
    pub etag: Etag,
    /// `_ts`: when it was written, in seconds since 1970.
    pub ts: u64,
    /// The commit that wrote it.
    pub lsn: i64,
    /// The sequence that this commit is part of.
    pub origin: RegionId,
    /// Its place among the changes of that commit.
    pub nth: u32,
    /// The item's own time to live.
    pub ttl: Option<TimeToLive>,
    /// Whether it is in the index.
    pub indexed: bool,
}

impl Document {
    /// When it expires, in seconds since 1970, where items live for `default_ttl`.
    pub fn expires(&self, default_ttl: Option<TimeToLive>) -> Option<u64> {
        match (default_ttl, self.ttl.or(default_ttl)) {
            // An item's own time counts only where the container has expiry switched on.
            (None, _) | (_, None | Some(TimeToLive::NoExpiry)) => None,
            (Some(_), Some(TimeToLive::Seconds(seconds))) => Some(self.ts + u64::from(seconds.get())),
        }
    }
}

/// The members that only the service writes.
pub(crate) const SYSTEM_MEMBERS: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// What the service knows about a version that is being written.
pub(crate) struct Stamp {
    pub(crate) container: ResourceId,
    pub(crate) number: u64,
    pub(crate) lsn: i64,
    pub(crate) nth: u32,
    pub(crate) range: u32,
    pub(crate) region: RegionId,
    pub(crate) now: Timestamp,
}

impl Stamp {
    /// The tag of this version. Unlike any other of the container: a partition's LSN never comes again, and a
    /// child partition has another number than its parent.
    pub(crate) fn etag(&self) -> Etag {
        let (lsn, ts) = (self.lsn as u64, self.now.seconds());
        Etag::from(format!(
            "\"{:08x}-{:04x}-{:02x}00-{:04x}-{:08x}{:04x}\"",
            lsn as u32,
            self.nth as u16,
            self.region.0,
            self.range as u16,
            ts as u32,
            (lsn >> 32) as u16
        ))
    }

    /// The stored text: `open` is the object without its closing brace and without system members.
    pub(crate) fn complete(&self, open: &[u8], etag: &Etag) -> Bytes {
        let container = self.container;
        let database = container.parent().unwrap_or(container);
        let rid = container.child(ResourceType::Document, self.number).unwrap_or(container);
        let comma = if open == b"{" { "" } else { "," };
        let system = format!(
            "{comma}\"_rid\":\"{rid}\",\"_self\":\"dbs/{database}/colls/{container}/docs/{rid}/\",\
             \"_etag\":\"\\\"{}\\\"\",\"_attachments\":\"attachments/\",\"_ts\":{}}}",
            etag.as_str().trim_matches('"'),
            self.now.seconds()
        );
        let mut text = BytesMut::with_capacity(open.len() + system.len());
        text.put_slice(open);
        text.put_slice(system.as_bytes());
        text.freeze()
    }
}
