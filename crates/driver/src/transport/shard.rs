//! A shard: one HTTP/2 connection with its counters. Atomics only, as every request passes through here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cosmonaut_policy::{Moment, ShardStats};

use super::http_client::HttpClient;

/// One connection, and how it has been doing.
pub(crate) struct ClientShard {
    id: u64,
    client: Arc<dyn HttpClient>,
    created_at: Moment,
    inflight: AtomicU32,
    /// Since when there has been something in flight without a pause.
    busy_since: AtomicU64,
    /// In nanoseconds since the start; 0 is never.
    last_success: AtomicU64,
    last_request: AtomicU64,
    /// Requests since they were last counted. Here and not in the pool, where all shards would share it.
    requests: AtomicU64,
    consecutive_failures: AtomicU32,
    marked_for_eviction: AtomicBool,
}

impl ClientShard {
    pub(super) fn new(id: u64, client: Arc<dyn HttpClient>, now: Moment) -> Self {
        Self {
            id,
            client,
            created_at: now,
            inflight: AtomicU32::new(0),
            busy_since: AtomicU64::new(0),
            last_success: AtomicU64::new(0),
            last_request: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            consecutive_failures: AtomicU32::new(0),
            marked_for_eviction: AtomicBool::new(false),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn client(&self) -> &dyn HttpClient {
        &*self.client
    }

    /// Requests under way; `None` if no more may come.
    pub(super) fn load(&self) -> Option<u32> {
        (!self.marked_for_eviction.load(Ordering::Relaxed)).then(|| self.inflight.load(Ordering::Relaxed))
    }

    pub(super) fn stats(&self) -> ShardStats {
        let seen = |nanos: &AtomicU64| match nanos.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Moment::from_nanos(nanos)),
        };
        ShardStats {
            id: self.id,
            inflight: self.inflight.load(Ordering::Relaxed),
            busy_since: Moment::from_nanos(self.busy_since.load(Ordering::Relaxed)),
            last_success: seen(&self.last_success),
            last_request: seen(&self.last_request),
            created_at: self.created_at,
            consecutive_failures: self.consecutive_failures.load(Ordering::Relaxed),
            marked_for_eviction: self.marked_for_eviction.load(Ordering::Relaxed),
        }
    }

    /// How many requests it was given since this was last asked.
    pub(super) fn take_requests(&self) -> u64 {
        self.requests.swap(0, Ordering::Relaxed)
    }

    /// Takes no more requests. What is under way may finish.
    pub(super) fn retire(&self) {
        self.marked_for_eviction.store(true, Ordering::Relaxed);
    }

    /// Takes a place if fewer than `most` are taken. Never more, however many ask at once.
    pub(super) fn try_lease(self: &Arc<Self>, most: u32, now: Moment) -> Option<ShardLease> {
        let below = |inflight| (inflight < most).then_some(inflight + 1);
        let before = self.inflight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below).ok()?;
        Some(self.begin(before, now))
    }

    /// Takes a place even if there is none: the request waits for a stream.
    pub(super) fn lease(self: &Arc<Self>, now: Moment) -> ShardLease {
        let before = self.inflight.fetch_add(1, Ordering::Relaxed);
        self.begin(before, now)
    }

    fn begin(self: &Arc<Self>, before: u32, now: Moment) -> ShardLease {
        if before == 0 {
            self.busy_since.store(now.as_nanos(), Ordering::Relaxed);
        }
        self.last_request.store(now.as_nanos().max(1), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        ShardLease { shard: Arc::clone(self) }
    }

    pub(super) fn record_success(&self, now: Moment) {
        self.last_success.store(now.as_nanos().max(1), Ordering::Relaxed);
        // Written only if it changes: the counter is usually zero, and its cache line shared.
        if self.consecutive_failures.load(Ordering::Relaxed) != 0 {
            self.consecutive_failures.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn record_failure(&self) {
        self.consecutive_failures.fetch_add(1, Ordering::Relaxed);
    }
}

/// A place on a connection, given back when dropped.
pub(super) struct ShardLease {
    shard: Arc<ClientShard>,
}

impl ShardLease {
    pub(super) fn shard(&self) -> &ClientShard {
        &self.shard
    }
}

impl Drop for ShardLease {
    fn drop(&mut self) {
        self.shard.inflight.fetch_sub(1, Ordering::Relaxed);
    }
}
