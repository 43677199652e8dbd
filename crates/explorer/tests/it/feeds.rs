//! The change feed, followed, and the conflicts that a container keeps.

use cosmonaut::options::{CosmosClientOptions, RegionOptions};
use cosmonaut::{CosmosClient, Credential};
use cosmonaut_emulator::Emulator;
use serde_json::json;

use crate::World;
use crate::data::escaped;

#[tokio::test]
async fn changes_are_followed_from_the_beginning_and_from_now() {
    let world = World::with_container().await;
    let orders = world.client.database("shop").container("orders");
    orders.create_item("x", json!({"id": "1", "customer": "x"})).await.unwrap();
    let first = world.get("changes/shop/orders?start=beginning").await.good();
    assert_eq!((&first["items"][0]["id"], &first["items"][0]["pk"]), (&json!("1"), &json!(["x"])));
    let now = world.get("changes/shop/orders?start=now").await.good();
    assert_eq!(now["items"], json!([]));

    orders.create_item("x", json!({"id": "2", "customer": "x"})).await.unwrap();
    for (start, from) in [("beginning", &first), ("now", &now)] {
        let mut next = from["next"].as_str().unwrap().to_owned();
        let mut found = Vec::new();
        while found.is_empty() {
            let page =
                world.get(&format!("changes/shop/orders?start={start}&next={}", escaped(&next))).await.good();
            found.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
            page["next"].as_str().unwrap().clone_into(&mut next);
        }
        assert_eq!(found, ["2"], "from {start}");
        let end =
            world.get(&format!("changes/shop/orders?start={start}&next={}", escaped(&next))).await.good();
        assert_eq!(end["items"], json!([]));
        assert!(end["next"].is_string(), "what comes later follows it");
    }
    let before = world.emulator.requests();
    let paths = escaped("[\"/customer\"]");
    world.get(&format!("changes/shop/orders?start=now&paths={paths}")).await.good();
    assert_eq!(
        world.emulator.requests(),
        before + 1,
        "the container is not read again to follow its changes"
    );
    let wrong = world.get("changes/shop/orders?start=yesterday").await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.message().contains("beginning"), "{}", wrong.body);
}

#[tokio::test]
async fn what_has_lost_between_regions_is_shown_and_deleted() {
    let world = World::of(Emulator::builder().multi_write(true), None).await;
    world.post("databases", r#"{"id":"shop"}"#).await.good();
    let body = r#"{"properties":{"id":"orders","partitionKey":{"paths":["/customer"],"kind":"Hash","version":2},
        "conflictResolutionPolicy":{"mode":"Custom"}}}"#;
    world.post("databases/shop", body).await.good();
    world.emulator.control().pause(None, None).unwrap();
    for region in ["East US", "West US"] {
        let key = Credential::master_key(world.emulator.key()).unwrap();
        let regions = RegionOptions { preferred_regions: Some(vec![region.into()]), ..Default::default() };
        let options = CosmosClientOptions { regions, ..Default::default() };
        let builder = CosmosClient::builder().endpoint(world.emulator.url()).credential(key);
        let orders = builder.options(options).build().unwrap().database("shop").container("orders");
        let item = json!({"id": "1", "customer": "x", "from": region});
        orders.create_item("x", item).await.unwrap();
    }
    world.emulator.control().resume(None, None).unwrap();

    let found = world.get("conflicts/shop/orders").await.good();
    let lost = &found["conflicts"][0];
    assert_eq!((&lost["operation"], &lost["pk"]), (&json!("create"), &json!(["x"])));
    assert!(lost["text"].as_str().unwrap().contains(r#""id":"1""#), "{lost}");
    let gone = json!({ "id": lost["id"], "pk": lost["pk"] }).to_string();
    world.post("conflicts/shop/orders/delete", &gone).await.good();
    assert_eq!(world.get("conflicts/shop/orders").await.good()["conflicts"], json!([]));
}

#[tokio::test]
async fn a_container_without_conflicts_has_none() {
    let world = World::with_container().await;
    assert_eq!(world.get("conflicts/shop/orders").await.good()["conflicts"], json!([]));
    let gone = json!({ "id": "nosuch", "pk": ["x"] }).to_string();
    assert_eq!(world.post("conflicts/shop/orders/delete", &gone).await.status, 404);
}
