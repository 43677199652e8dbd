//! Queries over a container of a whole engine: what its splits and changed properties mean to them.

use std::sync::Arc;

use cosmonaut_wire::model::{
    CompositeOrder, ContainerProperties, DatabaseProperties, IndexingPolicy, PartitionKeyDefinition,
    ThroughputProperties,
};
use cosmonaut_wire::{ResourcePath, ResourceType};

use super::store::{Still, texts, unordered};
use crate::Failure;
use crate::engine::query::{PageSize, QueryRequest, run};
use crate::engine::{Conditions, Container, Engine, EngineConfig, FeedScope, ItemRequest, RegionId};
use crate::storage::Journal;

fn engine_with(documents: u32) -> (Arc<Engine>, Arc<Container>) {
    let engine = Engine::new(EngineConfig::default(), Arc::new(Still), Journal::memory()).unwrap();
    engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let database = ResourcePath::database("d").unwrap();
    let throughput = Some(ThroughputProperties::Manual { throughput: 12_000 });
    let container =
        engine.create_container(&database, ContainerProperties::new("c", "/pk"), throughput).unwrap().value;
    for n in 0..documents {
        let body = format!(r#"{{"id":"{n}","pk":"{n}","a":{},"b":{n}}}"#, n % 3);
        container.create_item(RegionId(0), ItemRequest::new(None, "", body)).unwrap();
    }
    (engine, container)
}

fn page(container: &Container, request: &mut QueryRequest) -> Result<Vec<String>, Failure> {
    let page = run(container, RegionId(0), request, &Still)?;
    request.continuation = page.continuation;
    Ok(texts(&page.rows))
}

#[test]
fn a_split_between_two_pages_loses_and_repeats_nothing() {
    let (_engine, container) = engine_with(60);
    let mut request = QueryRequest::new("SELECT VALUE c.id FROM c WHERE c.a >= 1", FeedScope::Container);
    request.page_size = PageSize::Rows(7);
    let mut rows = Vec::new();
    for turn in 0.. {
        rows.extend(page(&container, &mut request).unwrap());
        if request.continuation.is_none() {
            break;
        }
        if turn < 3 {
            let first = container.layout().ranges()[turn].id.clone();
            container.split(&first).unwrap();
        }
    }
    let expected = (0..60).filter(|n| n % 3 >= 1).map(|n| format!("\"{n}\"")).collect();
    assert_eq!(unordered(rows), unordered(expected));
    assert_eq!(container.layout().ranges().len(), 5);
}

#[test]
fn an_order_is_served_once_its_index_was_added() {
    let (engine, container) = engine_with(5);
    let range = container.layout().ranges()[0].id.clone();
    let text = "SELECT VALUE c.id FROM c ORDER BY c.a, c.b";
    let ask = |container: &Container| {
        page(container, &mut QueryRequest::new(text, FeedScope::Range(range.clone())))
    };
    assert!(ask(&container).unwrap_err().message.contains("composite index"));
    let path = ResourcePath::database("d").unwrap().child(ResourceType::Container, "c").unwrap();
    let policy = IndexingPolicy::default()
        .with_composite_index([("/a", CompositeOrder::Descending), ("/b", CompositeOrder::Descending)]);
    let properties = ContainerProperties::new("c", container.properties().partition_key.clone());
    engine.replace_container(&path, properties.with_indexing_policy(policy), Conditions::default()).unwrap();
    let container = engine.container(&path).unwrap();
    assert!(ask(&container).is_ok());
}

#[test]
fn a_key_that_shares_its_place_with_another_is_read_alone() {
    let engine = Engine::new(EngineConfig::default(), Arc::new(Still), Journal::memory()).unwrap();
    engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    // The first version of the hash looks at the first hundred characters only.
    let key = PartitionKeyDefinition { version: Some(1), ..PartitionKeyDefinition::from("/pk") };
    let database = ResourcePath::database("d").unwrap();
    let container =
        engine.create_container(&database, ContainerProperties::new("c", key), None).unwrap().value;
    let long = |end: &str| "x".repeat(100) + end;
    for end in ["a", "b"] {
        let body = format!(r#"{{"id":"1","pk":"{}","end":"{end}"}}"#, long(end));
        container.create_item(RegionId(0), ItemRequest::new(None, "", body)).unwrap();
    }
    for query in [
        "SELECT VALUE c.end FROM c",
        "SELECT VALUE c.end FROM c ORDER BY c.end",
        "SELECT VALUE COUNT(1) FROM c",
    ] {
        let mut request = QueryRequest::new(query, FeedScope::Key(long("b").into()));
        let expected = if query.contains("COUNT") { "1" } else { "\"b\"" };
        assert_eq!(page(&container, &mut request).unwrap(), [expected], "{query}");
    }
}
