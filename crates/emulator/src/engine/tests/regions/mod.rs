//! Accounts of several regions: who writes, what arrives when, what is lost, and what sessions are told.

mod backlog;
mod conflicts;
mod consistency;
mod failover_model;
mod feed_model;
mod moves;
mod multi_write;
mod multi_write_model;
mod restart;
mod roles;
mod stress;
mod unique;

use std::time::Duration;

use cosmonaut_wire::model::ContainerProperties;
use cosmonaut_wire::{CosmosStatus, PartitionKeyRangeId, RegionName, SessionToken};
use serde_json::json;

use super::*;
use crate::engine::{Lag, Link, PartitionRange};

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);
const C: RegionId = RegionId(2);

const PAUSED: Link = Link { lag: Lag::None, paused: true };
const OPEN: Link = Link { lag: Lag::None, paused: false };

/// An account of three regions with a container of one partition.
struct Account {
    world: Arc<StillWorld>,
    engine: Arc<Engine>,
    container: Arc<Container>,
}

fn three() -> AccountConfig {
    let regions = ["East US", "West US", "North Europe"].map(RegionName::from).to_vec();
    AccountConfig { regions, partition_failover: true, ..AccountConfig::default() }
}

fn everywhere() -> AccountConfig {
    AccountConfig { multi_write: true, ..three() }
}

fn started(account: AccountConfig) -> Account {
    started_with(account, Journal::memory(), ContainerProperties::new("c", "/pk"))
}

fn started_with(account: AccountConfig, journal: Journal, properties: ContainerProperties) -> Account {
    let (world, engine) = engine_with(EngineConfig { account, ..EngineConfig::default() }, journal);
    let container = add_container(&engine, properties, 400);
    Account { world, engine, container }
}

/// A partition key of a partition.
fn key_in(container: &Container, range: &PartitionKeyRangeId) -> String {
    let layout = container.layout();
    let keys = &layout.range(range).unwrap().range;
    let is_there = |key: &String| {
        keys.contains(&PartitionKey::from(key.as_str()).effective(container.definition()).unwrap())
    };
    (0..).map(|n| format!("k{n}")).find(is_there).unwrap()
}

impl Account {
    fn put(&self, region: RegionId, id: &str, n: i64) -> Result<ItemReply, Failure> {
        self.container.upsert_item(region, with("k", id, &json!({"id": id, "pk": "k", "n": n})))
    }

    fn read(&self, region: RegionId, id: &str, seen: Option<&SessionToken>) -> Result<i64, CosmosStatus> {
        let request = ItemRequest { session: seen, ..at("k", id) };
        let reply = self.container.read_item(region, request).map_err(|failure| failure.status)?;
        Ok(json_of(&reply.body)["n"].as_i64().unwrap())
    }

    fn lag(&self, from: RegionId, to: RegionId, millis: u64) {
        let lag = Lag::Fixed(Duration::from_millis(millis));
        self.engine.set_link(from, to, Link { lag, paused: false });
    }

    /// Lets nothing through between regions until [`Account::open`].
    fn pause(&self) {
        self.set_links(PAUSED);
    }

    fn open(&self) {
        self.set_links(OPEN);
    }

    fn set_links(&self, link: Link) {
        let topology = self.engine.topology();
        for from in &topology.regions {
            for to in topology.regions.iter().filter(|to| to.id != from.id) {
                self.engine.set_link(from.id, to.id, link);
            }
        }
    }

    /// Lets everything arrive.
    fn heal(&self) {
        let engine = &self.engine;
        engine.topology().regions.iter().for_each(|region| engine.isolate(region.id, false));
        self.open();
        self.world.pass_seconds(1);
        assert_eq!(engine.pump(), None);
    }

    /// What every region holds, which must be the same.
    fn agreed(&self) -> Vec<(u64, String, String)> {
        let layout = self.container.layout();
        let held = |region: RegionId| {
            let mut held = Vec::new();
            for range in layout.ranges() {
                range.replica(region).read(|state| {
                    held.extend(state.documents().map(|document| {
                        let named = state.find(&document.key, document.id()).map(|found| found.number);
                        assert_eq!(named, Some(document.number), "{} is found by its name", document.id());
                        let body = String::from_utf8(document.text()).unwrap();
                        (document.number, document.etag.to_string(), body)
                    }));
                });
            }
            held.sort();
            held
        };
        let regions: Vec<_> = self.engine.topology().regions.iter().map(|region| region.id).collect();
        let first = held(regions[0]);
        for region in &regions[1..] {
            assert_eq!(held(*region), first, "{region:?} differs");
        }
        first
    }

    fn lsns(&self) -> [i64; 3] {
        let layout = self.container.layout();
        [A, B, C].map(|region| layout.ranges()[0].replica(region).read(|state| state.lsn()))
    }
}
