//! What is to be written for a change.

use cosmonaut::{Change, ChangeKind, PartitionKey, RawItem};
use serde_json::Value;

use crate::data::apply::{Refusal, What, Write};
use crate::data::members::{KeyFinder, Members};

/// What the change feed adds to an item: its place in the feed.
const PLACE: &str = "_lsn";

/// A write, or why there can be none, and when the change was made, in seconds since 1970.
pub(super) struct Wanted {
    pub(super) write: Result<Write, Refusal>,
    pub(super) time: Option<u64>,
}

/// Puts the latest version of an item.
pub(super) fn of_item(keys: &KeyFinder, item: &RawItem, place: u64) -> Wanted {
    let refused = |id: Option<String>, message: String| Err(Refusal { place, id, status: None, message });
    let members = std::str::from_utf8(item.as_bytes())
        .map_err(|_| "it is not UTF-8".to_owned())
        .and_then(Members::read);
    let members = match members {
        Ok(members) => members,
        Err(problem) => return Wanted { write: refused(None, problem), time: None },
    };
    let time = members.timestamp();
    let own = members.own().without(PLACE);
    let write = match (own.id(), keys.of(&own)) {
        (Some(id), Ok(key)) => Ok(Write { place, key, id, what: What::Put(RawItem::from(own.to_line())) }),
        (None, _) => refused(None, "it has no id".to_owned()),
        (id, Err(problem)) => refused(id, problem),
    };
    Wanted { write, time }
}

/// Does what was done to an item.
pub(super) fn of_version(keys: &KeyFinder, change: &Change<RawItem>, place: u64) -> Wanted {
    let time = change.time.duration_since(std::time::UNIX_EPOCH).ok().map(|time| time.as_secs());
    let refused = |message: &str| {
        Err(Refusal { place, id: change.id.clone(), status: None, message: message.to_owned() })
    };
    let write = match (change.kind, &change.current) {
        (ChangeKind::Create | ChangeKind::Replace, Some(item)) => of_item(keys, item, place).write,
        (ChangeKind::Delete, _) => match (&change.id, key_of_deleted(keys, change)) {
            (Some(id), Some(key)) => Ok(Write { place, key, id: id.clone(), what: What::Delete }),
            _ => refused("it was deleted, and the change feed does not say where it was"),
        },
        _ => refused("the change feed has something about it that this program does not know"),
    };
    Wanted { write, time }
}

/// The key of a deleted item: by its last version if that is there, otherwise as the change feed has it.
fn key_of_deleted(keys: &KeyFinder, change: &Change<RawItem>) -> Option<PartitionKey> {
    let text = match (&change.previous, &change.partition_key) {
        (Some(previous), _) => String::from_utf8(previous.as_bytes().to_vec()).ok()?,
        (None, Some(key @ Value::Object(_))) => key.to_string(),
        (None, _) => return None,
    };
    keys.of(&Members::read(&text).ok()?).ok()
}
