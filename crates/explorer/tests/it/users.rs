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
