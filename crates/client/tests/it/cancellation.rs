//! Futures that are dropped: what they were to do is done as a whole or not at all, and nothing else suffers.

use std::pin::pin;
use std::task::Poll;

use cosmonaut::Patch;
use serde_json::{Value, json};

use crate::harness::on_every_wire;

/// Polls a future up to so many times, then drops it. Says whether it was done.
pub(crate) async fn dropped_after<F: Future>(polls: usize, future: F) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        let polled =
            std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if polled {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

#[tokio::test]
async fn a_batch_that_is_dropped_is_applied_as_a_whole_or_not_at_all() {
    on_every_wire(async |_bench, container| {
        container.create_item("a", json!({"id": "count", "pk": "a", "n": 0})).await.unwrap();
        let mut applied = 0;
        for polls in 0..40 {
            let batch = container
                .batch("a")
                .create(json!({"id": format!("first {polls}"), "pk": "a"}))
                .patch("count", Patch::new().increment("/n", 1))
                .create(json!({"id": format!("second {polls}"), "pk": "a"}));
            let done = dropped_after(polls, batch.execute()).await;
            // A write on its way may still arrive; one after it in the same partition comes later.
            container.upsert_item("a", json!({"id": "fence", "pk": "a"})).await.unwrap();
            let ids = ["first", "second"].map(|name| format!("{name} {polls}"));
            let read = container.read_many::<Value>(ids.map(|id| ("a", id))).await.unwrap();
            let found = read.into_found().len();
            assert!(found == 2 || found == 0 && !done, "{found} of 2 after {polls} polls, done: {done}");
            applied += u64::from(found == 2);
        }
        let count = container.read_item::<Value>("a", "count").await.unwrap().into_value();
        assert!(applied > 0 && count["n"].as_u64() >= Some(applied), "{applied} of {}", count["n"]);
    })
    .await;
}

#[tokio::test]
async fn a_dropped_call_leaves_its_client_as_it_was() {
    on_every_wire(async |bench, container| {
        container.create_item("a", json!({"id": "1", "pk": "a"})).await.unwrap();
        for polls in 0..20 {
            dropped_after(polls, container.read_item::<Value>("a", "1")).await;
            dropped_after(polls, container.read_many::<Value>([("a", "1"), ("a", "2")])).await;
            assert!(container.read_item::<Value>("a", "1").await.is_ok());
        }
        // The page that was on its way is not lost.
        for polls in 0..10 {
            let mut databases = bench.client.list_databases();
            if !dropped_after(polls, databases.next()).await {
                assert_eq!(databases.next().await.unwrap().unwrap().id, "d");
            }
        }
    })
    .await;
}
