//! Retries: what is tried again, how often, and where.
//!
//! Retrying a single partition elsewhere has its thresholds in `partition_failover`.

use std::time::Duration;

use crate::check::{growth_factor, some_time};
use crate::{CosmosOptions, PartitionFailoverOptions};

/// What the driver retries. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct RetryOptions {
    /// Reads that a region cannot answer yet in this session.
    #[option(nested)]
    pub session_retry: Option<SessionRetryOptions>,

    /// Requests that the service throttles.
    #[option(nested)]
    pub throttling: Option<ThrottlingRetryOptions>,

    /// When a partition is moved to another region, and when it is tried where it was.
    #[option(nested)]
    pub partition_failover: Option<PartitionFailoverOptions>,

    /// Whether a partition that keeps failing in one region is sent to another. An account can turn it on by
    /// itself, whatever this says.
    #[option(
        env = "AZURE_COSMOS_PER_PARTITION_CIRCUIT_BREAKER_ENABLED",
        env_alias = "AZURE_COSMOS_ENABLE_PARTITION_CIRCUIT_BREAKER",
        env_override,
        default = true
    )]
    pub enable_partition_level_circuit_breaker: Option<bool>,

    /// Whether to ignore that the service has moved a single partition's writes to another region.
    #[option(default = false)]
    pub disable_partition_level_failover: Option<bool>,

    /// Whether a session retry goes to another region first. `session_retry.remote_region_preferred` says the
    /// same, and is asked first.
    pub enable_remote_region_preferred_for_session_retry: Option<bool>,
}

impl RetryOptionsView<'_> {
    /// Whether a session retry goes to another region first, by whichever of the two options is set.
    pub fn remote_region_preferred(&self) -> bool {
        self.session_retry()
            .remote_region_preferred()
            .or(self.enable_remote_region_preferred_for_session_retry())
            .unwrap_or(false)
    }
}

/// How often one operation is retried, and for how long. Layers: runtime, account, operation.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account, operation))]
pub struct RetryLimitOptions {
    /// How often an operation goes on in another region, or round all regions again. Every region is tried once
    /// without a wait.
    #[option(default = 10)]
    pub max_failover_retries: Option<u32>,

    /// How long a write that every region refuses (403/3) is tried again: a failover of the account takes minutes.
    /// The end-to-end timeout ends it sooner.
    #[option(env = "AZURE_COSMOS_WRITE_FAILOVER_PATIENCE", default = Duration::from_secs(300))]
    pub write_failover_patience: Option<Duration>,

    /// The first wait before all regions are tried again. Each further wait is twice as long.
    #[option(default = Duration::from_millis(100), check = some_time)]
    pub first_failover_delay: Option<Duration>,

    /// The longest wait before all regions are tried again.
    #[option(default = Duration::from_secs(1), check = some_time)]
    pub longest_failover_delay: Option<Duration>,

    /// How often an operation is repeated that met another one on the same item (449).
    #[option(default = 9)]
    pub max_conflict_retries: Option<u32>,

    /// How often a throttled operation (429) is repeated. Unset, `ThrottlingRetryOptions` decides.
    pub max_throttling_retries: Option<u32>,

    /// How long all waits of a throttled operation may take together. Unset, `ThrottlingRetryOptions` decides.
    pub max_throttling_wait: Option<Duration>,
}

/// Reads that a region cannot answer yet in this session. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct SessionRetryOptions {
    /// The least time to spend in a region before trying another.
    #[option(default = Duration::from_millis(500))]
    pub min_in_region_retry_time: Option<Duration>,

    /// How often a read is repeated in one region before trying another.
    #[option(default = 1)]
    pub max_in_region_retry_count: Option<usize>,

    /// Whether to try another region before repeating in this one.
    pub remote_region_preferred: Option<bool>,
}

/// Requests that the service throttles (429). Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct ThrottlingRetryOptions {
    /// How often a throttled request is repeated; none at 0.
    #[option(default = 9)]
    pub max_attempts: Option<u32>,

    /// How long all waits of one request may take together.
    #[option(default = Duration::from_secs(30))]
    pub max_cumulative_wait: Option<Duration>,

    /// By how much each wait grows when the service does not say how long to wait.
    #[option(default = 2.0, check = growth_factor)]
    pub backoff_factor: Option<f64>,
}
