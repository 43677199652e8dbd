//! The longest time without a success of each kind, while a run goes on.

use std::time::Duration;

use super::meter::Kind;

/// The longest gap of each kind so far, in the order of [`Kind::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gaps([Course; Kind::ALL.len()]);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Course {
    /// The last success; the beginning of the run if there was none.
    last: Duration,
    longest: Duration,
}

impl Gaps {
    /// An operation of a kind succeeds.
    pub(crate) fn succeed(&mut self, kind: Kind, now: Duration) {
        let course = &mut self.0[kind as usize];
        course.longest = course.upto(now);
        course.last = course.last.max(now);
    }

    /// The longest gaps up to now, those that have not ended included.
    pub(crate) fn upto(&self, now: Duration) -> [Duration; Kind::ALL.len()] {
        self.0.map(|course| course.upto(now))
    }
}

impl Course {
    fn upto(&self, now: Duration) -> Duration {
        self.longest.max(now.saturating_sub(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn while_a_run_goes_on_the_gap_that_is_open_counts_too() {
        let mut gaps = Gaps::default();
        for (write, now, expected) in [
            (true, 10, 10),   // from the beginning
            (true, 40, 30),   // the longest so far
            (true, 50, 30),   // shorter
            (false, 60, 30),  // open, and shorter
            (false, 100, 50), // open, and the longest
            (true, 100, 50),  // ended
            (false, 120, 50), // the next one
        ] {
            if write {
                gaps.succeed(Kind::Write, ms(now));
            }
            assert_eq!(gaps.upto(ms(now)), [ms(now), ms(expected), ms(now)], "at {now}");
        }
    }
}
