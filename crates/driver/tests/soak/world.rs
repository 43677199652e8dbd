//! What the driver talks to: three regions of the emulator, a relay in front of each, a proxy, an identity service
//! and a name service.
//!
//! The emulator listens at 127.0.0.2 and the relays at the same ports of 127.0.0.1. An emulator names its regions by
//! the host that a client came by, so that a client of one relay is sent to the others.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use cosmonaut_emulator::{Control, Emulator};

use crate::dns::{Dns, NAME};
use crate::identity::Identity;
use crate::proxy::Proxy;
use crate::relay::{Open, Relay};

/// By priority: the first takes the writes.
pub(crate) const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];
/// The region that the drivers prefer.
pub(crate) const PREFERRED: usize = 1;
/// The region whose address the drivers know.
const KNOWN: usize = 2;

/// The container, as the control surface names it.
pub(crate) const LINK: &str = "d/c";

const BEHIND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const IN_FRONT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) struct World {
    emulator: Emulator,
    relays: [Relay; REGIONS.len()],
    addresses: [SocketAddr; REGIONS.len()],
    pub(crate) proxy: Proxy,
    pub(crate) identity: Arc<Identity>,
    pub(crate) dns: Arc<Dns>,
}

impl World {
    pub(crate) async fn start() -> Self {
        /// Somebody else may have the port that a relay needs.
        const TRIES: usize = 20;
        for _ in 0..TRIES {
            // Tokens are not checked by the emulator.
            let builder = Emulator::builder().regions(REGIONS).host(BEHIND.to_string()).auth(false);
            let emulator = builder.start().await.unwrap();
            let ports = REGIONS.map(|region| {
                let url = emulator.region_url(region).unwrap();
                url.trim_end_matches('/').rsplit(':').next().unwrap().parse::<u16>().unwrap()
            });
            let mut relays = Vec::new();
            for port in ports {
                let there = SocketAddr::new(BEHIND, port);
                relays.extend(Relay::start(SocketAddr::new(IN_FRONT, port), there).await);
            }
            if let Ok(relays) = relays.try_into() {
                let addresses = ports.map(|port| SocketAddr::new(IN_FRONT, port));
                let (proxy, identity) = (Proxy::start().await.unwrap(), Identity::start());
                return Self { emulator, relays, addresses, proxy, identity, dns: Dns::start() };
            }
        }
        panic!("no three ports are free at both {IN_FRONT} and {BEHIND}")
    }

    pub(crate) fn control(&self) -> &Control {
        self.emulator.control()
    }

    pub(crate) fn relay(&self, region: usize) -> &Relay {
        &self.relays[region]
    }

    pub(crate) fn address(&self, region: usize) -> SocketAddr {
        self.addresses[region]
    }

    /// The address of the account.
    pub(crate) fn url(&self) -> String {
        format!("http://{NAME}:{}/", self.addresses[KNOWN].port())
    }

    /// The connections to each region.
    pub(crate) fn open_by_region(&self) -> [Open; REGIONS.len()] {
        std::array::from_fn(|region| self.relays[region].open())
    }

    /// The connections to all regions.
    pub(crate) fn open(&self) -> Open {
        self.open_by_region().into_iter().fold(Open::default(), |sum, open| Open {
            all: sum.all + open.all,
            silent: sum.silent + open.silent,
        })
    }

    pub(crate) async fn shut_down(self) {
        self.emulator.shutdown().await;
    }
}
