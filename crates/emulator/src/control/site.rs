//! A region as it is reached: its gateway, its port, and how it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cosmonaut_wire::RegionName;
use tokio_rustls::TlsAcceptor;

use super::Control;
use crate::engine::{Container, PartitionRange, Region, RegionId, Replica};
use crate::faults::{Active, Effect, Operations, Outage};
use crate::gateway::{FramedGateway, Gateway};
use crate::server::{BindError, Listener, Port};

/// Where a region is to listen.
pub(crate) struct Listeners {
    pub(crate) rest: Listener,
    /// For Gateway 2.0, if there is to be one.
    pub(crate) framed: Option<Listener>,
}

/// One region's ways in.
pub(super) struct Site {
    pub(super) region: RegionId,
    pub(super) gateway: Arc<Gateway>,
    port: Port<Gateway>,
    /// Gateway 2.0, if there is one.
    framed: Option<Port<FramedGateway>>,
    /// Whether replication was told that the region is down.
    pub(super) isolated: AtomicBool,
}

impl Site {
    pub(super) fn open(
        region: RegionId,
        gateway: Arc<Gateway>,
        Listeners { rest, framed }: Listeners,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let port = Port::open(rest, Arc::clone(&gateway), tls.clone());
        let framed =
            framed.map(|framed| Port::open(framed, Arc::new(FramedGateway::new(Arc::clone(&gateway))), tls));
        Self { region, gateway, port, framed, isolated: AtomicBool::new(false) }
    }

    /// Cuts every connection off and refuses new ones. Nothing changes if it is shut.
    pub(super) async fn shut(&self) {
        self.port.shut().await;
        if let Some(framed) = &self.framed {
            framed.shut().await;
        }
    }

    /// Answers again. Nothing changes if it is open.
    pub(super) async fn reopen(&self) -> Result<(), BindError> {
        let reopened = self.port.reopen().await;
        match &self.framed {
            Some(framed) => reopened.and(framed.reopen().await),
            None => reopened,
        }
    }

    /// Accepts no more.
    pub(super) async fn finish(&self) {
        self.port.finish().await;
        if let Some(framed) = &self.framed {
            framed.finish().await;
        }
    }

    /// Waits for the requests under way, and leaves the ports.
    pub(super) async fn ended(&self) {
        self.port.ended().await;
        if let Some(framed) = &self.framed {
            framed.ended().await;
        }
    }

    /// Cuts every connection off and leaves the ports.
    pub(super) async fn leave(&self) {
        self.port.leave().await;
        if let Some(framed) = &self.framed {
            framed.leave().await;
        }
    }
}

/// A region and how it does.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionStatus {
    /// Its name.
    pub name: RegionName,
    /// Its id, as session tokens of multi-write accounts have it.
    pub id: RegionId,
    /// Where clients on this machine reach it.
    pub url: String,
    /// Whether the account sends writes there. Partitions that were moved on their own may take theirs elsewhere.
    pub takes_writes: bool,
    /// Whether a fault refuses writes there with 403/3.
    pub writes_forbidden: bool,
    /// Whether it answers.
    pub state: RegionState,
    /// How many requests came in.
    pub requests: u64,
    /// How many commits other regions have that it has not, over all partitions.
    pub behind: u64,
}

/// Whether a region answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionState {
    /// It does.
    Up,
    /// It does, late.
    Slow,
    /// It does not.
    Down(Outage),
}

impl Control {
    /// The regions, in the order of failover priority: the first takes the writes of a single-write account.
    pub fn regions(&self) -> Vec<RegionStatus> {
        let topology = self.engine.topology();
        let takes_writes = |region: &Region| topology.takes_writes(region.id);
        let status = |region: &Region| self.status(region, takes_writes(region));
        topology.regions.iter().filter_map(status).collect()
    }

    /// `None` for a region that is about to come or go.
    fn status(&self, region: &Region, takes_writes: bool) -> Option<RegionStatus> {
        let site = self.site(region.id)?;
        Some(RegionStatus {
            name: region.name.clone(),
            id: region.id,
            url: self.addresses.url(region.id)?,
            takes_writes,
            writes_forbidden: self.faults.all().iter().any(|active| forbids_writes(active, region.id)),
            state: self.state(region.id),
            requests: site.gateway.requests.load(Ordering::Relaxed),
            behind: self.engine.containers().iter().map(|container| behind(container, region.id)).sum(),
        })
    }

    fn state(&self, region: RegionId) -> RegionState {
        if let Some(outage) = self.faults.outage_of(region) {
            return RegionState::Down(outage);
        }
        let is_slow = self.faults.all().iter().any(|active| slows_down(active, region));
        if is_slow { RegionState::Slow } else { RegionState::Up }
    }
}

/// Whether a fault refuses all writes of a region as one that does not take them.
pub(super) fn forbids_writes(active: &Active, region: RegionId) -> bool {
    let fault = &active.fault;
    active.is_in(region)
        && fault.operations == Operations::Write
        && fault.container.is_none()
        && matches!(fault.effect, Effect::Status { status, .. } if status.is_write_forbidden())
}

/// Whether a fault makes all of a region slow.
pub(super) fn slows_down(active: &Active, region: RegionId) -> bool {
    active.is_in(region) && active.fault.is_total() && matches!(active.fault.effect, Effect::Slow(_))
}

/// How many commits of a container a region lacks.
fn behind(container: &Container, region: RegionId) -> u64 {
    let layout = container.layout();
    let lacks = |range: &Arc<PartitionRange>| {
        let lsn = |replica: &Replica| replica.read(|state| state.lsn());
        let furthest = range.replicas().iter().map(|replica| lsn(replica)).max().unwrap_or_default();
        furthest.saturating_sub(lsn(range.replica(region))).max(0) as u64
    };
    layout.ranges().iter().map(lacks).sum()
}
