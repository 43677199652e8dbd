//! What a sweep over a pool's connections does.

use super::select::should_scale_up;
use super::{EvictionReason, ShardHealthStatus, ShardStats, ShardingConfig, check_shard_health};
use crate::Moment;

/// Above this load of the processors nothing is evicted: answers may be late because nobody had time to read
/// them.
pub const CPU_GUARD: f64 = 0.9;

/// What a sweep does: close these connections, replace those, open that many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepPlan {
    /// The connections to close, by id, and why. Except where they hang, what is under way on them is given
    /// time to finish.
    pub close: Vec<(u64, EvictionReason)>,
    /// The connections to close once a successor is connected, and why. A successor that cannot be connected
    /// proves that the service is away, so the connection stays.
    pub replace: Vec<(u64, EvictionReason)>,
    /// How many connections to open: to make up for closed ones below the minimum, or ahead of need.
    pub open: u32,
}

/// What a sweep does. `cpu` is the load of the processors from 0 to 1, if it is known.
///
/// | the connection | what is done |
/// | --- | --- |
/// | unhealthy, the processors are busy | nothing |
/// | hangs with requests on it, or does not drain | closed at once, whatever the minimum |
/// | otherwise unhealthy, others are in order | closed, whatever the minimum |
/// | otherwise unhealthy, no other is in order | replaced: the successor comes first |
/// | idle | closed, down to the minimum |
///
/// What is then missing below the minimum is opened, and one more if the rest are too full.
pub fn plan_sweep(pool: &[ShardStats], config: &ShardingConfig, cpu: Option<f64>, now: Moment) -> SweepPlan {
    let may_evict = cpu.is_none_or(|load| load <= CPU_GUARD);
    let mut plan = SweepPlan::default();
    let (mut idle, mut staying, mut failing) = (Vec::new(), Vec::new(), Vec::new());
    for shard in pool {
        match check_shard_health(shard, pool, config, now) {
            ShardHealthStatus::Unhealthy { reason } if may_evict => match is_urgent(shard, reason) {
                true => plan.close.push((shard.id, reason)),
                false => failing.push((shard, reason)),
            },
            ShardHealthStatus::Healthy | ShardHealthStatus::Unhealthy { .. } => {
                // A retired one is no longer part of the pool.
                staying.extend(shard.retired_at.is_none().then_some(shard.inflight));
            }
            ShardHealthStatus::Idle => idle.push(shard),
        }
    }
    let min = config.min_clients_per_endpoint as usize;
    // The oldest stay: they come first in the pool, and new requests go to the first.
    let kept = min.saturating_sub(staying.len()).min(idle.len());
    plan.close.extend(idle[kept..].iter().map(|shard| (shard.id, EvictionReason::IdleTimeout)));
    staying.extend(idle[..kept].iter().map(|shard| shard.inflight));
    let given_up = failing.iter().map(|(shard, reason)| (shard.id, *reason));
    if staying.is_empty() {
        plan.replace.extend(given_up);
        staying.extend(failing.iter().map(|(shard, _)| shard.inflight));
    } else {
        plan.close.extend(given_up);
    }
    let missing = min.saturating_sub(staying.len());
    let ahead = missing == 0 && should_scale_up(staying.into_iter(), config);
    plan.open = u32::try_from(missing).unwrap_or(u32::MAX) + u32::from(ahead);
    plan
}

/// Whether requests wait on a connection for answers that will not come: closing it sets them free.
fn is_urgent(shard: &ShardStats, reason: EvictionReason) -> bool {
    match reason {
        EvictionReason::ReadHang => shard.inflight > 0,
        EvictionReason::DrainTimeout => true,
        EvictionReason::ConsecutiveFailuresWithHealthyPeers
        | EvictionReason::ConsecutiveFailuresAlone
        | EvictionReason::IdleTimeout => false,
    }
}
