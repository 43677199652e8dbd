//! Which regions a client would rather use.
//!
//! Regions to avoid are in `request`, because a single call may name them too.

use cosmonaut_wire::RegionName;

use crate::CosmosOptions;

/// Preferences among an account's regions. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct RegionOptions {
    /// The region that the application runs in: tried after the preferred regions and before all others, which
    /// follow by their distance from it. A region that is not known, such as a private or a new one, gives no
    /// distances: then the others follow in the account's own order.
    pub application_region: Option<RegionName>,

    /// The regions to try, in this order.
    pub preferred_regions: Option<Vec<RegionName>>,
}
