//! The engine as its callers see it, a file per behaviour, under a clock that only moves when told to.

mod batches;
mod catalog;
mod damage;
mod feeds;
mod items;
mod model;
mod paced_feeds;
mod patches;
mod regions;
mod splits;
mod storage;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties, ThroughputProperties};
use cosmonaut_wire::{PartitionKey, ResourcePath};
use serde_json::Value;

use super::{
    AccountConfig, BatchRequest, Container, Engine, EngineConfig, FeedRequest, ItemReply, ItemRequest,
    RegionId,
};
use crate::storage::Journal;
use crate::{Failure, Pace, Timestamp, World};

const HERE: RegionId = RegionId(0);

/// A world whose clock stands still, and whose chance is a counter.
pub(super) struct StillWorld {
    now: AtomicU64,
    chance: AtomicU64,
}

impl StillWorld {
    fn new() -> Arc<Self> {
        Arc::new(Self { now: AtomicU64::new(1_700_000_000_000_000), chance: AtomicU64::new(1) })
    }

    fn pass_millis(&self, millis: u64) {
        self.now.fetch_add(millis * 1_000, Ordering::Relaxed);
    }

    fn pass_seconds(&self, seconds: u64) {
        self.now.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }
}

impl World for StillWorld {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.chance.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}

/// An engine with a database `d`.
fn engine_with(config: EngineConfig, journal: Journal) -> (Arc<StillWorld>, Arc<Engine>) {
    let world = StillWorld::new();
    let engine = Engine::new(config, Arc::<StillWorld>::clone(&world), journal).unwrap();
    engine.create_database(DatabaseProperties::new("d"), None).unwrap().commit.wait().unwrap();
    (world, engine)
}

fn engine() -> (Arc<StillWorld>, Arc<Engine>) {
    engine_with(EngineConfig::default(), Journal::memory())
}

fn path(text: &str) -> ResourcePath {
    ResourcePath::parse(text).unwrap()
}

fn add_container(engine: &Engine, properties: ContainerProperties, throughput: u32) -> Arc<Container> {
    let throughput = Some(ThroughputProperties::manual(throughput));
    let made = engine.create_container(&path("/dbs/d"), properties, throughput).unwrap();
    made.commit.wait().unwrap();
    made.value
}

/// A container `c` keyed by `/pk`, of as many partitions as 400 RU/s have: one.
fn container_of(properties: ContainerProperties) -> (Arc<StillWorld>, Arc<Container>) {
    let (world, engine) = engine();
    (world, add_container(&engine, properties, 400))
}

fn container() -> (Arc<StillWorld>, Arc<Container>) {
    container_of(ContainerProperties::new("c", "/pk"))
}

fn at<'a>(key: &str, id: &'a str) -> ItemRequest<'a> {
    ItemRequest::new(Some(PartitionKey::from(key)), id, "")
}

fn with<'a>(key: &str, id: &'a str, body: &Value) -> ItemRequest<'a> {
    ItemRequest::new(Some(PartitionKey::from(key)), id, body.to_string())
}

fn status(reply: &Result<ItemReply, Failure>) -> u16 {
    reply.as_ref().map_or_else(|failure| failure.status, |reply| reply.status).code().as_u16()
}

fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}
