//! Scripts that have used too much several times: they are not run again until they are replaced.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cosmonaut_wire::{Etag, ResourceId};

use super::error::ScriptError;
use super::watch::Stopped;
use crate::engine::Resource;

/// After so many breaches a script is blocked. The service says "several".
const MOST_BREACHES: u32 = 5;

/// Breaches of so many scripts are remembered.
const MOST_SCRIPTS: usize = 1000;

/// How often scripts have used too much, by the version of each.
#[derive(Default)]
pub(crate) struct Breaches(Mutex<HashMap<ResourceId, (Etag, u32)>>);

impl Breaches {
    /// Runs a script, unless it is blocked, and remembers if it uses too much.
    pub(crate) fn guard<T>(
        &self,
        script: &Resource,
        run: impl FnOnce() -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        if self.of(script) >= MOST_BREACHES {
            return Err(ScriptError::Blocked { id: script.id().to_owned(), kind: script.rid().kind() });
        }
        let done = run();
        if let Err(ScriptError::Memory | ScriptError::Stopped(Stopped::TimedOut)) = &done {
            self.add(script);
        }
        done
    }

    /// How often this version of the script has used too much.
    fn of(&self, script: &Resource) -> u32 {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .get(&script.rid())
            .filter(|(version, _)| *version == script.etag())
            .map_or(0, |(_, count)| *count)
    }

    fn add(&self, script: &Resource) {
        let count = self.of(script) + 1;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SCRIPTS && !known.contains_key(&script.rid()) {
            known.clear();
        }
        known.insert(script.rid(), (script.etag(), count));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::ResourceRecord;

    fn script(etag: &str) -> Resource {
        let serde_json::Value::Object(members) = json!({"id": "s", "_etag": etag}) else {
            panic!("an object")
        };
        Resource::restore("AQAAAJ0fgTc=".parse().unwrap(), ResourceRecord { members, opened: None })
    }

    #[test]
    fn a_script_is_blocked_for_what_it_has_used_alone_and_until_it_is_replaced() {
        let breaches = Breaches::default();
        let run = |etag: &str, ended: ScriptError| {
            breaches.guard(&script(etag), || Err::<(), _>(ended)).unwrap_err()
        };
        let others = [Stopped::Delayed, Stopped::Unwanted, Stopped::Stale, Stopped::Aborted(String::new())];
        for stopped in others.iter().cycle().take(20) {
            let ended = ScriptError::Stopped(stopped.clone());
            assert_eq!(run("1", ended.clone()), ended);
        }
        for _ in 0..MOST_BREACHES {
            assert_eq!(run("1", ScriptError::Memory), ScriptError::Memory);
        }
        assert!(matches!(run("1", ScriptError::Memory), ScriptError::Blocked { .. }));
        assert_eq!(run("2", ScriptError::Memory), ScriptError::Memory);
    }
}
