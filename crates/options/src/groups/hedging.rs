//! Hedging: asking a second region when the first is slow to answer.
//!
//! What may be hedged, and which region comes second, is decided by the driver's policy.

use std::fmt;
use std::time::Duration;

use crate::check::{expect, some_time};
use crate::value::{duration, render_as_display};
use crate::{CosmosOptions, EnvValue, Expected, OptionValue};

/// Whether and when a second region is asked. Layers: runtime, account, operation.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account, operation))]
pub struct HedgingOptions {
    /// Whether a second region is asked at all.
    #[option(env = "AZURE_COSMOS_HEDGING_ENABLED", env_override, default = true)]
    pub hedging_enabled: Option<bool>,

    /// How long the first region has before the second is asked.
    #[option(
        env = "AZURE_COSMOS_HEDGING_THRESHOLD_MS",
        env_override,
        default = HedgingThreshold::default(),
        check = HedgingThreshold::check,
        copy
    )]
    pub hedging_threshold: Option<HedgingThreshold>,

    /// How long each further region has before the next one is asked, or until it fails.
    #[option(default = Duration::from_millis(500), check = some_time)]
    pub hedging_step: Option<Duration>,

    /// How many regions are asked at most, the first included: 1 to 4. At 1 nothing is hedged.
    #[option(default = 3, check = region_count)]
    pub max_hedged_regions: Option<u32>,

    /// Whether writes are hedged, on accounts where every region takes them. A write whose first answer came from
    /// one region may still be applied by the other later. The driver's own next write with the same partition
    /// key waits for that; a write of another process does not.
    #[option(env = "AZURE_COSMOS_WRITE_HEDGING_ENABLED", env_override, default = true)]
    pub write_hedging_enabled: Option<bool>,
}

fn region_count(regions: &u32) -> Result<(), Expected> {
    expect((1..=4).contains(regions), "a number of regions from 1 to 4")
}

/// How long to wait for one region before asking another as well.
///
/// As text, a fixed time is a number of milliseconds or a duration (`1500`, `1500ms`); one that follows what
/// is observed is `dynamic`, or its bounds (`50ms..4s`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HedgingThreshold {
    /// The 99th percentile of recent latencies, kept within these bounds.
    Dynamic {
        /// Never sooner than this.
        min: Duration,
        /// Never later than this.
        max: Duration,
    },
    /// Always this long.
    Static(Duration),
}

impl HedgingThreshold {
    fn check(&self) -> Result<(), Expected> {
        match self {
            Self::Dynamic { min, max } if min > max => Err(Expected::new(
                "a hedging threshold: its lower bound is above its upper one (try \"50ms..4s\")",
            )),
            Self::Dynamic { .. } | Self::Static(_) => Ok(()),
        }
    }
}

impl Default for HedgingThreshold {
    fn default() -> Self {
        Self::Dynamic { min: Duration::from_millis(50), max: Duration::from_secs(4) }
    }
}

impl fmt::Display for HedgingThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dynamic { min, max } => write!(f, "{}..{}", min.render(), max.render()),
            Self::Static(threshold) => f.pad(&threshold.render()),
        }
    }
}

impl EnvValue for HedgingThreshold {
    fn parse(text: &str) -> Result<Self, Expected> {
        if text.trim().eq_ignore_ascii_case("dynamic") {
            return Ok(Self::default());
        }
        let parsed = match text.split_once("..") {
            Some((min, max)) => duration::milliseconds(min)
                .and_then(|min| Ok(Self::Dynamic { min, max: duration::milliseconds(max)? })),
            None => duration::milliseconds(text).map(Self::Static),
        };
        parsed.map_err(|_| {
            Expected::new("a hedging threshold (try \"1500\", \"1500ms\", \"dynamic\" or \"50ms..4s\")")
        })
    }
}

render_as_display!(HedgingThreshold);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_time_or_follows_what_is_observed() {
        let (min, max) = (Duration::from_millis(50), Duration::from_secs(4));
        for (text, expected) in [
            ("1500", Some(HedgingThreshold::Static(Duration::from_millis(1500)))),
            ("2s", Some(HedgingThreshold::Static(Duration::from_secs(2)))),
            ("dynamic", Some(HedgingThreshold::Dynamic { min, max })),
            ("50..4000", Some(HedgingThreshold::Dynamic { min, max })),
            ("50ms..4s", Some(HedgingThreshold::Dynamic { min, max })),
            ("fast", None),
            ("50ms..", None),
            ("..", None),
            ("1.5", None),
        ] {
            assert_eq!(HedgingThreshold::parse(text).ok(), expected, "{text:?}");
        }
        assert!(HedgingThreshold::Dynamic { min: max, max: min }.check().is_err());
    }
}
