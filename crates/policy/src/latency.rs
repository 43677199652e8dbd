//! How long recent requests took: a histogram of two windows, of which the older is dropped whole.
//!
//! It is for one region and one kind of operation. Its quantiles are at most an eighth too high, which is
//! ample for deciding when to ask a second region.

use std::time::Duration;

use crate::Moment;

/// Each doubling of the latency is divided into this many buckets.
const PER_DOUBLING: usize = 8;
/// Latencies up to 2^8 µs share the first buckets; those from 2^24 µs, 16 s, share the last.
const LOWEST_DOUBLING: u32 = 8;
const DOUBLINGS: usize = 16;

/// The number of buckets, for keeping the counts in atomics.
pub const LATENCY_BUCKETS: usize = PER_DOUBLING * DOUBLINGS;

/// A window ends after this many requests, or this long.
const WINDOW_REQUESTS: u32 = 1_000;
const WINDOW_TIME: Duration = Duration::from_secs(30);

/// The bucket that a latency falls into.
pub fn latency_bucket(latency: Duration) -> usize {
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
pub fn latency_quantile(count: impl Fn(usize) -> u32, share: f64) -> Option<Duration> {
    let total: u64 = (0..LATENCY_BUCKETS).map(|bucket| u64::from(count(bucket))).sum();
    let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    (0..LATENCY_BUCKETS)
        .find(|bucket| {
            seen += u64::from(count(*bucket));
            seen >= wanted
        })
        .map(bucket_end)
}

/// The latencies of recent requests.
#[derive(Clone, Debug)]
pub struct LatencyWindow {
    current: [u32; LATENCY_BUCKETS],
    previous: [u32; LATENCY_BUCKETS],
    current_count: u32,
    previous_count: u32,
    began: Moment,
}

impl Default for LatencyWindow {
    fn default() -> Self {
        Self {
            current: [0; LATENCY_BUCKETS],
            previous: [0; LATENCY_BUCKETS],
            current_count: 0,
            previous_count: 0,
            began: Moment::START,
        }
    }
}

impl LatencyWindow {
    /// Adds a request. Allocates nothing.
    pub fn record(&mut self, latency: Duration, now: Moment) {
        let age = now.since(self.began);
        if age >= WINDOW_TIME || self.current_count >= WINDOW_REQUESTS {
            // After a long pause both windows are out of date.
            let keep = age < WINDOW_TIME * 2;
            self.previous = if keep { self.current } else { [0; LATENCY_BUCKETS] };
            self.previous_count = if keep { self.current_count } else { 0 };
            self.current = [0; LATENCY_BUCKETS];
            self.current_count = 0;
            self.began = now;
        }
        let count = &mut self.current[latency_bucket(latency)];
        *count = count.saturating_add(1);
        self.current_count = self.current_count.saturating_add(1);
    }

    /// How many requests are in both windows.
    pub fn count(&self) -> u32 {
        self.current_count.saturating_add(self.previous_count)
    }

    /// The latency that 99 of 100 recent requests did not exceed; `None` without a request.
    pub fn p99(&self) -> Option<Duration> {
        self.quantile(0.99)
    }

    /// The latency that a share of recent requests did not exceed; `None` without a request.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        latency_quantile(|bucket| self.current[bucket].saturating_add(self.previous[bucket]), share)
    }

    /// What a hedging decision needs to know.
    pub fn observed(&self) -> ObservedLatency {
        ObservedLatency { count: self.count(), p99: self.p99() }
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
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{at, ms};

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
        let mut window = LatencyWindow::default();
        assert_eq!(window.p99(), None);
        for _ in 0..100 {
            window.record(ms(1000), at(0));
        }
        window.record(ms(10), at(31));
        assert!(window.p99().unwrap() >= ms(1000), "the window before still counts");
        window.record(ms(10), at(62));
        assert!(window.p99().unwrap() < ms(12), "the one before that does not");
        window.record(ms(20), at(1000));
        assert_eq!(window.count(), 1, "nothing outlives a long pause");
    }

    #[test]
    fn a_change_shows_within_two_windows() {
        let mut window = LatencyWindow::default();
        for latency in [ms(500), ms(5), ms(5)] {
            (0..WINDOW_REQUESTS).for_each(|_| window.record(latency, at(1)));
        }
        assert!(window.p99().unwrap() < ms(6));
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_an_eighth_too_high(
            mut micros in proptest::collection::vec(256_u64..16_000_000, 1..500),
            share in 0.01_f64..1.0,
        ) {
            let mut window = LatencyWindow::default();
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
