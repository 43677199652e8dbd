//! The account as whoever runs it controls it: regions that fail, move, come and go, links that lag, partitions that
//! split.
//!
//! Everything that the management API and the command line can do is a function here. What replication and failover
//! mean is the engine's business, what a fault does to a request that of [`faults`](crate::faults).

mod failover;
mod faults;
mod keys;
mod links;
mod membership;
mod outages;
mod partitions;
mod site;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use cosmonaut_wire::{CosmosStatus, RegionName};
use tokio_rustls::TlsAcceptor;

pub use links::{LinkStatus, NotALag};
pub use partitions::PartitionStatus;
pub(crate) use site::Listeners;
pub use site::{RegionState, RegionStatus};

use crate::engine::{Engine, Lag, RegionId, Topology, locks};
use crate::faults::Faults;
use crate::gateway::{Access, Addresses, Gateway, Global};
use crate::request_log;
use crate::server::{BindError, Listener, Port, Sockets, Visitors, Workers};
use crate::{Failure, World};
use site::Site;

/// Controls a running account. See [`Emulator::control`](crate::Emulator::control).
///
/// Regions are named as Azure compares them: `"East US"` and `"eastus"` are one. Containers are named
/// `"database/container"`, partitions by the ids that `pkranges` lists.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use cosmonaut_emulator::{Emulator, Failover, Outage};
///
/// let emulator = Emulator::builder().regions(["East US", "West US"]).start().await?;
/// let control = emulator.control();
/// control.take_down("East US", Outage::Refuse).await?;
/// control.move_writes("West US", Failover::Forced)?;
/// // … what does the application do? …
/// control.bring_back("East US").await?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Control {
    engine: Arc<Engine>,
    world: Arc<dyn World>,
    access: Arc<Access>,
    faults: Arc<Faults>,
    addresses: Arc<Addresses>,
    workers: Arc<Workers>,
    visitors: Arc<Visitors>,
    tls: Option<TlsAcceptor>,
    sockets: Option<Arc<dyn Sockets>>,
    host: String,
    /// The port that the next region would like to have; 0 if any will do.
    next_port: Mutex<u16>,
    sites: Arc<RwLock<Vec<Arc<Site>>>>,
    /// The account's own endpoint, if it has one.
    global: Option<Port<Global>>,
    log: Option<request_log::Listener>,
    /// Whether regions have a Gateway 2.0.
    framed: bool,
    /// How many requests were answered by regions that are no more.
    gone_requests: AtomicU64,
    /// The lag of links that nobody has set otherwise.
    lag: Mutex<Lag>,
    /// Held by whoever changes regions or faults, so that ports and replication follow in the same order.
    change: tokio::sync::Mutex<()>,
}

/// What the control of an account is made with.
pub(crate) struct Setting {
    pub(crate) engine: Arc<Engine>,
    pub(crate) world: Arc<dyn World>,
    pub(crate) access: Access,
    pub(crate) addresses: Addresses,
    pub(crate) workers: Arc<Workers>,
    pub(crate) visitors: Visitors,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) sockets: Option<Arc<dyn Sockets>>,
    pub(crate) host: String,
    pub(crate) next_port: u16,
    pub(crate) lag: Lag,
    pub(crate) log: Option<request_log::Listener>,
}

impl Control {
    /// Starts to answer for each region of the engine at the listener of the same place.
    pub(crate) fn start(setting: Setting, listeners: Vec<Listeners>, global: Option<Listener>) -> Self {
        let Setting { engine, world, access, addresses, workers, visitors, .. } = setting;
        let Setting { tls, sockets, host, next_port, lag, log, .. } = setting;
        let mut control = Self {
            faults: Arc::new(Faults::new(Arc::clone(&world))),
            engine,
            world,
            access: Arc::new(access),
            addresses: Arc::new(addresses),
            workers,
            visitors: Arc::new(visitors),
            tls,
            sockets,
            host,
            next_port: Mutex::new(next_port),
            sites: Arc::default(),
            global: None,
            log,
            framed: listeners.iter().any(|listeners| listeners.framed.is_some()),
            gone_requests: AtomicU64::new(0),
            lag: Mutex::new(lag),
            change: tokio::sync::Mutex::default(),
        };
        let topology = control.engine.topology();
        // All addresses first: the first client may ask as soon as the first region answers.
        for (region, listeners) in topology.regions.iter().zip(&listeners) {
            control.list(region.id, listeners);
        }
        for (region, listeners) in topology.regions.iter().zip(listeners) {
            control.serve(region.id, listeners);
            control.set_default_links(region.id);
        }
        control.global = global.map(|listener| control.serve_account(listener));
        control
    }

    /// Answers for the account, whatever its regions do.
    fn serve_account(&self, listener: Listener) -> Port<Global> {
        let nothing_strikes = Arc::new(Faults::new(Arc::clone(&self.world)));
        let region = self.engine.topology().write_region().id;
        let account = Arc::new(Gateway { is_global: true, ..self.new_gateway(region, nothing_strikes) });
        let (engine, sites) = (Arc::clone(&self.engine), Arc::clone(&self.sites));
        let writer = Box::new(move || {
            let region = engine.topology().write_region().id;
            find(&sites, region).map(|site| Arc::clone(&site.gateway))
        });
        Port::open(listener, Arc::new(Global { account, writer }), self.tls.clone())
    }

    /// Says where a region is.
    fn list(&self, region: RegionId, listeners: &Listeners) {
        self.addresses.insert(region, listeners.rest.address());
        if let Some(framed) = &listeners.framed {
            self.addresses.insert_framed(region, framed.address());
        }
    }

    /// Answers for a region.
    fn serve(&self, region: RegionId, listeners: Listeners) {
        let gateway = Arc::new(self.new_gateway(region, Arc::clone(&self.faults)));
        let site = Arc::new(Site::open(region, gateway, listeners, self.tls.clone()));
        locks::write(&self.sites).push(site);
    }

    fn new_gateway(&self, region: RegionId, faults: Arc<Faults>) -> Gateway {
        Gateway {
            engine: Arc::clone(&self.engine),
            world: Arc::clone(&self.world),
            access: Arc::clone(&self.access),
            faults,
            addresses: Arc::clone(&self.addresses),
            workers: Arc::clone(&self.workers),
            visitors: Arc::clone(&self.visitors),
            log: self.log.clone(),
            region,
            is_global: false,
            #[cfg(feature = "scripts")]
            breaches: Arc::default(),
            requests: AtomicU64::new(0),
            charged: AtomicU64::new(0),
        }
    }

    /// The account's data.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// How many requests came in, to all regions that there are and were.
    pub fn requests(&self) -> u64 {
        let sites = locks::read(&self.sites);
        let live: u64 = sites.iter().map(|site| site.gateway.requests.load(Ordering::Relaxed)).sum();
        live + self.gone_requests.load(Ordering::Relaxed)
    }

    /// How many requests that may take long are being worked on: queries, feeds, and what changes whole containers. For
    /// tests that wait for one to begin or to end.
    pub fn long_requests(&self) -> usize {
        self.workers.under_way()
    }

    /// The gateway of a region.
    pub(crate) fn gateway(&self, region: RegionId) -> Option<Arc<Gateway>> {
        self.site(region).map(|site| Arc::clone(&site.gateway))
    }

    pub(crate) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Stops answering in every region, and returns when the requests under way are answered or have taken too long.
    pub(crate) async fn shutdown(&self) {
        // Those that hang are let go.
        self.faults.remove(|_| true);
        let sites = locks::read(&self.sites).clone();
        if let Some(global) = &self.global {
            global.finish().await;
        }
        for site in &sites {
            site.finish().await;
        }
        if let Some(global) = &self.global {
            global.ended().await;
        }
        for site in &sites {
            site.ended().await;
        }
    }

    /// Stops at once.
    pub(crate) fn abandon(&self) {
        if let Some(global) = &self.global {
            global.abandon();
        }
        locks::write(&self.sites).clear();
    }

    fn site(&self, region: RegionId) -> Option<Arc<Site>> {
        find(&self.sites, region)
    }

    /// A region by name; 404 with the names that there are.
    pub(crate) fn region(&self, name: &str) -> Result<RegionId, Failure> {
        let topology = self.engine.topology();
        topology.region(&RegionName::from(name)).ok_or_else(|| unknown(name, &topology))
    }
}

fn find(sites: &RwLock<Vec<Arc<Site>>>, region: RegionId) -> Option<Arc<Site>> {
    locks::read(sites).iter().find(|site| site.region == region).cloned()
}

fn unknown(name: &str, topology: &Topology) -> Failure {
    let known: Vec<_> = topology.regions.iter().map(|region| region.name.as_str()).collect();
    Failure::not_found(format!("there is no region {name:?} (there are: {})", known.join(", ")))
}

/// A port that cannot be had is in somebody's way, not the user's mistake.
fn no_port(error: BindError) -> Failure {
    Failure::new(CosmosStatus::CONFLICT, error.to_string())
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("regions", &self.engine.topology().regions).finish_non_exhaustive()
    }
}
