//! What a turn does to the key-value store.

use std::collections::{BTreeMap, BTreeSet};

use duroxide::providers::ProviderError;
use duroxide::{Event, EventKind};

use super::Planner;
use crate::model::{Kv, KvChange, KvValue, RUNNING, State, Write, key_id};

impl Planner<'_> {
    /// The keys that the turn has written or cleared. A key without a value goes, unless the store has one: the
    /// execution that has cleared the key begins with it whenever it is replayed.
    pub(super) fn keys(&mut self, execution: u64, events: &[Event]) -> Result<(), ProviderError> {
        // What an execution before this one wrote is in the store by now; what this one did is not.
        let before = State { execution, status: RUNNING.to_owned(), ..State::default() };
        let mut keys: BTreeMap<&str, Kv> = self.held.keys.iter().map(|kv| (&*kv.key, kv.clone())).collect();
        let mut changed = BTreeSet::new();
        for event in events {
            match &event.kind {
                EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
                    let value = Some(KvValue { value: self.seal(value.clone())?, at: *last_updated_at_ms });
                    let kv = keys.entry(key).or_insert_with(|| Kv::new(key));
                    *kv = kv.changed(&before, KvChange { execution, value });
                    changed.insert(&**key);
                }
                EventKind::KeyValueCleared { key } => {
                    let kv = keys.entry(key).or_insert_with(|| Kv::new(key));
                    *kv = kv.changed(&before, KvChange { execution, value: None });
                    changed.insert(&**key);
                }
                EventKind::KeyValuesCleared => {
                    for (key, kv) in &mut keys {
                        *kv = kv.changed(&before, KvChange { execution, value: None });
                        changed.insert(key);
                    }
                }
                _ => {}
            }
        }
        let instance = &self.held.head.instance_id;
        let was_there: BTreeSet<&str> = self.held.keys.iter().map(|kv| &*kv.key).collect();
        for (key, kv) in keys {
            let is_gone = kv.latest().is_none() && kv.stored(&self.plan.state).is_none();
            if is_gone && was_there.contains(key) {
                self.plan.writes.push(Write::delete(key_id(key)));
            } else if !is_gone && changed.contains(key) {
                self.plan.writes.push(Write::upsert(&kv.document(instance)));
            }
        }
        Ok(())
    }
}
