//! How large an instance is: its history, its values and what it carries.
//!
//! After the statistics of the management suite, and their sample.

use duroxide::{ActivityContext, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

#[tokio::test]
async fn statistics_are_those_of_the_current_execution_and_of_all_values() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let activities = activities()
            .register("Big", |_: ActivityContext, _: String| async move { Ok("x".repeat(10 * 1024)) });
        let orchestrations = orchestrations()
            .register("Values", |context: OrchestrationContext, _: String| async move {
                for (key, value) in [("a", "aaa"), ("b", "bbbbb"), ("c", "cc"), ("gone", "x")] {
                    context.set_kv_value(key, value);
                }
                context.clear_kv_value("gone");
                Ok(String::new())
            })
            .register("LargeValues", |context: OrchestrationContext, _: String| async move {
                for n in 0..4 {
                    context.set_kv_value(format!("k{n}"), "y".repeat(16 * 1024));
                }
                context.schedule_activity("Echo", "").await
            })
            .register("LargeHistory", |context: OrchestrationContext, _: String| async move {
                for n in 0..4 {
                    context.schedule_activity("Big", n.to_string()).await?;
                }
                Ok(String::new())
            })
            .register("Rounds", |context: OrchestrationContext, n: String| async move {
                context.set_kv_value("round", n.clone());
                if number(&n)? == 2 {
                    return Ok(n);
                }
                context.schedule_activity("Echo", "").await?;
                context.continue_as_new((number(&n)? + 1).to_string()).await
            });
        let world = World::start_on(account, options(), activities, orchestrations).await;
        // Keys, their bytes, and the events of the last execution.
        for (orchestration, input, keys, bytes, events) in [
            ("Values", "", 3, 10, 7),
            ("LargeValues", "", 4, 4 * 16 * 1024, 8),
            ("LargeHistory", "", 0, 0, 10),
            ("Rounds", "0", 1, 1, 3),
        ] {
            world.run(orchestration, input).await.unwrap();
            let instance = format!("{orchestration}-{input}");
            let stats = world.client.get_orchestration_stats(&instance).await.unwrap().unwrap();
            let values = (stats.kv_user_key_count, stats.kv_total_value_bytes);
            assert_eq!(values, (keys, bytes), "{orchestration}");
            assert_eq!(stats.history_event_count, events, "{orchestration}");
            let history = world.history(&instance).await;
            let content: usize =
                history.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
            let size = usize::try_from(stats.history_size_bytes).unwrap();
            assert!((content..content + 1024).contains(&size), "{orchestration}: {size} of {content}");
            assert_eq!(stats.queue_pending_count, 0, "{orchestration}");
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn messages_that_are_carried_and_not_read_are_counted() {
    let orchestrations =
        orchestrations().register("Hold", |context: OrchestrationContext, _: String| async move {
            if context.execution_id() == 1 {
                context.schedule_wait("go").await;
                return context.continue_as_new("").await;
            }
            Ok(context.schedule_wait("end").await)
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("h", "Hold", "").await;
    world.until_waiting("h", "go").await;
    for message in ["a", "b", "c"] {
        world.client.enqueue_event("h", "q", message).await.unwrap();
    }
    world.client.raise_event("h", "go", "").await.unwrap();
    world.until_waiting("h", "end").await;
    let stats = world.client.get_orchestration_stats("h").await.unwrap().unwrap();
    assert_eq!(stats.queue_pending_count, 3);
    world.stop().await;
}
