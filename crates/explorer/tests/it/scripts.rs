//! Stored procedures, triggers and user-defined functions: made, changed, run and deleted.

use serde_json::json;

use crate::World;

const GREET: &str = "function greet(name) { console.log('greeting'); getContext().getResponse().setBody({ hello: name, price: 1.5 }); }";

#[tokio::test]
async fn a_stored_procedure_is_made_run_changed_and_deleted() {
    let world = World::with_container().await;
    let procedure = json!({ "id": "greet", "body": GREET });
    world.post("scripts/shop/orders/procedures", &procedure.to_string()).await.good();
    let again = world.post("scripts/shop/orders/procedures", &procedure.to_string()).await;
    assert_eq!(again.status, 409, "{}", again.body);

    let run = json!({ "pk": "\"contoso\"", "arguments": "[\"Ada\"]" }).to_string();
    let ran = world.post("scripts/shop/orders/procedures/greet/run", &run).await.good();
    assert_eq!(ran["text"], r#"{"hello":"Ada","price":1.5}"#);
    assert!(ran["log"].as_str().unwrap().contains("greeting"), "{ran}");
    let wrong = json!({ "pk": "\"contoso\"", "arguments": "Ada" }).to_string();
    let wrong = world.post("scripts/shop/orders/procedures/greet/run", &wrong).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.message().contains("JSON array"), "{}", wrong.body);

    let found = world.get("scripts/shop/orders").await.good();
    let etag = &found["procedures"][0]["etag"];
    let changed = json!({ "id": "greet", "body": "function greet() {}", "etag": etag }).to_string();
    let saved = world.ask("PUT", "scripts/shop/orders/procedures", &changed).await.good();
    let more = json!({ "id": "greet", "body": "function greet() { }", "etag": saved["etag"] }).to_string();
    world.ask("PUT", "scripts/shop/orders/procedures", &more).await.good();
    let older = world.ask("PUT", "scripts/shop/orders/procedures", &changed).await;
    assert_eq!(older.status, 412, "{}", older.body);
    world.ask("DELETE", "scripts/shop/orders/procedures/greet", "").await.good();
    assert_eq!(world.get("scripts/shop/orders").await.good()["procedures"], json!([]));
}

#[tokio::test]
async fn triggers_and_functions_are_listed_with_what_they_are_for() {
    let world = World::with_container().await;
    let trigger = json!({ "id": "stamp", "body": "function stamp() {}", "triggerType": "Post", "triggerOperation": "Create" });
    world.post("scripts/shop/orders/triggers", &trigger.to_string()).await.good();
    let function = json!({ "id": "twice", "body": "function twice(n) { return 2 * n; }" });
    world.post("scripts/shop/orders/functions", &function.to_string()).await.good();
    let found = world.get("scripts/shop/orders").await.good();
    assert_eq!(found["triggers"][0]["triggerType"], "Post");
    assert_eq!(found["triggers"][0]["triggerOperation"], "Create");
    assert_eq!(found["functions"][0]["body"], function["body"]);
    for (kind, id) in [("triggers", "stamp"), ("functions", "twice")] {
        world.ask("DELETE", &format!("scripts/shop/orders/{kind}/{id}"), "").await.good();
    }
    assert_eq!(world.post("scripts/shop/orders/others", &function.to_string()).await.status, 404);
}
