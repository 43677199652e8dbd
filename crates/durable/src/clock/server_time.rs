//! What is known of the server's time: bounds, learned from the dates of its answers.
//!
//! A machine's own clock may be wrong by any amount. The bounds say between which times the server's clock must
//! be. Everything here is a pure function of the instants that it is given.

use std::time::Duration;

use tokio::time::Instant;

/// By how much a machine's count of time may be wrong: in a million milliseconds, so many.
const DRIFT_PPM: u64 = 200;
/// A date has whole seconds: the time behind it is up to a second later.
const DATE_STEP_MS: u64 = 1000;

/// Between which times the server's clock is at some instant, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    at: Instant,
    earliest: u64,
    latest: u64,
}

impl Bounds {
    /// What an answer with a date says. The server wrote the date between the two instants.
    pub(super) fn of_answer(date_ms: u64, sent: Instant, answered: Instant) -> Self {
        let under_way = millis(answered.saturating_duration_since(sent));
        Self { at: answered, earliest: date_ms, latest: date_ms + DATE_STEP_MS + under_way }
    }

    /// The same knowledge at a later instant, when it is a little less certain.
    fn at(self, now: Instant) -> Self {
        let passed = millis(now.saturating_duration_since(self.at));
        let drift = (passed * DRIFT_PPM).div_ceil(1_000_000);
        Self {
            at: self.at.max(now),
            earliest: self.earliest + passed - drift.min(passed),
            latest: self.latest + passed + drift,
        }
    }

    /// What both say. If they contradict each other, as when the server's clock was set, the newer one counts.
    pub(super) fn and(self, newer: Self) -> Self {
        let before = self.at(newer.at);
        let newer = newer.at(before.at);
        let (earliest, latest) = (before.earliest.max(newer.earliest), before.latest.min(newer.latest));
        if earliest > latest { newer } else { Self { at: newer.at, earliest, latest } }
    }

    /// The time nearest to what the machine's own clock says that the server's clock may show.
    pub(super) fn nearest(self, own_ms: u64, now: Instant) -> u64 {
        let Self { earliest, latest, .. } = self.at(now);
        own_ms.clamp(earliest, latest)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const HOUR: u64 = 3_600_000;

    #[test]
    fn the_own_clock_counts_as_far_as_the_answers_allow() {
        let sent = clock::instant();
        let answered = sent + Duration::from_millis(40);
        let bounds = Bounds::of_answer(5 * HOUR, sent, answered);
        for (own, after, expected) in [
            (5 * HOUR + 500, 0, 5 * HOUR + 500),
            (4 * HOUR, 0, 5 * HOUR),
            (6 * HOUR, 0, 5 * HOUR + 1040),
            // An hour later the server's clock is an hour later too, give or take the drift.
            (0, HOUR, 6 * HOUR - 720),
            (9 * HOUR, HOUR, 6 * HOUR + 1040 + 720),
            (6 * HOUR + 7, HOUR, 6 * HOUR + 7),
        ] {
            let now = answered + Duration::from_millis(after);
            assert_eq!(bounds.nearest(own, now), expected, "own clock {own}, {after} ms later");
        }
    }

    #[test]
    fn several_answers_say_more_than_one() {
        let start = clock::instant();
        let at = |ms: u64| start + Duration::from_millis(ms);
        // The server's clock shows 10,700 at the start: its dates are 10,000 and, 400 ms later, 11,000.
        let first = Bounds::of_answer(10_000, at(0), at(10));
        let both = first.and(Bounds::of_answer(11_000, at(400), at(410)));
        assert_eq!(both.nearest(0, at(410)), 11_000);
        assert_eq!(both.nearest(HOUR, at(410)), 11_411);
    }

    #[test]
    fn a_contradiction_begins_anew() {
        let start = clock::instant();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let first = Bounds::of_answer(10 * HOUR, at(0), at(10));
        let set = first.and(Bounds::of_answer(8 * HOUR, at(20), at(30)));
        assert_eq!(set.nearest(9 * HOUR, at(30)), 8 * HOUR + 1010);
    }

    #[test]
    fn answers_that_come_in_another_order_are_moved_to_one_instant() {
        let start = clock::instant();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let late = Bounds::of_answer(12_000, at(2000), at(2010));
        let both = late.and(Bounds::of_answer(10_000, at(0), at(10)));
        assert_eq!(both.nearest(0, at(2010)), 12_000);
        assert_eq!(both.nearest(HOUR, at(2010)), 13_010);
    }
}
