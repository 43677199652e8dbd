//! The feed of all versions and deletes, read from the log.
//!
//! It reaches back only as far as the container keeps its log.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_wire::PartitionKeyValue;
use cosmonaut_wire::model::{ChangeMetadata, ChangeOperationType, ContainerProperties, FullFidelityChange};
use serde_json::Value;
use serde_json::value::RawValue;

use super::SLICE;
use super::changes::{FeedStart, Part, Room};
use super::incremental::Reached;
use crate::Failure;
use crate::engine::key::KeyReader;
use crate::engine::{Change, Document, LogEntry, Progress, ReplicaState};

/// 400 if the feed cannot start there.
pub(super) fn check(start: &FeedStart) -> Result<(), Failure> {
    match start {
        FeedStart::Now | FeedStart::After(_) => Ok(()),
        FeedStart::Beginning | FeedStart::Time(_) => Err(Failure::bad_request(
            "You must read the change feed from within the retention period. The feed of all versions and deletes starts \
             now (If-None-Match: *) or at a continuation, not at the beginning or at a point in time",
        )),
    }
}

/// Which changes carry the version before them. A delete does: nothing else tells what was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreviousImages {
    /// Deletes alone.
    OfDeletes,
    /// Replaces too.
    OfReplaces,
}

impl PreviousImages {
    /// What the container's `previousImageRetentionPolicy` says.
    pub(super) fn kept_by(properties: &ContainerProperties) -> Self {
        let policy = properties.extra.get("previousImageRetentionPolicy").and_then(Value::as_str);
        match policy {
            Some("EnabledForReplaceOperation" | "EnabledForAllOperations") => Self::OfReplaces,
            Some(_) | None => Self::OfDeletes,
        }
    }

    fn of(self, change: &Change) -> Option<&Document> {
        match (self, change) {
            (Self::OfDeletes, Change::Replace { .. }) => None,
            (Self::OfDeletes | Self::OfReplaces, change) => change.previous().map(AsRef::as_ref),
        }
    }
}

/// Commits that come next in a feed.
pub(super) struct Stretch {
    entries: Vec<Arc<LogEntry>>,
    /// How far the replica was, if these were its last.
    end: Option<Progress>,
}

/// The commits after a point, as far as a slice goes; 400 if some of them are not kept any more.
pub(super) fn look(state: &ReplicaState, after: &Progress) -> Result<Stretch, Failure> {
    let entries = state.log_after(after, SLICE).ok_or_else(|| {
        Failure::bad_request(format!(
            "You must read the change feed from within the retention period. The changes after {after} are not all kept any \
             more: start again from now, and read more often than the retention of the container",
        ))
    })?;
    let end = (entries.len() < SLICE).then(|| state.progress().clone());
    Ok(Stretch { entries, end })
}

/// Adds what was committed; returns the point up to which everything is in the page. No lock need be held.
pub(super) fn read(
    Stretch { entries, end }: Stretch,
    part: &Part<'_>,
    images: PreviousImages,
    room: &mut Room,
    items: &mut Vec<Bytes>,
) -> Result<Reached, Failure> {
    let mut reached = part.after.clone();
    for entry in &entries {
        let shown = entry.changes.iter().filter(|change| part.shows(change.document()));
        let commit = shown
            .map(|change| describe(entry, change, part.reader, images))
            .collect::<Result<Vec<_>, _>>()?;
        if !commit.is_empty() && !room.take(&commit, items.is_empty()) {
            return Ok(Reached::End(reached));
        }
        items.extend(commit);
        reached.set(entry.origin(), entry.lsn);
    }
    Ok(match end {
        None => Reached::Slice(reached),
        Some(progress) => {
            reached.join(&progress);
            Reached::End(reached)
        }
    })
}

fn describe(
    entry: &LogEntry,
    change: &Change,
    keys: &KeyReader,
    images: PreviousImages,
) -> Result<Bytes, Failure> {
    let (operation_type, expired) = match change {
        Change::Create { .. } => (ChangeOperationType::Create, None),
        Change::Replace { .. } => (ChangeOperationType::Replace, None),
        Change::Delete { expired, .. } => (ChangeOperationType::Delete, Some(*expired)),
    };
    let deleted = change.current().is_none().then(|| change.document());
    let empty = || RawValue::from_string("{}".to_owned()).map_err(unreadable);
    let current = change.current().map_or_else(empty, |current| raw(current))?;
    let previous = images.of(change).map(raw).transpose()?;
    let described = FullFidelityChange {
        current: Some(&*current),
        previous: previous.as_deref(),
        metadata: ChangeMetadata {
            lsn: entry.lsn,
            crts: entry.timestamp.seconds() as i64,
            operation_type,
            previous_image_lsn: Some(change.previous().map_or(0, |previous| previous.lsn)),
            time_to_live_expired: expired,
            id: deleted.map(|document| document.id().to_owned()),
            partition_key: deleted.map(|document| named_key(document, keys)),
        },
    };
    serde_json::to_vec(&described).map(Bytes::from).map_err(unreadable)
}

fn raw(document: &Document) -> Result<Box<RawValue>, Failure> {
    serde_json::from_slice(&document.text()).map_err(unreadable)
}

/// Stored text was checked when it was written, so this is a fault of the emulator and not of the request.
fn unreadable(error: serde_json::Error) -> Failure {
    Failure::new(
        cosmonaut_wire::CosmosStatus::INTERNAL_SERVER_ERROR,
        format!("a stored item is not readable: {error}"),
    )
}

/// The key as an object from the last name of each path to its value.
fn named_key(document: &Document, keys: &KeyReader) -> Value {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().trim_matches('"').to_owned();
    let value = |value: &PartitionKeyValue| match value {
        PartitionKeyValue::Undefined => None,
        PartitionKeyValue::Null => Some(Value::Null),
        PartitionKeyValue::Bool(value) => Some(Value::from(*value)),
        PartitionKeyValue::Number(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
            Some(Value::from(*value as i64))
        }
        PartitionKeyValue::Number(value) => Some(Value::from(*value)),
        PartitionKeyValue::String(value) => Some(Value::from(&**value)),
    };
    let paths = keys.definition().paths.iter().zip(document.key.components());
    Value::Object(paths.filter_map(|(path, component)| Some((name(path), value(component)?))).collect())
}
