//! Regions that come and go, and the links between them.
//!
//! What a container's replicas do about it is in `container::replicas`.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::RegionName;
use tokio::sync::Notify;

use super::network::Link;
use crate::Failure;
use crate::engine::catalog::Catalog;
use crate::engine::topology::{MOST_REGIONS, Region, check_name};
use crate::engine::{Engine, Layout, PartitionRange, RegionId, locks};

impl Engine {
    /// Adds a region, the last in the order of failover, which has at once all that there is.
    pub fn add_region(&self, name: RegionName) -> Result<RegionId, Failure> {
        let mut next = self.account.change();
        let mut topology = (*self.account.topology()).clone();
        let names: Vec<_> = topology.regions.iter().map(|region| region.name.clone()).collect();
        check_name(&name, &names)?;
        let id = match u8::try_from(*next) {
            Ok(id) if *next < MOST_REGIONS => RegionId(id),
            Ok(_) | Err(_) => {
                return Err(Failure::bad_request(format!(
                    "the account has had {MOST_REGIONS} regions, and region {name} would be one too many (start it anew)"
                )));
            }
        };
        *next += 1;
        // No container comes or goes meanwhile.
        let catalog = locks::read(&self.catalog);
        for container in catalog.containers() {
            container.add_region(id)?;
        }
        topology.regions.push(Region { id, name });
        self.account.set_topology(topology);
        self.account.network.wake();
        Ok(id)
    }

    /// Removes a region and all that only it has. Where several regions write, what it wrote is delivered first.
    pub fn remove_region(&self, region: RegionId) -> Result<(), Failure> {
        let _change = self.account.change();
        let mut topology = (*self.account.topology()).clone();
        topology.check(region)?;
        let catalog = locks::read(&self.catalog);
        self.check_removal(region, &catalog)?;
        topology.regions.retain(|other| other.id != region);
        self.account.set_topology(topology);
        for container in catalog.containers() {
            container.remove_region(region);
        }
        self.account.network.forget(region);
        Ok(())
    }

    fn check_removal(&self, region: RegionId, catalog: &Catalog) -> Result<(), Failure> {
        let topology = self.account.topology();
        let name = topology.called(region);
        let refuse = |why: String| Err(Failure::bad_request(format!("{name} cannot be removed: {why}")));
        if topology.regions.len() == 1 {
            return refuse("it is the account's only region".to_owned());
        }
        if !topology.multi_write {
            let writes = |range: &Arc<PartitionRange>| range.group().lineage().writer == Some(region);
            let partition = catalog.containers().find_map(|container| {
                container.layout().ranges().iter().find(|range| writes(range)).cloned()
            });
            return match partition {
                _ if topology.write_region().id == region => {
                    refuse("it is the write region (move the writes first)".to_owned())
                }
                Some(range) => {
                    refuse(format!("it takes the writes of partition {} (move them first)", range.id))
                }
                None => Ok(()),
            };
        }
        let links = self.account.network.links();
        let others = topology.regions.iter().filter(|other| other.id != region);
        if links.is_isolated(region) {
            return refuse("it is cut off, and what it wrote would be lost (bring it back first)".to_owned());
        }
        for other in others {
            if links.link(region, other.id).paused && catalog.backlog(region, other.id) > 0 {
                return refuse(format!(
                    "the link to {} is paused, and what it wrote would be lost (resume it first)",
                    other.name
                ));
            }
        }
        Ok(())
    }

    /// How commits travel from one region to another.
    pub fn link(&self, from: RegionId, to: RegionId) -> Link {
        self.account.network.links().link(from, to)
    }

    /// Changes how commits travel. A new lag is that of new commits; those on the way stay due when they were.
    pub fn set_link(&self, from: RegionId, to: RegionId, link: Link) {
        {
            let _change = self.account.change();
            self.account.network.set_link(from, to, link);
        }
        self.pump();
    }

    /// Cuts a region off, or lets it be heard again: nothing is delivered to or from it, and no quorum counts it.
    pub fn isolate(&self, region: RegionId, isolated: bool) {
        {
            let _change = self.account.change();
            self.account.network.isolate(region, isolated);
        }
        self.pump();
    }

    /// How many commits are on the way from one region to another.
    pub fn backlog(&self, from: RegionId, to: RegionId) -> u64 {
        locks::read(&self.catalog).backlog(from, to)
    }

    /// Applies every commit that is due in another region; says how long it is until the next one is. To be called
    /// again then, or when [`Engine::queued`] says so.
    pub fn pump(&self) -> Option<Duration> {
        let next = self.containers().iter().filter_map(|container| container.pump()).min()?;
        Some(Duration::from_micros(next.micros_since(self.now())))
    }

    /// Told when [`Engine::pump`] may have something to do earlier than it said.
    pub fn queued(&self) -> Arc<Notify> {
        Arc::clone(&self.account.network.queued)
    }
}

impl Catalog {
    fn backlog(&self, from: RegionId, to: RegionId) -> u64 {
        let queued = |range: &Arc<PartitionRange>| range.group().queues().len_between(from, to);
        let of = |layout: Arc<Layout>| layout.ranges().iter().map(queued).sum::<u64>();
        self.containers().map(|container| of(container.layout())).sum()
    }
}
