//! Partition keys of every kind, from the types that an application has them in.

use cosmonaut::{ContainerProperties, ErrorKind, PartitionKey, PartitionKeyValue};
use serde_json::{Value, json};

use crate::harness::{Bench, on_every_wire};

#[tokio::test]
async fn keys_come_from_strings_numbers_booleans_and_null() {
    on_every_wire(async |_bench, container| {
        let keys: [(PartitionKey, Value); 13] = [
            ("text".into(), json!("text")),
            (String::from("é\"\\/ \u{1f680}").into(), json!("é\"\\/ \u{1f680}")),
            ((&String::from("borrowed")).into(), json!("borrowed")),
            (7i64.into(), json!(7)),
            (8u32.into(), json!(8)),
            ((-9i32).into(), json!(-9)),
            (2.5f64.into(), json!(2.5)),
            (true.into(), json!(true)),
            (false.into(), json!(false)),
            (Some("some").into(), json!("some")),
            (None::<&str>.into(), json!(null)),
            (().into(), json!(null)),
            (PartitionKeyValue::from("value").into(), json!("value")),
        ];
        for (key, value) in keys {
            let item = json!({"id": "1", "pk": value});
            container.upsert_item(key.clone(), &item).await.unwrap();
            let read = container.read_item::<Value>(key.clone(), "1").await.unwrap().into_value();
            assert_eq!(read["pk"], value, "{key}");
            container.delete_item(key, "1").await.unwrap();
        }
        container.create_item(PartitionKey::UNDEFINED, json!({"id": "1"})).await.unwrap();
        let read = container.read_item::<Value>(PartitionKey::UNDEFINED, "1").await.unwrap();
        assert_eq!(read.value().get("pk"), None);
    })
    .await;
}

#[tokio::test]
async fn a_hierarchical_key_is_a_tuple() {
    let bench = Bench::start().await;
    let two = bench.container_as(ContainerProperties::new("two", ["/tenant", "/user"])).await;
    two.create_item(("contoso", 7), json!({"id": "1", "tenant": "contoso", "user": 7})).await.unwrap();
    let read = two.read_item::<Value>(("contoso", 7), "1").await.unwrap();
    assert_eq!(read.value()["user"], 7);
    let error = two.read_item::<Value>("contoso", "1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");

    let three = bench.container_as(ContainerProperties::new("three", ["/a", "/b", "/c"])).await;
    let item = json!({"id": "1", "a": "x", "b": true, "c": null});
    three.create_item(("x", true, None::<&str>), &item).await.unwrap();
    assert!(three.read_item::<Value>(("x", true, ()), "1").await.is_ok());
    assert!(three.read_item::<Value>(("x", true, "y"), "1").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_key_that_is_not_the_items_is_refused() {
    let bench = Bench::start().await;
    let container = bench.container().await;
    let error = container.create_item("b", json!({"id": "1", "pk": "a"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    assert_eq!(error.status().unwrap().sub_status(), 1001, "{error}");
}
