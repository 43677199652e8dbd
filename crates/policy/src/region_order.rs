//! In which order an account's regions are tried.
//!
//! The order is fixed when the account's description arrives. Which regions are out of service right now, and
//! which ones a single operation excludes, is weighed on top of it in `routing`.

use cosmonaut_options::RegionOptionsView;
use cosmonaut_wire::RegionName;
use cosmonaut_wire::model::AccountLocation;

use crate::{CosmosEndpoint, EndpointError};

/// Which regions the user would rather use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionPreferences {
    /// Regions to try first, in this order.
    pub preferred_regions: Vec<RegionName>,
    /// The region that the application runs in.
    pub application_region: Option<RegionName>,
}

impl RegionPreferences {
    /// What the options say.
    pub fn from_options(options: &RegionOptionsView<'_>) -> Self {
        Self {
            preferred_regions: options.preferred_regions().cloned().unwrap_or_default(),
            application_region: options.application_region().cloned(),
        }
    }

    /// Where a region stands: preferred regions by their place, then the application's own, then the others.
    fn rank(&self, region: &RegionName) -> usize {
        let preferred = self.preferred_regions.iter().position(|preferred| preferred == region);
        preferred.unwrap_or_else(|| {
            let is_own = self.application_region.as_ref() == Some(region);
            self.preferred_regions.len() + usize::from(!is_own)
        })
    }
}

/// The endpoints of these locations, in the order in which they are tried.
///
/// Preferred regions come first, then the application's region, then the rest as the account lists them: a
/// region that nobody named is still better than no answer. Preferred regions that the account does not have
/// are passed over, and a region or address that it lists twice counts once.
pub fn order_endpoints(
    locations: &[AccountLocation],
    preferences: &RegionPreferences,
) -> Result<Vec<CosmosEndpoint>, EndpointError> {
    let mut ranked: Vec<(usize, CosmosEndpoint)> = Vec::with_capacity(locations.len());
    for location in locations {
        let endpoint = CosmosEndpoint::of_location(location)?;
        if !ranked.iter().any(|(_, known)| *known == endpoint || known.region() == endpoint.region()) {
            ranked.push((preferences.rank(&location.name), endpoint));
        }
    }
    // Stable, so that regions of one rank keep the account's order.
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, endpoint)| endpoint).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn locations(names: &[&str]) -> Vec<AccountLocation> {
        names.iter().map(|name| AccountLocation::new(*name, format!("https://{name}.example"))).collect()
    }

    fn preferences(preferred: &[&str], own: Option<&str>) -> RegionPreferences {
        RegionPreferences {
            preferred_regions: preferred.iter().map(|name| RegionName::from(*name)).collect(),
            application_region: own.map(RegionName::from),
        }
    }

    fn order(regions: &[&str], preferences: &RegionPreferences) -> Vec<String> {
        let endpoints = order_endpoints(&locations(regions), preferences).unwrap();
        endpoints.iter().map(|endpoint| endpoint.region().unwrap().to_string()).collect()
    }

    #[test]
    fn preferred_then_own_then_the_accounts_order() {
        for (case, preferred, own, expected) in [
            ("nothing said", &[][..], None, ["east", "west", "north"]),
            ("one preferred", &["north"], None, ["north", "east", "west"]),
            ("all preferred", &["west", "north", "east"], None, ["west", "north", "east"]),
            ("own region", &[], Some("west"), ["west", "east", "north"]),
            ("own after preferred", &["north"], Some("west"), ["north", "west", "east"]),
            ("own is preferred too", &["north", "west"], Some("north"), ["north", "west", "east"]),
            ("preferred that is not there", &["mars", "west"], Some("moon"), ["west", "east", "north"]),
            ("spelled otherwise", &["N O R T H"], None, ["north", "east", "west"]),
        ] {
            assert_eq!(order(&["east", "west", "north"], &preferences(preferred, own)), expected, "{case}");
        }
    }

    #[test]
    fn a_region_listed_twice_counts_once_and_a_bad_address_is_an_error() {
        assert_eq!(order(&["a", "b", "a"], &RegionPreferences::default()), ["a", "b"]);
        let odd = [AccountLocation::new("a", "not an address")];
        assert!(order_endpoints(&odd, &RegionPreferences::default()).is_err());
    }

    proptest! {
        #[test]
        fn the_order_is_a_permutation(
            names in proptest::collection::hash_set("[a-e]", 0..5),
            preferred in proptest::collection::vec("[a-g]", 0..6),
            own in proptest::option::of("[a-g]"),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let preferred: Vec<&str> = preferred.iter().map(String::as_str).collect();
            let mut ordered = order(&names, &preferences(&preferred, own.as_deref()));
            let mut expected: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            ordered.sort();
            expected.sort();
            prop_assert_eq!(ordered, expected);
        }
    }
}
