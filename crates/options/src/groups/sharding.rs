//! Sharding: how many HTTP/2 connections an endpoint gets, when one is added and when one is given up.
//!
//! Ignored where the endpoint speaks HTTP/1.1 only.

use std::time::Duration;

use crate::check::{at_least_one, expect, ratio, some_time};
use crate::value::duration;
use crate::{CosmosOptions, Expected, OptionError, OptionErrors, Origin};

/// What the service allows on one HTTP/2 connection.
const SERVICE_STREAM_LIMIT: u32 = 20;

/// How HTTP/2 requests are spread over connections. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct ShardingOptions {
    /// How many requests one connection carries at a time, below the service's limit of 20.
    #[option(env = "AZURE_COSMOS_MAX_STREAMS_PER_CLIENT", default = 16, check = stream_count)]
    pub max_streams_per_client: Option<u32>,

    /// How many connections an endpoint may have; by default two per processor, and at least 32. Their number
    /// follows the load: this is only the bound.
    #[option(
        env = "AZURE_COSMOS_MAX_CLIENTS_PER_ENDPOINT",
        default = clients_for_this_machine(),
        check = at_least_one
    )]
    pub max_clients_per_endpoint: Option<u32>,

    /// How many connections an endpoint keeps even when there is little to do.
    #[option(default = 1, check = at_least_one)]
    pub min_clients_per_endpoint: Option<u32>,

    /// How full connections are kept before load spreads to more of them, so that idle ones can be closed.
    #[option(default = 0.5, check = ratio)]
    pub load_spread_ratio: Option<f64>,

    /// How many failures in a row make a connection a candidate for eviction.
    #[option(default = 5, check = at_least_one)]
    pub consecutive_failure_threshold: Option<u32>,

    /// How long after its last success a failing connection is spared.
    #[option(default = Duration::from_secs(2))]
    pub eviction_grace_period: Option<Duration>,

    /// How long a connection above the minimum may be idle before it is closed.
    #[option(
        env = "AZURE_COSMOS_SHARD_IDLE_TIMEOUT_SECS",
        parse = duration::seconds,
        default = Duration::from_secs(60),
        check = some_time
    )]
    pub idle_client_timeout: Option<Duration>,

    /// How often connections are looked over for eviction, closing and growth.
    #[option(default = Duration::from_secs(10), check = some_time)]
    pub health_check_interval: Option<Duration>,

    /// How full connections are on average when another one is opened ahead of need.
    #[option(default = 0.75, check = ratio)]
    pub scale_up_threshold_ratio: Option<f64>,

    /// How long the requests of a connection that is being given up may take to end before it is closed.
    #[option(default = Duration::from_secs(60), check = some_time)]
    pub drain_timeout: Option<Duration>,
}

impl ShardingOptionsView<'_> {
    /// Checks what no single layer can: that the least number of connections is not above the greatest.
    ///
    /// # Errors
    /// If it is; the error names `min_clients_per_endpoint`.
    pub fn validate(&self) -> Result<(), OptionErrors> {
        let (min, max) = (self.min_clients_per_endpoint(), self.max_clients_per_endpoint());
        if min <= max {
            return Ok(());
        }
        let source = self.max_clients_per_endpoint_source();
        let words = format!("a number of at most max_clients_per_endpoint, which is {max} ({source})");
        let origin = Origin::Option("ShardingOptions.min_clients_per_endpoint".to_owned());
        OptionErrors::check(vec![OptionError::new(origin, min.to_string(), Expected::new(words))], ())
    }
}

fn stream_count(streams: &u32) -> Result<(), Expected> {
    expect(
        (1..=SERVICE_STREAM_LIMIT).contains(streams),
        "a number from 1 to 20, which is what the service allows on one connection",
    )
}

fn clients_for_this_machine() -> u32 {
    // A request in flight costs the processors little, so their number says little about the demand.
    const AT_LEAST: u32 = 32;
    let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
    u32::try_from(processors).unwrap_or(u32::MAX).saturating_mul(2).max(AT_LEAST)
}
