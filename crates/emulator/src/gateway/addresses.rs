//! Where each region of the account listens, for the account's list of regions.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::RwLock;

use super::Scheme;
use crate::engine::{RegionId, locks};

/// The ports of the account's regions.
pub(crate) struct Addresses {
    pub(crate) scheme: Scheme,
    by_region: RwLock<BTreeMap<RegionId, SocketAddr>>,
    /// Where Gateway 2.0 is, if it is anywhere.
    framed: RwLock<BTreeMap<RegionId, SocketAddr>>,
}

impl Addresses {
    pub(crate) fn new(scheme: Scheme) -> Self {
        Self { scheme, by_region: RwLock::default(), framed: RwLock::default() }
    }

    pub(crate) fn insert(&self, region: RegionId, address: SocketAddr) {
        locks::write(&self.by_region).insert(region, reachable(address));
    }

    pub(crate) fn remove(&self, region: RegionId) {
        locks::write(&self.by_region).remove(&region);
        locks::write(&self.framed).remove(&region);
    }

    pub(crate) fn insert_framed(&self, region: RegionId, address: SocketAddr) {
        locks::write(&self.framed).insert(region, reachable(address));
    }

    /// Where clients on this machine find a region's Gateway 2.0.
    pub(crate) fn framed_of(&self, region: RegionId) -> Option<SocketAddr> {
        locks::read(&self.framed).get(&region).copied()
    }

    /// The same as an address to connect to.
    pub(crate) fn framed_url(&self, region: RegionId) -> Option<String> {
        self.framed_of(region).map(|address| format!("{}://{address}/", self.scheme))
    }

    /// Where clients on this machine find a region; `None` while it is being added or removed.
    pub(crate) fn of(&self, region: RegionId) -> Option<SocketAddr> {
        locks::read(&self.by_region).get(&region).copied()
    }

    /// The same as an address to connect to.
    pub(crate) fn url(&self, region: RegionId) -> Option<String> {
        self.of(region).map(|address| format!("{}://{address}/", self.scheme))
    }
}

/// The address for clients on this machine: one that means "all addresses" is none that a client can go to.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_sent_to_an_address_that_they_can_reach() {
        for (bound, told) in
            [("127.0.0.1:1", "127.0.0.1:1"), ("0.0.0.0:2", "127.0.0.1:2"), ("[::]:3", "[::1]:3")]
        {
            assert_eq!(reachable(bound.parse().unwrap()).to_string(), told);
        }
    }
}
