//! What all documents have in common: where they belong, their kind and the version of their format.

use duroxide::providers::ProviderError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec::is_marked;
use crate::hub::{kind_in, plain_kind, told};
use crate::lease::slot_of;

/// The version of the format that most documents are written in.
pub(crate) const FORMAT: u32 = 1;

/// The version of a document with a text that is not stored as it is. Processes that know only the version before would
/// take such a text for what the user has written. It is the newest version that this crate reads.
pub(crate) const SEALED_FORMAT: u32 = 2;

/// After how many seconds the service removes what was prepared for a transaction that never came.
pub(crate) const PREPARED_TTL: i32 = 60 * 60;

/// The same for a turn that is so large that its documents are kept only after it was committed: longer than no
/// process runs.
pub(crate) const PREPARED_LARGE_TTL: i32 = 7 * 24 * 60 * 60;

/// For how many seconds a delivery is kept after it was made, so that it can be made again if the target loses it. An
/// outage may last for many hours before a failover ends it. A day of storage costs about 3 % of what it costs to send a
/// message.
pub(crate) const DELIVERED_TTL: i32 = 24 * 60 * 60;

/// The same while there are processes of earlier versions: they leave traces for an hour at most, and deliver again whatever
/// they find that has left none.
pub(crate) const DELIVERED_UNTRACED_TTL: i32 = 10 * 60;

/// For how many seconds a processed message from another instance is remembered: longer than a delivery is kept, by
/// a wide margin for the time between delivering and processing notes.
const SEEN_TTL: i32 = 2 * DELIVERED_TTL;

/// The content of a document, and how its kind is called in `type`.
pub(crate) trait Kind: Serialize + DeserializeOwned {
    const KIND: &'static str;

    /// Whether a text of a user in it is not stored as it is.
    fn is_sealed(&self) -> bool {
        false
    }

    /// Marks texts that an earlier version has stored as they are, and that look as if they were not.
    fn mark_plain_texts(&mut self) {}
}

/// The version of a document.
pub(crate) const fn format_of(is_sealed: bool) -> u32 {
    if is_sealed { SEALED_FORMAT } else { FORMAT }
}

/// A document: its place, its kind, and what it holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<T> {
    pub(crate) id: String,
    /// Its partition: the instance, in its hub.
    pub(crate) instance_id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) v: u32,
    pub(crate) slot: u8,
    /// After how many seconds the service removes it; kept for ever without, or with -1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<i32>,
    #[serde(flatten)]
    pub(crate) content: T,
    #[serde(rename = "_etag", default, skip_serializing)]
    pub(crate) etag: String,
    #[serde(rename = "_ts", default, skip_serializing)]
    pub(crate) timestamp: u64,
    #[serde(rename = "_rid", default, skip_serializing)]
    pub(crate) rid: String,
}

impl<T: Kind> Document<T> {
    pub(crate) fn new(instance: &str, id: impl Into<String>, content: T) -> Self {
        Self {
            id: id.into(),
            instance_id: instance.to_owned(),
            kind: kind_in(instance, T::KIND).into_owned(),
            v: format_of(content.is_sealed()),
            slot: slot_of(instance),
            ttl: None,
            content,
            etag: String::new(),
            timestamp: 0,
            rid: String::new(),
        }
    }

    pub(crate) fn with_ttl(mut self, seconds: i32) -> Self {
        self.ttl = Some(seconds);
        self
    }
}

/// A document of any kind, as a query gives it.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Row(Value);

impl Row {
    /// The kind of the document, without its hub.
    pub(crate) fn kind(&self) -> &str {
        plain_kind(self.0.get("type").and_then(Value::as_str).unwrap_or_default())
    }

    /// Whether a newer version of this crate has written it, so that another process may be able to read it.
    pub(crate) fn is_newer(&self) -> bool {
        self.version() > u64::from(SEALED_FORMAT)
    }

    fn version(&self) -> u64 {
        self.0.get("v").and_then(Value::as_u64).unwrap_or(0)
    }

    /// The document, if this crate can read it.
    ///
    /// # Errors
    /// Permanent, if it was written by a newer version of this crate, or is damaged.
    pub(crate) fn read<T: Kind>(self, operation: &str) -> Result<Document<T>, ProviderError> {
        let mut document: Document<T> = self.parse(operation, T::KIND)?;
        if document.v < SEALED_FORMAT {
            document.content.mark_plain_texts();
            // Written back, it is of the version that its marks need.
            document.v = document.v.max(format_of(document.content.is_sealed()));
        }
        Ok(document)
    }

    /// As [`read`](Self::read), for some members of a document. `what` says what it should be.
    pub(crate) fn parse<T: DeserializeOwned>(self, operation: &str, what: &str) -> Result<T, ProviderError> {
        let place = |row: &Value| {
            let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("?").to_owned();
            format!("document {:?} of instance {:?}", text("id"), told(&text("instanceId")))
        };
        if self.is_newer() {
            let version = self.version();
            let message = format!(
                "{} has format {version}, and this version of duroxide-cosmonaut reads up to {SEALED_FORMAT} \
                 (update every process that shares the container)",
                place(&self.0)
            );
            return Err(ProviderError::permanent(operation, message));
        }
        let name = place(&self.0);
        serde_json::from_value(self.0).map_err(|error| {
            ProviderError::permanent(operation, format!("{name} cannot be read as {what}: {error}"))
        })
    }
}

/// What stays of a document that must not come back, or whose end somebody has to notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TombstoneKind {
    /// A work item that its orchestration has cancelled.
    Cancelled,
    /// The same, in the partition of another instance: the item was delivered there, and may be delivered again.
    CancelledElsewhere,
    /// A message from another instance that was processed: a repeated delivery finds it.
    Seen,
}

impl TombstoneKind {
    /// How it is called in `type`, and how many seconds it stays.
    const fn name_and_ttl(self) -> (&'static str, i32) {
        match self {
            Self::Cancelled => ("cancelled", 60 * 60),
            Self::CancelledElsewhere => ("cancelled", SEEN_TTL),
            Self::Seen => ("seen", SEEN_TTL),
        }
    }
}

/// The content of a tombstone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tombstone {
    /// What tells the text that was processed from another one, as it is stored: it says something of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
    /// Whether another instance has sent what was cancelled, so that a repeated delivery must find this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) delivered: bool,
}

impl Tombstone {
    pub(crate) fn document(instance: &str, id: &str, kind: TombstoneKind) -> Document<Self> {
        let (name, ttl) = kind.name_and_ttl();
        let content = Self { digest: None, delivered: kind == TombstoneKind::CancelledElsewhere };
        let mut document = Document::new(instance, id, content).with_ttl(ttl);
        document.kind = kind_in(instance, name).into_owned();
        document
    }

    /// What stays of a message that was processed.
    pub(crate) fn seen(instance: &str, id: &str, digest: Option<String>) -> Document<Self> {
        let mut document = Self::document(instance, id, TombstoneKind::Seen);
        document.content.digest = digest;
        document.v = format_of(document.content.is_sealed());
        document
    }
}

impl Kind for Tombstone {
    const KIND: &'static str = "tombstone";

    fn is_sealed(&self) -> bool {
        self.digest.as_deref().is_some_and(is_marked)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Kv, KvValue, Message};

    #[test]
    fn a_document_of_a_newer_format_is_refused_and_the_remedy_named() {
        let row = |v: u32| {
            Row(json!({"id": "m:1", "instanceId": "a\"b", "type": "message", "v": v, "slot": 1,
                "visibleAt": 5, "body": "x"}))
        };
        assert_eq!(row(FORMAT).read::<Message>("fetch").unwrap().content.visible_at, 5);
        let error = row(SEALED_FORMAT + 1).read::<Message>("fetch").unwrap_err();
        assert!(!error.is_retryable());
        for part in ["m:1", "format 3", "update every process"] {
            assert!(error.message.contains(part), "{error}");
        }
    }

    #[test]
    fn a_document_has_the_higher_format_only_if_a_text_in_it_is_not_stored_as_it_is() {
        let format = |value: &str| {
            let value = Some(KvValue { value: value.into(), at: 1 });
            let kv = Kv { store: value, ..Kv::new("k") };
            kv.document("i").v
        };
        assert_eq!([format("plain"), format("~zlib 5:AAAA"), format("~=~")], [1, 2, 2]);
    }

    #[test]
    fn a_text_of_an_earlier_version_is_taken_as_it_is_whatever_it_looks_like() {
        let read = |v: u32, value: &str| {
            let row =
                Row(json!({"id": "k:1", "instanceId": "i", "type": "kv", "v": v, "slot": 1, "key": "k",
                "store": {"value": value, "at": 1}, "delta": null}));
            row.read::<Kv>("fetch").unwrap().content.store.unwrap().value
        };
        assert_eq!(read(1, "~zlib 5:AAAA"), "~=~zlib 5:AAAA");
        assert_eq!(read(1, "plain"), "plain");
        assert_eq!(read(2, "~zlib 5:AAAA"), "~zlib 5:AAAA");
    }

    #[test]
    fn a_document_that_is_kept_after_all_can_be_read() {
        let row =
            Row(json!({"id": "m:1", "instanceId": "a", "type": "message", "v": 1, "slot": 1, "ttl": -1,
            "visibleAt": 5, "body": "x"}));
        assert_eq!(row.read::<Message>("fetch").unwrap().ttl, Some(-1));
    }

    #[test]
    fn a_damaged_document_is_named() {
        let error = Row(json!({"id": "m:1"})).read::<Message>("fetch").unwrap_err();
        assert!(error.message.contains("\"m:1\""), "{error}");
    }
}
