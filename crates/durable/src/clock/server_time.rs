//! What is known of the server's time: bounds, learned from the dates of its answers.
//!
//! A machine's own clock may be wrong by any amount. The bounds say between which times the server's clock must
//! be. Everything here is a pure function of the instants that it is given.

use super::{Reading, millis};

/// By how much a machine's count of time may be wrong: in a million milliseconds, so many.
const DRIFT_PPM: u64 = 200;
/// A date has whole seconds: the time behind it is up to a second later.
const DATE_STEP_MS: u64 = 1000;

/// Between which times the server's clock is at some instant, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    at: Reading,
    earliest: u64,
    latest: u64,
}

impl Bounds {
    /// What an answer with a date says. The server wrote the date between the two instants.
    pub(super) fn of_answer(date_ms: u64, sent: Reading, answered: Reading) -> Self {
        let under_way = millis(answered.at().saturating_duration_since(sent.at()));
        if !sent.slept(answered).is_zero() {
            // Nobody knows whether the date is from before the sleep: it is knowledge of when the request was sent.
            let earliest = date_ms.saturating_sub(under_way);
            return Self { at: sent, earliest, latest: date_ms + DATE_STEP_MS };
        }
        Self { at: answered, earliest: date_ms, latest: date_ms + DATE_STEP_MS + under_way }
    }

    /// The same knowledge at a later instant, when it is a little less certain; and a good deal less if the machine may have
    /// slept.
    fn at(self, now: Reading) -> Self {
        let counted = self.counted(now);
        Self { latest: counted.latest + millis(self.at.slept(now)), ..counted }
    }

    /// The same knowledge at a later instant of a machine that has not slept.
    fn counted(self, now: Reading) -> Self {
        let passed = millis(now.at().saturating_duration_since(self.at.at()));
        let drift = (passed * DRIFT_PPM).div_ceil(1_000_000);
        Self {
            at: if now.at() >= self.at.at() { now } else { self.at },
            earliest: self.earliest + passed - drift.min(passed),
            latest: self.latest + passed + drift,
        }
    }

    /// Whether the machine may have slept since.
    pub(super) fn is_in_doubt(self, now: Reading) -> bool {
        !self.at.slept(now).is_zero()
    }

    /// What both say. If they contradict each other, as when the server's clock was set, the newer one counts.
    pub(super) fn and(self, newer: Self) -> Self {
        let before = self.at(newer.at);
        let newer = newer.at(before.at);
        let (earliest, latest) = (before.earliest.max(newer.earliest), before.latest.min(newer.latest));
        if earliest > latest { newer } else { Self { at: newer.at, earliest, latest } }
    }

    /// The time nearest to what the machine's own clock says that the server's clock may show.
    pub(super) fn nearest(self, now: Reading) -> u64 {
        let Self { earliest, latest, .. } = self.at(now);
        now.own_ms().clamp(earliest, latest)
    }

    /// As [`nearest`](Self::nearest), if the machine has not slept.
    pub(super) fn nearest_counted(self, now: Reading) -> u64 {
        let Self { earliest, latest, .. } = self.counted(now);
        now.own_ms().clamp(earliest, latest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::clock;

    const HOUR: u64 = 3_600_000;

    /// A moment so many milliseconds after the start. The own clock shows what it likes, and runs like the count.
    fn at(start: Instant, ms: u64, own_ms: u64) -> Reading {
        Reading::new(start + Duration::from_millis(ms), own_ms)
    }

    #[test]
    fn the_own_clock_counts_as_far_as_the_answers_allow() {
        let start = clock::instant();
        for (own, after, expected) in [
            (5 * HOUR + 500, 0, 5 * HOUR + 500),
            (4 * HOUR, 0, 5 * HOUR),
            (6 * HOUR, 0, 5 * HOUR + 1040),
            // An hour later the server's clock is an hour later too, give or take the drift.
            (HOUR, HOUR, 6 * HOUR - 720),
            (9 * HOUR, HOUR, 6 * HOUR + 1040 + 720),
            (6 * HOUR + 7, HOUR, 6 * HOUR + 7),
        ] {
            let (sent, answered) = (at(start, 0, own - after), at(start, 40, own - after + 40));
            let bounds = Bounds::of_answer(5 * HOUR, sent, answered);
            let now = at(start, 40 + after, own);
            assert_eq!(bounds.nearest(now), expected, "own clock {own}, {after} ms later");
            assert!(!bounds.is_in_doubt(now));
        }
    }

    #[test]
    fn several_answers_say_more_than_one() {
        let start = clock::instant();
        for (own, expected) in [(0, 11_000), (HOUR, 11_411)] {
            let at = |ms: u64| at(start, ms, own + ms);
            // The server's clock shows 10,700 at the start: its dates are 10,000 and, 400 ms later, 11,000.
            let first = Bounds::of_answer(10_000, at(0), at(10));
            let both = first.and(Bounds::of_answer(11_000, at(400), at(410)));
            assert_eq!(both.nearest(at(410)), expected);
        }
    }

    #[test]
    fn a_contradiction_begins_anew() {
        let start = clock::instant();
        let at = |ms: u64| at(start, ms, 9 * HOUR + ms);
        let first = Bounds::of_answer(10 * HOUR, at(0), at(10));
        let set = first.and(Bounds::of_answer(8 * HOUR, at(20), at(30)));
        assert_eq!(set.nearest(at(30)), 8 * HOUR + 1010);
    }

    #[test]
    fn answers_that_come_in_another_order_are_moved_to_one_instant() {
        let start = clock::instant();
        for (own, expected) in [(0, 12_000), (HOUR, 13_010)] {
            let at = |ms: u64| at(start, ms, own + ms);
            let late = Bounds::of_answer(12_000, at(2000), at(2010));
            let both = late.and(Bounds::of_answer(10_000, at(0), at(10)));
            assert_eq!(both.nearest(at(2010)), expected);
        }
    }

    #[test]
    fn a_machine_that_wakes_up_believes_its_own_clock_until_the_server_is_heard_of() {
        let start = clock::instant();
        let bounds = Bounds::of_answer(10 * HOUR, at(start, 0, 10 * HOUR), at(start, 0, 10 * HOUR));
        // It has slept for an hour, of which the count has seen nothing but a second.
        let awake = at(start, 1000, 11 * HOUR);
        assert!(bounds.is_in_doubt(awake));
        assert_eq!(bounds.nearest(awake), 11 * HOUR);
        assert_eq!(bounds.nearest_counted(awake), 10 * HOUR + 2001);
        // Or its clock was set.
        let heard = bounds.and(Bounds::of_answer(10 * HOUR + 1000, awake, awake));
        assert!(!heard.is_in_doubt(awake));
        assert_eq!(heard.nearest(awake), 10 * HOUR + 2000);
        assert_eq!(heard.nearest_counted(awake), 10 * HOUR + 2000);
        // An answer that was on its way meanwhile says when it was asked for at the earliest, and no more.
        let slow = Bounds::of_answer(10 * HOUR, at(start, 0, 10 * HOUR), awake);
        assert_eq!(slow.nearest(awake), 11 * HOUR);
        assert!(slow.is_in_doubt(awake) && bounds.and(slow).is_in_doubt(awake));
        assert_eq!(bounds.and(slow).nearest_counted(awake), 10 * HOUR + 2001);
        // Whoever knows already that it was no sleep learns nothing from it.
        assert_eq!(heard.and(slow), heard);
    }
}
