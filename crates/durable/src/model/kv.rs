//! The key-value store of an instance: a document per key.
//!
//! It holds the value in the store and what the latest execution that wrote the key has made of it. That becomes
//! the store's value when the execution ends, which costs no write: it is a matter of reading.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Document, Kind, State};
use crate::codec::{is_marked, plain};

/// The id of a key's document.
pub(crate) fn key_id(key: &str) -> String {
    let hash = Sha256::digest(key.as_bytes());
    let mut id = String::from("k:");
    for byte in hash.iter().take(16) {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

/// A value, as it is stored, and when the orchestration wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KvValue {
    pub(crate) value: String,
    pub(crate) at: u64,
}

/// What an execution has made of a key: a value, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KvChange {
    pub(crate) execution: u64,
    pub(crate) value: Option<KvValue>,
}

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kv {
    pub(crate) key: String,
    pub(crate) store: Option<KvValue>,
    pub(crate) delta: Option<KvChange>,
}

impl Kind for Kv {
    const KIND: &'static str = "kv";

    fn is_sealed(&self) -> bool {
        let delta = self.delta.as_ref().and_then(|delta| delta.value.as_ref());
        [self.store.as_ref(), delta].into_iter().flatten().any(|value| is_marked(&value.value))
    }

    fn mark_plain_texts(&mut self) {
        let delta = self.delta.as_mut().and_then(|delta| delta.value.as_mut());
        for value in [self.store.as_mut(), delta].into_iter().flatten() {
            value.value = plain(std::mem::take(&mut value.value));
        }
    }
}

impl Kv {
    pub(crate) fn new(key: &str) -> Self {
        Self { key: key.to_owned(), store: None, delta: None }
    }

    /// The value in the store: without what an execution that still runs has written.
    pub(crate) fn stored(&self, state: &State) -> Option<&KvValue> {
        match &self.delta {
            Some(delta) if state.is_merged(delta.execution) => delta.value.as_ref(),
            Some(_) | None => self.store.as_ref(),
        }
    }

    /// The value as a client sees it: the latest.
    pub(crate) fn latest(&self) -> Option<&KvValue> {
        match &self.delta {
            Some(delta) => delta.value.as_ref(),
            None => self.store.as_ref(),
        }
    }

    /// The key after a write by an execution; `before` is the state in which it runs.
    pub(crate) fn changed(&self, before: &State, change: KvChange) -> Self {
        Self { key: self.key.clone(), store: self.stored(before).cloned(), delta: Some(change) }
    }

    pub(crate) fn document(self, instance: &str) -> Document<Self> {
        Document::new(instance, key_id(&self.key), self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(execution: u64, status: &str) -> State {
        State { execution, status: status.into(), ..State::default() }
    }

    fn value(text: &str) -> Option<KvValue> {
        Some(KvValue { value: text.into(), at: 1 })
    }

    #[test]
    fn a_write_reaches_the_store_when_its_execution_has_ended() {
        let first = Kv::new("k").changed(&state(1, "Running"), KvChange { execution: 1, value: value("a") });
        for (now, stored) in [
            (state(1, "Running"), None),
            (state(1, "ContinuedAsNew"), value("a")),
            (state(1, "Failed"), value("a")),
            (state(2, "Running"), value("a")),
        ] {
            assert_eq!(first.stored(&now).cloned(), stored, "{now:?}");
            assert_eq!(first.latest().cloned(), value("a"));
        }
    }

    #[test]
    fn a_later_execution_keeps_what_the_store_had() {
        let first = Kv::new("k").changed(&state(1, "Running"), KvChange { execution: 1, value: value("a") });
        let running = state(2, "Running");
        let cleared = first.changed(&running, KvChange { execution: 2, value: None });
        assert_eq!(cleared.stored(&running).cloned(), value("a"), "a tombstone of a running execution");
        assert_eq!(cleared.latest(), None);
        assert_eq!(cleared.stored(&state(2, "Completed")), None);
        let again = cleared.changed(&running, KvChange { execution: 2, value: value("b") });
        assert_eq!((again.stored(&running).cloned(), again.latest().cloned()), (value("a"), value("b")));
    }

    #[test]
    fn ids_are_alike_for_like_keys_only_and_hold_no_special_characters() {
        assert_eq!(key_id("a/b?#"), key_id("a/b?#"));
        assert_ne!(key_id("a"), key_id("b"));
        assert!(key_id("a/b?#\u{0}").chars().all(|c| c.is_ascii_alphanumeric() || c == ':'));
    }
}
