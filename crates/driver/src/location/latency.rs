//! How long requests have taken of late, per endpoint and kind of operation. Atomics only.
//!
//! The histogram and its quantiles are those of `cosmonaut-policy`; here they are shared between requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use cosmonaut_policy::{
    CosmosEndpoint, LATENCY_BUCKETS, LatencyKind, Moment, ObservedLatency, latency_bucket, latency_quantile,
};

/// The quantile is computed anew after so many requests.
const REFRESH_EVERY: u32 = 32;
/// A window ends after so many requests, or so long.
const WINDOW_REQUESTS: u32 = 1_000;
const WINDOW_TIME: Duration = Duration::from_secs(30);

/// Latencies of all endpoints.
#[derive(Default)]
pub(crate) struct LatencyBook {
    endpoints: ArcSwap<HashMap<CosmosEndpoint, Arc<[SharedWindow; LatencyKind::ALL.len()]>>>,
}

impl LatencyBook {
    /// What is known about one kind of operation at an endpoint.
    pub(crate) fn observed(&self, endpoint: &CosmosEndpoint, kind: LatencyKind) -> ObservedLatency {
        self.endpoints
            .load()
            .get(endpoint)
            .map_or_else(ObservedLatency::default, |kinds| kinds[kind as usize].observed())
    }

    /// Adds a request.
    pub(crate) fn record(
        &self,
        endpoint: &CosmosEndpoint,
        kind: LatencyKind,
        latency: Duration,
        now: Moment,
    ) {
        if let Some(kinds) = self.endpoints.load().get(endpoint) {
            return kinds[kind as usize].record(latency, now);
        }
        self.endpoints.rcu(|known| {
            let mut next = HashMap::clone(known);
            next.entry(endpoint.clone()).or_default();
            next
        });
        if let Some(kinds) = self.endpoints.load().get(endpoint) {
            kinds[kind as usize].record(latency, now);
        }
    }
}

/// Two windows that many requests add to at once. A request counted in the wrong one does no harm.
struct SharedWindow {
    windows: [[AtomicU32; LATENCY_BUCKETS]; 2],
    counts: [AtomicU32; 2],
    /// Which of the two is the present one: the lowest bit. It counts up with every new window.
    turn: AtomicU32,
    began: AtomicU64,
    /// In nanoseconds; 0 is none.
    p99: AtomicU64,
}

impl Default for SharedWindow {
    fn default() -> Self {
        Self {
            windows: [const { [const { AtomicU32::new(0) }; LATENCY_BUCKETS] }; 2],
            counts: [const { AtomicU32::new(0) }; 2],
            turn: AtomicU32::new(0),
            began: AtomicU64::new(0),
            p99: AtomicU64::new(0),
        }
    }
}

impl SharedWindow {
    fn observed(&self) -> ObservedLatency {
        let count =
            self.counts.iter().map(|count| count.load(Ordering::Relaxed)).fold(0, u32::saturating_add);
        let p99 = match self.p99.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        };
        ObservedLatency { count, p99 }
    }

    fn record(&self, latency: Duration, now: Moment) {
        self.turn_if_due(now);
        let present = self.turn.load(Ordering::Relaxed) as usize % 2;
        self.windows[present][latency_bucket(latency)].fetch_add(1, Ordering::Relaxed);
        let count = self.counts[present].fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(REFRESH_EVERY) {
            let both = |bucket: usize| {
                self.windows.iter().map(|window| window[bucket].load(Ordering::Relaxed)).sum()
            };
            let nanos = latency_quantile(both, 0.99).map_or(0, |p99| Moment::after_start(p99).as_nanos());
            self.p99.store(nanos, Ordering::Relaxed);
        }
    }

    /// Begins a new window in place of the older one. Whoever swaps the turn clears it.
    fn turn_if_due(&self, now: Moment) {
        let turn = self.turn.load(Ordering::Acquire);
        let began = Moment::from_nanos(self.began.load(Ordering::Relaxed));
        let full = self.counts[turn as usize % 2].load(Ordering::Relaxed) >= WINDOW_REQUESTS;
        if !full && now.since(began) < WINDOW_TIME {
            return;
        }
        let next = turn.wrapping_add(1);
        if self.turn.compare_exchange(turn, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        let older = next as usize % 2;
        self.clear(older);
        // After a long pause both windows are out of date.
        if now.since(began) >= WINDOW_TIME * 2 {
            self.clear(turn as usize % 2);
        }
        self.began.store(now.as_nanos(), Ordering::Relaxed);
    }

    fn clear(&self, window: usize) {
        self.counts[window].store(0, Ordering::Relaxed);
        self.windows[window].iter().for_each(|bucket| bucket.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_follows_what_is_recent() {
        let book = LatencyBook::default();
        let endpoint = CosmosEndpoint::global("http://a.example").unwrap();
        let kind = LatencyKind::PointRead;
        assert_eq!(book.observed(&endpoint, kind), ObservedLatency::default());
        let mut now = Moment::START;
        let mut record = |millis, times| {
            for _ in 0..times {
                now = now + Duration::from_millis(1);
                book.record(&endpoint, kind, Duration::from_millis(millis), now);
            }
        };
        record(100, 200);
        let slow = book.observed(&endpoint, kind);
        assert_eq!(slow.count, 200);
        assert!(slow.p99.unwrap() >= Duration::from_millis(100), "{slow:?}");
        record(1, 2 * WINDOW_REQUESTS as usize);
        let fast = book.observed(&endpoint, kind);
        assert!(fast.p99.unwrap() < Duration::from_millis(2), "{fast:?}");
        assert_eq!(book.observed(&endpoint, LatencyKind::Page).count, 0, "kinds are apart");
    }

    #[test]
    fn nothing_outlives_a_long_pause() {
        let window = SharedWindow::default();
        for _ in 0..100 {
            window.record(Duration::from_secs(1), Moment::START);
        }
        window.record(Duration::from_millis(1), Moment::START + Duration::from_secs(600));
        assert_eq!(window.observed().count, 1);
    }
}
