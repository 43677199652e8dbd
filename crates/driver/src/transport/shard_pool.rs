//! The shards of one endpoint: which of them a request takes, and how their number follows the load.
//!
//! What to take, open and close is decided by `cosmonaut-policy`; this carries it out.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use cosmonaut_policy::{
    EvictionReason, LoadSpread, Moment, ShardSelection, ShardStats, ShardingConfig, plan_sweep, select_shard,
};

use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::http_client::HttpClientFactory;
use super::shard::{ClientShard, ShardLease};

/// How often a selection is repeated when others took the place that was found. Each time, another request
/// got one.
const SELECTIONS: usize = 64;

/// What came of adding a shard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Added,
    /// Another has made room meanwhile.
    NotNeeded,
    /// There may be no more.
    Full,
}

/// The shards of one endpoint. The list is immutable and swapped whole, so that choosing takes no lock.
pub(super) struct EndpointShardPool {
    server: Authority,
    factory: Arc<dyn HttpClientFactory>,
    config: ShardingConfig,
    shards: ArcSwap<Vec<Arc<ClientShard>>>,
    next_id: AtomicU64,
    /// The share of shards that get new requests, as the bits of a float.
    spread_ratio: AtomicU64,
    /// Changed by the sweep alone.
    spread: ArcSwap<LoadSpread>,
    /// Shards that take no more requests and still carry some. Touched by the sweep alone.
    draining: Mutex<Vec<Arc<ClientShard>>>,
}

/// What is to be connected after a sweep.
pub(super) struct Swept {
    /// Shards that were added.
    pub(super) opened: Vec<Arc<ClientShard>>,
    /// Shards that are to be replaced once their successors are connected.
    pub(super) replacements: Vec<Replacement>,
}

/// A shard that fails, and the one that takes its place once it is connected.
pub(super) struct Replacement {
    pub(super) retired: Arc<ClientShard>,
    pub(super) successor: Arc<ClientShard>,
    reason: EvictionReason,
}

impl EndpointShardPool {
    pub(super) fn new(
        server: Authority,
        factory: Arc<dyn HttpClientFactory>,
        config: ShardingConfig,
        now: Moment,
    ) -> Self {
        let spread = LoadSpread::new(config.load_spread_ratio);
        let pool = Self {
            server,
            factory,
            shards: ArcSwap::from_pointee(Vec::new()),
            next_id: AtomicU64::new(1),
            spread_ratio: AtomicU64::new(spread.ratio().to_bits()),
            spread: ArcSwap::from_pointee(spread),
            draining: Mutex::default(),
            config,
        };
        for _ in 0..pool.config.min_clients_per_endpoint {
            pool.add(pool.new_shard(now), |_| true);
        }
        pool
    }

    /// A place on a shard; on another than `avoid` if there is one or may be one.
    pub(super) fn lease(&self, avoid: Option<u64>, now: Moment) -> ShardLease {
        let most = self.config.max_streams_per_client;
        for _ in 0..SELECTIONS {
            let shards = self.shards.load();
            match self.select(&shards, avoid) {
                ShardSelection::Use(place) => {
                    if let Some(lease) = shards[place].try_lease(most, now) {
                        return lease;
                    }
                }
                ShardSelection::Create { fallback } => {
                    // Its first place is taken before others see it.
                    let new = self.new_shard(now);
                    let lease = new.lease(now);
                    let is_needed = |current: &[Arc<ClientShard>]| !self.has_room(current, avoid);
                    match (self.add(new, is_needed), fallback) {
                        (Growth::Added, _) => return lease,
                        (Growth::NotNeeded, _) => {}
                        (Growth::Full, Some(place)) => return shards[place].lease(now),
                        (Growth::Full, None) => break,
                    }
                }
                ShardSelection::Overloaded(place) => return shards[place].lease(now),
            }
        }
        self.least_loaded(now)
    }

    fn select(&self, shards: &[Arc<ClientShard>], avoid: Option<u64>) -> ShardSelection {
        let ratio = f64::from_bits(self.spread_ratio.load(Ordering::Relaxed));
        let load = |shard: &Arc<ClientShard>| shard.load().filter(|_| Some(shard.id()) != avoid);
        select_shard(shards, load, ratio, &self.config)
    }

    fn has_room(&self, shards: &[Arc<ClientShard>], avoid: Option<u64>) -> bool {
        let most = self.config.max_streams_per_client;
        shards.iter().any(|shard| Some(shard.id()) != avoid && shard.load().is_some_and(|load| load < most))
    }

    /// What is left when nothing better was found in time: any shard, or a new one if there is none.
    fn least_loaded(&self, now: Moment) -> ShardLease {
        let shards = self.shards.load();
        let least =
            shards.iter().filter_map(|shard| Some((shard.load()?, shard))).min_by_key(|(load, _)| *load);
        match least {
            Some((_, shard)) => shard.lease(now),
            None => self.new_shard(now).lease(now),
        }
    }

    /// Adds a shard if there may be another and, on the list as it then is, one is needed.
    fn add(&self, shard: Arc<ClientShard>, is_needed: impl Fn(&[Arc<ClientShard>]) -> bool) -> Growth {
        let mut growth = Growth::Full;
        self.shards.rcu(|current| {
            growth = match current.len() < self.config.max_clients_per_endpoint as usize {
                false => Growth::Full,
                true if is_needed(current) => Growth::Added,
                true => Growth::NotNeeded,
            };
            let mut next = Vec::clone(current);
            next.extend((growth == Growth::Added).then(|| Arc::clone(&shard)));
            next
        });
        growth
    }

    /// It connects when it is first used, so one that is not needed after all costs nothing.
    fn new_shard(&self, now: Moment) -> Arc<ClientShard> {
        let client = self.factory.create(&self.server, HttpVersion::Http2);
        Arc::new(ClientShard::new(self.next_id.fetch_add(1, Ordering::Relaxed), client, now))
    }

    /// Closes what is unhealthy or idle, opens what is missing, and adapts to how steady the load is. Returns
    /// what is to be connected. One sweep at a time.
    pub(super) fn sweep(&self, cpu: Option<f64>, now: Moment) -> Swept {
        let requests = self.shards.load().iter().map(|shard| shard.take_requests()).sum();
        let spread = self.spread.load().after_interval(requests);
        self.spread_ratio.store(spread.ratio().to_bits(), Ordering::Relaxed);
        self.spread.store(Arc::new(spread));
        let plan = plan_sweep(&self.stats_with_draining(), &self.config, cpu, now);
        for (id, reason) in plan.close {
            self.close(id, reason, now);
        }
        let replacements = plan.replace.into_iter().filter_map(|(id, reason)| {
            let retired = self.shards.load().iter().find(|shard| shard.id() == id).cloned()?;
            let successor = retired.begin_replacement().then(|| self.new_shard(now))?;
            Some(Replacement { retired, successor, reason })
        });
        let replacements = replacements.collect();
        let opened = (0..plan.open).map(|_| self.new_shard(now));
        let opened = opened.filter(|shard| self.add(Arc::clone(shard), |_| true) == Growth::Added).collect();
        Swept { opened, replacements }
    }

    /// Puts a successor in the place of a shard that fails. The shard's requests may finish.
    pub(super) fn replace(&self, replacement: Replacement, now: Moment) {
        let Replacement { retired, successor, reason } = replacement;
        self.shards.rcu(|current| {
            let mut next = Vec::clone(current);
            if let Some(place) = next.iter().position(|shard| shard.id() == retired.id()) {
                next[place] = Arc::clone(&successor);
            }
            next
        });
        self.retire(retired, reason, now);
    }

    fn close(&self, id: u64, reason: EvictionReason, now: Moment) {
        let shards = self.shards.load_full();
        match shards.iter().find(|shard| shard.id() == id) {
            Some(shard) => {
                self.shards.rcu(|current| {
                    current.iter().filter(|shard| shard.id() != id).cloned().collect::<Vec<_>>()
                });
                self.retire(Arc::clone(shard), reason, now);
            }
            None => {
                let stuck = self.lock_draining().iter().find(|shard| shard.id() == id).cloned();
                stuck.iter().for_each(|shard| shard.client().close());
            }
        }
    }

    fn retire(&self, shard: Arc<ClientShard>, reason: EvictionReason, now: Moment) {
        shard.retire(now);
        match reason {
            // What hangs on it would hang until its time is up: it is failed now, and repeated where that is
            // safe.
            EvictionReason::ReadHang | EvictionReason::DrainTimeout => shard.client().close(),
            // The connection closes with the last request on it, or when these take too long.
            EvictionReason::ConsecutiveFailuresWithHealthyPeers
            | EvictionReason::ConsecutiveFailuresAlone
            | EvictionReason::IdleTimeout => {
                if shard.stats().inflight > 0 {
                    self.lock_draining().push(shard);
                }
            }
        }
    }

    fn lock_draining(&self) -> MutexGuard<'_, Vec<Arc<ClientShard>>> {
        self.draining.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those in the list, and those that drain. The latter are let go once they carry nothing.
    fn stats_with_draining(&self) -> Vec<ShardStats> {
        let mut stats = self.stats();
        let mut draining = self.lock_draining();
        draining.retain(|shard| shard.stats().inflight > 0);
        stats.extend(draining.iter().map(|shard| shard.stats()));
        stats
    }

    pub(super) fn stats(&self) -> Vec<ShardStats> {
        self.shards.load().iter().map(|shard| shard.stats()).collect()
    }
}
