//! Partitions that do not answer: what is in them is left alone for a while, so that it keeps nobody busy.
//!
//! Which slots are in one partition is known roughly: a slot at a border counts to one side. That costs a slot a
//! pause too many or too few, and nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use super::pause::pause_ms;
use crate::lease::SLOT_COUNT;

/// How long the first look at something in a partition may take; after failures longer, so that a slow account is
/// not taken for a dead one.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);

/// How long nothing else of a partition is handed out because somebody is trying.
const LONGEST_TRY: Duration = Duration::from_secs(10);

/// The partitions of the slots, and those of them that have failed.
pub(super) struct Troubles {
    partition_of: [u32; SLOT_COUNT],
    troubled: BTreeMap<u32, Trouble>,
}

#[derive(Clone, Copy)]
struct Trouble {
    failures: u32,
    until: u64,
}

impl Troubles {
    pub(super) fn new() -> Self {
        Self { partition_of: [0; SLOT_COUNT], troubled: BTreeMap::new() }
    }

    /// The container is divided so now: the number of the partition of each slot.
    pub(super) fn divide(&mut self, partition_of: [u32; SLOT_COUNT]) {
        if self.partition_of != partition_of {
            *self = Self { partition_of, troubled: BTreeMap::new() };
        }
    }

    /// Whether something in a slot may be handed out.
    pub(super) fn lets(&self, slot: u8, now: u64) -> bool {
        self.of(slot).is_none_or(|trouble| trouble.until <= now)
    }

    /// Something in a slot is handed out, and may be looked at for so long. As long as its partition has not
    /// recovered, nothing else of it is handed out meanwhile.
    pub(super) fn hand_out(&mut self, slot: u8, failures: u32, now: u64) -> Duration {
        let partition = self.partition_of[usize::from(slot)];
        let Some(trouble) = self.troubled.get_mut(&partition) else { return patience(failures) };
        let patience = patience(failures.max(trouble.failures));
        trouble.until = now.saturating_add(crate::clock::millis(patience.min(LONGEST_TRY)));
        patience
    }

    /// What was handed out of a slot comes back, and nothing was found out: somebody else may try.
    pub(super) fn given_back(&mut self, slot: u8, now: u64) {
        if let Some(trouble) = self.troubled.get_mut(&self.partition_of[usize::from(slot)]) {
            trouble.until = trouble.until.min(now);
        }
    }

    /// A partition has not answered.
    pub(super) fn failed(&mut self, slot: u8, now: u64) {
        let partition = self.partition_of[usize::from(slot)];
        let failures = self.of(slot).map_or(0, |trouble| trouble.failures).saturating_add(1);
        self.troubled.insert(partition, Trouble { failures, until: now.saturating_add(pause_ms(failures)) });
    }

    /// A partition has answered; true if that is news.
    pub(super) fn answered(&mut self, slot: u8) -> bool {
        self.troubled.remove(&self.partition_of[usize::from(slot)]).is_some()
    }

    /// When a partition is tried again.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        self.troubled.values().map(|trouble| trouble.until).filter(|until| *until > now).min()
    }

    fn of(&self, slot: u8) -> Option<Trouble> {
        self.troubled.get(&self.partition_of[usize::from(slot)]).copied()
    }
}

fn patience(failures: u32) -> Duration {
    FIRST_PATIENCE.saturating_mul(1 << failures.min(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_that_fails_is_left_alone_and_tried_by_one_at_a_time() {
        let mut troubles = Troubles::new();
        let halves = std::array::from_fn(|slot| u32::from(slot >= 128));
        troubles.divide(halves);
        assert_eq!(troubles.hand_out(5, 0, 0), FIRST_PATIENCE);
        troubles.failed(5, 0);
        for (slot, now, lets) in [(5, 0, false), (127, 99, false), (127, 100, true), (128, 0, true)] {
            assert_eq!(troubles.lets(slot, now), lets, "{slot} {now}");
        }
        assert_eq!(troubles.next_after(0), Some(100));
        assert_eq!(troubles.hand_out(7, 0, 100), FIRST_PATIENCE * 2);
        assert!(!troubles.lets(5, 100), "somebody is trying");
        troubles.given_back(7, 150);
        assert!(troubles.lets(5, 150), "nobody is trying any more");
        troubles.failed(7, 200);
        assert_eq!(troubles.next_after(200), Some(400));
        assert!(troubles.answered(9) && !troubles.answered(9));
        assert!(troubles.lets(5, 200));
    }

    #[test]
    fn a_new_division_forgets_what_was_known_of_the_old_one() {
        let mut troubles = Troubles::new();
        troubles.failed(5, 0);
        troubles.divide([0; SLOT_COUNT]);
        assert!(!troubles.lets(5, 0));
        troubles.divide([7; SLOT_COUNT]);
        assert!(troubles.lets(5, 0));
    }
}
