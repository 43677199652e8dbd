//! The regions' Gateways 2.0, and which of them have answered.

use std::sync::Arc;

use cosmonaut_wire::model::{AccountLocation, AccountProperties};

use crate::{Access, ClearTextRule, CosmosEndpoint};

/// What is known of a Gateway 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has not answered a probe, or has refused what it was sent.
    Unproven,
    /// It has answered.
    Proven,
    /// It has answered, and then failed.
    Lost,
}

/// The Gateways 2.0 of an account.
#[derive(Clone, Debug)]
pub(crate) struct FramedGateways {
    /// The account's name, which every frame says.
    account: Arc<str>,
    /// For each region that has one for reads: its endpoint, and the place of its gateway.
    reads: Vec<(CosmosEndpoint, usize)>,
    writes: Vec<(CosmosEndpoint, usize)>,
    gateways: Vec<(CosmosEndpoint, Standing)>,
}

impl FramedGateways {
    /// What an account says of them; `None` if it names none, or has no name that a frame could say.
    ///
    /// A region is paired with its gateway by its name, for reads and for writes apart. Of two for one region the first
    /// counts. An address that is none, or that would be reached in clear text against the rule, is left out.
    pub(crate) fn of(
        properties: &AccountProperties,
        own: &CosmosEndpoint,
        clear_text: ClearTextRule,
    ) -> Option<Self> {
        let mut found = Self {
            account: account_name(properties, own)?,
            reads: Vec::new(),
            writes: Vec::new(),
            gateways: Vec::new(),
        };
        let none = Vec::new();
        let readable = properties.thin_client_readable_locations.as_ref().unwrap_or(&none);
        let writable = properties.thin_client_writable_locations.as_ref().unwrap_or(&none);
        found.reads = found.paired(&properties.readable_locations, readable, clear_text);
        found.writes = found.paired(&properties.writable_locations, writable, clear_text);
        (!found.gateways.is_empty()).then_some(found)
    }

    fn paired(
        &mut self,
        regions: &[AccountLocation],
        advertised: &[AccountLocation],
        clear_text: ClearTextRule,
    ) -> Vec<(CosmosEndpoint, usize)> {
        let mut pairs = Vec::with_capacity(advertised.len());
        for region in regions {
            let gateway = advertised.iter().find(|gateway| gateway.name == region.name);
            let gateway = gateway.and_then(|gateway| CosmosEndpoint::of_location(gateway).ok());
            let gateway = gateway.filter(|gateway| gateway.check_clear_text(clear_text).is_ok());
            if let (Some(gateway), Ok(endpoint)) = (gateway, CosmosEndpoint::of_location(region)) {
                pairs.push((endpoint, self.place_of(gateway)));
            }
        }
        pairs
    }

    fn place_of(&mut self, gateway: CosmosEndpoint) -> usize {
        let known = self.gateways.iter().position(|(known, _)| *known == gateway);
        known.unwrap_or_else(|| {
            self.gateways.push((gateway, Standing::Unproven));
            self.gateways.len() - 1
        })
    }

    /// The account's name.
    pub(crate) fn account(&self) -> &Arc<str> {
        &self.account
    }

    /// The gateway of a region that takes such requests now.
    pub(crate) fn gateway_of(&self, endpoint: &CosmosEndpoint, access: Access) -> Option<&CosmosEndpoint> {
        let pairs = match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        };
        let (_, place) = pairs.iter().find(|(known, _)| known == endpoint)?;
        let (gateway, standing) = &self.gateways[*place];
        (*standing == Standing::Proven).then_some(gateway)
    }

    /// The gateways of which it is to be found out whether they answer.
    pub(crate) fn to_probe(&self, lost_alone: bool) -> impl Iterator<Item = &CosmosEndpoint> {
        let is_asked = move |standing: Standing| match standing {
            Standing::Unproven => !lost_alone,
            Standing::Lost => true,
            Standing::Proven => false,
        };
        self.gateways.iter().filter(move |(_, standing)| is_asked(*standing)).map(|(gateway, _)| gateway)
    }

    /// The same with another standing of one. A gateway that never answered cannot be lost.
    pub(crate) fn with(&self, gateway: &CosmosEndpoint, standing: Standing) -> Self {
        let mut next = self.clone();
        for (known, current) in &mut next.gateways {
            let is_change = standing != Standing::Lost || *current == Standing::Proven;
            if known == gateway && is_change {
                *current = standing;
            }
        }
        next
    }

    /// These gateways with what was known of those among them before.
    pub(crate) fn knowing(mut self, before: &Self) -> Self {
        for (gateway, standing) in &mut self.gateways {
            if let Some((_, known)) = before.gateways.iter().find(|(known, _)| known == gateway) {
                *standing = *known;
            }
        }
        self
    }
}

/// The account's name, or what its host begins with.
fn account_name(properties: &AccountProperties, own: &CosmosEndpoint) -> Option<Arc<str>> {
    if !properties.id.is_empty() {
        return Some(properties.id.as_str().into());
    }
    let (label, domain) = own.authority().host().split_once('.')?;
    (domain.starts_with("documents.") && !label.is_empty()).then(|| label.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{endpoint, global, properties, region};

    fn framed_url(index: usize) -> String {
        format!("https://{}.example:10250", region(index))
    }

    fn gateway(index: usize) -> CosmosEndpoint {
        CosmosEndpoint::regional(region(index).as_str(), &framed_url(index)).unwrap()
    }

    fn account(readable: &[(usize, String)], writable: &[(usize, String)]) -> AccountProperties {
        let locations = |list: &[(usize, String)]| {
            Some(list.iter().map(|(index, url)| AccountLocation::new(region(*index), url.as_str())).collect())
        };
        let mut account = properties(2, true);
        account.thin_client_readable_locations = locations(readable);
        account.thin_client_writable_locations = locations(writable);
        account
    }

    fn found(account: &AccountProperties) -> Option<FramedGateways> {
        FramedGateways::of(account, &global(), ClearTextRule::default())
    }

    #[test]
    fn a_region_has_its_gateway_for_reads_and_for_writes_apart_once_that_has_answered() {
        let all = [(0, framed_url(0)), (1, framed_url(1))];
        let unproven = found(&account(&all, &all[1..])).unwrap();
        assert_eq!(unproven.gateway_of(&endpoint(0), Access::Read), None);
        let proven = unproven.with(&gateway(0), Standing::Proven).with(&gateway(1), Standing::Proven);
        for (index, access, expected) in [
            (0, Access::Read, Some(gateway(0))),
            (1, Access::Read, Some(gateway(1))),
            (0, Access::Write, None),
            (1, Access::Write, Some(gateway(1))),
        ] {
            assert_eq!(proven.gateway_of(&endpoint(index), access).cloned(), expected, "{index} {access:?}");
        }
        assert_eq!(proven.gateway_of(&global(), Access::Read), None);
    }

    #[test]
    fn what_cannot_be_used_is_left_out() {
        for (url, is_used) in [
            (framed_url(0), true),
            ("http://region0.example:10250".to_owned(), false),
            ("http://127.0.0.1:10250".to_owned(), true),
            ("nothing".to_owned(), false),
            ("https://region0.example/path".to_owned(), false),
        ] {
            let account = account(&[(0, url.clone())], &[]);
            assert_eq!(found(&account).is_some(), is_used, "{url}");
        }
        assert!(found(&properties(2, true)).is_none());
        let first_counts = account(&[(0, framed_url(0)), (0, framed_url(7))], &[]);
        let known = found(&first_counts).unwrap();
        assert_eq!(known.to_probe(false).collect::<Vec<_>>(), [&gateway(0)]);
    }

    #[test]
    fn an_account_without_a_name_is_named_by_its_host() {
        let mut account = account(&[(0, framed_url(0))], &[]);
        account.id.clear();
        for (own, expected) in [
            ("https://shop.documents.azure.com", Some("shop")),
            ("https://shop.example.com", None),
            ("https://localhost:8081", None),
        ] {
            let own = CosmosEndpoint::global(own).unwrap();
            let found = FramedGateways::of(&account, &own, ClearTextRule::default());
            assert_eq!(found.as_ref().map(|found| &**found.account()), expected, "{own}");
        }
    }

    #[test]
    fn gateways_are_probed_by_their_standing_and_keep_it_when_the_account_is_read() {
        let all = [(0, framed_url(0)), (1, framed_url(1))];
        let account = account(&all, &all);
        let before = found(&account).unwrap();
        // What never answered cannot be lost.
        let before = before.with(&gateway(0), Standing::Lost);
        assert_eq!(before.to_probe(true).count(), 0);
        let before = before.with(&gateway(0), Standing::Proven).with(&gateway(0), Standing::Lost);
        let after = found(&account).unwrap().knowing(&before);
        assert_eq!(after.to_probe(true).collect::<Vec<_>>(), [&gateway(0)]);
        assert_eq!(after.to_probe(false).count(), 2);
        let refused = after.with(&gateway(0), Standing::Unproven);
        assert_eq!(refused.to_probe(true).count(), 0);
    }
}
