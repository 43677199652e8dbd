//! What a group may use of a container: request units that grow with time, up to those of a second.
//!
//! | a call comes while | it |
//! | --- | --- |
//! | the balance is not above 0 | waits until it is |
//! | no call of its kind has said what it costs, and one is under way | waits for that one, for a while |
//! | else | is sent; what its kind is expected to cost is taken off the balance |
//!
//! What a call really costs is settled when it ends, so that in the long run no more is used than the rate.

use std::collections::HashMap;
use std::time::Duration;

use cosmonaut_driver::OperationType;

use super::Charge;

#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Request units a second; 0 until it is known.
    rate: f64,
    rate_since: Duration,
    balance: f64,
    at: Duration,
    kinds: HashMap<OperationType, Usual>,
}

/// Calls of one kind.
#[derive(Debug, Default)]
struct Usual {
    /// What one costs, by the last ones.
    cost: Option<f64>,
    under_way: usize,
    /// When the last one was sent of which it was not known what it costs.
    tried: Duration,
}

impl Budget {
    pub(super) fn is_outdated(&self, now: Duration) -> bool {
        const VALID: Duration = Duration::from_secs(60);
        self.rate == 0.0 || now.abs_diff(self.rate_since) >= VALID
    }

    pub(super) fn set_rate(&mut self, rate: f64, now: Duration) {
        let is_first = self.rate == 0.0;
        self.grow(now);
        (self.rate, self.rate_since) = (rate, now);
        if is_first {
            self.balance += rate;
        }
    }

    pub(super) fn has_rate(&self) -> bool {
        self.rate > 0.0
    }

    /// Goes on with the rate for another while; false if there is none.
    pub(super) fn keep_rate(&mut self, now: Duration) -> bool {
        self.rate_since = now;
        self.has_rate()
    }

    fn grow(&mut self, now: Duration) {
        // A clock that is set back begins anew.
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.balance = (self.balance + passed * self.rate).min(self.rate);
        self.at = now;
    }

    /// Takes what a call is expected to cost, and gives that; or says how long to wait, unless another call ends before.
    pub(super) fn reserve(&mut self, operation: OperationType, now: Duration) -> Result<f64, Duration> {
        /// The least wait: as exact as a timer is.
        const LEAST: Duration = Duration::from_millis(1);
        /// How long the first call of a kind is waited for. Whoever sent it may not take its answer for long.
        const PATIENCE: Duration = Duration::from_secs(2);
        self.grow(now);
        let kind = self.kinds.entry(operation).or_default();
        if kind.cost.is_none() && kind.under_way > 0 {
            let waited = now.abs_diff(kind.tried);
            if waited < PATIENCE {
                return Err(PATIENCE - waited);
            }
        }
        if self.balance <= 0.0 {
            let wait = Duration::try_from_secs_f64(-self.balance / self.rate).unwrap_or(Duration::MAX);
            return Err(wait.max(LEAST));
        }
        kind.under_way += 1;
        if kind.cost.is_none() {
            kind.tried = now;
        }
        let reserved = kind.cost.unwrap_or(0.0);
        self.balance -= reserved;
        Ok(reserved)
    }

    /// Takes in what a call has cost.
    pub(super) fn settle(&mut self, operation: OperationType, reserved: f64, charge: Charge) {
        /// How much of the newest charge there is in what is expected.
        const NEWEST: f64 = 0.2;
        let (charge, is_known) = match charge {
            Charge::Known(charge) => (charge, true),
            Charge::AtLeast(charge) => (charge.max(reserved), false),
        };
        if !charge.is_finite() || charge < 0.0 {
            return;
        }
        self.balance += reserved - charge;
        if is_known && charge > 0.0 {
            let cost = &mut self.kinds.entry(operation).or_default().cost;
            *cost = Some(cost.map_or(charge, |before| before + (charge - before) * NEWEST));
        }
    }

    /// A call is no longer under way.
    pub(super) fn ended(&mut self, operation: OperationType) {
        let kind = self.kinds.entry(operation).or_default();
        kind.under_way = kind.under_way.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const READ: OperationType = OperationType::Read;
    const QUERY: OperationType = OperationType::Query;

    fn budget(rate: f64) -> Budget {
        let mut budget = Budget::default();
        budget.set_rate(rate, Duration::ZERO);
        budget
    }

    fn end(budget: &mut Budget, operation: OperationType, reserved: f64, charge: Charge) {
        budget.settle(operation, reserved, charge);
        budget.ended(operation);
    }

    #[test]
    fn the_first_of_a_kind_is_sent_alone() {
        let mut budget = budget(100.0);
        assert_eq!(budget.reserve(QUERY, Duration::ZERO), Ok(0.0));
        assert_eq!(budget.reserve(QUERY, Duration::ZERO), Err(Duration::from_secs(2)));
        assert_eq!(budget.reserve(READ, Duration::ZERO), Ok(0.0), "another kind");
        // It was lost: the next one tries.
        end(&mut budget, QUERY, 0.0, Charge::AtLeast(0.0));
        assert_eq!(budget.reserve(QUERY, Duration::ZERO), Ok(0.0));
        end(&mut budget, QUERY, 0.0, Charge::Known(40.0));
        assert_eq!(budget.reserve(QUERY, Duration::ZERO), Ok(40.0));
        assert_eq!(budget.reserve(QUERY, Duration::ZERO), Ok(40.0));
        assert!(budget.reserve(QUERY, Duration::ZERO).is_err(), "60 were left, 80 are held");
    }

    #[test]
    fn the_first_of_a_kind_that_does_not_end_is_not_waited_for_for_ever() {
        let mut budget = budget(100.0);
        let (late, later) = (Duration::from_secs(2), Duration::from_secs(3));
        assert_eq!(budget.reserve(QUERY, Duration::ZERO), Ok(0.0));
        assert_eq!(budget.reserve(QUERY, late), Ok(0.0));
        assert_eq!(budget.reserve(QUERY, later), Err(Duration::from_secs(1)), "one after the other");
    }

    #[test]
    fn an_expensive_call_makes_others_wait_and_not_seem_expensive() {
        let mut budget = budget(10.0);
        budget.reserve(READ, Duration::ZERO).unwrap();
        end(&mut budget, READ, 0.0, Charge::Known(1.0));
        budget.reserve(QUERY, Duration::ZERO).unwrap();
        end(&mut budget, QUERY, 0.0, Charge::Known(59.0));
        // 10 less 1 and 59: 50 are missing, 5 seconds' worth.
        assert_eq!(budget.reserve(READ, Duration::ZERO), Err(Duration::from_secs(5)));
        assert_eq!(budget.reserve(READ, Duration::from_secs(6)), Ok(1.0));
    }

    #[test]
    fn what_is_not_known_costs_what_was_expected_and_teaches_nothing() {
        let mut budget = budget(10.0);
        let reserved = budget.reserve(READ, Duration::ZERO).unwrap();
        end(&mut budget, READ, reserved, Charge::Known(2.0));
        for charge in [Charge::AtLeast(0.0), Charge::Known(f64::NAN), Charge::Known(-1.0)] {
            let before = budget.balance;
            let reserved = budget.reserve(READ, Duration::ZERO).unwrap();
            assert_eq!(reserved, 2.0);
            end(&mut budget, READ, reserved, charge);
            assert_eq!(budget.balance, before - 2.0, "{charge:?}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let mut budget = budget(10.0);
        budget.set_rate(10.0, Duration::from_secs(5000));
        assert!(budget.is_outdated(Duration::from_secs(100)));
        budget.set_rate(10.0, Duration::from_secs(100));
        budget.reserve(READ, Duration::from_secs(100)).unwrap();
        end(&mut budget, READ, 0.0, Charge::Known(15.0));
        assert_eq!(budget.reserve(READ, Duration::from_secs(101)), Ok(15.0));
    }

    proptest! {
        /// Whatever calls cost and however many are under way, no more has been used by any moment than the rate allows,
        /// a second's worth to begin with, and by how much calls that were under way at once were dearer than expected.
        #[test]
        fn no_more_is_used_than_the_rate_allows(
            rate in 1.0..1000.0f64,
            calls in prop::collection::vec((0..500u64, 0.0..200.0f64, any::<bool>(), 0..4usize), 1..200),
        ) {
            let mut budget = budget(rate);
            let (mut now, mut used) = (Duration::ZERO, 0.0);
            let mut open: Vec<(OperationType, f64, f64)> = Vec::new();
            for (pause, cost, is_query, at_once) in calls {
                now += Duration::from_millis(pause);
                let operation = if is_query { QUERY } else { READ };
                let reserved = loop {
                    match budget.reserve(operation, now) {
                        Ok(reserved) => break reserved,
                        Err(wait) => now += wait,
                    }
                };
                let held: f64 = open.iter().map(|(_, reserved, _)| reserved).sum();
                let allowed = rate * (now.as_secs_f64() + 1.0);
                prop_assert!(used + held <= allowed * (1.0 + 1e-6), "{used} and {held} of {allowed}");
                open.push((operation, reserved, cost));
                while open.len() > at_once {
                    let (operation, reserved, cost) = open.remove(0);
                    end(&mut budget, operation, reserved, Charge::Known(cost));
                    used += cost;
                }
            }
        }
    }
}
