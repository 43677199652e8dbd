//! The longest time without a success: what percentiles cannot show, as they know only what ended.

use std::time::Duration;

/// An interval in which nothing succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// When the last success before it was.
    pub from: Duration,
    /// When the first one after it was.
    pub to: Duration,
}

impl Gap {
    /// The longest within the time from `from` to `to`, both of which end a gap as a success does. The successes come
    /// in the order of time; those outside of that time do not count.
    pub fn longest(successes: impl IntoIterator<Item = Duration>, from: Duration, to: Duration) -> Self {
        let within = successes.into_iter().filter(|success| (from..to).contains(success));
        let mut longest = Self { from, to: from };
        let mut last = from;
        for moment in within.chain([to.max(from)]) {
            let gap = Self { from: last, to: moment };
            if gap.length() > longest.length() {
                longest = gap;
            }
            last = moment;
        }
        longest
    }

    /// How long it is.
    pub fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_gap_is_between_two_successes_or_an_edge() {
        for (case, successes, from, to, expected) in [
            ("in the middle", &[10, 20, 70, 80][..], 0, 90, (20, 70)),
            ("from the beginning", &[50, 60, 70], 0, 90, (0, 50)),
            ("to the end", &[10, 20, 30], 0, 90, (30, 90)),
            ("nothing ever succeeded", &[], 0, 90, (0, 90)),
            ("the first of equal ones", &[30, 60], 0, 90, (0, 30)),
            ("what is before and after does not count", &[1, 2, 99], 10, 90, (10, 90)),
            ("a gap over an edge is cut there", &[5, 30, 40], 20, 40, (20, 30)),
            ("no time, no gap", &[5], 20, 20, (20, 20)),
        ] {
            let gap = Gap::longest(successes.iter().copied().map(ms), ms(from), ms(to));
            assert_eq!(gap, Gap { from: ms(expected.0), to: ms(expected.1) }, "{case}");
        }
    }
}
