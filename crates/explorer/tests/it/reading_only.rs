//! An explorer that only reads refuses every change, and says how to start one that does not.

use crate::World;

#[tokio::test]
async fn nothing_is_changed_by_an_explorer_that_only_reads() {
    let world = World::with(Some("start it with --allow-writes".to_owned())).await;
    world.client.create_database("shop").await.unwrap();
    let requests = world.emulator.requests();
    for (method, path, body) in [
        ("POST", "databases", r#"{"id":"a"}"#),
        ("DELETE", "databases/shop", ""),
        ("POST", "databases/shop", "{}"),
        ("PUT", "databases/shop/throughput", "{}"),
        ("PUT", "containers/shop/orders", "{}"),
        ("DELETE", "containers/shop/orders", ""),
        ("PUT", "containers/shop/orders/throughput", "{}"),
        ("POST", "items/shop/orders/item", "{}"),
        ("PUT", "items/shop/orders/item", "{}"),
        ("POST", "items/shop/orders/delete", "{}"),
        ("POST", "items/shop/orders/import", "{}"),
        ("POST", "manage/regions/East%20US/down", ""),
        ("DELETE", "manage/faults", ""),
        ("POST", "scripts/shop/orders/triggers", "{}"),
        ("PUT", "scripts/shop/orders/procedures", "{}"),
        ("DELETE", "scripts/shop/orders/functions/a", ""),
        ("POST", "scripts/shop/orders/procedures/a/run", "{}"),
        ("POST", "users/shop", "{}"),
        ("DELETE", "users/shop/ada", ""),
        ("POST", "users/shop/ada", "{}"),
        ("DELETE", "users/shop/ada/all", ""),
        ("POST", "conflicts/shop/orders/delete", "{}"),
        ("POST", "durable/raise?database=a&container=b", "{}"),
        ("POST", "durable/delete?database=a&container=b", "{}"),
    ] {
        let heard = world.ask(method, path, body).await;
        assert_eq!(heard.status, 403, "{path}: {}", heard.body);
        assert!(heard.message().contains("--allow-writes"), "{path}: {}", heard.body);
    }
    assert_eq!(world.emulator.requests(), requests, "nothing has been sent");
    assert_eq!(world.get("databases").await.good()["databases"][0]["id"], "shop");
    assert_eq!(world.get("manage/regions").await.status, 200);
    let account = world.get("account").await.good();
    assert_eq!(account["readOnly"], "start it with --allow-writes");
}
