//! How long recent requests took: a histogram of two windows, of which the older is dropped whole.
//!
//! It is for one region and one kind of operation. Its quantiles are at most an eighth too high, which is
//! ample for deciding when to ask a second region. Where the numbers are kept is the caller's choice: the
//! driver keeps them in atomics, so that requests share a window without a lock.

use std::time::Duration;

use crate::Moment;

/// Each doubling of the latency is divided into this many buckets.
const PER_DOUBLING: usize = 8;
/// Latencies up to 2^8 µs share the first buckets; those from 2^24 µs, 16 s, share the last.
const LOWEST_DOUBLING: u32 = 8;
const DOUBLINGS: usize = 16;

const LATENCY_BUCKETS: usize = PER_DOUBLING * DOUBLINGS;

/// A window ends after this many requests, or this long.
const WINDOW_REQUESTS: u64 = 1_000;
const WINDOW_TIME: Duration = Duration::from_secs(30);
/// The quantile at hand is computed anew after this many requests.
const REFRESH_EVERY: u64 = 32;

/// The bucket that a latency falls into.
fn latency_bucket(latency: Duration) -> usize {
    let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    let lowest = 1_u64 << LOWEST_DOUBLING;
    if micros < lowest {
        return 0;
    }
    let doubling = micros.ilog2();
    let within = (micros >> (doubling - 3)) as usize % PER_DOUBLING;
    ((doubling - LOWEST_DOUBLING) as usize * PER_DOUBLING + within).min(LATENCY_BUCKETS - 1)
}

/// The longest latency in a bucket.
fn bucket_end(bucket: usize) -> Duration {
    let (doubling, within) = (bucket / PER_DOUBLING, bucket % PER_DOUBLING);
    let eighth = 1_u64 << (doubling as u32 + LOWEST_DOUBLING - 3);
    Duration::from_micros((PER_DOUBLING + within + 1) as u64 * eighth)
}

/// The latency that the given share of requests does not exceed, from the count in each bucket.
/// `None` without a request. It is at most an eighth above the true one within 256 µs and 16 s.
fn latency_quantile(count: impl Fn(usize) -> u64, share: f64) -> Option<Duration> {
    let total: u64 = (0..LATENCY_BUCKETS).map(&count).sum();
    let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    (0..LATENCY_BUCKETS)
        .find(|bucket| {
            seen += count(*bucket);
            seen >= wanted
        })
        .map(bucket_end)
}

/// A number that a window keeps. Several requests may change it at once.
pub trait LatencyCell: Default {
    /// The number.
    fn get(&self) -> u64;
    /// Sets the number.
    fn set(&self, value: u64);
    /// Adds one, and returns what was there before.
    fn increment(&self) -> u64;
    /// Sets the number if it is still `expected`. Says whether it was.
    fn replace(&self, expected: u64, value: u64) -> bool;
}

/// The latencies of recent requests: two windows, of which one is added to.
///
/// Many requests may add at once. A request that is counted in the wrong window does no harm.
pub struct LatencyWindow<C> {
    windows: [Counts<C>; 2],
    /// Which of the two is the present one: the lowest bit. It counts up with every new window.
    turn: C,
    /// When the present window began, in nanoseconds since the start.
    began: C,
    /// In nanoseconds; 0 is none.
    p99: C,
}

struct Counts<C> {
    buckets: [C; LATENCY_BUCKETS],
    total: C,
}

impl<C: LatencyCell> Default for Counts<C> {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| C::default()), total: C::default() }
    }
}

impl<C: LatencyCell> Counts<C> {
    fn clear(&self) {
        self.total.set(0);
        self.buckets.iter().for_each(|bucket| bucket.set(0));
    }
}

impl<C: LatencyCell> Default for LatencyWindow<C> {
    fn default() -> Self {
        Self { windows: Default::default(), turn: C::default(), began: C::default(), p99: C::default() }
    }
}

impl<C: LatencyCell> LatencyWindow<C> {
    /// Adds a request. Allocates nothing.
    pub fn record(&self, latency: Duration, now: Moment) {
        self.turn_if_due(now);
        let present = self.window(self.turn.get());
        present.buckets[latency_bucket(latency)].increment();
        let count = present.total.increment() + 1;
        if count.is_multiple_of(REFRESH_EVERY) {
            let p99 = self.quantile(0.99).unwrap_or_default();
            self.p99.set(Moment::after_start(p99).as_nanos());
        }
    }

    /// What a hedging decision needs to know. Nothing is computed for it.
    pub fn observed(&self) -> ObservedLatency {
        let count = self.windows.iter().map(|window| window.total.get()).sum::<u64>();
        let p99 = Moment::from_nanos(self.p99.get()).since_start();
        ObservedLatency {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            p99: (p99 > Duration::ZERO).then_some(p99),
        }
    }

    /// The latency that a share of recent requests did not exceed; `None` without a request.
    fn quantile(&self, share: f64) -> Option<Duration> {
        let count = |bucket: usize| self.windows.iter().map(|window| window.buckets[bucket].get()).sum();
        latency_quantile(count, share)
    }

    /// Begins a new window in place of the older one. The request that changes the turn clears it.
    fn turn_if_due(&self, now: Moment) {
        let turn = self.turn.get();
        let age = now.since(Moment::from_nanos(self.began.get()));
        if age < WINDOW_TIME && self.window(turn).total.get() < WINDOW_REQUESTS {
            return;
        }
        let next = turn.wrapping_add(1);
        if !self.turn.replace(turn, next) {
            return;
        }
        self.window(next).clear();
        // After a long pause both windows are out of date.
        if age >= WINDOW_TIME * 2 {
            self.window(turn).clear();
        }
        self.began.set(now.as_nanos());
    }

    fn window(&self, turn: u64) -> &Counts<C> {
        &self.windows[turn as usize % 2]
    }
}

/// What is known about the latency of one kind of operation in one region. Small enough to keep at hand, so
/// that no request computes a quantile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedLatency {
    /// How many recent requests it rests on.
    pub count: u32,
    /// What 99 of 100 of them did not exceed.
    pub p99: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{at, ms};

    impl LatencyCell for Cell<u64> {
        fn get(&self) -> u64 {
            Cell::get(self)
        }

        fn set(&self, value: u64) {
            Cell::set(self, value);
        }

        fn increment(&self) -> u64 {
            Cell::replace(self, Cell::get(self) + 1)
        }

        fn replace(&self, expected: u64, value: u64) -> bool {
            let is_expected = Cell::get(self) == expected;
            if is_expected {
                Cell::set(self, value);
            }
            is_expected
        }
    }

    type Window = LatencyWindow<Cell<u64>>;

    #[test]
    fn buckets_are_in_order_and_hold_what_they_end_with() {
        for bucket in 1..LATENCY_BUCKETS {
            assert!(bucket_end(bucket) > bucket_end(bucket - 1), "{bucket}");
            let last = bucket_end(bucket) - Duration::from_micros(1);
            assert_eq!(latency_bucket(last), bucket, "{last:?}");
        }
        assert_eq!(latency_bucket(Duration::ZERO), 0);
        assert_eq!(latency_bucket(Duration::MAX), LATENCY_BUCKETS - 1);
    }

    #[test]
    fn old_requests_are_forgotten() {
        let window = Window::default();
        assert_eq!(window.quantile(0.99), None);
        for _ in 0..100 {
            window.record(ms(1000), at(0));
        }
        window.record(ms(10), at(31));
        assert!(window.quantile(0.99).unwrap() >= ms(1000), "the window before still counts");
        window.record(ms(10), at(62));
        assert!(window.quantile(0.99).unwrap() < ms(12), "the one before that does not");
        window.record(ms(20), at(1000));
        assert_eq!(window.observed().count, 1, "nothing outlives a long pause");
    }

    #[test]
    fn a_change_shows_within_two_windows() {
        let window = Window::default();
        for latency in [ms(500), ms(5), ms(5)] {
            (0..WINDOW_REQUESTS).for_each(|_| window.record(latency, at(1)));
        }
        assert!(window.quantile(0.99).unwrap() < ms(6));
    }

    #[test]
    fn what_is_at_hand_follows_within_a_few_requests() {
        let window = Window::default();
        assert_eq!(window.observed(), ObservedLatency::default());
        (0..REFRESH_EVERY - 1).for_each(|_| window.record(ms(100), at(1)));
        assert_eq!(window.observed(), ObservedLatency { count: 31, p99: None });
        window.record(ms(100), at(1));
        let ObservedLatency { count, p99 } = window.observed();
        assert!(count == 32 && p99 == window.quantile(0.99), "{count}, {p99:?}");
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_an_eighth_too_high(
            mut micros in proptest::collection::vec(256_u64..16_000_000, 1..500),
            share in 0.01_f64..1.0,
        ) {
            let window = Window::default();
            for one in &micros {
                window.record(Duration::from_micros(*one), at(1));
            }
            micros.sort_unstable();
            let place = ((micros.len() as f64 * share).ceil() as usize).clamp(1, micros.len());
            let exact = Duration::from_micros(micros[place - 1]);
            let estimate = window.quantile(share).unwrap();
            prop_assert!(estimate >= exact && estimate <= exact.mul_f64(1.126), "{estimate:?} for {exact:?}");
        }
    }
}
