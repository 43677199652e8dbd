//! Messages that an execution has not read when it continues as new: the next one has them, in order, up to a limit.
//!
//! After the queue suite and the runtime half of the cancellation corner cases.

use std::time::Duration;

use duroxide::{Either2, EventKind, OrchestrationContext};
use semver::Version;

use super::seeding::*;
use crate::harness::{Account, Server};
use crate::steps::send;
use crate::world::*;

/// Gives up a read when a timer fires, and continues as new: with that read still held if `held`, and after one
/// more read if `drain`. The next execution gives back what it reads.
async fn giving_up(context: OrchestrationContext, drain: bool, held: bool) -> Result<String, String> {
    if context.execution_id() > 1 {
        return Ok(context.dequeue_event("q").await);
    }
    let mut read = context.dequeue_event("q");
    context.select2(&mut read, context.schedule_timer(Duration::from_millis(10))).await;
    let read = held.then_some(read);
    if drain {
        context.dequeue_event("q").await;
    }
    let next = context.continue_as_new("").await;
    drop(read);
    next
}

#[tokio::test]
async fn messages_that_come_with_the_timer_that_gives_up_their_read_go_to_the_next_execution() {
    for (stamp, drain, held, expected) in [
        // By the old rules they are counted as read, and only what comes later is there.
        (OLD, false, false, "fresh"),
        (OLD, true, false, "fresh"),
        (OLD, false, true, "fresh"),
        (OLD, true, true, "fresh"),
        (NEW, false, false, "m1"),
        (NEW, true, false, "m2"),
        (NEW, false, true, "m1"),
        (NEW, true, true, "m1"),
    ] {
        let home = Server::shared(Account::OneRegion).home();
        let mut messages = vec![fired("i", 1, 3), message("i", "q", "m1")];
        messages.extend(drain.then(|| message("i", "q", "m2")));
        let events = vec![read("q"), timer()];
        Seed { instance: "i", stamp: stamp.clone(), events, messages }.store(&home).await;
        let registry = orchestrations()
            .register(ORCHESTRATION, move |context: OrchestrationContext, _: String| {
                giving_up(context, drain, held)
            });
        let world = World::join(home, options(), activities().build(), registry.build()).await;
        let case = format!("{stamp}, drain {drain}, held {held}");
        until(&case, async || world.history("i").await.first().is_some_and(|event| event.execution_id == 2))
            .await;
        if stamp == OLD {
            world.client.enqueue_event("i", "q", "fresh").await.unwrap();
        }
        assert_eq!(world.end("i").await.unwrap(), expected, "{case}");
        let old = world.client.read_execution_history("i", 1).await.unwrap();
        let given_up = |kind: &EventKind| matches!(kind, EventKind::QueueSubscriptionCancelled { .. });
        assert_eq!(count(&old, given_up), 0, "{case}: continuing as new gives nothing up");
        world.stop().await;
    }
}

#[tokio::test]
async fn what_is_not_read_is_carried_over_as_many_executions_as_it_takes() {
    for stamp in [OLD, NEW] {
        let home = Server::shared(Account::OneRegion).home();
        let messages = ["a", "b", "c"].map(|data| message("i", "q", data)).to_vec();
        Seed { instance: "i", stamp: stamp.clone(), events: Vec::new(), messages }.store(&home).await;
        let registry = orchestrations().register(
            ORCHESTRATION,
            |context: OrchestrationContext, input: String| async move {
                let read = context.dequeue_event("q").await;
                match context.execution_id() {
                    1 => context.continue_as_new(read).await,
                    2 => context.continue_as_new(format!("{input}{read}")).await,
                    _ => Ok(format!("{input}{read}")),
                }
            },
        );
        let world = World::join(home, options(), activities().build(), registry.build()).await;
        assert_eq!(world.end("i").await.unwrap(), "abc", "{stamp}");
        let stamp_of = async |execution| {
            let history = world.client.read_execution_history("i", execution).await.unwrap();
            Version::parse(&history[0].duroxide_version).unwrap()
        };
        assert_eq!(stamp_of(1).await, stamp, "the first execution keeps its stamp");
        assert!(stamp_of(2).await > NEW, "the next has that of the runtime that began it");
        world.stop().await;
    }
}

#[tokio::test]
async fn a_new_execution_of_an_old_one_is_run_by_the_rules_of_today() {
    let registry = orchestrations()
        .register(ORCHESTRATION, |context: OrchestrationContext, _: String| async move {
            if context.execution_id() == 1 {
                let timer = context.schedule_timer(Duration::from_millis(10));
                context.select2(context.dequeue_event("q"), timer).await;
                return context.continue_as_new("").await;
            }
            let (first, second) = (context.dequeue_event("q"), context.dequeue_event("q"));
            let (one, two) = (context.schedule_timer(LONG), context.schedule_timer(2 * LONG));
            context.select2(first, one).await;
            match context.select2(second, two).await {
                Either2::First(message) => Ok(message),
                Either2::Second(()) => Err("the read that was given up took the message".to_owned()),
            }
        })
        .build();
    let home = Server::shared(Account::OneRegion).home();
    let messages = vec![event("i", "ping", "")];
    Seed { instance: "i", stamp: OLD, events: Vec::new(), messages }.store(&home).await;
    let world = World::join(home, options(), activities().build(), registry.clone()).await;
    let mut timers = Vec::new();
    until("both timers of the second execution", async || {
        let history = world.history("i").await;
        let set = history
            .iter()
            .filter(|event| event.execution_id == 2 && matches!(event.kind, EventKind::TimerCreated { .. }));
        timers = set.map(|event| event.event_id).collect();
        timers.len() == 2
    })
    .await;
    let store = world.store.clone();
    let home = world.stop().await;
    // In one turn: the timer that gives up the first read, a message, and the timer of the second.
    for item in [fired("i", 2, timers[0]), message("i", "q", "first"), fired("i", 2, timers[1])] {
        send(&*store, item).await;
    }
    let world = World::join(home, options(), activities().build(), registry).await;
    assert_eq!(world.end("i").await.unwrap(), "first");
    world.stop().await;
}

#[tokio::test]
async fn the_oldest_hundred_messages_of_all_queues_are_carried_and_the_others_dropped() {
    let orchestrations =
        orchestrations().register("Hold", |context: OrchestrationContext, _: String| async move {
            if context.execution_id() == 1 {
                context.schedule_wait("go").await;
                return context.continue_as_new("").await;
            }
            Ok("done".to_owned())
        });
    let world = World::start(activities(), orchestrations).await;
    for total in [100, 101] {
        let instance = format!("hold{total}");
        world.begin(&instance, "Hold", "").await;
        world.until_waiting(&instance, "go").await;
        let sent: Vec<_> =
            (0..total).map(|n| (if n % 2 == 0 { "a" } else { "b" }.to_owned(), n.to_string())).collect();
        for (queue, data) in &sent {
            world.client.enqueue_event(&instance, queue, data).await.unwrap();
        }
        world.client.raise_event(&instance, "go", "").await.unwrap();
        assert_eq!(world.end(&instance).await.unwrap(), "done");
        match &world.history(&instance).await[0].kind {
            EventKind::OrchestrationStarted { carry_forward_events, .. } => {
                assert_eq!(carry_forward_events.as_deref().unwrap_or_default(), &sent[..100]);
            }
            other => panic!("{other:?}"),
        }
    }
    world.stop().await;
}
