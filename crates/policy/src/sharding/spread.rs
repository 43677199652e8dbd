//! How many of a pool's connections get new requests, by how unsteady the load is.

/// Observations before the ratio follows them.
const WARM_UP: u32 = 3;
/// The weight of the latest interval in the running mean and variance.
const WEIGHT: f64 = 0.3;

/// The share of connections that get new requests, adapted to the load.
///
/// Under a steady load few are enough, and the others can be closed. Under an unsteady one more are kept at
/// work, so that a burst finds them open. It starts with the configured ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSpread {
    base: f64,
    ratio: f64,
    mean: f64,
    variance: f64,
    observations: u32,
}

impl LoadSpread {
    /// Before anything is observed.
    pub fn new(load_spread_ratio: f64) -> Self {
        let base = load_spread_ratio.clamp(0.0, 1.0);
        Self { base, ratio: base, mean: 0.0, variance: 0.0, observations: 0 }
    }

    /// The ratio for [`select_shard`](crate::select_shard).
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// This spread after an interval, such as that between two sweeps, in which so many requests were sent.
    ///
    /// The ratio goes halfway to its target: half of the configured one under a perfectly steady load, all
    /// connections where the rate varies as much as it is high. Without requests there is nothing to adapt
    /// to.
    #[must_use]
    pub fn after_interval(&self, requests: u64) -> Self {
        let rate = requests as f64;
        let observations = self.observations.saturating_add(1);
        if self.observations == 0 {
            return Self { mean: rate, observations, ..*self };
        }
        let difference = rate - self.mean;
        let mean = self.mean + WEIGHT * difference;
        let variance = (1.0 - WEIGHT) * (self.variance + WEIGHT * difference * difference);
        let settled = observations > WARM_UP && mean >= 1.0;
        let target = if settled {
            let variation = (variance.sqrt() / mean).min(1.0);
            let steady = self.base / 2.0;
            steady + variation * (1.0 - steady)
        } else {
            self.base
        };
        let ratio = (self.ratio + target) / 2.0;
        Self { base: self.base, ratio, mean, variance, observations }
    }
}
