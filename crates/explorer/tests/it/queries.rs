//! Queries: rows by page, errors at their place, plans.

use serde_json::json;

use crate::World;

async fn with_items() -> World {
    let world = World::with_container().await;
    let items: Vec<_> = (0..30).map(|n| format!(r#"{{"id":"{n}","customer":"c","total":{n}.25}}"#)).collect();
    world.post("items/shop/orders/import", &json!({ "items": items }).to_string()).await.good();
    world
}

#[tokio::test]
async fn rows_come_by_page_as_they_are_with_what_they_cost() {
    let world = with_items().await;
    let mut ask = json!({
        "query": "SELECT c.id, c.total FROM c WHERE c.total > @min ORDER BY c.total DESC",
        "parameters": [["@min", "9.5"]],
        "max": 8,
    });
    let first = world.post("query/shop/orders", &ask.to_string()).await.good();
    assert_eq!(first["rows"][0]["text"], r#"{"id":"29","total":29.25}"#);
    assert!(first["charge"].as_f64().unwrap() > 0.0);
    assert_eq!(first["regions"], json!(["East US"]));
    assert!(first["diagnostics"][0]["attempts"][0]["status"].is_u64(), "{first}");
    let mut rows = first["rows"].as_array().unwrap().len();
    ask["next"] = first["next"].clone();
    while ask["next"].is_string() {
        let page = world.post("query/shop/orders", &ask.to_string()).await.good();
        rows += page["rows"].as_array().unwrap().len();
        ask["next"] = page["next"].clone();
    }
    assert_eq!(rows, 20);
    let of_key = json!({ "query": "SELECT VALUE COUNT(1) FROM c", "pk": "\"nobody\"" });
    assert_eq!(world.post("query/shop/orders", &of_key.to_string()).await.good()["rows"][0]["text"], "0");
}

#[tokio::test]
async fn what_is_wrong_with_a_text_has_a_place() {
    let world = World::with_container().await;
    let checked = world.post("check", r#"{"query":"SELECT *\nFRM c"}"#).await.good();
    assert_eq!(
        (&checked["problem"]["line"], &checked["problem"]["start"]),
        (&json!(2), &json!(9)),
        "{checked}"
    );
    assert_eq!(world.post("check", r#"{"query":"SELECT * FROM c"}"#).await.good()["problem"], json!(null));
    let run = world.post("query/shop/orders", r#"{"query":"SELECT UPER(c.id) FROM c"}"#).await;
    assert_eq!(run.status, 400);
    let error = &run.json()["error"];
    assert_eq!(error["place"]["column"], 8, "{error}");
    let bad = world.post("query/shop/orders", r#"{"query":"SELECT @a","parameters":[["@a","Oslo"]]}"#).await;
    assert!(bad.message().contains("@a") && bad.message().contains("quotes"), "{}", bad.body);
    let functions = world.get("functions").await.good();
    assert!(functions["functions"].as_array().unwrap().contains(&json!("UPPER")), "{functions}");
}

#[tokio::test]
async fn a_plan_says_what_is_sent_where_and_which_index_would_help() {
    let world = with_items().await;
    let body = r#"{"query":"SELECT * FROM c WHERE c.customer = 'c' ORDER BY c.total"}"#;
    let plan = world.post("query/shop/orders/explain", body).await.good();
    assert_eq!(plan["plannedBy"], "client");
    assert_eq!(plan["partitions"].as_array().unwrap().len(), 1);
    assert!(plan["indexes"]["used"].is_array(), "{plan}");
}

#[tokio::test]
async fn a_long_row_is_cut_in_a_list_and_whole_for_an_export() {
    let world = World::with_container().await;
    let long = json!({ "id": "1", "customer": "c", "note": "x".repeat(100_000) }).to_string();
    world.post("items/shop/orders/import", &json!({ "items": [long] }).to_string()).await.good();
    let mut ask = json!({ "query": "SELECT c.id, c.note FROM c" });
    let cut = world.post("query/shop/orders", &ask.to_string()).await.good();
    assert_eq!(cut["rows"][0]["text"], json!(null));
    ask["whole"] = json!(true);
    let whole = world.post("query/shop/orders", &ask.to_string()).await.good();
    let text = whole["rows"][0]["text"].as_str().unwrap();
    assert!(text.len() > 100_000 && text.ends_with("x\"}"), "{} bytes", text.len());
}
