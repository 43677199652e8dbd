//! A shard: one HTTP/2 connection with its counters. Atomics only, as every request passes through here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use cosmonaut_policy::{Moment, ShardStats, counts_as_silence, silence_since};

use super::http_client::HttpClient;

/// One connection, and how it has been doing.
pub(crate) struct ClientShard {
    id: u64,
    client: Arc<dyn HttpClient>,
    created_at: Moment,
    inflight: AtomicU32,
    /// When the first request came since the last answer. This and the others in nanoseconds since the start;
    /// 0 is never.
    unanswered_since: AtomicU64,
    last_success: AtomicU64,
    last_request: AtomicU64,
    /// Requests since they were last counted. Here and not in the pool, where all shards would share it.
    requests: AtomicU64,
    consecutive_failures: AtomicU32,
    /// Since when it takes no more requests.
    retired_at: AtomicU64,
    /// Whether a successor is being connected.
    is_being_replaced: AtomicBool,
}

impl ClientShard {
    pub(super) fn new(id: u64, client: Arc<dyn HttpClient>, now: Moment) -> Self {
        Self {
            id,
            client,
            created_at: now,
            inflight: AtomicU32::new(0),
            unanswered_since: AtomicU64::new(0),
            last_success: AtomicU64::new(0),
            last_request: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            consecutive_failures: AtomicU32::new(0),
            retired_at: AtomicU64::new(0),
            is_being_replaced: AtomicBool::new(false),
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
        (self.retired_at.load(Ordering::Relaxed) == 0).then(|| self.inflight.load(Ordering::Relaxed))
    }

    pub(super) fn stats(&self) -> ShardStats {
        ShardStats {
            id: self.id,
            inflight: self.inflight.load(Ordering::Relaxed),
            unanswered_since: seen(&self.unanswered_since),
            last_success: seen(&self.last_success),
            last_heard: self.client.last_heard(),
            last_request: seen(&self.last_request),
            created_at: self.created_at,
            consecutive_failures: self.consecutive_failures.load(Ordering::Relaxed),
            retired_at: seen(&self.retired_at),
        }
    }

    /// How many requests it was given since this was last asked.
    pub(super) fn take_requests(&self) -> u64 {
        self.requests.swap(0, Ordering::Relaxed)
    }

    /// Takes no more requests. What is under way may finish.
    pub(super) fn retire(&self, now: Moment) {
        self.retired_at.store(kept(now), Ordering::Relaxed);
    }

    /// Whether whoever asks may connect a successor: one at a time.
    pub(super) fn begin_replacement(&self) -> bool {
        !self.is_being_replaced.swap(true, Ordering::Relaxed)
    }

    /// The successor could not be connected.
    pub(super) fn end_replacement(&self) {
        self.is_being_replaced.store(false, Ordering::Relaxed);
    }

    /// Takes a place if fewer than `most` are taken. Never more, however many ask at once.
    pub(super) fn try_lease(self: &Arc<Self>, most: u32, now: Moment) -> Option<ShardLease> {
        let below = |inflight| (inflight < most).then_some(inflight + 1);
        self.inflight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below).ok()?;
        Some(self.begin(now))
    }

    /// Takes a place even if there is none: the request waits for a stream.
    pub(super) fn lease(self: &Arc<Self>, now: Moment) -> ShardLease {
        self.inflight.fetch_add(1, Ordering::Relaxed);
        self.begin(now)
    }

    fn begin(self: &Arc<Self>, now: Moment) -> ShardLease {
        let known = seen(&self.unanswered_since);
        let since = silence_since(known, seen(&self.last_request), now);
        if known != Some(since) {
            self.unanswered_since.store(kept(since), Ordering::Relaxed);
        }
        self.last_request.store(kept(now), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        ShardLease { shard: Arc::clone(self), began: now }
    }

    pub(super) fn record_success(&self, now: Moment) {
        self.last_success.store(kept(now), Ordering::Relaxed);
        self.unanswered_since.store(0, Ordering::Relaxed);
        // Written only if it changes: the counter is usually zero, and its cache line shared.
        if self.consecutive_failures.load(Ordering::Relaxed) != 0 {
            self.consecutive_failures.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn record_failure(&self) {
        self.consecutive_failures.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was given up that was sent at this moment, if it was sent.
    pub(super) fn record_given_up(&self, sent: Option<Moment>) {
        if counts_as_silence(sent, seen(&self.last_success)) {
            self.record_failure();
        }
    }
}

/// A moment as it is kept in an atomic.
fn kept(moment: Moment) -> u64 {
    moment.as_nanos().max(1)
}

fn seen(nanos: &AtomicU64) -> Option<Moment> {
    match nanos.load(Ordering::Relaxed) {
        0 => None,
        nanos => Some(Moment::from_nanos(nanos)),
    }
}

/// A place on a connection, given back when dropped.
pub(super) struct ShardLease {
    shard: Arc<ClientShard>,
    began: Moment,
}

impl ShardLease {
    pub(super) fn shard(&self) -> &ClientShard {
        &self.shard
    }

    /// When the place was taken.
    pub(super) fn began(&self) -> Moment {
        self.began
    }
}

impl Drop for ShardLease {
    fn drop(&mut self) {
        self.shard.inflight.fetch_sub(1, Ordering::Relaxed);
    }
}
