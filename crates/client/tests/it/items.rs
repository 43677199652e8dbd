//! Every operation on one item, over both versions of HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut::{
    ContainerProperties, CosmosStatus, ErrorKind, ItemOptions, Patch, RawItem, RegionName, TimeToLive,
};
use cosmonaut_emulator::{Emulator, SystemWorld, Timestamp, World};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::{Bench, REGIONS, on_every_wire};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    id: String,
    pk: String,
    n: i64,
}

fn item(id: &str, n: i64) -> Item {
    Item { id: id.to_owned(), pk: "a".to_owned(), n }
}

/// With the written item in the answer.
fn echoed() -> Option<ItemOptions> {
    Some(ItemOptions::default().content_response(true))
}

#[tokio::test]
async fn items_are_created_read_replaced_upserted_patched_and_deleted() {
    on_every_wire(async |_bench, container| {
        let made = container.create_item("a", item("1", 1)).await.unwrap();
        assert_eq!(made.status(), CosmosStatus::CREATED);
        assert!(made.value().is_empty(), "nothing comes back unless it is asked for");

        let read = container.read_item::<Item>("a", "1").await.unwrap();
        assert_eq!((read.value(), read.etag()), (&item("1", 1), made.etag()));

        let replaced = container.replace_item("a", "1", item("1", 2)).options(echoed()).await.unwrap();
        assert_eq!(replaced.json::<Item>().unwrap(), item("1", 2));
        assert_ne!(replaced.etag(), made.etag());

        let upserted = container.upsert_item("a", item("1", 3)).options(echoed()).await.unwrap();
        assert_eq!((upserted.status(), upserted.json::<Item>().unwrap().n), (CosmosStatus::OK, 3));
        let upserted = container.upsert_item("a", item("2", 4)).await.unwrap();
        assert_eq!(upserted.status(), CosmosStatus::CREATED);

        let patch = Patch::new().increment("/n", 39).set("/tags", ["x"]).condition("FROM c WHERE c.n = 3");
        let patched = container.patch_item("a", "1", patch.clone()).options(echoed()).await.unwrap();
        assert_eq!(patched.json::<Value>().unwrap()["tags"], json!(["x"]));
        assert_eq!(patched.json::<Item>().unwrap().n, 42);
        let again = container.patch_item("a", "1", patch).await.unwrap_err();
        assert!(again.is_precondition_failed(), "{again}");

        let deleted = container.delete_item("a", "1").await.unwrap();
        assert_eq!(deleted.status(), CosmosStatus::NO_CONTENT);
        assert!(container.read_item::<Item>("a", "1").await.unwrap_err().is_not_found());
        assert!(container.delete_item("a", "1").await.unwrap_err().is_not_found());
        assert!(container.replace_item("a", "1", item("1", 1)).await.unwrap_err().is_not_found());
        assert!(container.create_item("a", item("2", 1)).await.unwrap_err().is_conflict());
    })
    .await;
}

#[tokio::test]
async fn an_answer_says_what_it_cost_where_it_came_from_and_what_the_session_has_seen() {
    on_every_wire(async |_bench, container| {
        let made = container.create_item("a", item("1", 1)).await.unwrap();
        assert!(made.request_charge() > 0.0);
        assert_eq!(made.region(), Some(&RegionName::from(REGIONS[0])));
        assert!(made.activity_id().is_some());
        assert_eq!(made.diagnostics().attempts().len(), 1);
        let token = made.session_token().unwrap();
        let read = ItemOptions::default().session_token(token.clone());
        let read = container.read_item::<Item>("a", "1").options(read).await.unwrap();
        assert!(read.session_token().unwrap().is_at_least(&token));
        assert!(format!("{read:?}").contains("n: 1"), "{read:?}");
    })
    .await;
}

#[tokio::test]
async fn conditions_hold_for_one_version() {
    on_every_wire(async |_bench, container| {
        let first = container.create_item("a", item("1", 1)).await.unwrap().etag().unwrap();
        let seen = || Some(ItemOptions::default().if_match(first.clone()));
        let unless = || Some(ItemOptions::default().if_none_match(first.clone()));
        let unchanged = container.read_item::<Item>("a", "1").options(unless()).await.unwrap_err();
        assert!(unchanged.is_not_modified(), "{unchanged}");
        assert_eq!(unchanged.status(), Some(CosmosStatus::NOT_MODIFIED));
        assert!(unchanged.request_charge() > 0.0);

        container.replace_item("a", "1", item("1", 2)).options(seen()).await.unwrap();
        assert_eq!(container.read_item::<Item>("a", "1").options(unless()).await.unwrap().value().n, 2);
        for late in [
            container.replace_item("a", "1", item("1", 3)).options(seen()).await.map(drop),
            container.upsert_item("a", item("1", 3)).options(seen()).await.map(drop),
            container.patch_item("a", "1", Patch::new().set("/n", 3)).options(seen()).await.map(drop),
            container.delete_item("a", "1").options(seen()).await.map(drop),
        ] {
            let late = late.unwrap_err();
            assert!(late.is_precondition_failed(), "{late}");
        }
        assert_eq!(container.read_item::<Item>("a", "1").await.unwrap().value().n, 2);

        let both = ItemOptions::default().if_match(first.clone()).if_none_match(first);
        let error = container.read_item::<Item>("a", "1").options(both).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    })
    .await;
}

#[tokio::test]
async fn bytes_go_in_and_out_as_they_are() {
    on_every_wire(async |_bench, container| {
        let text = r#"{"id":"1","pk":"a","n":1.50,"deep":{"x":[null,"é"]}}"#;
        let made = container.create_item("a", RawItem::from(text)).options(echoed()).await.unwrap();
        let stored: Value = made.json().unwrap();
        assert_eq!(stored["deep"], json!({"x": [null, "é"]}));
        let read: RawItem = container.read_item("a", "1").await.unwrap().into_value();
        assert_eq!(read.as_bytes(), made.value().as_bytes());
        container.replace_item("a", "1", &read).await.unwrap();
        let broken = container.create_item("a", RawItem::from("{\"id\":")).await.unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::BadRequest, "{broken}");
    })
    .await;
}

/// The machine's clock, set forward by some seconds.
struct Ahead(SystemWorld, AtomicU64);

impl World for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 + self.1.load(Ordering::Relaxed) * 1_000_000)
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}

#[tokio::test]
async fn items_expire_when_their_time_is_over() {
    let world = Arc::new(Ahead(SystemWorld::new(), AtomicU64::new(0)));
    let emulator = Emulator::builder().world(Arc::clone(&world) as Arc<dyn World>);
    let bench = Bench::with(emulator, Default::default()).await;
    let properties = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::NoExpiry);
    let container = bench.container_as(properties).await;
    container.create_item("a", json!({"id": "1", "pk": "a", "ttl": 60})).await.unwrap();
    container.create_item("a", json!({"id": "2", "pk": "a"})).await.unwrap();
    assert_eq!(container.read_item::<Value>("a", "1").await.unwrap().value()["ttl"], 60);
    world.1.store(120, Ordering::Relaxed);
    assert!(container.read_item::<Value>("a", "1").await.unwrap_err().is_not_found());
    assert!(container.read_item::<Value>("a", "2").await.is_ok());
}

#[tokio::test]
async fn all_items_of_a_partition_key_are_deleted_and_no_others() {
    on_every_wire(async |_bench, container| {
        for (key, id) in [("a", "1"), ("a", "2"), ("b", "1")] {
            container.create_item(key, json!({"id": id, "pk": key})).await.unwrap();
        }
        container.delete_all_items_by_partition_key("a").await.unwrap();
        for (key, id, is_there) in [("a", "1", false), ("a", "2", false), ("b", "1", true)] {
            let read = container.read_item::<Value>(key, id).await;
            assert_eq!(read.is_ok(), is_there, "{key} {id}: {read:?}");
        }
        let shape = container.delete_all_items_by_partition_key(("a", "b")).await.unwrap_err();
        assert_eq!(shape.kind(), ErrorKind::BadRequest, "{shape}");
    })
    .await;
}

#[tokio::test]
async fn a_session_is_handed_from_one_client_to_another() {
    let bench = Bench::start().await;
    let here = bench.container().await;
    here.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
    let seen = here.session_token().await.unwrap().to_string();
    assert!(seen.contains('#'), "{seen}");
    let key = cosmonaut::Credential::master_key(bench.emulator.key()).unwrap();
    let client =
        cosmonaut::CosmosClient::builder().endpoint(bench.emulator.url()).credential(key).build().unwrap();
    let there = client.database("d").container("c");
    assert_eq!(there.session_token().await.unwrap().to_string(), "");
    there.adopt_session_token(&seen.parse().unwrap()).await.unwrap();
    assert_eq!(there.session_token().await.unwrap().to_string(), seen);
    let nowhere = client.database("d").container("nowhere").session_token().await.unwrap_err();
    assert!(nowhere.is_not_found() && !nowhere.is_transient() && !nowhere.is_throttled());
}
