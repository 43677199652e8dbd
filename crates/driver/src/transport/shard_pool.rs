//! The shards of one endpoint: which of them a request takes, and how their number follows the load.
//!
//! What to take, open and close is decided by `cosmonaut-policy`; this carries it out.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

    /// Closes what is unhealthy or idle, opens what is missing, and adapts to how steady the load is.
    /// Returns the shards that were opened, for warming up. One sweep at a time.
    pub(super) fn sweep(&self, cpu: Option<f64>, now: Moment) -> Vec<Arc<ClientShard>> {
        let requests = self.shards.load().iter().map(|shard| shard.take_requests()).sum();
        let spread = self.spread.load().after_interval(requests);
        self.spread_ratio.store(spread.ratio().to_bits(), Ordering::Relaxed);
        self.spread.store(Arc::new(spread));
        let stats = self.stats();
        let plan = plan_sweep(&stats, &self.config, cpu, now);
        for (id, reason) in plan.close {
            self.close(id, reason);
        }
        let opened = (0..plan.open).map(|_| self.new_shard(now));
        opened.filter(|shard| self.add(Arc::clone(shard), |_| true) == Growth::Added).collect()
    }

    fn close(&self, id: u64, reason: EvictionReason) {
        let shards = self.shards.load_full();
        let Some(shard) = shards.iter().find(|shard| shard.id() == id) else { return };
        shard.retire();
        self.shards
            .rcu(|current| current.iter().filter(|shard| shard.id() != id).cloned().collect::<Vec<_>>());
        match reason {
            // What hangs on it would hang until its time is up: it is failed now, and repeated where that is
            // safe.
            EvictionReason::ReadHang => shard.client().close(),
            // The connection closes with the last request on it.
            EvictionReason::ConsecutiveFailuresWithHealthyPeers | EvictionReason::IdleTimeout => {}
        }
    }

    pub(super) fn stats(&self) -> Vec<ShardStats> {
        self.shards.load().iter().map(|shard| shard.stats()).collect()
    }
}
