//! How soon a background task that panicked is started again.
//!
//! Catching the panic and starting the task is the driver's business.

use std::time::Duration;

use crate::backoff::backoff;

/// The wait before the first restart, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A task that ran so long before it panicked has recovered in between.
const STEADY: Duration = Duration::from_secs(5 * 60);

/// How often in a row a task has panicked soon after it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartState {
    panics: u32,
}

impl RestartState {
    /// The state after a panic of a task that had run for some time.
    #[must_use]
    pub fn after_panic(self, ran: Duration) -> Self {
        let before = if ran < STEADY { self.panics } else { 0 };
        Self { panics: before.saturating_add(1) }
    }

    /// How long to wait before the next start. `chance`, from 0 to 1, spreads the waits of many tasks.
    pub fn delay(self, chance: f64) -> Duration {
        match self.panics.checked_sub(1) {
            Some(earlier) => backoff(FIRST_WAIT, 2.0, LONGEST_WAIT, earlier, chance),
            None => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_panics_in_a_row_and_begin_anew_after_a_steady_run() {
        let mut state = RestartState::default();
        assert_eq!(state.delay(1.0), Duration::ZERO);
        for (ran, expected) in [(0, 1), (0, 2), (299, 4), (10, 8), (300, 1), (0, 2)] {
            state = state.after_panic(Duration::from_secs(ran));
            assert_eq!(state.delay(1.0), Duration::from_secs(expected), "after {ran} s");
        }
        for _ in 0..100 {
            state = state.after_panic(Duration::ZERO);
        }
        assert_eq!((state.delay(1.0), state.delay(0.0)), (LONGEST_WAIT, LONGEST_WAIT / 2));
    }
}
