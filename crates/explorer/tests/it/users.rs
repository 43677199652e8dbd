//! Users and permissions; no token of theirs comes to the page.

use serde_json::json;

use crate::World;

#[tokio::test]
async fn a_user_gets_permissions_and_the_page_no_tokens() {
    let world = World::with_container().await;
    world.post("users/shop", r#"{"id":"ada"}"#).await.good();
    let whole = json!({ "id": "all", "mode": "All", "container": "orders" }).to_string();
    world.post("users/shop/ada", &whole).await.good();
    let one = json!({ "id": "hers", "mode": "Read", "container": "orders", "pk": "\"ada\"" }).to_string();
    world.post("users/shop/ada", &one).await.good();

    let heard = world.get("users/shop").await;
    assert!(!heard.body.contains("type=resource"), "{}", heard.body);
    let found = heard.good();
    let permissions = &found["users"][0]["permissions"];
    assert_eq!((&found["users"][0]["id"], &permissions[0]["mode"]), (&json!("ada"), &json!("All")));
    assert_eq!(permissions[0]["resource"], "dbs/shop/colls/orders");
    assert_eq!((&permissions[0]["pk"], &permissions[1]["pk"]), (&json!(null), &json!("[\"ada\"]")));

    world.ask("DELETE", "users/shop/ada/all", "").await.good();
    world.ask("DELETE", "users/shop/ada", "").await.good();
    assert_eq!(world.get("users/shop").await.good()["users"], json!([]));
}

#[tokio::test]
async fn a_permission_named_by_a_dot_is_deleted_alone() {
    let world = World::with_container().await;
    world.post("users/shop", r#"{"id":"ada"}"#).await.good();
    for id in [".", "~.", "all"] {
        // Each for a key of its own: a user has one permission for a resource.
        let key = json!(id).to_string();
        let permission = json!({ "id": id, "mode": "All", "container": "orders", "pk": key });
        world.post("users/shop/ada", &permission.to_string()).await.good();
    }
    let left = async || {
        let found = world.get("users/shop").await.good();
        let permissions = found["users"][0]["permissions"].as_array().unwrap().clone();
        permissions.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // What a browser makes of `users/shop/ada/.`.
    assert_eq!(world.ask("DELETE", "users/shop/ada/", "").await.status, 400);
    assert_eq!(left().await, [".", "all", "~."]);
    world.ask("DELETE", "users/shop/ada/~.", "").await.good();
    assert_eq!(left().await, ["all", "~."]);
    world.ask("DELETE", "users/shop/ada/~~.", "").await.good();
    assert_eq!(left().await, ["all"]);
}
