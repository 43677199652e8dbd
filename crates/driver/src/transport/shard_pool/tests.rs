//! Places on shards: never more than allowed, elsewhere when asked, and given up when they hang.

use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};

use super::*;
use crate::transport::error::TransportError;
use crate::transport::http_client::{BoxFuture, HttpClient, SendProgress};

/// Makes clients that only count how often they are closed.
#[derive(Default)]
struct Closings(Arc<AtomicUsize>);

impl HttpClientFactory for Closings {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, _: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(Self(Arc::clone(&self.0)))
    }
}

impl HttpClient for Closings {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(std::future::pending())
    }

    fn close(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn pool(most_clients: u32) -> (EndpointShardPool, Arc<AtomicUsize>) {
    let factory = Closings::default();
    let closed = Arc::clone(&factory.0);
    let server = Authority::of(&"http://a.example".parse().unwrap()).unwrap();
    let config = ShardingConfig { max_clients_per_endpoint: most_clients, ..Default::default() };
    (EndpointShardPool::new(server, Arc::new(factory), config, Moment::START), closed)
}

fn at(second: u64) -> Moment {
    Moment::START + Duration::from_secs(second)
}

#[test]
fn no_shard_carries_more_than_it_may_while_there_may_be_more() {
    const THREADS: usize = 4;
    const EACH: usize = 100;
    let ((pool, _), start) = (pool(64), Barrier::new(THREADS));
    let leases: Vec<Vec<ShardLease>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    (0..EACH).map(|_| pool.lease(None, Moment::START)).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let stats = pool.stats();
    assert!(stats.iter().all(|shard| shard.inflight <= 16), "{stats:?}");
    assert_eq!(stats.iter().map(|shard| shard.inflight as usize).sum::<usize>(), THREADS * EACH);
    drop(leases);
    assert!(pool.stats().iter().all(|shard| shard.inflight == 0));
}

#[test]
fn beyond_all_limits_load_is_shared_evenly() {
    let (pool, _) = pool(2);
    let _leases: Vec<ShardLease> = (0..100).map(|_| pool.lease(None, Moment::START)).collect();
    assert_eq!(pool.stats().iter().map(|shard| shard.inflight).collect::<Vec<_>>(), [50, 50]);
}

#[test]
fn a_repeat_takes_another_shard_if_there_may_be_one() {
    for (most_clients, expected) in [(1, 1), (2, 2)] {
        let (pool, _) = pool(most_clients);
        let first = pool.lease(None, Moment::START).shard().id();
        assert_eq!(pool.lease(Some(first), Moment::START).shard().id(), expected, "of {most_clients}");
    }
}

#[test]
fn a_sweep_closes_what_hangs_and_what_is_idle() {
    let (pool, closed) = pool(8);
    let held: Vec<ShardLease> = (0..40).map(|_| pool.lease(None, at(1))).collect();
    assert_eq!(pool.stats().len(), 3);
    // Two answer, one does not.
    for lease in held.iter().filter(|lease| lease.shard().id() != 1) {
        lease.shard().record_success(at(12));
    }
    pool.sweep(Some(0.95), at(12));
    assert!(pool.stats().iter().any(|shard| shard.id == 1), "not while the processors are busy");
    pool.sweep(Some(0.5), at(12));
    let ids: Vec<u64> = pool.stats().iter().map(|shard| shard.id).collect();
    assert!(!ids.contains(&1) && closed.load(Ordering::Relaxed) == 1, "{ids:?}");
    drop(held);
    pool.sweep(None, at(120));
    assert_eq!(pool.stats().len(), 1, "the rest is idle");
    assert_eq!(closed.load(Ordering::Relaxed), 1, "and is let go in peace");
}

#[test]
fn a_retired_shard_is_closed_if_its_requests_do_not_end() {
    let (pool, closed) = pool(8);
    let held: Vec<ShardLease> = (0..32).map(|_| pool.lease(None, at(1))).collect();
    let bad = held[0].shard();
    (0..5).for_each(|_| bad.record_failure());
    held.iter()
        .filter(|lease| lease.shard().id() != bad.id())
        .for_each(|lease| lease.shard().record_success(at(6)));
    pool.sweep(None, at(6));
    assert!(pool.stats().iter().all(|shard| shard.id != bad.id()), "it gets no more requests");
    for (second, expected) in [(6, 0), (66, 0), (67, 1)] {
        held.iter().filter(|lease| lease.shard().id() != bad.id()).for_each(|lease| {
            lease.shard().record_success(at(second));
        });
        pool.sweep(None, at(second));
        assert_eq!(closed.load(Ordering::Relaxed), expected, "at {second}");
    }
    drop(held);
    pool.sweep(None, at(80));
    assert_eq!(closed.load(Ordering::Relaxed), 1, "what has drained is not closed again");
}

#[test]
fn a_lone_failing_shard_stays_until_its_successor_is_connected() {
    let (pool, closed) = pool(8);
    let lone = pool.lease(None, at(1)).shard().id();
    (0..5).for_each(|_| pool.lease(None, at(1)).shard().record_failure());
    let ids = || pool.stats().iter().map(|shard| shard.id).collect::<Vec<_>>();
    let mut swept = pool.sweep(None, at(5));
    assert_eq!((ids(), swept.replacements.len(), swept.opened.len()), (vec![lone], 1, 0));
    assert!(pool.sweep(None, at(5)).replacements.is_empty(), "one successor at a time");
    let replacement = swept.replacements.pop().unwrap();
    replacement.retired.end_replacement();
    drop(replacement);
    assert_eq!(ids(), [lone], "the successor could not be connected");
    let replacement = pool.sweep(None, at(6)).replacements.pop().unwrap();
    let successor = replacement.successor.id();
    pool.replace(replacement, at(7));
    assert_eq!((ids(), closed.load(Ordering::Relaxed)), (vec![successor], 0));
}
