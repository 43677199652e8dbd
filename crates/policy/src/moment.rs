//! Points in time as the driver counts them: the time since it was started.
//!
//! Nothing here reads a clock. The driver asks its own and passes the answer in as `now`, so a decision can
//! be replayed at any moment.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time, as the time since the driver was started.
///
/// ```
/// use std::time::Duration;
/// use cosmonaut_policy::Moment;
/// let later = Moment::START + Duration::from_secs(5);
/// assert_eq!(later.since(Moment::START), Duration::from_secs(5));
/// assert_eq!(Moment::START.since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// When the driver was started.
    pub const START: Self = Self(Duration::ZERO);

    /// The moment this long after the start.
    pub const fn after_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The moment this many nanoseconds after the start, for keeping a moment in an atomic.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(Duration::from_nanos(nanos))
    }

    /// The nanoseconds since the start; saturates after five centuries.
    pub fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long the driver had been running.
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// How much later this is than `earlier`; zero if it is not later.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// Saturates, so that a timeout of "for ever" cannot overflow.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    /// Saturates at the start.
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let second = Duration::from_secs(1);
        assert_eq!(Moment::START - second, Moment::START);
        assert_eq!((Moment::after_start(Duration::MAX) + second).since_start(), Duration::MAX);
        assert_eq!(Moment::after_start(Duration::MAX).as_nanos(), u64::MAX);
        assert_eq!(Moment::from_nanos(1_000_000_000), Moment::START + second);
    }
}
