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
