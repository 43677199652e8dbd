//! What is stored: the documents, their ids, and the tokens that callers hold.
//!
//! One container holds everything; an instance is one logical partition, `/instanceId`. Ids never contain the
//! instance's name, which may hold any character. Nothing here reads or writes the container.

mod document;
mod fetched;
mod head;
mod history;
mod kv;
mod order;
mod queue;
mod target;
mod text;
mod timers;
mod token;
mod write;

pub(crate) use document::{
    DELIVERED_TTL, DELIVERED_UNTRACED_TTL, Document, FORMAT, Kind, PREPARED_LARGE_TTL, PREPARED_TTL, Row,
    SEALED_FORMAT, Tombstone, TombstoneKind, format_of,
};
pub(crate) use fetched::Fetched;
pub(crate) use head::{Delivery, HEAD, Head, Lock, POISON, RUNNING, StageMark, State};
pub(crate) use history::{Execution, History, chain};
pub(crate) use kv::{Kv, KvChange, KvValue, key_id};
pub(crate) use order::committed_order;
pub(crate) use queue::{
    Intent, IntentTarget, Message, SESSION, Session, Stage, Work, WorkLock, session_partition, waited,
};
pub(crate) use target::{AT_ONCE, target_instance, visible_at};
pub(crate) use text::{Chunk, MAX_TEXT, Pieces, chunk_id, digest, escaped_len};
pub(crate) use timers::{NextTimer, Timers};
pub(crate) use token::{InstanceToken, WorkToken};
pub(crate) use write::{Write, WriteKind};
