//! Messages of an instance's queues: kept until they are read, in the order in which they were sent, each queue for
//! itself.
//!
//! After the queue suite. What continuing as new does with them is in `queues_carried`.

use std::time::Duration;

use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{Either2, EventKind, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

const MOMENT: Duration = Duration::from_millis(30);

fn readers() -> OrchestrationRegistryBuilder {
    orchestrations()
        // Reads from the queues that the input names, one after the other, each in a turn of its own.
        .register("Read", |context: OrchestrationContext, names: String| async move {
            let mut read = Vec::new();
            for name in names.split(' ') {
                read.push(context.dequeue_event(name).await);
                context.schedule_activity("Echo", "").await?;
            }
            Ok(read.join(" "))
        })
        // Gives up so many reads, and reads then.
        .register("Again", |context: OrchestrationContext, times: String| async move {
            for _ in 0..number(&times)? {
                match context.select2(context.dequeue_event("q"), context.schedule_timer(MOMENT)).await {
                    Either2::First(message) => return Err(format!("{message} came too early")),
                    Either2::Second(()) => {}
                }
            }
            Ok(context.dequeue_event("q").await)
        })
        .register("Unread", |context: OrchestrationContext, _: String| async move {
            let _unread = context.dequeue_event("q");
            context.schedule_timer(MOMENT).await;
            Ok("done".to_owned())
        })
        .register("Late", |context: OrchestrationContext, _: String| async move {
            context.schedule_timer(MOMENT).await;
            match context.select2(context.dequeue_event("q"), context.schedule_timer(MOMENT)).await {
                Either2::First(message) => Ok(message),
                Either2::Second(()) => Ok("nothing".to_owned()),
            }
        })
}

fn is_read(kind: &EventKind) -> bool {
    matches!(kind, EventKind::QueueSubscribed { .. })
}

fn is_given_up(kind: &EventKind) -> bool {
    matches!(kind, EventKind::QueueSubscriptionCancelled { reason } if reason == "dropped_future")
}

fn is_delivery(kind: &EventKind) -> bool {
    matches!(kind, EventKind::QueueEventDelivered { .. })
}

/// Waits until an instance has begun so many reads.
async fn until_reads(world: &World, instance: &str, reads: usize) {
    until(format!("read {reads} of {instance}"), async || {
        count(&world.history(instance).await, is_read) >= reads
    })
    .await;
}

#[tokio::test]
async fn messages_are_read_in_order_from_each_queue_whenever_they_come() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), readers()).await;
        // All before the first read, across queues.
        world.begin("before", "Read", "orders orders payments payments notes").await;
        for (queue, message) in
            [("payments", "p1"), ("orders", "o1"), ("notes", "n1"), ("orders", "o2"), ("payments", "p2")]
        {
            world.client.enqueue_event("before", queue, message).await.unwrap();
        }
        assert_eq!(world.end("before").await.unwrap(), "o1 o2 p1 p2 n1");
        // Each when it is waited for.
        world.begin("after", "Read", "q q q").await;
        for (reads, message) in [(1, "1"), (2, "2"), (3, "3")] {
            until_reads(&world, "after", reads).await;
            world.client.enqueue_event("after", "q", message).await.unwrap();
        }
        assert_eq!(world.end("after").await.unwrap(), "1 2 3");
        // Some before and some after.
        world.begin("mixed", "Read", "commands states commands states").await;
        for (queue, message) in [("commands", "c1"), ("commands", "c2"), ("states", "s1")] {
            world.client.enqueue_event("mixed", queue, message).await.unwrap();
        }
        until_reads(&world, "mixed", 4).await;
        world.client.enqueue_event("mixed", "states", "s2").await.unwrap();
        assert_eq!(world.end("mixed").await.unwrap(), "c1 s1 c2 s2");
        world.stop().await;
    }
}

#[tokio::test]
async fn reads_that_were_given_up_take_no_message_from_the_next() {
    let world = World::start(activities(), readers()).await;
    for times in [1, 2] {
        let instance = format!("again{times}");
        world.begin(&instance, "Again", &times.to_string()).await;
        until_reads(&world, &instance, times + 1).await;
        world.client.enqueue_event(&instance, "q", "survived").await.unwrap();
        assert_eq!(world.end(&instance).await.unwrap(), "survived");
        // This one comes after the end, and changes nothing.
        world.client.enqueue_event(&instance, "q", "extra").await.unwrap();
        world.until_quiet().await;
        let history = world.history(&instance).await;
        let counts = [is_read, is_given_up, is_delivery].map(|kind| count(&history, kind));
        assert_eq!(counts, [times + 1, times, 1]);
    }
    assert_eq!(world.run("Unread", "").await.unwrap(), "done");
    let history = world.history("Unread-").await;
    let ended = |kind: &EventKind| matches!(kind, EventKind::QueueSubscriptionCancelled { .. });
    assert_eq!(count(&history, ended), 1, "the end gives up what is not read: {history:?}");
    world.stop().await;
}

#[tokio::test]
async fn messages_that_come_while_no_runtime_is_there_are_delivered_in_one_turn() {
    let world = World::start(activities(), readers()).await;
    world.begin("a", "Again", "1").await;
    until_reads(&world, "a", 2).await;
    let client = world.client.clone();
    let home = world.stop().await;
    client.enqueue_event("a", "q", "first").await.unwrap();
    client.enqueue_event("a", "q", "extra").await.unwrap();
    let world = World::join(home, options(), activities().build(), readers().build()).await;
    assert_eq!(world.end("a").await.unwrap(), "first");
    let history = world.history("a").await;
    let counts = [is_read, is_given_up, is_delivery].map(|kind| count(&history, kind));
    assert_eq!(counts, [2, 1, 2], "also what nobody has read is noted");
    world.stop().await;
}

#[tokio::test]
async fn messages_to_an_instance_that_is_not_there_are_dropped() {
    let world = World::start(activities(), readers()).await;
    world.client.enqueue_event("late", "q", "lost").await.unwrap();
    world.until_quiet().await;
    world.begin("late", "Late", "").await;
    assert_eq!(world.end("late").await.unwrap(), "nothing");
    assert_eq!(count(&world.history("late").await, is_delivery), 0);
    world.stop().await;
}

/// Events, messages, activities and timers, each of which decides what comes next.
async fn everything(context: OrchestrationContext, _: String) -> Result<String, String> {
    let mut log = vec![context.schedule_wait("start").await];
    log.push(context.schedule_activity("Echo", "one").await?);
    log.push(context.dequeue_event("a").await);
    let doomed = context.schedule_wait("never");
    match context.select2(doomed, context.schedule_timer(MOMENT)).await {
        Either2::First(event) => return Err(event),
        Either2::Second(()) => log.push("timer".to_owned()),
    }
    match context.select2(context.schedule_wait("race"), context.dequeue_event("race")).await {
        Either2::First(event) => log.push(format!("event {event}")),
        Either2::Second(message) => log.push(format!("message {message}")),
    }
    // One name, and yet two different things.
    let both = context.join2(context.schedule_wait("both"), context.dequeue_event("both")).await;
    log.push(format!("{}+{}", both.0, both.1));
    Ok(log.join(", "))
}

#[tokio::test]
async fn queues_and_events_work_side_by_side_and_are_not_taken_for_each_other() {
    let world = World::start(activities(), orchestrations().register("Everything", everything)).await;
    world.begin("e", "Everything", "").await;
    world.until_waiting("e", "start").await;
    world.client.raise_event("e", "start", "go").await.unwrap();
    world.client.enqueue_event("e", "a", "first").await.unwrap();
    world.until_waiting("e", "race").await;
    world.client.enqueue_event("e", "race", "fast").await.unwrap();
    world.until_waiting("e", "both").await;
    world.client.raise_event("e", "both", "left").await.unwrap();
    world.client.enqueue_event("e", "both", "right").await.unwrap();
    assert_eq!(world.end("e").await.unwrap(), "go, one, first, timer, message fast, left+right");
    let history = world.history("e").await;
    assert_eq!(count(&history, is_given_up), 0);
    let waits_given_up = |kind: &EventKind| matches!(kind, EventKind::ExternalSubscribedCancelled { .. });
    assert_eq!(count(&history, waits_given_up), 2, "the doomed one and the one that lost: {history:?}");
    world.stop().await;
}
