//! Carries out a plan: breaks what it says, mends it in time, and knows when nothing could be reached.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cosmonaut_emulator::{Delay, Effect, Failover, Outage};
use cosmonaut_wire::CosmosStatus;

use crate::dns::Names;
use crate::identity::Service;
use crate::plan::{Fault, Planned};
use crate::proxy::Conduct;
use crate::world::{LINK, REGIONS, World};

const SLOW: Delay = Delay::Spread { p50: Duration::from_millis(300), p99: Duration::from_secs(3) };

/// In this time a driver finds a way to a region that can be reached, after a connection that hung.
const ENOUGH: Duration = Duration::from_secs(10);

/// The times in which no region could be reached through the proxy.
#[derive(Default)]
pub(crate) struct Barred(Mutex<Vec<(Instant, Option<Instant>)>>);

impl Barred {
    fn begin(&self, now: Instant) {
        self.lock().push((now, None));
    }

    fn end(&self, now: Instant) {
        for (_, to) in self.lock().iter_mut().filter(|(_, to)| to.is_none()) {
            *to = Some(now);
        }
    }

    /// Whether an operation that failed had hardly any time in which a region could be reached.
    pub(crate) fn excuses(&self, began: Instant, ended: Instant) -> bool {
        let barred = self.during(began, ended);
        !barred.is_zero() && (ended - began).saturating_sub(barred) < ENOUGH
    }

    /// For how much of this time no region could be reached.
    pub(crate) fn during(&self, began: Instant, ended: Instant) -> Duration {
        let barred = |(from, to): &(Instant, Option<Instant>)| {
            let to = to.unwrap_or(ended).min(ended);
            to.saturating_duration_since((*from).max(began))
        };
        self.lock().iter().map(barred).sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, Option<Instant>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the storm to its end; all is mended then.
pub(crate) async fn rage(world: &World, plan: &[Planned], barred: &Barred) {
    let start = Instant::now();
    let mut events: Vec<(Duration, bool, Fault)> = Vec::new();
    for planned in plan {
        events.push((planned.from, true, planned.fault));
        events.push((planned.to, false, planned.fault));
    }
    events.sort_by_key(|(at, ..)| *at);
    for (at, begins, fault) in events {
        tokio::time::sleep(at.saturating_sub(start.elapsed())).await;
        println!("{:>7.1} s  {} {fault:?}", start.elapsed().as_secs_f64(), if begins { "▼" } else { "▲" });
        if begins {
            begin(world, fault, barred).await;
        } else {
            end(world, fault, barred).await;
        }
    }
}

async fn begin(world: &World, fault: Fault, barred: &Barred) {
    let control = world.control();
    if fault.bars_the_proxy() {
        barred.begin(Instant::now());
    }
    match fault {
        Fault::RegionRefuses(region) => {
            control.take_down(REGIONS[region], Outage::Refuse).await.unwrap();
        }
        Fault::RegionHangs(region) => {
            control.take_down(REGIONS[region], Outage::Hang).await.unwrap();
        }
        Fault::RegionUnavailable(region) => {
            control.take_down(REGIONS[region], Outage::Unavailable).await.unwrap();
        }
        Fault::RegionSlow(region) => {
            control.slow_down(REGIONS[region], SLOW).await.unwrap();
        }
        Fault::PartitionUnavailable(region) => {
            let partition = control.partitions(LINK).unwrap()[region].id.as_str().to_owned();
            let unavailable = Effect::status(CosmosStatus::SERVICE_UNAVAILABLE);
            control.fail_partition(LINK, &partition, REGIONS[region], unavailable).await.unwrap();
        }
        Fault::ConnectionsCut(region) => world.relay(region).cut(),
        Fault::ConnectionsSilent(region) => world.relay(region).silence(),
        Fault::ProxyRefuses(region) => {
            world.proxy.set(Conduct::Refuses(region.map(|region| world.address(region))));
        }
        Fault::ProxyHangs(region) => {
            world.proxy.set(Conduct::Hangs(region.map(|region| world.address(region))));
        }
        Fault::IdentityHangs => world.identity.set(Service::Hangs),
        Fault::IdentityFails => world.identity.set(Service::Fails),
        Fault::NamesHang => without_names(world, Names::Hang),
        Fault::NamesFail => without_names(world, Names::Fail),
        // A region that cannot catch up, being down, does not become the write region.
        Fault::Failover(region) => drop(control.move_writes(REGIONS[region], Failover::Graceful)),
    }
}

/// Names are looked up for new connections alone, so the name service is missed only where those are needed.
fn without_names(world: &World, names: Names) {
    world.dns.set(names);
    (0..REGIONS.len()).for_each(|region| world.relay(region).cut());
}

async fn end(world: &World, fault: Fault, barred: &Barred) {
    let control = world.control();
    match fault {
        Fault::RegionRefuses(region)
        | Fault::RegionHangs(region)
        | Fault::RegionUnavailable(region)
        | Fault::RegionSlow(region) => control.bring_back(REGIONS[region]).await.unwrap(),
        Fault::PartitionUnavailable(region) => {
            for active in control.faults() {
                let is_it = active.fault.partition.is_some()
                    && active.fault.region.as_ref().is_some_and(|name| name.as_str() == REGIONS[region]);
                if is_it {
                    control.remove_fault(active.id).await.unwrap();
                }
            }
        }
        Fault::ProxyRefuses(_) | Fault::ProxyHangs(_) => world.proxy.set(Conduct::Willing),
        Fault::IdentityHangs | Fault::IdentityFails => world.identity.set(Service::Answers),
        Fault::NamesHang | Fault::NamesFail => world.dns.set(Names::Answer),
        Fault::ConnectionsCut(_) | Fault::ConnectionsSilent(_) | Fault::Failover(_) => {}
    }
    if fault.bars_the_proxy() {
        barred.end(Instant::now());
    }
}
