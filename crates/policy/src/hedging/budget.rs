//! How many hedges a driver may make, so that asking twice does not double the load of a service that is slow
//! because it is overloaded.
//!
//! A hedge that wins was worth it and costs nothing. One that loses has only added load: of those there may be one
//! for every ten requests, and a hundred at once.

/// What one hedge costs, in the unit that requests earn.
const COST: i64 = 10;
/// What one request earns.
const EARNED: i64 = 1;
/// What can be saved up: a hundred hedges.
const MOST: i64 = 100 * COST;

/// What is left for hedges. Kept by the driver in an atomic, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HedgeBudget(i64);

impl HedgeBudget {
    /// All of it.
    pub const FULL: Self = Self(MOST);

    /// The budget as it was kept.
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// The budget as a number, for keeping.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// After a request that was answered without a hedge.
    #[must_use]
    pub fn after_request(self) -> Self {
        Self((self.0 + EARNED).min(MOST))
    }

    /// After a hedge is begun; `None` if nothing is left for one.
    #[must_use]
    pub fn after_hedge(self) -> Option<Self> {
        (self.0 >= COST).then_some(Self(self.0 - COST))
    }

    /// After a hedge has answered first.
    #[must_use]
    pub fn after_win(self) -> Self {
        Self((self.0 + COST).min(MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `requests` requests get a hedge if each wants one.
    fn hedges(requests: u32, wins: bool) -> u32 {
        let mut budget = HedgeBudget::FULL;
        let mut made = 0;
        for _ in 0..requests {
            match budget.after_hedge() {
                Some(after) => {
                    made += 1;
                    budget = if wins { after.after_win() } else { after };
                }
                None => budget = budget.after_request(),
            }
        }
        made
    }

    #[test]
    fn hedges_that_win_are_free_and_those_that_lose_are_few() {
        assert_eq!(hedges(100_000, true), 100_000);
        let lost = hedges(100_000, false);
        assert!((9_000..=10_000).contains(&lost), "{lost} of 100,000");
        assert_eq!(hedges(100, false), 100, "a burst is possible at first");
    }

    #[test]
    fn no_more_is_saved_than_a_burst() {
        assert_eq!(HedgeBudget::FULL.after_request(), HedgeBudget::FULL);
        assert_eq!(HedgeBudget::FULL.after_win(), HedgeBudget::FULL);
        assert_eq!(HedgeBudget::from_number(COST - 1).after_hedge(), None);
    }
}
