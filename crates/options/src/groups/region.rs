//! Which regions a client would rather use.
//!
//! Regions to avoid are in `request`, because a single call may name them too.

use cosmonaut_wire::RegionName;

use crate::CosmosOptions;

/// Preferences among an account's regions. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct RegionOptions {
    /// The region that the application runs in; others are tried by their distance from it.
    pub application_region: Option<RegionName>,

    /// The regions to try, in this order.
    pub preferred_regions: Option<Vec<RegionName>>,
}
