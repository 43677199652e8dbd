//! Whole patterns that users build: an eternal orchestration that prunes itself, settings that arrive while it
//! works, a server that answers through its values, a producer and its consumer, a counter.
//!
//! After the samples of these names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use duroxide::{ActivityContext, Either2, EventKind, OrchestrationContext, PruneOptions};

use crate::harness::Account;
use crate::world::*;

#[tokio::test]
async fn an_eternal_orchestration_prunes_its_own_past_while_it_runs() {
    let pruned = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&pruned);
    let activities = activities().register("Prune", move |context: ActivityContext, _: String| {
        let total = Arc::clone(&total);
        async move {
            let keep = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
            let result = context.get_client().prune_executions(context.instance_id(), keep).await;
            let deleted = result.map_err(|error| error.to_string())?.executions_deleted;
            total.fetch_add(deleted, Ordering::Relaxed);
            Ok(deleted.to_string())
        }
    });
    let orchestrations =
        orchestrations().register("Eternal", |context: OrchestrationContext, round: String| async move {
            context.schedule_activity("Echo", round.clone()).await?;
            context.schedule_activity("Prune", "").await?;
            match number(&round)? {
                4 => Ok("five rounds".to_owned()),
                n => context.continue_as_new((n + 1).to_string()).await,
            }
        });
    let world = World::start(activities, orchestrations).await;
    world.begin("e", "Eternal", "0").await;
    assert_eq!(world.end("e").await.unwrap(), "five rounds");
    assert_eq!(pruned.load(Ordering::Relaxed), 4);
    assert_eq!(world.client.list_executions("e").await.unwrap(), [5]);
    world.stop().await;
}

/// Takes all settings that are there, and those that come within a moment.
async fn drain(context: &OrchestrationContext, log: &mut Vec<String>) -> Result<(), String> {
    loop {
        let pause = context.schedule_timer(Duration::from_millis(50));
        match context.select2(context.dequeue_event("settings"), pause).await {
            Either2::First(setting) => log.push(context.schedule_activity("Echo", setting).await?),
            Either2::Second(()) => return Ok(()),
        }
    }
}

#[tokio::test]
async fn settings_that_arrive_while_an_orchestration_works_are_kept_for_it_in_order() {
    let gate = Gate::new();
    let at = gate.clone();
    let activities = activities().register("Work", move |_: ActivityContext, round: String| {
        let at = at.clone();
        async move {
            at.pass().await;
            Ok(format!("round {round}"))
        }
    });
    let orchestrations =
        orchestrations().register("Service", |context: OrchestrationContext, _: String| async move {
            context.schedule_wait("open").await;
            let mut log = Vec::new();
            for round in 0..2 {
                drain(&context, &mut log).await?;
                log.push(context.schedule_activity("Work", round.to_string()).await?);
            }
            drain(&context, &mut log).await?;
            Ok(log.join(", "))
        });
    let world = World::start(activities, orchestrations).await;
    let send = async |setting: &str| world.client.enqueue_event("s", "settings", setting).await.unwrap();
    world.begin("s", "Service", "").await;
    world.until_waiting("s", "open").await;
    send("v1").await;
    send("v2").await;
    world.client.raise_event("s", "open", "").await.unwrap();
    gate.reached().await;
    // It works: these come too late for this round, and are not lost.
    send("v3").await;
    send("v4").await;
    gate.open();
    gate.reached().await;
    gate.open();
    assert_eq!(world.end("s").await.unwrap(), "v1, v2, round 0, v3, v4, round 1");
    world.stop().await;
}

#[tokio::test]
async fn an_orchestration_serves_requests_and_answers_through_its_values() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let orchestrations =
            orchestrations().register("Server", |context: OrchestrationContext, count: String| async move {
                context.set_kv_value("status", "ready");
                for _ in 0..number(&count)? {
                    let request = context.schedule_wait("request").await;
                    context.set_kv_value("status", "busy");
                    let answer = context.schedule_activity("Double", request.clone()).await?;
                    context.set_kv_value(format!("answer to {request}"), answer);
                    context.set_kv_value("status", "ready");
                }
                context.set_kv_value("status", "closed");
                Ok(format!("served {count}"))
            });
        let world = World::start_on(account, options(), activities(), orchestrations).await;
        world.begin("s", "Server", "3").await;
        assert_eq!(world.client.wait_for_kv_value("s", "status", LONG).await.unwrap(), "ready");
        for request in ["1", "2", "3"] {
            let key = format!("answer to {request}");
            assert_eq!(world.client.get_kv_value("s", &key).await.unwrap(), None);
            world.client.raise_event("s", "request", request).await.unwrap();
            let answer = world.client.wait_for_kv_value("s", &key, LONG).await.unwrap();
            assert_eq!(number(&answer), number(request).map(|n| 2 * n));
        }
        assert_eq!(world.end("s").await.unwrap(), "served 3");
        assert_eq!(world.client.get_kv_value("s", "status").await.unwrap().as_deref(), Some("closed"));
        assert_eq!(world.kept("s").await.len(), 4);
        world.stop().await;
    }
}

#[tokio::test]
async fn a_consumer_reads_what_a_producer_keeps_while_that_runs() {
    let orchestrations = orchestrations()
        .register("Producer", |context: OrchestrationContext, n: String| async move {
            context.set_kv_value("status", "computing");
            let doubled = context.schedule_activity("Double", n).await?;
            context.set_kv_value("result", doubled.clone());
            context.set_kv_value("status", "done");
            context.schedule_wait("thanks").await;
            Ok(doubled)
        })
        .register("Consumer", |context: OrchestrationContext, producer: String| async move {
            loop {
                let status = context.get_kv_value_from_instance(&producer, "status").await?;
                if status.as_deref() == Some("done") {
                    break;
                }
                context.schedule_timer(Duration::from_millis(20)).await;
            }
            let result = context.get_kv_value_from_instance(&producer, "result").await?;
            result.ok_or_else(|| "there is no result".to_owned())
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("consumer", "Consumer", "producer").await;
    world.begin("producer", "Producer", "7").await;
    assert_eq!(world.end("consumer").await.unwrap(), "14");
    world.client.raise_event("producer", "thanks", "").await.unwrap();
    assert_eq!(world.end("producer").await.unwrap(), "14");
    assert_eq!(world.client.get_kv_value("producer", "status").await.unwrap().as_deref(), Some("done"));
    world.stop().await;
}

#[tokio::test]
async fn a_counter_in_the_values_is_right_although_each_turn_replays_those_before() {
    let orchestrations =
        orchestrations().register("Batches", |context: OrchestrationContext, names: String| async move {
            for name in names.split(' ') {
                let done = number(&context.get_kv_value("done").unwrap_or("0".to_owned()))?;
                let result = context.schedule_activity("Echo", name).await?;
                context.set_kv_value("done", (done + 1).to_string());
                context.set_kv_value("last", result);
            }
            Ok(context.get_kv_value("done").unwrap_or_default())
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("b", "Batches", "alpha beta gamma").await;
    assert_eq!(world.end("b").await.unwrap(), "3");
    let kept = world.kept("b").await;
    assert_eq!((&*kept["done"], &*kept["last"]), ("3", "gamma"));
    let history = world.history("b").await;
    assert_eq!(count(&history, |kind| matches!(kind, EventKind::KeyValueSet { .. })), 6);
    world.stop().await;
}
