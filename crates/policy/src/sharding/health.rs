//! Whether a connection is in order.

use super::{ShardStats, ShardingConfig};
use crate::Moment;

/// How a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardHealthStatus {
    /// In order.
    Healthy,
    /// To be given up.
    Unhealthy {
        /// Why.
        reason: EvictionReason,
    },
    /// In order, and of no use at present.
    Idle,
}

/// Why a connection is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvictionReason {
    /// It has requests and answers none.
    ReadHang,
    /// It fails again and again while others answer: it is the connection, not the service.
    ConsecutiveFailuresWithHealthyPeers,
    /// It has had nothing to do for too long.
    IdleTimeout,
}

/// How a connection is. The first rule that applies decides:
///
/// 1. it has answered of late: healthy;
/// 2. it has had requests for longer than the hang threshold without answering any: it hangs;
/// 3. it has failed too often in a row while another does better, and its grace is over: unhealthy;
/// 4. it has had nothing to do for longer than the idle timeout: idle;
/// 5. otherwise healthy.
pub fn check_shard_health(
    shard: &ShardStats,
    pool: &[ShardStats],
    config: &ShardingConfig,
    now: Moment,
) -> ShardHealthStatus {
    if shard.last_success.is_some_and(|last| now.since(last) < config.recent_success_window) {
        return ShardHealthStatus::Healthy;
    }
    // One that has never answered is judged from when it was opened.
    let silent_since = shard.last_success.unwrap_or(shard.created_at);
    // A connection that was idle is not hanging just because its last answer is old.
    let waiting_since = silent_since.max(shard.busy_since);
    if shard.inflight > 0 && now.since(waiting_since) > config.read_hang_threshold {
        return ShardHealthStatus::Unhealthy { reason: EvictionReason::ReadHang };
    }
    if shard.consecutive_failures >= config.consecutive_failure_threshold
        && pool.iter().any(|peer| does_better(peer, shard))
        && now.since(silent_since) > config.eviction_grace_period
    {
        let reason = EvictionReason::ConsecutiveFailuresWithHealthyPeers;
        return ShardHealthStatus::Unhealthy { reason };
    }
    let last_used = shard.last_request.unwrap_or(shard.created_at);
    if shard.inflight == 0 && now.since(last_used) > config.idle_client_timeout {
        return ShardHealthStatus::Idle;
    }
    ShardHealthStatus::Healthy
}

/// Whether another connection has failed less often and has answered since this one last did.
fn does_better(peer: &ShardStats, shard: &ShardStats) -> bool {
    peer.id != shard.id
        && peer.consecutive_failures < shard.consecutive_failures
        && peer.last_success.is_some()
        && peer.last_success > shard.last_success
}
