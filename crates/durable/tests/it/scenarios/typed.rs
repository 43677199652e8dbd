//! Inputs, outputs, events, messages and values that are types of the application, not texts.
//!
//! After the typed samples, and the typed events, messages and values of the queue and key-value suites.

use std::collections::HashMap;

use duroxide::{ActivityContext, Either2, OrchestrationContext};
use serde::{Deserialize, Serialize};

use crate::world::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair {
    a: i32,
    b: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sum {
    sum: i32,
}

/// Whichever of a typed activity and one of texts is done first.
async fn race(context: &OrchestrationContext, pair: &Pair) -> Result<String, String> {
    let sum = context.schedule_activity_typed::<Pair, Sum>("Add", pair);
    match context.select2(sum, context.schedule_activity("Echo", "text")).await {
        Either2::First(sum) => sum.map(|sum| format!("sum {}", sum.sum)),
        Either2::Second(text) => text,
    }
}

#[tokio::test]
async fn typed_and_untyped_activities_and_orchestrations_mix() {
    let activities = activities()
        .register_typed::<Pair, Sum, _, _>("Add", |_: ActivityContext, pair| async move {
            Ok(Sum { sum: pair.a + pair.b })
        });
    let orchestrations = orchestrations()
        .register_typed::<Pair, Sum, _, _>("Adder", |context: OrchestrationContext, pair| async move {
            context.schedule_activity_typed::<Pair, Sum>("Add", &pair).await
        })
        .register_typed::<Pair, String, _, _>("Typed", |context: OrchestrationContext, pair| async move {
            race(&context, &pair).await
        })
        .register("Untyped", |context: OrchestrationContext, _: String| async move {
            race(&context, &Pair { a: 5, b: 7 }).await
        });
    let world = World::start(activities, orchestrations).await;
    let pair = Pair { a: 2, b: 3 };
    world.client.start_orchestration_typed("adder", "Adder", pair.clone()).await.unwrap();
    let sum = world.client.wait_for_orchestration_typed::<Sum>("adder", LONG).await.unwrap();
    assert_eq!(sum, Ok(Sum { sum: 5 }));
    world.client.start_orchestration_typed("typed", "Typed", pair).await.unwrap();
    let first = world.client.wait_for_orchestration_typed::<String>("typed", LONG).await.unwrap().unwrap();
    assert!(["sum 5", "text"].contains(&&*first), "{first}");
    let first = world.run("Untyped", "").await.unwrap();
    assert!(["sum 12", "text"].contains(&&*first), "{first}");
    world.stop().await;
}

#[tokio::test]
async fn typed_events_messages_and_values_come_back_as_they_were() {
    let orchestrations =
        orchestrations().register("Typed", |context: OrchestrationContext, _: String| async move {
            let event: Pair = context.schedule_wait_typed("event").await;
            let message: Pair = context.dequeue_event_typed("queue").await;
            context.set_kv_value_typed("sum", &Sum { sum: event.a + message.b });
            let kept: Option<Sum> = context.get_kv_value_typed("sum")?;
            let wrong = context.get_kv_value_typed::<HashMap<String, Vec<u8>>>("sum");
            Ok(format!("{kept:?}, as another type: {}", if wrong.is_err() { "refused" } else { "read" }))
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("t", "Typed", "").await;
    world.until_waiting("t", "event").await;
    world.client.raise_event_typed("t", "event", &Pair { a: 40, b: 0 }).await.unwrap();
    world.client.enqueue_event_typed("t", "queue", &Pair { a: 0, b: 2 }).await.unwrap();
    assert_eq!(world.end("t").await.unwrap(), "Some(Sum { sum: 42 }), as another type: refused");
    let kept: Option<Sum> = world.client.get_kv_value_typed("t", "sum").await.unwrap();
    assert_eq!(kept, Some(Sum { sum: 42 }));
    let waited: Sum = world.client.wait_for_kv_value_typed("t", "sum", LONG).await.unwrap();
    assert_eq!(waited, Sum { sum: 42 });
    world.stop().await;
}
