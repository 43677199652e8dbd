//! A container with several partitions, and how to split them while somebody reads.

use std::sync::Arc;

use cosmonaut::model::{CompositeOrder, IndexingPolicy};
use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{ContainerClient, ContainerProperties, ThroughputProperties};
use cosmonaut_emulator::engine::Container;
use cosmonaut_emulator::engine::query::{self, PageSize, QueryRequest};
use cosmonaut_emulator::engine::{FeedScope, RegionId};
use cosmonaut_wire::ResourcePath;
use serde_json::Value;

use crate::harness::Bench;

/// 30,000 RU/s make five partitions.
pub(crate) const FIVE: u32 = 30_000;
pub(crate) const ONE: u32 = 400;

/// A container that can sort by `a` and `b`, in the database `d`.
pub(crate) async fn container(bench: &Bench, id: &str, throughput: u32) -> ContainerClient {
    use CompositeOrder::{Ascending, Descending};
    let policy = IndexingPolicy::default()
        .with_included_path("/*")
        .with_composite_index([("/a", Ascending), ("/b", Ascending)])
        .with_composite_index([("/a", Ascending), ("/b", Descending)]);
    let properties = ContainerProperties::new(id, "/pk").with_indexing_policy(policy);
    make(bench, properties, throughput).await
}

pub(crate) async fn make(bench: &Bench, properties: ContainerProperties, throughput: u32) -> ContainerClient {
    bench.client.create_database_if_not_exists("d").await.unwrap();
    let database = bench.client.database("d");
    let container = database.container(&properties.id);
    let throughput = Some(ThroughputProperties::manual(throughput));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(properties).options(options).await.unwrap();
    container
}

/// The container as the emulator has it.
pub(crate) fn inside(bench: &Bench, id: &str) -> Arc<Container> {
    let path = ResourcePath::parse(&format!("/dbs/d/colls/{id}")).unwrap();
    bench.emulator.engine().container(&path).unwrap()
}

/// Splits the partition that comes `nth` in the key space, counted round.
pub(crate) fn split(bench: &Bench, id: &str, nth: usize) {
    let container = inside(bench, id);
    let ranges = container.partition_key_ranges();
    let range = &ranges[nth % ranges.len()];
    drop(container.split(&range.id).unwrap());
}

/// What the only partition of a container answers by itself.
pub(crate) fn answer_of_one(bench: &Bench, id: &str, text: &str) -> Vec<Value> {
    let container = inside(bench, id);
    let mut request = QueryRequest::new(text, FeedScope::Container);
    request.page_size = PageSize::Any;
    let world = bench.emulator.engine().world();
    let page = query::run(&container, RegionId::default(), &request, &**world)
        .unwrap_or_else(|failure| panic!("{text}: {failure}"));
    page.rows.iter().map(|row| normal(serde_json::from_slice(row).unwrap())).collect()
}

/// The value with numbers that are equal written alike.
pub(crate) fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap() + 0.0),
        Value::Array(values) => values.into_iter().map(normal).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, normal(value))).collect(),
        other => other,
    }
}
