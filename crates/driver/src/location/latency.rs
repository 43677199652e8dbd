//! How long requests have taken of late, per endpoint and kind of operation. Atomics only.
//!
//! The histogram, its windows and quantiles are those of `cosmonaut-policy`; here they are shared between
//! requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use cosmonaut_policy::{
    AccountEndpointState, CosmosEndpoint, LatencyCell, LatencyKind, LatencyWindow, Moment, ObservedLatency,
};

type Windows = [LatencyWindow<SharedCell>; LatencyKind::ALL.len()];

/// Latencies of all endpoints.
#[derive(Default)]
pub(crate) struct LatencyBook {
    endpoints: ArcSwap<HashMap<CosmosEndpoint, Arc<Windows>>>,
}

impl LatencyBook {
    /// What is known about one kind of operation at an endpoint.
    pub(crate) fn observed(&self, endpoint: &CosmosEndpoint, kind: LatencyKind) -> ObservedLatency {
        self.endpoints
            .load()
            .get(endpoint)
            .map_or_else(ObservedLatency::default, |kinds| kinds[kind as usize].observed())
    }

    /// Forgets the endpoints that the account no longer has.
    pub(crate) fn retain(&self, account: &AccountEndpointState) {
        if self.endpoints.load().keys().all(|endpoint| account.has(endpoint)) {
            return;
        }
        self.endpoints.rcu(|known| {
            let mut next = HashMap::clone(known);
            next.retain(|endpoint, _| account.has(endpoint));
            next
        });
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

/// A number of a window, shared between requests.
#[derive(Default)]
struct SharedCell(AtomicU64);

impl LatencyCell for SharedCell {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    fn increment(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn replace(&self, expected: u64, value: u64) -> bool {
        self.0.compare_exchange(expected, value, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use cosmonaut_policy::{AccountConfig, build_account_endpoint_state};
    use cosmonaut_wire::ConsistencyLevel;
    use cosmonaut_wire::model::{AccountLocation, AccountProperties};

    use super::*;

    const KIND: LatencyKind = LatencyKind::PointRead;

    fn endpoint(region: &str) -> CosmosEndpoint {
        CosmosEndpoint::regional(region, &format!("http://{region}.test")).unwrap()
    }

    #[test]
    fn the_book_follows_what_is_recent() {
        let (book, endpoint) = (LatencyBook::default(), endpoint("a"));
        assert_eq!(book.observed(&endpoint, KIND), ObservedLatency::default());
        let mut now = Moment::START;
        let mut record = |millis, times| {
            for _ in 0..times {
                now = now + Duration::from_millis(1);
                book.record(&endpoint, KIND, Duration::from_millis(millis), now);
            }
        };
        record(100, 200);
        let slow = book.observed(&endpoint, KIND);
        assert_eq!(slow.count, 200);
        assert!(slow.p99.unwrap() >= Duration::from_millis(100), "{slow:?}");
        record(1, 2_000);
        let fast = book.observed(&endpoint, KIND);
        assert!(fast.p99.unwrap() < Duration::from_millis(2), "{fast:?}");
        assert_eq!(book.observed(&endpoint, LatencyKind::Page).count, 0, "kinds are apart");
    }

    #[test]
    fn requests_that_are_added_at_once_are_all_counted() {
        let (book, endpoint) = (LatencyBook::default(), endpoint("a"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        book.record(&endpoint, KIND, Duration::from_millis(1), Moment::START);
                    }
                });
            }
        });
        assert_eq!(book.observed(&endpoint, KIND).count, 800);
    }

    #[test]
    fn adding_a_request_allocates_nothing_once_the_endpoint_is_known() {
        let (book, endpoint) = (LatencyBook::default(), endpoint("a"));
        let record = || book.record(&endpoint, KIND, Duration::from_millis(1), Moment::START);
        record();
        assert_eq!(allocation_counter::measure(|| (0..100).for_each(|_| record())).count_total, 0);
    }

    #[test]
    fn endpoints_that_the_account_no_longer_has_are_forgotten() {
        let book = LatencyBook::default();
        for region in ["east", "west"] {
            book.record(&endpoint(region), KIND, Duration::from_millis(1), Moment::START);
        }
        let east = vec![AccountLocation::new("east", "http://east.test")];
        let properties = AccountProperties::new("a", ConsistencyLevel::Session, east.clone(), east);
        let own = CosmosEndpoint::global("http://global.test").unwrap();
        let account = build_account_endpoint_state(&properties, &AccountConfig::default(), own).unwrap();
        book.retain(&account);
        assert_eq!(book.observed(&endpoint("east"), KIND).count, 1);
        assert_eq!(book.observed(&endpoint("west"), KIND).count, 0);
        assert_eq!(book.endpoints.load().len(), 1);
    }
}
