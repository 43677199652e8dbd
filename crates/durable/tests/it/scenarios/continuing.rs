//! Orchestrations that continue as new: the histories that they leave, and which execution an event, a message or a
//! completion reaches.
//!
//! After the continue-as-new suite and sample.

use duroxide::providers::WorkItem;
use duroxide::{Either2, EventKind, OrchestrationContext};

use crate::harness::Account;
use crate::steps::send;
use crate::world::*;

#[tokio::test]
async fn each_execution_has_a_whole_history_of_its_own_and_the_last_one_is_current() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let orchestrations = orchestrations()
            .register("Working", |context: OrchestrationContext, n: String| async move {
                context.schedule_activity("Echo", n.clone()).await?;
                match number(&n)? {
                    2 => Ok("done".to_owned()),
                    n => context.continue_as_new((n + 1).to_string()).await,
                }
            })
            .register("AtOnce", |context: OrchestrationContext, n: String| async move {
                match number(&n)? {
                    2 => Ok("done".to_owned()),
                    n => context.continue_as_new((n + 1).to_string()).await,
                }
            });
        let world = World::start_on(account, options(), activities(), orchestrations).await;
        for orchestration in ["Working", "AtOnce"] {
            assert_eq!(world.run(orchestration, "0").await.unwrap(), "done");
            let instance = format!("{orchestration}-0");
            assert_eq!(world.client.list_executions(&instance).await.unwrap(), [1, 2, 3]);
            for execution in 1..=3 {
                let history = world.client.read_execution_history(&instance, execution).await.unwrap();
                let whose = history.iter().all(|event| event.execution_id == execution);
                assert!(whose && history.iter().map(|event| event.event_id).eq(1..=history.len() as u64));
                let own = (execution - 1).to_string();
                match &history[0].kind {
                    EventKind::OrchestrationStarted { input, .. } => assert_eq!(*input, own),
                    other => panic!("{other:?}"),
                }
                match &history.last().unwrap().kind {
                    EventKind::OrchestrationContinuedAsNew { input } => {
                        assert_eq!(*input, execution.to_string());
                    }
                    EventKind::OrchestrationCompleted { output } => {
                        assert_eq!((execution, &**output), (3, "done"));
                        assert_eq!(world.history(&instance).await, history);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn an_event_reaches_the_current_execution_and_only_once_that_waits_for_it() {
    let gate = Gate::new();
    let activities = activities_with_stop(&gate);
    let orchestrations = orchestrations()
        .register("Wait", |context: OrchestrationContext, input: String| async move {
            match &*input {
                "first" => context.continue_as_new("second").await,
                _ => Ok(context.schedule_wait("go").await),
            }
        })
        .register("Late", |context: OrchestrationContext, input: String| async move {
            if input == "first" {
                return context.continue_as_new("second").await;
            }
            context.schedule_activity("Stop", "").await?;
            Ok(context.schedule_wait("go").await)
        });
    let world = World::start(activities, orchestrations).await;
    world.begin("wait", "Wait", "first").await;
    world.until_waiting("wait", "go").await;
    world.client.raise_event("wait", "go", "ok").await.unwrap();
    assert_eq!(world.end("wait").await.unwrap(), "ok");
    world.begin("late", "Late", "first").await;
    gate.reached().await;
    // It does not wait yet: the event is noted and goes by.
    world.client.raise_event("late", "go", "early").await.unwrap();
    world.until_history("late", "early", |kind| matches!(kind, EventKind::ExternalEvent { .. })).await;
    gate.open();
    world.until_waiting("late", "go").await;
    world.client.raise_event("late", "go", "in time").await.unwrap();
    assert_eq!(world.end("late").await.unwrap(), "in time");
    for instance in ["wait", "late"] {
        let old = world.client.read_execution_history(instance, 1).await.unwrap();
        assert_eq!(old.len(), 2, "no event reaches a past execution: {old:?}");
    }
    world.stop().await;
}

#[tokio::test]
async fn completions_of_another_execution_are_dropped() {
    let orchestrations =
        orchestrations().register("Wait", |context: OrchestrationContext, input: String| async move {
            if input == "first" {
                return context.continue_as_new("second").await;
            }
            let activity = context.schedule_activity("Echo", "own");
            match context.select2(context.schedule_wait("go"), activity).await {
                Either2::First(event) => Ok(event),
                Either2::Second(own) => Ok(format!("{} {}", own?, context.schedule_wait("go").await)),
            }
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("w", "Wait", "first").await;
    world.until_history("w", "own", |kind| matches!(kind, EventKind::ActivityCompleted { .. })).await;
    for execution_id in [0, 1, 3] {
        // By its number it could be the activity that this execution has scheduled.
        for id in 1..6 {
            let result = "not mine".to_owned();
            send(
                &*world.store,
                WorkItem::ActivityCompleted { instance: "w".into(), execution_id, id, result },
            )
            .await;
        }
    }
    world.until_quiet().await;
    world.client.raise_event("w", "go", "on").await.unwrap();
    assert_eq!(world.end("w").await.unwrap(), "own on");
    let history = world.history("w").await;
    assert_eq!(count(&history, |kind| matches!(kind, EventKind::ActivityCompleted { .. })), 1);
    world.stop().await;
}
