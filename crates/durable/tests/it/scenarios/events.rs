//! Events that a client raises: they reach the wait that is there, in order, each of them once.
//!
//! After what the cancellation and continue-as-new suites say of events, and the sample on typed events. Messages
//! of queues, which wait for their reader, are in `queues`.

use std::time::Duration;

use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{Either2, EventKind, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

const MOMENT: Duration = Duration::from_millis(30);

fn waiters() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Two", |context: OrchestrationContext, _: String| async move {
            let first = context.schedule_wait("go").await;
            context.schedule_activity("Echo", "").await?;
            let second = context.schedule_wait("go").await;
            Ok(format!("{first} {second}"))
        })
        // Gives up a first wait, and waits again.
        .register("Again", |context: OrchestrationContext, _: String| async move {
            match context.select2(context.schedule_wait("go"), context.schedule_timer(MOMENT)).await {
                Either2::First(event) => Err(format!("{event} came too early")),
                Either2::Second(()) => Ok(context.schedule_wait("go").await),
            }
        })
        // Waits only after something else, and not for long.
        .register("Late", |context: OrchestrationContext, _: String| async move {
            context.schedule_activity("Stop", "").await?;
            match context.select2(context.schedule_wait("go"), context.schedule_timer(MOMENT)).await {
                Either2::First(event) => Ok(event),
                Either2::Second(()) => Ok("gone by".to_owned()),
            }
        })
}

/// Waits until an instance has begun so many waits.
async fn until_waits(world: &World, instance: &str, waits: usize) {
    until(format!("wait {waits} of {instance}"), async || {
        let history = world.history(instance).await;
        count(&history, |kind| matches!(kind, EventKind::ExternalSubscribed { .. })) >= waits
    })
    .await;
}

#[tokio::test]
async fn events_reach_the_waits_in_order_and_equal_ones_are_not_taken_for_one() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), waiters()).await;
        for [first, second] in [["a", "b"], ["same", "same"]] {
            world.begin(first, "Two", "").await;
            for (waits, event) in [(1, first), (2, second)] {
                until_waits(&world, first, waits).await;
                world.client.raise_event(first, "go", event).await.unwrap();
            }
            assert_eq!(world.end(first).await.unwrap(), format!("{first} {second}"));
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn a_wait_that_was_given_up_takes_no_event_from_the_next() {
    let world = World::start(activities(), waiters()).await;
    world.begin("again", "Again", "").await;
    until_waits(&world, "again", 2).await;
    world.client.raise_event("again", "go", "hello").await.unwrap();
    assert_eq!(world.end("again").await.unwrap(), "hello");
    let history = world.history("again").await;
    let given_up = |kind: &EventKind| matches!(kind, EventKind::ExternalSubscribedCancelled { reason } if reason == "dropped_future");
    assert_eq!(count(&history, given_up), 1);
    world.stop().await;
}

#[tokio::test]
async fn an_event_that_comes_before_the_wait_is_noted_and_goes_by() {
    let gate = Gate::new();
    let activities = activities_with_stop(&gate);
    let world = World::start(activities, waiters()).await;
    world.begin("late", "Late", "").await;
    gate.reached().await;
    world.client.raise_event("late", "go", "early").await.unwrap();
    world.until_history("late", "the event", |kind| matches!(kind, EventKind::ExternalEvent { .. })).await;
    gate.open();
    assert_eq!(world.end("late").await.unwrap(), "gone by");
    world.stop().await;
}
