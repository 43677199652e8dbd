//! When a single partition is sent to another region, and when it is tried again where it was.
//!
//! Whether that happens at all is in `retry`, and for automatic failover in the account itself.

use std::time::Duration;

use crate::CosmosOptions;
use crate::check::some_time;
use crate::value::duration;

/// Thresholds and timings of partition-level failover. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct PartitionFailoverOptions {
    /// A partition's reads move once more than this many have failed within the reset window.
    #[option(env = "AZURE_COSMOS_CIRCUIT_BREAKER_FAILURE_COUNT_FOR_READS", default = 2)]
    pub read_failure_threshold: Option<u32>,

    /// A partition's writes move once more than this many have failed within the reset window.
    #[option(env = "AZURE_COSMOS_CIRCUIT_BREAKER_FAILURE_COUNT_FOR_WRITES", default = 5)]
    pub write_failure_threshold: Option<u32>,

    /// Failures further apart than this are not counted together.
    #[option(
        env = "AZURE_COSMOS_CIRCUIT_BREAKER_TIMEOUT_COUNTER_RESET_WINDOW_IN_MINUTES",
        parse = duration::minutes,
        default = Duration::from_secs(5 * 60),
        check = some_time
    )]
    pub counter_reset_window: Option<Duration>,

    /// How long a partition stays away from a region before that region is tried again.
    #[option(
        env = "AZURE_COSMOS_ALLOWED_PARTITION_UNAVAILABILITY_DURATION_IN_SECONDS",
        parse = duration::seconds,
        default = Duration::from_secs(5)
    )]
    pub partition_unavailability_duration: Option<Duration>,

    /// How often moved partitions are looked over for going back.
    #[option(
        env = "AZURE_COSMOS_PPCB_STALE_PARTITION_UNAVAILABILITY_REFRESH_INTERVAL_IN_SECONDS",
        parse = duration::seconds,
        default = Duration::from_secs(300),
        check = some_time
    )]
    pub failback_sweep_interval: Option<Duration>,
}
