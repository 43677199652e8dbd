//! What a sweep over a pool's connections does.

use super::select::should_scale_up;
use super::{EvictionReason, ShardHealthStatus, ShardStats, ShardingConfig, check_shard_health};
use crate::Moment;

/// Above this load of the processors nothing is evicted: answers may be late because nobody had time to read
/// them.
pub const CPU_GUARD: f64 = 0.9;

/// What a sweep does: close these connections, open that many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepPlan {
    /// The connections to close, by id, and why. What is under way on them is given time to finish.
    pub close: Vec<(u64, EvictionReason)>,
    /// How many connections to open: to make up for closed ones below the minimum, or ahead of need.
    pub open: u32,
}

/// What a sweep does. `cpu` is the load of the processors from 0 to 1, if it is known.
///
/// Unhealthy connections are closed, whatever the minimum, unless the processors are busy; they are replaced
/// up to it. Idle ones are closed down to the minimum. One connection is opened if the rest are too full.
pub fn plan_sweep(pool: &[ShardStats], config: &ShardingConfig, cpu: Option<f64>, now: Moment) -> SweepPlan {
    let may_evict = cpu.is_none_or(|load| load <= CPU_GUARD);
    let mut plan = SweepPlan::default();
    let mut idle = Vec::new();
    let mut staying = Vec::new();
    for shard in pool.iter().filter(|shard| !shard.marked_for_eviction) {
        match check_shard_health(shard, pool, config, now) {
            ShardHealthStatus::Unhealthy { reason } if may_evict => plan.close.push((shard.id, reason)),
            ShardHealthStatus::Healthy | ShardHealthStatus::Unhealthy { .. } => staying.push(shard.inflight),
            ShardHealthStatus::Idle => idle.push(shard),
        }
    }
    let min = config.min_clients_per_endpoint as usize;
    // The oldest stay: they come first in the pool, and new requests go to the first.
    let kept = min.saturating_sub(staying.len()).min(idle.len());
    plan.close.extend(idle[kept..].iter().map(|shard| (shard.id, EvictionReason::IdleTimeout)));
    staying.extend(idle[..kept].iter().map(|shard| shard.inflight));
    let missing = min.saturating_sub(staying.len());
    let ahead = missing == 0 && should_scale_up(staying.into_iter(), config);
    plan.open = u32::try_from(missing).unwrap_or(u32::MAX) + u32::from(ahead);
    plan
}
