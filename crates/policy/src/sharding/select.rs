//! Which connection carries the next request.

use super::ShardingConfig;

/// Which connection carries a request, by its place in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardSelection {
    /// This one.
    Use(usize),
    /// A new one, as all are full. If it cannot be opened, this one.
    Create {
        /// The least loaded, if there is any.
        fallback: Option<usize>,
    },
    /// This one, though it is full: there may be no more connections. The request waits for a stream.
    Overloaded(usize),
}

/// Picks the connection for a request. Allocates nothing; the pool is gone through once.
///
/// `inflight` gives a connection's load, or `None` if it is being given up. Of the others the first
/// `load_spread_ratio` are active, in the order of the pool: new requests go to the least loaded of these, so
/// that the rest can run dry and be closed. If all active ones are full, those running dry help out before a
/// new one is opened.
pub fn select_shard<S>(
    shards: &[S],
    inflight: impl Fn(&S) -> Option<u32>,
    load_spread_ratio: f64,
    config: &ShardingConfig,
) -> ShardSelection {
    let usable = || shards.iter().enumerate().filter_map(|(place, shard)| Some((place, inflight(shard)?)));
    let usable_count = usable().count();
    let active_count = active_count(usable_count, load_spread_ratio);
    let mut best_active: Option<(usize, u32)> = None;
    let mut best: Option<(usize, u32)> = None;
    for (nth, (place, load)) in usable().enumerate() {
        if nth < active_count && best_active.is_none_or(|(_, least)| load < least) {
            best_active = Some((place, load));
        }
        if best.is_none_or(|(_, least)| load < least) {
            best = Some((place, load));
        }
    }
    let has_room = |choice: &(usize, u32)| choice.1 < config.max_streams_per_client;
    let may_grow = usable_count < config.max_clients_per_endpoint as usize;
    match (best_active.filter(has_room).or(best.filter(has_room)), best) {
        (Some((place, _)), _) => ShardSelection::Use(place),
        (None, Some((place, _))) if may_grow => ShardSelection::Create { fallback: Some(place) },
        (None, Some((place, _))) => ShardSelection::Overloaded(place),
        (None, None) => ShardSelection::Create { fallback: None },
    }
}

/// How many of so many connections get new requests: at least one.
fn active_count(shards: usize, load_spread_ratio: f64) -> usize {
    let active = (shards as f64 * load_spread_ratio.clamp(0.0, 1.0)).ceil() as usize;
    active.clamp(1, shards.max(1))
}

/// Whether another connection is to be opened ahead of need: the average load is above the threshold, and
/// there may be more. `loads` are those of the connections that are not being given up.
pub fn should_scale_up(loads: impl Iterator<Item = u32>, config: &ShardingConfig) -> bool {
    let (mut count, mut total) = (0_u32, 0_u64);
    for load in loads {
        count += 1;
        total += u64::from(load);
    }
    if count == 0 || count >= config.max_clients_per_endpoint {
        return false;
    }
    let average = total as f64 / f64::from(count);
    average > f64::from(config.max_streams_per_client) * config.scale_up_threshold_ratio
}
