//! What the queues need to know of a document, as the change feed and the scans give it.
//!
//! The same member names as the documents themselves have; everything else in them is passed over.

use std::fmt;

use cosmonaut::Etag;
use serde::de::{Error, IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};

use super::work::WorkEntry;
use crate::hub::plain_kind;
use crate::model::Message;

/// The columns of a scan.
pub(super) const COLUMNS: &str =
    "c.type, c.instanceId, c.id, c.visibleAt, c.lock, c.stage, c.session, c.tag, c._etag";

/// A document, as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    #[serde(rename = "type", default)]
    kind: Kind,
    instance_id: String,
    id: String,
    #[serde(rename = "_etag", default)]
    etag: String,
    visible_at: Option<u64>,
    lock: Option<Lock>,
    stage: Option<IgnoredAny>,
    session: Option<String>,
    tag: Option<String>,
    owner: Option<String>,
    until: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Kind {
    Message,
    Work,
    /// What is left of a work item that was cancelled.
    Cancelled,
    Session,
    Intent,
    Instance,
    Deletion,
    Prune,
    #[default]
    Other,
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;
        impl Visitor<'_> for Named {
            type Value = Kind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the type of a document")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Kind, E> {
                Ok(match plain_kind(name) {
                    "message" => Kind::Message,
                    "work" => Kind::Work,
                    "cancelled" => Kind::Cancelled,
                    "session" => Kind::Session,
                    "intent" => Kind::Intent,
                    "instance" => Kind::Instance,
                    "deletion" => Kind::Deletion,
                    "prune" => Kind::Prune,
                    _ => Kind::Other,
                })
            }
        }
        deserializer.deserialize_str(Named)
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Lock {
    token: String,
    until: u64,
}

/// What a document means for the queues.
pub(super) enum Sighting {
    /// A message of an instance, visible from then on.
    Message { instance: String, id: String, visible_at_ms: u64 },
    /// A work item; if it is locked, with the id of the message that will say that it is done.
    Work { item: WorkEntry, completion: Option<String> },
    /// A work item that was cancelled.
    Cancelled { instance: String, id: String },
    /// A session and its owner.
    Session { session: String, owner: String, until_ms: u64 },
    /// An instance that has changed.
    Instance { instance: String },
    /// Something in a partition is half done, and to be finished by anybody from then on.
    Unfinished { partition: String, from_ms: u64 },
}

impl Row {
    pub(super) fn partition(&self) -> &str {
        &self.instance_id
    }

    /// From when on it is something to do.
    pub(super) fn visible_at(&self) -> Option<u64> {
        self.visible_at
    }

    /// What the document means. A turn that is staged is left to its writer for `age_ms`.
    pub(super) fn read(self, age_ms: u64) -> Option<Sighting> {
        let Self { instance_id: instance, id, .. } = self;
        match self.kind {
            Kind::Message => Some(Sighting::Message { instance, id, visible_at_ms: self.visible_at? }),
            Kind::Work => {
                let completion = self.lock.as_ref().map(|lock| Message::completion_id(&lock.token));
                let item = WorkEntry {
                    instance,
                    id,
                    etag: Etag::from(self.etag),
                    visible_at_ms: self.visible_at?,
                    locked_until_ms: self.lock.map(|lock| lock.until),
                    session: self.session,
                    tag: self.tag,
                };
                Some(Sighting::Work { item, completion })
            }
            Kind::Cancelled => Some(Sighting::Cancelled { instance, id }),
            Kind::Session => {
                Some(Sighting::Session { session: self.session?, owner: self.owner?, until_ms: self.until? })
            }
            Kind::Intent | Kind::Deletion | Kind::Prune => {
                Some(Sighting::Unfinished { partition: instance, from_ms: self.visible_at? })
            }
            // A turn that is committed and not spread over its documents yet.
            Kind::Instance if self.stage.is_some() => {
                let from_ms = self.visible_at.unwrap_or(0).saturating_add(age_ms);
                Some(Sighting::Unfinished { partition: instance, from_ms })
            }
            Kind::Instance => Some(Sighting::Instance { instance }),
            Kind::Other => None,
        }
    }
}
