//! The end-to-end deadline of an operation: what is left of it, and what still fits.
//!
//! Only arithmetic: cancelling what runs past the deadline is the driver's business.

use std::time::Duration;

use crate::Moment;

/// An attempt is never given less time than this: a zero timeout would mean "no timeout" to some transports.
pub const MIN_ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1);

/// When an operation must be over, every retry included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Moment);

impl Deadline {
    /// The deadline `timeout` from now.
    pub fn after(now: Moment, timeout: Duration) -> Self {
        Self(now + timeout)
    }

    /// The deadline itself.
    pub const fn at(self) -> Moment {
        self.0
    }

    /// The time that is left; zero once the deadline has passed.
    pub const fn remaining(self, now: Moment) -> Duration {
        self.0.since(now)
    }

    /// Whether no time is left.
    pub const fn has_passed(self, now: Moment) -> bool {
        self.remaining(now).is_zero()
    }

    /// Whether a wait of `delay` ends before the deadline, with time left for an attempt.
    pub fn leaves_room_after(self, delay: Duration, now: Moment) -> bool {
        self.remaining(now) >= delay.saturating_add(MIN_ATTEMPT_TIMEOUT)
    }
}

/// How long one attempt may take: what one attempt is given, or what is left of the deadline if that is less.
///
/// `None` once the deadline has passed, in which case the attempt must not start.
pub fn attempt_timeout(
    deadline: Option<Deadline>,
    request_timeout: Duration,
    now: Moment,
) -> Option<Duration> {
    match deadline {
        Some(deadline) if deadline.has_passed(now) => None,
        Some(deadline) => Some(deadline.remaining(now).min(request_timeout).max(MIN_ATTEMPT_TIMEOUT)),
        None => Some(request_timeout.max(MIN_ATTEMPT_TIMEOUT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn an_attempt_gets_what_is_left_but_never_nothing() {
        for (case, deadline, elapsed, request, expected) in [
            ("no deadline", None, ms(0), ms(500), Some(ms(500))),
            ("deadline far off", Some(ms(1000)), ms(0), ms(500), Some(ms(500))),
            ("deadline near", Some(ms(1000)), ms(800), ms(500), Some(ms(200))),
            (
                "less than a millisecond left",
                Some(ms(1000)),
                Duration::from_micros(999_900),
                ms(500),
                Some(ms(1)),
            ),
            ("deadline just passed", Some(ms(1000)), ms(1000), ms(500), None),
            ("deadline long passed", Some(ms(1000)), ms(5000), ms(500), None),
            ("no time per request", None, ms(0), ms(0), Some(ms(1))),
        ] {
            let deadline = deadline.map(|timeout| Deadline::after(Moment::START, timeout));
            assert_eq!(attempt_timeout(deadline, request, Moment::START + elapsed), expected, "{case}");
        }
    }

    #[test]
    fn a_delay_fits_if_an_attempt_still_does() {
        let deadline = Deadline::after(Moment::START, ms(100));
        for (delay, fits) in [(ms(0), true), (ms(99), true), (ms(100), false), (Duration::MAX, false)] {
            assert_eq!(deadline.leaves_room_after(delay, Moment::START), fits, "{delay:?}");
        }
    }
}
