//! When a part of a change feed is asked, and when all were read. Nothing is asked here.
//!
//! A part that has changes is asked again at once, in turn with the others. One that has none rests: there is no use in
//! asking it for each page of another, but what comes to it is not to wait until all others are read.

use std::time::Duration;

use cosmonaut_driver::Moment;

/// How long a part without changes rests, in a feed that has no interval.
const USUAL_REST: Duration = Duration::from_secs(5);

/// How long a part rests that could not be read, in a feed that has no interval: whoever asks again at once is not to keep
/// the others from being read.
const LEAST_REST: Duration = Duration::from_millis(100);

/// How far a part has come since all parts were last read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Turn {
    rests_until: Option<Moment>,
    /// Whether all of its changes were read at some time.
    was_at_end: bool,
}

impl Turn {
    /// The part has no changes now.
    pub(super) fn rest(&mut self, interval: Option<Duration>, now: Moment) {
        self.was_at_end = true;
        self.rests_until = Some(now + interval.unwrap_or(USUAL_REST));
    }

    /// The part could not be read, and the service asks to wait so long.
    pub(super) fn fail(&mut self, interval: Option<Duration>, wait: Option<Duration>, now: Moment) {
        let rest = interval.unwrap_or(LEAST_REST);
        self.rests_until = Some(now + wait.map_or(rest, |wait| wait.max(rest)));
    }

    /// The part rests no longer.
    pub(super) fn wake(&mut self) {
        self.rests_until = None;
    }

    /// How long the part is not asked yet; `None` if it may be asked now.
    pub(super) fn rest_left(&self, now: Moment) -> Option<Duration> {
        self.rests_until.filter(|until| now < *until).map(|until| until.since(now))
    }

    pub(super) fn was_at_end(&self) -> bool {
        self.was_at_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_rests_when_it_has_nothing_or_fails_and_only_the_first_is_its_end() {
        let (at, second) = (|seconds| Moment::after_start(Duration::from_secs(seconds)), Duration::from_secs);
        let ended = |interval: Option<Duration>| {
            let mut turn = Turn::default();
            turn.rest(interval, at(7));
            turn
        };
        let failed = |interval: Option<Duration>, wait: Option<Duration>| {
            let mut turn = Turn::default();
            turn.fail(interval, wait, at(7));
            turn
        };
        let mut woken = ended(None);
        woken.wake();
        for (case, turn, rest, is_end) in [
            ("not asked yet", Turn::default(), None, false),
            ("nothing new", ended(None), Some(USUAL_REST), true),
            ("nothing new, followed", ended(Some(second(1))), Some(second(1)), true),
            ("followed very slowly", ended(Some(Duration::MAX)), Some(Duration::MAX - second(7)), true),
            ("a failure", failed(None, None), Some(LEAST_REST), false),
            ("a failure, followed", failed(Some(second(1)), None), Some(second(1)), false),
            ("throttled", failed(Some(second(1)), Some(second(9))), Some(second(9)), false),
            ("throttled for a moment", failed(None, Some(Duration::ZERO)), Some(LEAST_REST), false),
            ("nothing new, and woken", woken, None, true),
        ] {
            assert_eq!((turn.rest_left(at(7)), turn.was_at_end()), (rest, is_end), "{case}");
            assert_eq!(turn.rest_left(at(7) + rest.unwrap_or_default()), None, "{case}");
        }
    }
}
