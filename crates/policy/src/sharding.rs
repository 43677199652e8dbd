//! Which HTTP/2 connection carries a request, and when connections are opened and given up.
//!
//! A shard is one connection. Opening and closing them is the driver's business; it shows them here as
//! numbers.

mod health;
mod select;
mod spread;
mod sweep;
#[cfg(test)]
mod tests;

use std::time::Duration;

use cosmonaut_options::ShardingOptionsView;

use crate::Moment;

pub use health::{
    EvictionReason, ShardHealthStatus, check_shard_health, counts_as_silence, endpoint_is_unused,
    silence_since,
};
pub use select::{ShardSelection, select_shard, should_scale_up};
pub use spread::LoadSpread;
pub use sweep::{CPU_GUARD, SweepPlan, plan_sweep};

/// How requests are spread over connections.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardingConfig {
    /// How many requests one connection carries at a time.
    pub max_streams_per_client: u32,
    /// How many connections an endpoint may have.
    pub max_clients_per_endpoint: u32,
    /// How many it keeps even when there is little to do.
    pub min_clients_per_endpoint: u32,
    /// The share of connections that get new requests; the others drain. The start of [`LoadSpread`].
    pub load_spread_ratio: f64,
    /// How many failures in a row make a connection a candidate for eviction.
    pub consecutive_failure_threshold: u32,
    /// How long after its last success a failing connection is spared.
    pub eviction_grace_period: Duration,
    /// How long a connection above the minimum may be idle.
    pub idle_client_timeout: Duration,
    /// How often the driver sweeps.
    pub health_check_interval: Duration,
    /// How full connections are on average when another is opened ahead of need.
    pub scale_up_threshold_ratio: f64,
    /// A connection that has answered within this time is healthy, whatever else is said of it.
    pub recent_success_window: Duration,
    /// A connection that has requests and has not answered any for this long hangs.
    pub read_hang_threshold: Duration,
    /// How long the requests of a retired connection may take to end before it is closed under them.
    pub drain_timeout: Duration,
    /// How long the connections to an endpoint are kept that nobody asks for anything.
    pub endpoint_idle_timeout: Duration,
}

impl Default for ShardingConfig {
    fn default() -> Self {
        Self {
            max_streams_per_client: 16,
            max_clients_per_endpoint: 32,
            min_clients_per_endpoint: 1,
            load_spread_ratio: 0.5,
            consecutive_failure_threshold: 5,
            eviction_grace_period: Duration::from_secs(2),
            idle_client_timeout: Duration::from_secs(60),
            health_check_interval: Duration::from_secs(10),
            scale_up_threshold_ratio: 0.75,
            recent_success_window: Duration::from_secs(1),
            read_hang_threshold: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(60),
            endpoint_idle_timeout: Duration::from_secs(10 * 60),
        }
    }
}

impl ShardingConfig {
    /// What the options say.
    pub fn from_options(options: &ShardingOptionsView<'_>) -> Self {
        Self {
            max_streams_per_client: options.max_streams_per_client(),
            max_clients_per_endpoint: options.max_clients_per_endpoint(),
            min_clients_per_endpoint: options.min_clients_per_endpoint(),
            load_spread_ratio: options.load_spread_ratio(),
            consecutive_failure_threshold: options.consecutive_failure_threshold(),
            eviction_grace_period: options.eviction_grace_period(),
            idle_client_timeout: options.idle_client_timeout(),
            health_check_interval: options.health_check_interval(),
            scale_up_threshold_ratio: options.scale_up_threshold_ratio(),
            drain_timeout: options.drain_timeout(),
            ..Self::default()
        }
    }
}

/// A connection in numbers, as the driver's counters show it at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardStats {
    /// Which connection it is.
    pub id: u64,
    /// Requests without an answer.
    pub inflight: u32,
    /// When the first of the requests came that it was given since it last answered; `None` if it was given
    /// none since.
    pub unanswered_since: Option<Moment>,
    /// When it last answered.
    pub last_success: Option<Moment>,
    /// When anything last came over it, also the answer to a PING; `None` if nothing did, or if that is not known.
    pub last_heard: Option<Moment>,
    /// When it last got a request.
    pub last_request: Option<Moment>,
    /// When it was opened.
    pub created_at: Moment,
    /// Failures since it last answered.
    pub consecutive_failures: u32,
    /// Since when it gets no new requests, if it is being given up.
    pub retired_at: Option<Moment>,
}
