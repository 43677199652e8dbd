//! Databases, containers and items, as the page changes them. A number stays the text that it is.

use cosmonaut::RawItem;
use serde_json::{Value, json};

use crate::World;

#[tokio::test]
async fn databases_and_containers_are_made_changed_and_deleted() {
    let world = World::with_container().await;
    let found = world.get("databases").await.good();
    assert_eq!(found["databases"][0]["containers"][0], json!({"id": "orders", "paths": ["/customer"]}));

    let details = world.get("containers/shop/orders").await.good();
    assert_eq!(details["partitions"].as_array().unwrap().len(), 1);
    assert!(details["throughput"]["manual"].is_u64(), "{details}");

    let mut properties = details["properties"].clone();
    properties["defaultTtl"] = json!(60);
    let body = json!({ "properties": properties, "etag": details["etag"] }).to_string();
    let changed = world.ask("PUT", "containers/shop/orders", &body).await.good();
    assert_eq!(changed["properties"]["defaultTtl"], 60);
    assert_eq!(world.ask("PUT", "containers/shop/orders", &body).await.status, 412, "of an older version");

    let set = world.ask("PUT", "containers/shop/orders/throughput", r#"{"manual":1000}"#).await.good();
    assert_eq!(set["throughput"], json!({"manual": 1000}));
    let set = world.ask("PUT", "containers/shop/orders/throughput", r#"{"autoscale":4000}"#).await.good();
    assert_eq!(set["throughput"], json!({"autoscale": 4000}));

    let again = world.post("databases", r#"{"id":"shop"}"#).await;
    assert_eq!(again.status, 409, "{}", again.body);
    world.ask("DELETE", "containers/shop/orders", "").await.good();
    world.ask("DELETE", "databases/shop", "").await.good();
    assert_eq!(world.get("databases").await.good()["databases"], json!([]));
}

#[tokio::test]
async fn a_number_is_its_text_from_the_account_to_the_page_and_back() {
    let world = World::with_container().await;
    let text = r#"{"id":"7","customer":"contoso","big":12345678901234567890,"price":1.50,"zero":0.0}"#;
    let made = world.post("items/shop/orders/item", &json!({ "text": text }).to_string()).await.good();
    assert_eq!((&made["id"], &made["pk"]), (&json!("7"), &json!(["contoso"])));

    let path = "items/shop/orders/item?pk=%5B%22contoso%22%5D&id=7";
    let read = world.get(path).await.good();
    let kept = read["text"].as_str().unwrap();
    for member in [r#""big":12345678901234567890"#, r#""price":1.50"#, r#""zero":0.0"#] {
        assert!(kept.contains(member), "{member} is not in {kept}");
    }
    let changed = kept.replace("1.50", "2.50");
    let body = json!({ "text": changed, "etag": read["etag"] }).to_string();
    world.ask("PUT", path, &body).await.good();
    let orders = world.client.database("shop").container("orders");
    let stored: RawItem = orders.read_item("contoso", "7").await.unwrap().into_value();
    let stored = std::str::from_utf8(stored.as_bytes()).unwrap();
    assert!(
        stored.contains(r#""big":12345678901234567890"#) && stored.contains(r#""price":2.50"#),
        "{stored}"
    );
}

#[tokio::test]
async fn an_item_that_somebody_else_has_changed_is_not_overwritten_but_shown() {
    let world = World::with_container().await;
    let item = json!({ "text": r#"{"id":"7","customer":"contoso","total":1}"# }).to_string();
    let made = world.post("items/shop/orders/item", &item).await.good();
    let orders = world.client.database("shop").container("orders");
    orders.upsert_item("contoso", json!({"id": "7", "customer": "contoso", "total": 2})).await.unwrap();

    let path = "items/shop/orders/item?pk=%22contoso%22&id=7";
    let mine =
        json!({ "text": r#"{"id":"7","customer":"contoso","total":3}"#, "etag": made["etag"] }).to_string();
    let refused = world.ask("PUT", path, &mine).await;
    assert_eq!(refused.status, 412);
    let error = &refused.json()["error"];
    assert!(error["current"].as_str().unwrap().contains(r#""total":2"#), "{error}");
    let body =
        json!({ "text": r#"{"id":"7","customer":"contoso","total":3}"#, "etag": error["etag"] }).to_string();
    world.ask("PUT", path, &body).await.good();
}

#[tokio::test]
async fn items_come_by_page_and_end_where_there_are_no_more() {
    let world = World::with_container().await;
    let items: Vec<_> =
        (0..25).map(|n| format!(r#"{{"id":"{n}","customer":"c{}","n":{n}}}"#, n % 3)).collect();
    let made = world.post("items/shop/orders/import", &json!({ "items": items }).to_string()).await.good();
    assert_eq!((&made["written"], &made["failed"]), (&json!(25), &json!([])));

    let (mut next, mut seen) = (String::new(), Vec::new());
    loop {
        let page = world.get(&format!("items/shop/orders?max=10{next}")).await.good();
        assert_eq!(page["paths"], json!(["/customer"]));
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(token) => next = format!("&paths=%5B%22%2Fcustomer%22%5D&next={}", escaped(token)),
            None => break,
        }
    }
    seen.sort_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(seen, (0..25).map(|n| n.to_string()).collect::<Vec<_>>());

    let of_key = world.get("items/shop/orders?pk=%22c1%22").await.good();
    assert!(of_key["items"].as_array().unwrap().iter().all(|row| row["pk"] == json!(["c1"])));
    let by_id = world.get("items/shop/orders?id=7").await.good();
    assert_eq!(by_id["items"].as_array().unwrap().len(), 1);
    let filtered = world.get("items/shop/orders?filter=c.n%20%3E%2020%20--%20comment").await.good();
    assert_eq!(filtered["items"].as_array().unwrap().len(), 4);
    let wrong = world.get("items/shop/orders?filter=c.n%20%3E%3E").await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
}

#[tokio::test]
async fn many_are_deleted_and_what_has_changed_since_is_kept() {
    let world = World::with_container().await;
    let items = ["a", "b", "c"].map(|id| format!(r#"{{"id":"{id}","customer":"x"}}"#));
    world.post("items/shop/orders/import", &json!({ "items": items }).to_string()).await.good();
    let listed = world.get("items/shop/orders").await.good();
    let mut named: Vec<Value> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!({ "id": row["id"], "pk": row["pk"], "etag": row["etag"] }))
        .collect();
    named[0]["etag"] = json!("\"older\"");
    let gone = world.post("items/shop/orders/delete", &json!({ "items": named }).to_string()).await.good();
    assert_eq!((&gone["deleted"], gone["failed"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(gone["failed"][0]["id"], named[0]["id"]);
}

#[tokio::test]
async fn an_import_says_which_items_are_wrong_and_writes_the_others() {
    let world = World::with_container().await;
    let items = [
        r#"{"id":"a","customer":"x"}"#,
        "{",
        "7",
        r#"{"id":"a","customer":"x","n":1}"#,
        r#"{"customer":"x"}"#,
    ];
    let body = json!({ "items": items, "upsert": false }).to_string();
    let done = world.post("items/shop/orders/import", &body).await.good();
    assert_eq!(done["written"], 1);
    let failed: Vec<_> =
        done["failed"].as_array().unwrap().iter().map(|one| one["nth"].as_u64().unwrap()).collect();
    assert_eq!(failed, [1, 2, 3, 4]);
}

#[tokio::test]
async fn an_item_that_is_too_long_for_a_list_is_cut_there_and_whole_alone() {
    let world = World::with_container().await;
    let text = format!(r#"{{"id":"long","customer":"x","text":"{}"}}"#, "ü".repeat(900_000));
    world.post("items/shop/orders/item", &json!({ "text": text }).to_string()).await.good();
    let listed = world.get("items/shop/orders").await.good();
    let row = &listed["items"][0];
    assert!(row["text"].is_null() && row["size"].as_u64().unwrap() > 1_800_000);
    assert_eq!((&row["id"], &row["pk"]), (&json!("long"), &json!(["x"])));
    let read = world.get("items/shop/orders/item?pk=%22x%22&id=long").await.good();
    assert!(read["text"].as_str().unwrap().len() > 1_800_000);
}

#[tokio::test]
async fn the_deepest_item_that_an_account_takes_is_listed_read_and_changed() {
    let world = World::with_container().await;
    let (open, close) = ("[".repeat(127), "]".repeat(127));
    let deep = format!(r#"{{"id":"deep","customer":"x","n":1.50,"list":{open}{close}}}"#);
    let orders = world.client.database("shop").container("orders");
    orders.create_item("x", RawItem::from(deep.clone())).await.unwrap();
    orders.create_item("x", json!({"id": "flat", "customer": "x"})).await.unwrap();

    let listed = world.get("items/shop/orders").await.good();
    let rows = listed["items"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| &row["id"]).collect::<Vec<_>>(), ["deep", "flat"]);
    assert_eq!(rows[0]["pk"], json!(["x"]));
    assert!(rows[0]["text"].as_str().unwrap().contains(&open));

    let path = "items/shop/orders/item?pk=%22x%22&id=deep";
    let read = world.get(path).await.good();
    let body = json!({ "text": deep.replace("1.50", "2.50"), "etag": read["etag"] }).to_string();
    let saved = world.ask("PUT", path, &body).await.good();
    assert!(saved["text"].as_str().unwrap().contains(r#""n":2.50"#), "{saved}");
    let copy = json!({ "text": deep.replace("deep", "copy") }).to_string();
    assert_eq!(world.post("items/shop/orders/item", &copy).await.good()["id"], "copy");
}

#[tokio::test]
async fn an_export_has_long_items_whole() {
    let world = World::with_container().await;
    let text = format!(r#"{{"id":"long","customer":"x","text":"{}"}}"#, "ü".repeat(50_000));
    world.post("items/shop/orders/item", &json!({ "text": text }).to_string()).await.good();
    let row = &world.get("items/shop/orders?whole=1").await.good()["items"][0];
    assert!(row["text"].as_str().unwrap().len() > 100_000, "{}", row["size"]);
}

#[tokio::test]
async fn an_account_has_a_name_for_what_the_browser_keeps() {
    let (one, other) = (World::start().await, World::start().await);
    let identity = async |world: &World| world.get("account").await.good()["identity"].clone();
    assert!(identity(&one).await.as_str().unwrap().contains(one.emulator.url().trim_end_matches('/')));
    assert_eq!(identity(&one).await, identity(&one).await);
    assert_ne!(identity(&one).await, identity(&other).await);
}

pub(crate) fn escaped(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}
