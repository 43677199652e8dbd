//! Whether a connection is in order.

use std::time::Duration;

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
    /// It was given requests and answers none.
    ReadHang,
    /// It fails again and again while others answer: it is the connection, not the service.
    ConsecutiveFailuresWithHealthyPeers,
    /// It fails again and again, and no other connection shows whether the service would answer.
    ConsecutiveFailuresAlone,
    /// It has had nothing to do for too long.
    IdleTimeout,
    /// It was retired, and its requests do not end.
    DrainTimeout,
}

/// How a connection is. The first row that applies decides:
///
/// | # | what the numbers show | verdict |
/// | --- | --- | --- |
/// | 1 | it is retired, and has requests after more than the drain timeout | unhealthy: drain timeout |
/// | 2 | it is retired | healthy: it may finish |
/// | 3 | it has answered of late | healthy |
/// | 4 | it was given requests, and nothing has come for longer than the hang threshold, not even the answer to a PING, whether they still wait or were given up | unhealthy: hang |
/// | 5 | too many failures in a row, its grace is over, and another connection does better | unhealthy: failures with healthy peers |
/// | 6 | too many failures in a row, its grace is over, and no other connection does better | unhealthy: failures alone |
/// | 7 | it has nothing in flight, and had nothing to do for longer than the idle timeout | idle |
/// | 8 | anything else | healthy |
pub fn check_shard_health(
    shard: &ShardStats,
    pool: &[ShardStats],
    config: &ShardingConfig,
    now: Moment,
) -> ShardHealthStatus {
    let unhealthy = |reason| ShardHealthStatus::Unhealthy { reason };
    if let Some(retired_at) = shard.retired_at {
        let is_stuck = shard.inflight > 0 && now.since(retired_at) > config.drain_timeout;
        return if is_stuck { unhealthy(EvictionReason::DrainTimeout) } else { ShardHealthStatus::Healthy };
    }
    if shard.last_success.is_some_and(|last| now.since(last) < config.recent_success_window) {
        return ShardHealthStatus::Healthy;
    }
    if waiting_since(shard).is_some_and(|since| now.since(since) > config.read_hang_threshold) {
        return unhealthy(EvictionReason::ReadHang);
    }
    // One that has never answered is judged from when it was opened.
    let silent_since = shard.last_success.unwrap_or(shard.created_at);
    if shard.consecutive_failures >= config.consecutive_failure_threshold
        && now.since(silent_since) > config.eviction_grace_period
    {
        return match pool.iter().any(|peer| does_better(peer, shard)) {
            true => unhealthy(EvictionReason::ConsecutiveFailuresWithHealthyPeers),
            false => unhealthy(EvictionReason::ConsecutiveFailuresAlone),
        };
    }
    let last_used = shard.last_request.unwrap_or(shard.created_at);
    if shard.inflight == 0 && now.since(last_used) > config.idle_client_timeout {
        return ShardHealthStatus::Idle;
    }
    ShardHealthStatus::Healthy
}

/// Since when the connection owes an answer. A connection that was idle is not hanging just because its last
/// answer is old.
fn waiting_since(shard: &ShardStats) -> Option<Moment> {
    // A request can have come before the last answer and still wait: then the silence began with that answer.
    let since_answer = (shard.inflight > 0).then(|| shard.last_success.unwrap_or(shard.created_at));
    let since = shard.unanswered_since.or(since_answer)?;
    // One that answers PINGs carries requests that are slow. These have limits of their own.
    Some(shard.last_heard.map_or(since, |heard| since.max(heard)))
}

/// Whether another connection has failed less often and has answered since this one last did.
fn does_better(peer: &ShardStats, shard: &ShardStats) -> bool {
    peer.id != shard.id
        && peer.consecutive_failures < shard.consecutive_failures
        && peer.last_success.is_some()
        && peer.last_success > shard.last_success
}

/// Whether a request that its caller gave up counts as a failure of its connection:
///
/// | sent | the connection has answered anything since | counts |
/// | --- | --- | --- |
/// | no | either | no: the connection was never asked |
/// | yes | yes | no: the request was slow, the connection is alive |
/// | yes | no | yes |
pub fn counts_as_silence(sent: Option<Moment>, last_success: Option<Moment>) -> bool {
    sent.is_some_and(|sent| last_success.is_none_or(|last| last < sent))
}

/// What was asked longer ago than this, with nothing after it, says nothing about a request of now.
const STALE_SILENCE: Duration = Duration::from_secs(10);

/// Since when a connection that gets a request now owes an answer: from the first request that it has not answered,
/// unless it has been left alone since. A request is not to be failed for what an outage long over did to others.
pub fn silence_since(unanswered_since: Option<Moment>, last_request: Option<Moment>, now: Moment) -> Moment {
    let was_left_alone = last_request.is_none_or(|last| now.since(last) > STALE_SILENCE);
    unanswered_since.filter(|_| !was_left_alone).unwrap_or(now)
}

/// Whether the connections to an endpoint are dropped as a whole, as nobody has used them for too long.
pub fn endpoint_is_unused(last_used: Moment, is_in_use: bool, config: &ShardingConfig, now: Moment) -> bool {
    !is_in_use && now.since(last_used) > config.endpoint_idle_timeout
}
