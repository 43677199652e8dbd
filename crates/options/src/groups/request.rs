//! What any request may carry, whichever operation it belongs to.
//!
//! What only item writes carry is in `write`.

use std::collections::HashMap;
use std::time::Duration;

use cosmonaut_wire::{ConsistencyLevel, PriorityLevel, ReadConsistencyStrategy, RegionName};
use http::{HeaderName, HeaderValue};

use crate::CosmosOptions;
use crate::check::some_time;

/// Options of every request. Layers: runtime, account, operation.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account, operation))]
pub struct RequestOptions {
    /// The consistency to ask for, at most the account's.
    #[option(env = "AZURE_COSMOS_CONSISTENCY_LEVEL", copy)]
    pub consistency_level: Option<ConsistencyLevel>,

    /// What a read waits for, whatever the account's consistency.
    #[option(env = "AZURE_COSMOS_READ_CONSISTENCY_STRATEGY", copy)]
    pub read_consistency_strategy: Option<ReadConsistencyStrategy>,

    /// Which requests the service throttles first.
    #[option(env = "AZURE_COSMOS_PRIORITY", copy)]
    pub priority: Option<PriorityLevel>,

    /// The throughput bucket that the request draws from.
    pub throughput_bucket: Option<usize>,

    /// Whether items travel as binary JSON, which is shorter than text, where the service does that: writes of single
    /// items, unless they name triggers, and the answers to them, to reads, queries and change feeds. What the caller gives
    /// and gets is the same.
    #[option(env = "AZURE_COSMOS_BINARY_ENCODING_ENABLED", default = false)]
    pub binary_encoding_enabled: Option<bool>,

    /// How long the whole operation may take: every retry, look-up and token included.
    #[option(env = "AZURE_COSMOS_END_TO_END_TIMEOUT", default = Duration::from_secs(120), check = some_time)]
    pub end_to_end_timeout: Option<Duration>,

    /// Further headers. Those of all layers are sent; of one header, the highest layer's.
    #[option(merge = "extend")]
    pub custom_headers: Option<HashMap<HeaderName, HeaderValue>>,

    /// Regions not to use.
    pub excluded_regions: Option<Vec<RegionName>>,
}
