//! One write of a transaction, as a value: to be sent, or to be kept in a stage.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{Document, Kind, Message, Tombstone};

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WriteKind {
    /// Makes a document, of which there is none.
    Create,
    /// Makes or replaces a document.
    Upsert,
    /// Removes a document, which is there.
    Delete,
    /// Takes away a document's time to live.
    Keep,
    /// Says of an intent that it is delivered, and lets it go after a while. Whoever takes it leaves a trace.
    Deliver,
    /// As [`Deliver`](Self::Deliver), while there are processes that leave no traces.
    DeliverUntraced,
    /// Lets a piece of an intent's text go when the intent does.
    Expire,
}

/// A write of one document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Write {
    pub(crate) kind: WriteKind,
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<Box<RawValue>>,
    /// The version that a document which is removed must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
}

impl Write {
    pub(crate) fn create<T: Kind>(document: &Document<T>) -> Self {
        Self::of(WriteKind::Create, document)
    }

    pub(crate) fn upsert<T: Kind>(document: &Document<T>) -> Self {
        Self::of(WriteKind::Upsert, document)
    }

    pub(crate) fn delete(id: impl Into<String>) -> Self {
        Self { kind: WriteKind::Delete, id: id.into(), document: None, version: None }
    }

    /// Removes a document if it is of this version.
    pub(crate) fn delete_version(id: impl Into<String>, version: impl Into<String>) -> Self {
        Self { version: Some(version.into()), ..Self::delete(id) }
    }

    /// Removes a message. One that may be delivered again leaves a trace by which that is noticed.
    pub(crate) fn taken(instance: &str, id: &str, digest: Option<String>) -> Self {
        if Message::is_delivered(id) {
            Self::upsert(&Tombstone::seen(instance, id, digest))
        } else {
            Self::delete(id)
        }
    }

    pub(crate) fn keep(id: impl Into<String>) -> Self {
        Self { kind: WriteKind::Keep, id: id.into(), document: None, version: None }
    }

    /// Says that an intent is delivered, and whether everybody leaves traces.
    pub(crate) fn deliver(id: impl Into<String>, is_traced: bool) -> Self {
        let kind = if is_traced { WriteKind::Deliver } else { WriteKind::DeliverUntraced };
        Self { kind, id: id.into(), document: None, version: None }
    }

    pub(crate) fn expire(id: impl Into<String>) -> Self {
        Self { kind: WriteKind::Expire, id: id.into(), document: None, version: None }
    }

    fn of<T: Kind>(kind: WriteKind, document: &Document<T>) -> Self {
        let text = to_raw_value(document).expect("documents are made of strings, numbers and lists");
        Self { kind, id: document.id.clone(), document: Some(text), version: None }
    }

    /// About how many bytes it adds to a request.
    pub(crate) fn size(&self) -> usize {
        const FRAME: usize = 64;
        FRAME + self.id.len() + self.document.as_ref().map_or(0, |document| document.get().len())
    }
}
