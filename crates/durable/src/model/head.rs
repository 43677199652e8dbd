//! The head of an instance: its state, its lock, and what was delivered without success.
//!
//! The state is changed only by who holds the lock, so a holder's copy of it is the truth.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Document, Kind, Timers};
use crate::codec::{is_marked, plain};

/// The id of an instance's head.
pub(crate) const HEAD: &str = "instance";

/// The status of an execution that has not ended.
pub(crate) const RUNNING: &str = "Running";

/// How the output of an instance begins that was given up after too many attempts.
pub(crate) const POISON: &str = "poison: ";

/// What an instance is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) state: State,
    pub(crate) lock: Option<Lock>,
    /// How often messages that are still there were handed out, by their ids.
    #[serde(default)]
    pub(crate) deliveries: BTreeMap<String, Delivery>,
    /// A turn that is committed and not yet spread over its documents.
    #[serde(default)]
    pub(crate) stage: Option<StageMark>,
    /// From when on another process may take the stage for forgotten, and spread it.
    #[serde(default)]
    pub(crate) visible_at: Option<u64>,
}

impl Kind for Head {
    const KIND: &'static str = "instance";

    fn is_sealed(&self) -> bool {
        self.state.is_sealed()
    }

    fn mark_plain_texts(&mut self) {
        mark_plain(&mut self.state.output, self.state.output_chunks);
        mark_plain(&mut self.state.custom_status, 0);
    }
}

/// Marks a text that is stored as it is and looks as if it were not.
pub(super) fn mark_plain(text: &mut Option<String>, chunks: u32) {
    if chunks == 0 {
        *text = text.take().map(plain);
    }
}

impl Head {
    /// The head of an instance that is not there yet: a place for its lock.
    pub(crate) fn unborn(instance: &str, nonce: String, now: u64) -> Document<Self> {
        let state = State { nonce, created_at: now, updated_at: now, ..State::default() };
        let head = Self { state, lock: None, deliveries: BTreeMap::new(), stage: None, visible_at: None };
        Document::new(instance, HEAD, head)
    }

    /// Whether it is more than a place for a lock.
    pub(crate) fn is_born(&self) -> bool {
        self.state.exists || self.state.last_event > 0
    }

    /// Until when somebody holds the lock, if anybody does.
    pub(crate) fn locked_until(&self, now: u64) -> Option<u64> {
        self.lock.as_ref().map(|lock| lock.until).filter(|until| *until > now)
    }
}

/// What is known of an instance and its current execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    /// Whether a turn was committed. A lock alone makes no instance.
    pub(crate) exists: bool,
    /// Tells this instance from earlier ones of its name.
    pub(crate) nonce: String,
    pub(crate) turn: u64,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) created_at: u64,
    pub(crate) updated_at: u64,
    pub(crate) execution: u64,
    pub(crate) status: String,
    /// As it is stored.
    pub(crate) output: Option<String>,
    /// In how many documents an output is that is too long for this one.
    #[serde(default)]
    pub(crate) output_chunks: u32,
    /// Whether the execution was given up after too many attempts, as its output says, which a query may not understand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) poisoned: bool,
    pub(crate) started_at: u64,
    pub(crate) completed_at: Option<u64>,
    /// The version of duroxide that the current execution is pinned to.
    pub(crate) pinned: Option<String>,
    /// The last committed event; history beyond it does not count.
    pub(crate) last_event: u64,
    pub(crate) events: u64,
    pub(crate) history_bytes: u64,
    /// Queue messages that the current execution got from the one before.
    pub(crate) carried: u64,
    /// As it is stored.
    pub(crate) custom_status: Option<String>,
    pub(crate) custom_status_version: u64,
    /// The token of the last turn, by which a repeated commit is recognized.
    pub(crate) last_ack: Option<String>,
    /// What the instance has sent itself for later; not there in heads of before this was kept.
    #[serde(default)]
    pub(crate) timers: Option<Timers>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            exists: false,
            nonce: String::new(),
            turn: 0,
            name: None,
            version: None,
            parent: None,
            created_at: 0,
            updated_at: 0,
            execution: 1,
            status: RUNNING.to_owned(),
            output: None,
            output_chunks: 0,
            poisoned: false,
            started_at: 0,
            completed_at: None,
            pinned: None,
            last_event: 0,
            events: 0,
            history_bytes: 0,
            carried: 0,
            custom_status: None,
            custom_status_version: 0,
            last_ack: None,
            timers: Some(Timers::default()),
        }
    }
}

impl State {
    /// Whether a text in it is not stored as it is.
    pub(crate) fn is_sealed(&self) -> bool {
        [&self.output, &self.custom_status].into_iter().flatten().any(|text| is_marked(text))
    }

    /// Whether what an execution wrote to the key-value store belongs to the store by now.
    pub(crate) fn is_merged(&self, execution: u64) -> bool {
        execution < self.execution || (execution == self.execution && self.status != RUNNING)
    }

    /// Where a long output of an execution is.
    pub(crate) fn output_id(execution: u64) -> String {
        format!("out:{execution}")
    }
}

/// Who works on an instance, until when, on which messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lock {
    pub(crate) token: String,
    pub(crate) until: u64,
    pub(crate) messages: Vec<String>,
    /// Whether a deletion has begun to remove the documents of the instance, so that it cannot be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) erasing: bool,
    /// How many transactions have removed documents of the instance: a failover may take some of them back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) removals: u64,
}

impl Lock {
    /// The end of a lock that does not end by itself: the record of a deletion says when it may be taken away.
    pub(crate) const FOR_EVER: u64 = 1 << 52;

    /// The lock of a turn.
    pub(crate) fn of_turn(token: String, until: u64, messages: Vec<String>) -> Self {
        Self { token, until, messages, erasing: false, removals: 0 }
    }

    /// The lock of a deletion.
    pub(crate) fn of_deletion(token: &str) -> Self {
        let token = token.to_owned();
        Self { token, until: Self::FOR_EVER, messages: Vec::new(), erasing: false, removals: 0 }
    }

    pub(crate) fn is_of_deletion(&self) -> bool {
        self.until == Self::FOR_EVER
    }
}

/// What became of a message so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delivery {
    pub(crate) attempts: u32,
    /// Not to be delivered again before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) not_before: u64,
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How far a staged turn is spread: `done` of `count` parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageMark {
    pub(crate) token: String,
    pub(crate) count: u32,
    pub(crate) done: u32,
    /// Nothing is left of the instance then, and the head goes with the last part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_last: bool,
}
