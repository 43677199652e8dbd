//! In which order an account's regions are tried.
//!
//! The order is fixed when the account's description arrives. Which regions are out of service right now, and
//! which ones a single operation excludes, is weighed on top of it in `routing`.

use cosmonaut_options::RegionOptionsView;
use cosmonaut_wire::RegionName;
use cosmonaut_wire::model::AccountLocation;

use crate::proximity::region_distance;
use crate::{CosmosEndpoint, EndpointError};

/// Which regions the user would rather use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionPreferences {
    /// Regions to try first, in this order.
    pub preferred_regions: Vec<RegionName>,
    /// The region that the application runs in. The others follow by their distance from it.
    ///
    /// A region that has no known place, such as a private or a new one, gives no distances: then the others
    /// keep the account's order.
    pub application_region: Option<RegionName>,
}

/// Where a region stands among those of an account; the least is tried first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// By its place among the preferred regions.
    Preferred(usize),
    /// The application's own.
    Own,
    /// By the distance from the application's own.
    Near(u16),
    Unknown,
}

impl RegionPreferences {
    /// What the options say.
    pub fn from_options(options: &RegionOptionsView<'_>) -> Self {
        Self {
            preferred_regions: options.preferred_regions().cloned().unwrap_or_default(),
            application_region: options.application_region().cloned(),
        }
    }

    fn rank(&self, region: &RegionName) -> Rank {
        if let Some(place) = self.preferred_regions.iter().position(|preferred| preferred == region) {
            return Rank::Preferred(place);
        }
        match &self.application_region {
            Some(own) if own == region => Rank::Own,
            Some(own) => region_distance(own, region).map_or(Rank::Unknown, Rank::Near),
            None => Rank::Unknown,
        }
    }
}

/// The endpoints of these locations, in the order in which they are tried.
///
/// Preferred regions come first, then the application's region, then the rest by their distance from it, and
/// at last those without a known distance, as the account lists them: a region that nobody named is still
/// better than no answer. Preferred regions that the account does not have
/// are passed over, and a region or address that it lists twice counts once.
pub fn order_endpoints(
    locations: &[AccountLocation],
    preferences: &RegionPreferences,
) -> Result<Vec<CosmosEndpoint>, EndpointError> {
    let mut ranked: Vec<(Rank, CosmosEndpoint)> = Vec::with_capacity(locations.len());
    for location in locations {
        let endpoint = CosmosEndpoint::of_location(location)?;
        if !ranked.iter().any(|(_, known)| *known == endpoint || known.region() == endpoint.region()) {
            let rank = preferences.rank(&location.name);
            // After those of the same rank, so that they keep the account's order.
            let place = ranked.partition_point(|(known, _)| *known <= rank);
            ranked.insert(place, (rank, endpoint));
        }
    }
    Ok(ranked.into_iter().map(|(_, endpoint)| endpoint).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn locations(names: &[&str]) -> Vec<AccountLocation> {
        let url = |name: &str| format!("https://{}.example", name.replace(' ', ""));
        names.iter().map(|name| AccountLocation::new(*name, url(name))).collect()
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
    fn the_rest_follow_by_their_distance_from_the_applications_region() {
        let regions = ["East Asia", "Mars", "West Europe", "East US", "UK South", "Moon"];
        for (case, preferred, own, expected) in [
            (
                "own in the account",
                &[][..],
                "East US",
                ["East US", "UK South", "West Europe", "East Asia", "Mars", "Moon"],
            ),
            (
                "own not in the account",
                &[],
                "southeastasia",
                ["East Asia", "UK South", "West Europe", "East US", "Mars", "Moon"],
            ),
            (
                "preferred before all",
                &["Moon", "East Asia"],
                "France Central",
                ["Moon", "East Asia", "UK South", "West Europe", "East US", "Mars"],
            ),
            (
                "own without a known place",
                &[],
                "Mars",
                ["Mars", "East Asia", "West Europe", "East US", "UK South", "Moon"],
            ),
        ] {
            assert_eq!(order(&regions, &preferences(preferred, Some(own))), expected, "{case}");
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
