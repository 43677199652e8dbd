//! Tests as those that use this crate are: each with a runtime and a database of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

async fn writes_alone(turn: u64) {
    let database = cosmonaut_testing::database().await.unwrap();
    let orders = database.container("orders", "/customer").await.unwrap();
    orders.create_item("contoso", json!({"id": "7", "customer": "contoso", "turn": turn})).await.unwrap();
    let found: Value = orders.read_item("contoso", "7").await.unwrap().into_value();
    assert_eq!(found["turn"], turn);
}

#[tokio::test]
async fn a_test_sees_its_own_items_only() {
    writes_alone(1).await;
}

#[tokio::test]
async fn and_so_does_another_one_at_the_same_time() {
    writes_alone(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_any_runtime() {
    writes_alone(3).await;
}

#[test]
fn the_account_outlives_the_runtime_of_the_test_that_has_started_it() {
    for turn in 4..6 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(writes_alone(turn));
    }
}
