//! Databases, containers and offers.

use cosmonaut_wire::model::{ContainerProperties, IndexingPolicy, PartitionKeyDefinition, UniqueKeyPolicy};
use cosmonaut_wire::{CosmosStatus, PartitionKey, ResourceType};
use serde_json::json;

use super::*;
use crate::engine::{Conditions, Migration, minimum_throughput};

#[test]
fn databases_are_found_by_name_and_by_id_until_they_are_deleted() {
    let (_, engine) = engine();
    let database = engine.database(&path("/dbs/d")).unwrap();
    let rid = database.rid.clone().unwrap();
    assert_eq!(engine.database(&path(&format!("/dbs/{rid}"))).unwrap(), database);
    assert_eq!(database.self_link, Some(format!("dbs/{rid}/")));
    let again = engine.create_database(DatabaseProperties::new("d"), None).unwrap_err();
    assert_eq!(again.status, CosmosStatus::CONFLICT);
    assert!(engine.create_database(DatabaseProperties::new("a/b"), None).is_err());
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    engine.delete_database(&path("/dbs/d")).unwrap().wait().unwrap();
    assert_eq!(engine.database(&path("/dbs/d")).unwrap_err().status, CosmosStatus::NOT_FOUND);
    assert!(engine.list_databases().is_empty() && engine.offers().is_empty());
    let late = container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a"}))).unwrap_err();
    assert_eq!(late.status, CosmosStatus::OWNER_RESOURCE_NOT_FOUND);
}

#[test]
fn containers_are_found_by_name_and_by_id_and_the_rest_is_named() {
    let (_, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    let database = container.rid().parent().unwrap();
    for text in
        ["/dbs/d/colls/c", "/dbs/d/colls/c/docs", &format!("/dbs/{database}/colls/{}", container.rid())]
    {
        assert_eq!(engine.container(&path(text)).unwrap().rid(), container.rid(), "{text}");
    }
    for (text, status) in [
        ("/dbs/d/colls/x", CosmosStatus::NOT_FOUND),
        ("/dbs/d/colls/x/docs/1", CosmosStatus::OWNER_RESOURCE_NOT_FOUND),
        ("/dbs/x/colls/c", CosmosStatus::OWNER_RESOURCE_NOT_FOUND),
        ("/dbs/d", CosmosStatus::BAD_REQUEST),
    ] {
        assert_eq!(engine.container(&path(text)).unwrap_err().status, status, "{text}");
    }
    let properties = container.properties();
    assert_eq!(properties.indexing_policy, Some(IndexingPolicy::default()));
    assert_eq!(properties.documents_link.as_deref(), Some("docs/"));
    let (rid, listed) = engine.list_containers(&path("/dbs/d/colls")).unwrap();
    assert_eq!((rid, listed.len()), (database, 1));
    engine.delete_container(&path("/dbs/d/colls/c")).unwrap().wait().unwrap();
    assert_eq!(engine.container(&path("/dbs/d/colls/c")).unwrap_err().status, CosmosStatus::NOT_FOUND);
    assert_eq!(status(&container.read_item(HERE, at("a", "1"))), 404);
}

#[test]
fn what_no_container_can_be_is_refused() {
    let (_, engine) = engine();
    let mut twice = ContainerProperties::new("c", "/pk");
    twice.partition_key.paths = vec!["/a".into(), "/a".into()];
    let unique = ContainerProperties::new("c", "/pk")
        .with_unique_key_policy(UniqueKeyPolicy::default().with_key(["a"]));
    let indexing = ContainerProperties::new("c", "/pk")
        .with_indexing_policy(IndexingPolicy::default().with_included_path("nowhere"));
    for properties in [
        ContainerProperties::new("", "/pk"),
        ContainerProperties::new("a/b", "/pk"),
        ContainerProperties::new("c", PartitionKeyDefinition::new(Vec::<String>::new())),
        ContainerProperties::new("c", "pk"),
        twice,
        unique,
        indexing,
    ] {
        let failure = engine.create_container(&path("/dbs/d"), properties.clone(), None).unwrap_err();
        assert_eq!(failure.status, CosmosStatus::BAD_REQUEST, "{properties:?}");
    }
    let nowhere =
        engine.create_container(&path("/dbs/x"), ContainerProperties::new("c", "/pk"), None).unwrap_err();
    assert_eq!(nowhere.status, CosmosStatus::OWNER_RESOURCE_NOT_FOUND);
}

#[test]
fn a_replacement_changes_what_may_change() {
    let (_, engine) = engine();
    add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    let here = path("/dbs/d/colls/c");
    let read = || engine.container(&here).unwrap().properties();
    let before = read();
    let refused = [
        ContainerProperties::new("c", "/other"),
        ContainerProperties::new("other", "/pk"),
        ContainerProperties::new("c", "/pk")
            .with_unique_key_policy(UniqueKeyPolicy::default().with_key(["/x"])),
    ];
    for properties in refused {
        let failure = engine.replace_container(&here, properties, Conditions::default()).unwrap_err();
        assert!(
            failure.status == CosmosStatus::BAD_REQUEST && failure.message.contains("cannot be changed"),
            "{failure}"
        );
    }
    let policy = IndexingPolicy::default().with_excluded_path("/x/*");
    let new = ContainerProperties::new("c", "/pk").with_indexing_policy(policy.clone());
    let stale = Conditions { if_match: Some("\"stale\""), ..Conditions::default() };
    let failure = engine.replace_container(&here, new.clone(), stale).unwrap_err();
    assert_eq!(failure.status, CosmosStatus::PRECONDITION_FAILED);
    let fresh = Conditions { if_match: before.etag.as_deref(), ..Conditions::default() };
    let _ = engine.replace_container(&here, new, fresh).unwrap();
    assert_eq!(read().indexing_policy, Some(policy));
    assert!(read().etag != before.etag && read().rid == before.rid);
}

#[test]
fn offers_say_and_set_the_throughput() {
    let (_, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 5_000);
    let mut offer = engine.offer_of(container.rid()).unwrap();
    assert_eq!(engine.offer(&offer.rid).unwrap(), offer);
    assert_eq!(
        offer.resource,
        format!("dbs/{}/colls/{}/", container.rid().parent().unwrap(), container.rid())
    );
    assert_eq!(offer.throughput(), Some(ThroughputProperties::manual(5_000)));
    let replace = |offer: &cosmonaut_wire::model::Offer, migration| {
        engine.replace_offer(&offer.rid, offer, migration, Conditions::default())
    };
    for (wanted, fits) in [
        (ThroughputProperties::manual(300), false),
        (ThroughputProperties::manual(450), false),
        (ThroughputProperties::autoscale(4_000, None), false),
        (ThroughputProperties::manual(600), true),
    ] {
        offer.set_throughput(wanted);
        assert_eq!(replace(&offer, None).is_ok(), fits, "{wanted:?}");
    }
    assert_eq!(minimum_throughput(&engine.offer(&offer.rid).unwrap()), 400);
    let scaled = replace(&offer, Some(Migration::ToAutoscale)).unwrap().value;
    assert_eq!(scaled.throughput(), Some(ThroughputProperties::autoscale(1_000, None)));
    let back = replace(&scaled, Some(Migration::ToManual)).unwrap().value;
    assert_eq!(back.throughput(), Some(ThroughputProperties::manual(1_000)));
    assert_eq!(engine.offer("AAAA").unwrap_err().status, CosmosStatus::NOT_FOUND);
}

#[test]
fn raising_an_offer_past_what_partitions_deliver_splits_them() {
    let (_, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    let mut offer = engine.offer_of(container.rid()).unwrap();
    offer.set_throughput(ThroughputProperties::manual(30_000));
    let _ = engine.replace_offer(&offer.rid, &offer, None, Conditions::default()).unwrap();
    assert_eq!(container.layout().ranges().len(), 3);
    assert_eq!(container.partition_key_ranges().len(), 3);
}

#[test]
fn a_container_without_a_partition_key_stays_one_partition() {
    let (_, engine) = engine();
    let mut properties = ContainerProperties::new("c", "/_partitionKey");
    properties.partition_key.system_key = Some(true);
    let container = add_container(&engine, properties, 10_000);
    assert_eq!(container.layout().ranges().len(), 1);
    let mut offer = engine.offer_of(container.rid()).unwrap();
    for (throughput, fits) in [(10_100, false), (30_000, false), (9_000, true)] {
        offer.set_throughput(ThroughputProperties::manual(throughput));
        let replaced = engine.replace_offer(&offer.rid, &offer, None, Conditions::default());
        assert_eq!(replaced.is_ok(), fits, "{throughput}");
    }
    assert_eq!(container.split(&"0".into()).unwrap_err().status, CosmosStatus::BAD_REQUEST);
    assert_eq!(container.layout().ranges().len(), 1);
}

#[test]
fn a_container_without_throughput_shares_its_databases() {
    let (_, engine) = engine();
    let shared = Some(ThroughputProperties::manual(1_000));
    let made = engine.create_database(DatabaseProperties::new("shared"), shared).unwrap().value;
    assert_eq!(engine.offer_of(made.rid.unwrap().parse().unwrap()).unwrap().throughput(), shared);
    let make = |name: &str, throughput| {
        let properties = ContainerProperties::new(name, "/pk");
        engine.create_container(&path("/dbs/shared"), properties, throughput).unwrap().value
    };
    assert!(engine.offer_of(make("a", None).rid()).is_none());
    assert!(engine.offer_of(make("b", Some(ThroughputProperties::manual(400))).rid()).is_some());
}

#[test]
fn throughput_is_enforced_when_switched_on() {
    let config = EngineConfig { enforce_throughput: true, ..EngineConfig::default() };
    let (world, engine) = engine_with(config, Journal::memory());
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    let write =
        |id: u32| container.upsert_item(HERE, with("a", "", &json!({"id": id.to_string(), "pk": "a"})));
    let refused = (0..1_000).find_map(|id| write(id).err()).unwrap();
    assert_eq!(refused.status, CosmosStatus::REQUEST_RATE_TOO_LARGE);
    assert!(container.read_item(HERE, at("a", "0")).is_err());
    assert!((1..1_000).contains(&refused.retry_after_ms.unwrap()));
    world.pass_seconds(1);
    assert!(write(0).is_ok());
}

#[test]
fn partition_ranges_are_listed_with_their_links() {
    let (_, engine) = engine();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 12_000);
    let ranges = container.partition_key_ranges();
    assert_eq!(ranges.iter().map(|range| range.id.as_str()).collect::<Vec<_>>(), ["0", "1"]);
    assert_eq!(ranges[0].max_exclusive.to_string(), "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
    let rid: cosmonaut_wire::ResourceId = ranges[1].rid.as_ref().unwrap().parse().unwrap();
    assert_eq!((rid.kind(), rid.parent()), (ResourceType::PartitionKeyRange, Some(container.rid())));
    let epk = PartitionKey::from("abc").effective(container.definition()).unwrap();
    assert_eq!(container.layout().range_of(&epk).id.as_str(), "1");
}
