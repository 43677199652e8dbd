//! Instances that left something half done, to be finished by whoever is free.

use std::collections::{BTreeSet, HashMap};

use super::Shared;
use crate::clock;

/// The instances, each with the time from which on it may be finished by somebody else.
pub(super) struct Unfinished {
    due: BTreeSet<(u64, String)>,
    known: HashMap<String, u64>,
}

impl Unfinished {
    pub(super) fn new() -> Self {
        Self { due: BTreeSet::new(), known: HashMap::new() }
    }

    pub(super) fn add(&mut self, instance: String, from: u64) {
        if !self.known.contains_key(&instance) {
            self.due.insert((from, instance.clone()));
            self.known.insert(instance, from);
        }
    }

    /// The first that is due, or when one will be.
    fn take(&mut self, now: u64) -> Result<String, Option<u64>> {
        match self.due.first() {
            Some((from, _)) if *from > now => return Err(Some(*from)),
            None => return Err(None),
            Some(_) => {}
        }
        let (_, instance) = self.due.pop_first().ok_or(None)?;
        self.known.remove(&instance);
        Ok(instance)
    }
}

impl Shared {
    pub(super) async fn next_unfinished(&self) -> String {
        loop {
            let changed = self.unfinished_changed.notified();
            let now = clock::now_ms();
            let taken = self.state().unfinished.take(now);
            let due = match taken {
                Ok(instance) => return instance,
                Err(due) => due,
            };
            match due {
                Some(at) => {
                    let end = clock::instant() + std::time::Duration::from_millis(at - now);
                    clock::until(end, changed).await;
                }
                None => changed.await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_given_once_and_from_its_time_on() {
        let mut unfinished = Unfinished::new();
        unfinished.add("a".into(), 10);
        unfinished.add("a".into(), 20);
        assert_eq!(unfinished.take(9), Err(Some(10)));
        assert_eq!(unfinished.take(10).as_deref(), Ok("a"));
        assert_eq!(unfinished.take(99), Err(None));
    }
}
