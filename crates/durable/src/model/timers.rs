//! What an instance has sent itself for later, so that a fetch need not read it before its time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many timers the head knows one by one.
const MOST: usize = 16;

/// The timers of an instance that are not known to be processed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timers {
    /// When messages are visible, by their ids.
    known: BTreeMap<String, u64>,
    /// The last of those that are too many to be known one by one; 0 if there are none.
    #[serde(default)]
    others_until: u64,
}

/// When the next timer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextTimer {
    None,
    At(u64),
    /// There are too many: the container has to be asked.
    Ask,
}

impl Timers {
    pub(crate) fn add(&mut self, id: &str, at: u64) {
        if self.known.len() < MOST {
            self.known.insert(id.to_owned(), at);
        } else {
            self.others_until = self.others_until.max(at);
        }
    }

    /// A message was processed; it may have been a timer.
    pub(crate) fn remove(&mut self, id: &str) {
        self.known.remove(id);
    }

    pub(crate) fn next_after(&self, now: u64) -> NextTimer {
        if self.others_until > now {
            return NextTimer::Ask;
        }
        let later = self.known.values().filter(|at| **at > now).min();
        later.map_or(NextTimer::None, |at| NextTimer::At(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_timers_are_known_and_many_have_to_be_asked_for() {
        let mut timers = Timers::default();
        assert_eq!(timers.next_after(0), NextTimer::None);
        for (n, at) in [(1, 30), (2, 10), (3, 20)] {
            timers.add(&n.to_string(), at);
        }
        for (now, expected) in
            [(9, NextTimer::At(10)), (10, NextTimer::At(20)), (29, NextTimer::At(30)), (30, NextTimer::None)]
        {
            assert_eq!(timers.next_after(now), expected, "at {now}");
        }
        timers.remove("2");
        assert_eq!(timers.next_after(9), NextTimer::At(20));
        for n in 10..40 {
            timers.add(&n.to_string(), 100 + n);
        }
        assert_eq!(timers.next_after(9), NextTimer::Ask);
        assert_eq!(timers.next_after(139), NextTimer::None, "by then all are due");
    }
}
