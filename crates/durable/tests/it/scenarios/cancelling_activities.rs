//! Activities that nobody waits for any more: they learn of it, their results count for nothing, and their worker is
//! free again.
//!
//! After the cancellation suite: activities of cancelled and ended instances, losers of a race, dropped futures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, Either2, EventKind, OrchestrationContext};

use crate::harness::{Account, Server};
use crate::world::*;

/// Where activities begin, and where they end.
struct Gates {
    begun: Gate,
    told: Gate,
}

impl Gates {
    fn new() -> Self {
        Self { begun: Gate::new(), told: Gate::new() }
    }

    /// `Obedient` ends when it is cancelled, `Stubborn` never, `Slow` when the gate of those who began is opened.
    fn activities(&self) -> ActivityRegistryBuilder {
        let (begun, told) = (self.begun.clone(), self.told.clone());
        let (stubborn, slow) = (begun.clone(), begun.clone());
        activities()
            .register("Obedient", move |context: ActivityContext, _: String| {
                let (begun, told) = (begun.clone(), told.clone());
                async move {
                    begun.arrive();
                    context.cancelled().await;
                    told.arrive();
                    Ok("cancelled".to_owned())
                }
            })
            .register("Stubborn", move |_: ActivityContext, _: String| {
                stubborn.arrive();
                std::future::pending::<Result<String, String>>()
            })
            .register("Slow", move |_: ActivityContext, _: String| {
                let slow = slow.clone();
                async move {
                    slow.pass().await;
                    Ok("too late".to_owned())
                }
            })
    }
}

fn callers() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Await", |context: OrchestrationContext, activity: String| async move {
            context.schedule_activity(activity, "").await
        })
        .register("Race", |context: OrchestrationContext, activity: String| async move {
            let activity = context.schedule_activity(activity, "");
            match context.select2(activity, context.schedule_wait("enough")).await {
                Either2::First(result) => result,
                Either2::Second(_) => Ok(context.schedule_wait("end").await),
            }
        })
        .register("Drop", |context: OrchestrationContext, activity: String| async move {
            let activity = context.schedule_activity(activity, "");
            context.schedule_wait("enough").await;
            drop(activity);
            Ok(context.schedule_wait("end").await)
        })
        .register("Scope", |context: OrchestrationContext, activity: String| async move {
            {
                let _unused = context.schedule_activity(activity, "");
                context.schedule_wait("enough").await;
            }
            Ok(context.schedule_wait("end").await)
        })
        .register("Complete", |context: OrchestrationContext, activity: String| async move {
            drop(context.schedule_activity(activity, ""));
            Ok("done".to_owned())
        })
        .register("Break", |context: OrchestrationContext, activity: String| async move {
            drop(context.schedule_activity(activity, ""));
            Err("broken".to_owned())
        })
        .register("Work", |context: OrchestrationContext, text: String| async move {
            context.schedule_activity("Echo", text).await
        })
}

fn is_completion(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ActivityCompleted { .. })
}

/// Waits until no activity is left, done or not.
async fn until_idle(world: &World) {
    until("no activity is left", async || world.home.count("work").await == 0).await;
}

#[tokio::test]
async fn the_activity_of_a_cancelled_instance_is_told_and_its_result_counts_for_nothing() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let gates = Gates::new();
        let world = World::start_on(account, options(), gates.activities(), callers()).await;
        world.begin("told", "Await", "Obedient").await;
        world.begin("slow", "Await", "Slow").await;
        gates.begun.reached().await;
        gates.begun.reached().await;
        for instance in ["told", "slow"] {
            world.client.cancel_instance(instance, "enough").await.unwrap();
            assert_eq!(world.cancelled(instance).await, "enough");
        }
        gates.told.reached().await;
        gates.begun.open();
        until_idle(&world).await;
        world.until_quiet().await;
        for instance in ["told", "slow"] {
            assert_eq!(count(&world.history(instance).await, is_completion), 0, "{instance}");
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn an_activity_whose_future_is_dropped_is_told_while_its_orchestration_goes_on() {
    let gates = Gates::new();
    let options = RuntimeOptions { worker_concurrency: 3, ..options() };
    let world = World::start_on(Account::OneRegion, options, gates.activities(), callers()).await;
    let cases = ["Race", "Drop", "Scope"];
    for case in cases {
        world.begin(case, case, "Obedient").await;
        gates.begun.reached().await;
        world.until_waiting(case, "enough").await;
        world.client.raise_event(case, "enough", "").await.unwrap();
    }
    for case in cases {
        gates.told.reached().await;
        world.until_waiting(case, "end").await;
        let history = world.history(case).await;
        let given_up: Vec<_> = history
            .iter()
            .filter(|event| match &event.kind {
                EventKind::ActivityCancelRequested { reason } => reason == "dropped_future",
                _ => false,
            })
            .map(|event| event.source_event_id)
            .collect();
        assert_eq!(given_up, [Some(2)], "{case}: the activity that was scheduled first");
        world.client.raise_event(case, "end", "over").await.unwrap();
        assert_eq!(world.end(case).await.unwrap(), "over");
    }
    until_idle(&world).await;
    world.stop().await;
}

#[tokio::test]
async fn an_orchestration_may_end_before_its_activity_does() {
    let gates = Gates::new();
    let world = World::start(gates.activities(), callers()).await;
    world.begin("complete", "Complete", "Slow").await;
    world.begin("break", "Break", "Slow").await;
    assert_eq!(world.end("complete").await.unwrap(), "done");
    assert_eq!(world.end("break").await.unwrap_err(), "broken");
    // Whether they have begun or not.
    gates.begun.open();
    gates.begun.open();
    until_idle(&world).await;
    world.until_quiet().await;
    for instance in ["complete", "break"] {
        assert_eq!(count(&world.history(instance).await, is_completion), 0, "{instance}");
    }
    world.stop().await;
}

#[tokio::test]
async fn an_activity_that_waits_for_a_worker_is_not_begun_once_its_instance_is_cancelled() {
    let home = Server::shared(Account::OneRegion).home();
    let runs = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&runs);
    let activities = activities()
        .register("Count", move |_: ActivityContext, _: String| {
            counter.fetch_add(1, Ordering::Relaxed);
            async move { Ok(String::new()) }
        })
        .build();
    let idle = RuntimeOptions { worker_concurrency: 0, ..options() };
    let world = World::join(home, idle, activities.clone(), callers().build()).await;
    world.begin("c", "Await", "Count").await;
    until("the activity waits", async || world.home.count("work").await == 1).await;
    world.client.cancel_instance("c", "no need").await.unwrap();
    assert_eq!(world.cancelled("c").await, "no need");
    let home = world.stop().await;
    let world = World::join(home, options(), activities, callers().build()).await;
    // The workers work, and have nothing else to do.
    assert_eq!(world.run("Work", "other").await.unwrap(), "other");
    until_idle(&world).await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(count(&world.history("c").await, is_completion), 0);
    world.stop().await;
}

#[tokio::test]
async fn an_activity_that_does_not_listen_is_aborted_and_its_worker_free_again() {
    let gates = Gates::new();
    let options = RuntimeOptions {
        worker_concurrency: 1,
        activity_cancellation_grace_period: Duration::from_millis(50),
        ..options()
    };
    let world = World::start_on(Account::OneRegion, options, gates.activities(), callers()).await;
    world.begin("s", "Await", "Stubborn").await;
    gates.begun.reached().await;
    world.client.cancel_instance("s", "enough").await.unwrap();
    assert_eq!(world.cancelled("s").await, "enough");
    assert_eq!(world.run("Work", "next").await.unwrap(), "next");
    until_idle(&world).await;
    assert_eq!(gates.begun.waiting(), 0, "it ran once");
    assert_eq!(count(&world.history("s").await, is_completion), 0);
    world.stop().await;
}
