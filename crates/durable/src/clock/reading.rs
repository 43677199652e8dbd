//! What the two clocks of a machine say at a moment: its count of time, and its time of day.
//!
//! The count stands still while the machine is suspended, the time of day does not. So a time of day that has gone on by
//! more than the count says that the machine has slept, or that its clock was set. Nobody can tell which: what depends on
//! the time is then over, or to be asked for. A clock that is set back hides a sleep of the same length.

use std::time::Duration;

use tokio::time::Instant;

use super::millis;

/// By how much the time of day may go on faster than the count: a clock that is adjusted is no machine that has slept.
const TOLERANCE_MS: u64 = 2000;

/// A moment by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    at: Instant,
    /// The time of day, in milliseconds since 1970.
    own_ms: u64,
}

impl Reading {
    pub(crate) fn new(at: Instant, own_ms: u64) -> Self {
        Self { at, own_ms }
    }

    /// The moment by the count of time.
    pub(crate) fn at(self) -> Instant {
        self.at
    }

    pub(super) fn own_ms(self) -> u64 {
        self.own_ms
    }

    /// How long the machine may have slept between this moment and a later one.
    pub(super) fn slept(self, later: Self) -> Duration {
        let counted = millis(later.at.saturating_duration_since(self.at));
        let shown = later.own_ms.saturating_sub(self.own_ms);
        let slept = shown.saturating_sub(counted);
        Duration::from_millis(if slept > TOLERANCE_MS { slept } else { 0 })
    }

    /// How much time may have passed between this moment and a later one.
    pub(crate) fn passed(self, later: Self) -> Duration {
        later.at.saturating_duration_since(self.at) + self.slept(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn a_time_of_day_that_runs_ahead_of_the_count_is_a_machine_that_may_have_slept() {
        let (start, hour) = (clock::instant(), 3_600_000);
        let at = |count: u64, own_ms| Reading::new(start + Duration::from_millis(count), own_ms);
        let began = at(0, hour);
        for (count, own_ms, passed) in [
            (0, hour, 0),
            (500, hour + 500, 500),
            // Clocks that do not run alike, and one that is adjusted.
            (10_000, hour + 10_001, 10_000),
            (10_000, hour + 12_000, 10_000),
            (10_000, hour + 12_001, 12_001),
            (10_000, 3 * hour, 2 * hour),
            // A clock that is set back, and a test whose time is not that of the day.
            (10_000, 0, 10_000),
            (9 * hour, hour, 9 * hour),
        ] {
            let expected = Duration::from_millis(passed);
            assert_eq!(began.passed(at(count, own_ms)), expected, "{count} {own_ms}");
        }
    }
}
