//! What waits: messages to instances, work for workers, deliveries to other instances, turns to be spread.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Kind;
use super::head::is_zero;
use crate::codec::is_marked;

/// A message to the instance in whose partition it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    pub(crate) visible_at: u64,
    /// When it was sent; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) sent_at: u64,
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) chunks: u32,
}

impl Kind for Message {
    const KIND: &'static str = "message";

    fn is_sealed(&self) -> bool {
        is_marked(&self.body)
    }
}

impl Message {
    /// The id of a message that a client sends.
    pub(crate) fn client_id(unique: &str) -> String {
        format!("m:c{unique}")
    }

    /// The id of a message that a turn sends to its own instance.
    pub(crate) fn own_id(turn: u64, n: usize) -> String {
        format!("m:t{turn}.{n}")
    }

    /// The id of a message from another instance: the same, however often it is delivered.
    pub(crate) fn delivered_id(nonce: &str, turn: u64, n: usize) -> String {
        format!("m:o{nonce}.{turn}.{n}")
    }

    /// The id of the completion of a work item that was locked with `token`.
    pub(crate) fn completion_id(token: &str) -> String {
        format!("m:w{token}")
    }

    /// Whether a message is of a turn to its own instance, as timers are.
    pub(crate) fn is_own(id: &str) -> bool {
        id.starts_with("m:t")
    }

    /// Whether a message may be delivered again after it was processed.
    pub(crate) fn is_delivered(id: &str) -> bool {
        id.starts_with("m:o")
    }
}

/// An activity to be run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Work {
    pub(crate) visible_at: u64,
    /// When it was scheduled; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) sent_at: u64,
    pub(crate) attempts: u32,
    pub(crate) lock: Option<WorkLock>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
    /// Whether another instance has sent it: it may be delivered again, so that it leaves a trace when it is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) delivered: bool,
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) chunks: u32,
}

/// Who runs an activity, and until when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkLock {
    pub(crate) token: String,
    pub(crate) until: u64,
}

impl Kind for Work {
    const KIND: &'static str = "work";

    fn is_sealed(&self) -> bool {
        is_marked(&self.body)
    }
}

impl Work {
    /// The id of an activity's work item, by which it is cancelled.
    pub(crate) fn id(execution: u64, activity: u64) -> String {
        format!("w:{execution}:{activity}")
    }

    /// Which activity a work item is of, whatever else its id says.
    pub(crate) fn execution_and_activity(id: &str) -> Option<(u64, u64)> {
        let (execution, activity) = id.strip_prefix("w:")?.split_once(':')?;
        let activity = activity.split('.').next()?;
        Some((execution.parse().ok()?, activity.parse().ok()?))
    }
}

/// What a turn, or a completion, owes to another instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    /// The instance that gets it.
    pub(crate) target: String,
    /// The id that it gets there.
    pub(crate) target_id: String,
    pub(crate) what: IntentTarget,
    /// From when on the target may see it.
    pub(crate) target_visible_at: u64,
    /// From when on another process may take it for forgotten, and deliver it; not there once it is delivered.
    #[serde(default)]
    pub(crate) visible_at: Option<u64>,
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) chunks: u32,
}

/// Into which queue of the target it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum IntentTarget {
    /// The instance's messages.
    Message,
    /// The work items.
    Work,
}

impl Kind for Intent {
    const KIND: &'static str = "intent";

    fn is_sealed(&self) -> bool {
        is_marked(&self.body)
    }
}

impl Intent {
    /// What `type` says once it is delivered.
    pub(crate) const DELIVERED: &'static str = "delivered";

    pub(crate) fn id(turn: u64, n: usize) -> String {
        format!("o:{turn}.{n}")
    }

    /// The id of what a completion owes.
    pub(crate) fn completion_id(token: &str) -> String {
        format!("o:w{token}")
    }
}

/// A part of a turn that is too large for one transaction: the writes of one batch, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub(crate) body: String,
}

impl Kind for Stage {
    const KIND: &'static str = "stage";
}

impl Stage {
    pub(crate) fn id(token: &str, n: u32) -> String {
        format!("s:{token}.{n}")
    }
}

/// How long something has waited by now that was sent at some time and is visible from another on; `None` if it is not
/// known when it was sent.
pub(crate) fn waited(sent_at: u64, visible_at: u64, now: u64) -> Option<Duration> {
    (sent_at > 0).then(|| Duration::from_millis(now.saturating_sub(sent_at.max(visible_at))))
}

/// The id of a session's document.
pub(crate) const SESSION: &str = "session";

/// The partition of a session. Sessions belong to no instance: their names hold for the whole container.
pub(crate) fn session_partition(session: &str) -> String {
    format!("$session:{session}")
}

/// Which worker a session's activities go to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) session: String,
    pub(crate) owner: String,
    pub(crate) until: u64,
    pub(crate) last_activity: u64,
}

impl Kind for Session {
    const KIND: &'static str = "session";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AT_ONCE;

    #[test]
    fn what_waits_does_so_since_it_was_sent_or_became_visible() {
        for (sent_at, visible_at, now, expected) in [
            (100, AT_ONCE, 350, Some(250)),
            (100, 300, 350, Some(50)),
            // The clock of whoever wrote it may be a little ahead.
            (400, AT_ONCE, 350, Some(0)),
            (0, AT_ONCE, 350, None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(waited(sent_at, visible_at, now), expected, "{sent_at} {visible_at} {now}");
        }
    }
}
