//! Regions, faults and the requests of the emulator.

use serde_json::json;

use crate::World;

#[tokio::test]
async fn the_management_api_is_asked_through_the_explorer() {
    let world = World::with_container().await;
    let regions = world.get("manage/regions").await.good();
    assert_eq!(regions["regions"][1]["name"], "West US");
    let down = world.post("manage/regions/West%20US/down", r#"{"mode":"unavailable"}"#).await.good();
    assert_eq!(down["regions"][1]["state"], "unavailable");
    world.post("manage/regions/West%20US/up", "").await.good();
    let fault = r#"{"effect":"status","status":503,"probability":0.5,"region":"East US","operations":"read","count":10}"#;
    let made = world.post("manage/faults", fault).await.good();
    assert_eq!(made["status"], 503);
    let partitions = world.get("manage/partitions/shop/orders").await.good();
    assert_eq!(partitions["partitions"][0]["id"], "0");
    let lifted = world.ask("DELETE", "manage/faults", "").await.good();
    assert_eq!(lifted["faults"], json!([]));
    let unknown = world.post("manage/regions/Nowhere/up", "").await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.json()["message"].as_str().unwrap().contains("Nowhere"), "{}", unknown.body);
}

#[tokio::test]
async fn the_log_and_the_traffic_are_those_of_the_emulator() {
    let world = World::with_container().await;
    let before = world.get("requests?after=0").await.good();
    let last = before["last"].as_u64().unwrap();
    assert_eq!(last, world.emulator.requests(), "each request is there");
    let orders = world.client.database("shop").container("orders");
    orders.create_item("x", json!({"id": "1", "customer": "x"})).await.unwrap();
    let found = world.get(&format!("requests?after={last}")).await.good();
    let rows = found["rows"].as_array().unwrap();
    let made = rows.iter().find(|row| row["method"] == "POST").unwrap();
    assert_eq!((&made["status"], &made["path"]), (&json!(201), &json!("/dbs/shop/colls/orders/docs")));
    assert!(world.get("traffic?seconds=60").await.good()["regions"].is_array());
}

#[tokio::test]
async fn a_request_has_its_headers_and_what_struck_it() {
    let world = World::with_container().await;
    let fault =
        r#"{"effect":"status","status":503,"operations":"write","container":"shop/orders","count":1}"#;
    let id = world.post("manage/faults", fault).await.good()["id"].clone();
    let last = world.get("requests?after=0").await.good()["last"].as_u64().unwrap();
    let orders = world.client.database("shop").container("orders");
    let made = orders.create_item("x", json!({"id": "1", "customer": "x"})).await;
    let found = world.get(&format!("requests?after={last}")).await.good();
    let rows = found["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["status"] == 503).unwrap_or_else(|| panic!("{made:?}: {found}"));
    assert_eq!(row["struck"], json!([{"fault": id, "effect": "status", "outage": false}]));
    assert!(row.get("asked").is_none(), "a list has no headers");
    let one = world.get(&format!("requests/{}", row["n"])).await.good();
    let (asked, answered) = (one["asked"].as_str().unwrap(), one["answered"].as_str().unwrap());
    assert!(asked.contains("x-ms-documentdb-partitionkey: [\"x\"]\n"), "{asked}");
    assert!(asked.contains("authorization: (not shown)\n") && !asked.contains("sig"), "{asked}");
    assert!(answered.contains("x-ms-activity-id: "), "{answered}");
    // The next attempt of the same operation.
    assert_eq!(one["others"].as_array().unwrap().len(), usize::from(made.is_ok()), "{one}");
    for (number, status) in [("0", 404), ("999999", 404), ("first", 400)] {
        assert_eq!(world.get(&format!("requests/{number}")).await.status, status, "{number}");
    }
}

#[tokio::test]
async fn a_management_api_that_is_gone_is_named() {
    let mut world = World::start().await;
    let (away, there) = (World::start().await, world.emulator);
    world.emulator = away.emulator;
    there.shutdown().await;
    let heard = world.get("manage/regions").await;
    assert_eq!(heard.status, 502);
    assert!(heard.message().contains("cosmonaut up"), "{}", heard.body);
}

#[tokio::test]
async fn the_page_knows_where_the_emulator_is_managed() {
    let world = World::start().await;
    let account = world.get("account").await.good();
    assert_eq!(
        account["management"].as_str(),
        world.emulator.management_url().map(|url| url.trim_end_matches('/'))
    );
}
