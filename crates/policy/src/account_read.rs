//! Whom to ask for the account, and in which order.
//!
//! Asking, and how long each may take, is the driver's business.

use crate::{Access, CosmosEndpoint, LocationSnapshot, Moment, RegionPreferences};

/// The endpoints that may describe the account, in the order in which they are asked.
///
/// First the account's own, then the regions that are known, then the endpoints that the user has named, and
/// last the names that the user's regions would have: a cold start must not need the account's own endpoint.
/// An endpoint that is out of service may take long not to answer, so it comes after all others.
pub fn account_endpoints(
    default: &CosmosEndpoint,
    known: Option<&LocationSnapshot>,
    custom: &[CosmosEndpoint],
    preferences: &RegionPreferences,
    now: Moment,
) -> Vec<CosmosEndpoint> {
    let regional = known.map_or(&[][..], |known| known.account.preferred_read_endpoints());
    let regions = preferences.preferred_regions.iter().chain(&preferences.application_region);
    let derived = regions.filter_map(|region| CosmosEndpoint::regional_name(default, region));
    let mut endpoints = vec![default.clone()];
    for endpoint in regional.iter().chain(custom).cloned().chain(derived) {
        if !endpoints.contains(&endpoint) {
            endpoints.push(endpoint);
        }
    }
    let is_out = |endpoint: &CosmosEndpoint| {
        known.is_some_and(|known| known.account.unavailability(endpoint, Access::Read, now).is_some())
    };
    let (out, mut endpoints): (Vec<_>, Vec<_>) = endpoints.into_iter().partition(is_out);
    endpoints.extend(out);
    endpoints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, endpoint, global, snapshot};
    use crate::{LocationEffect, UnavailableReason};

    fn shop() -> CosmosEndpoint {
        CosmosEndpoint::global("https://shop.documents.azure.com").unwrap()
    }

    fn hosts(endpoints: &[CosmosEndpoint]) -> Vec<&str> {
        endpoints.iter().map(|endpoint| endpoint.authority().host()).collect()
    }

    fn custom(url: &str) -> CosmosEndpoint {
        CosmosEndpoint::global(url).unwrap()
    }

    #[test]
    fn a_cold_start_tries_the_names_of_the_users_regions() {
        let west = "https://shop-westus.documents.azure.com";
        for (case, preferred, own, named, expected) in [
            ("nothing said", &[][..], None, &[][..], &["shop.documents.azure.com"][..]),
            (
                "preferred regions",
                &["West US", "East US"],
                None,
                &[],
                &[
                    "shop.documents.azure.com",
                    "shop-westus.documents.azure.com",
                    "shop-eastus.documents.azure.com",
                ],
            ),
            (
                "the application's region after them",
                &["West US"],
                Some("North Europe"),
                &[],
                &[
                    "shop.documents.azure.com",
                    "shop-westus.documents.azure.com",
                    "shop-northeurope.documents.azure.com",
                ],
            ),
            (
                "what the user has named comes before what is derived",
                &["East US"],
                None,
                &["https://private.example"],
                &["shop.documents.azure.com", "private.example", "shop-eastus.documents.azure.com"],
            ),
            (
                "no endpoint twice",
                &["West US", "westus"],
                Some("West US"),
                &[west, "https://shop.documents.azure.com:443/"],
                &["shop.documents.azure.com", "shop-westus.documents.azure.com"],
            ),
        ] {
            let preferences = RegionPreferences {
                preferred_regions: preferred.iter().map(|region| (*region).into()).collect(),
                application_region: own.map(Into::into),
            };
            let named: Vec<_> = named.iter().map(|url| custom(url)).collect();
            let found = account_endpoints(&shop(), None, &named, &preferences, at(0));
            assert_eq!(hosts(&found), expected, "{case}");
        }
    }

    #[test]
    fn known_regions_come_before_named_ones_and_what_is_out_of_service_last() {
        let named = [custom("https://private.example"), endpoint(1)];
        let preferences =
            RegionPreferences { preferred_regions: vec!["West US".into()], ..Default::default() };
        let reason = UnavailableReason::TransportError;
        let out = |endpoint| LocationEffect::MarkEndpointUnavailable { endpoint, reason, partition: None };
        let all = snapshot(2, false);
        let without_global = all.after(&out(global()), at(0)).unwrap();
        let without_both = without_global.after(&out(endpoint(0)), at(0)).unwrap();
        let (own, first, second, private) =
            ("account.example", "region0.example", "region1.example", "private.example");
        for (case, known, now, expected) in [
            ("all in service", &all, 0, [own, first, second, private]),
            ("the account's own is out", &without_global, 1, [first, second, private, own]),
            ("a region too", &without_both, 1, [second, private, own, first]),
            ("long ago", &without_both, 100, [own, first, second, private]),
        ] {
            let found = account_endpoints(&global(), Some(known), &named, &preferences, at(now));
            assert_eq!(hosts(&found), expected, "{case}");
        }
    }
}
