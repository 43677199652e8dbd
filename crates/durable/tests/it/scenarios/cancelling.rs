//! Cancelling an instance: what becomes of it, of its children and of its parent, and when it changes nothing.
//!
//! After the cancellation suite and sample. Activities and children that are given up are in files of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duroxide::providers::{Provider, WorkItem};
use duroxide::runtime::OrchestrationStatus;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{EventKind, OrchestrationContext};

use crate::harness::{Account, Server};
use crate::steps::{Turn, child, child_scheduled, fetch, send, start, started};
use crate::world::*;

fn family() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Patient", |context: OrchestrationContext, _: String| async move {
            Ok(context.schedule_wait("go").await)
        })
        .register("Quick", |_: OrchestrationContext, _: String| async move { Ok("ok".to_owned()) })
        .register("Parent", |context: OrchestrationContext, count: String| async move {
            let children = (0..number(&count)?)
                .map(|n| context.schedule_sub_orchestration("Patient", n.to_string()))
                .collect::<Vec<_>>();
            let results: Result<Vec<String>, String> = context.join(children).await.into_iter().collect();
            Ok(results?.join(","))
        })
        .register("Caring", |context: OrchestrationContext, _: String| async move {
            match context.schedule_sub_orchestration_with_id("Patient", "cared-for", "").await {
                Ok(result) => Err(format!("it ended with {result}")),
                Err(why) => Ok(format!("the child: {why}")),
            }
        })
        .register("Second", |context: OrchestrationContext, _: String| async move {
            match context.execution_id() {
                1 => context.continue_as_new("").await,
                _ => Ok(context.schedule_wait("go").await),
            }
        })
}

fn is_cancellation(kind: &EventKind) -> bool {
    matches!(kind, EventKind::OrchestrationCancelRequested { .. })
}

#[tokio::test]
async fn a_cancelled_parent_ends_and_so_do_all_of_its_children() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), family()).await;
        for count in ["1", "5"] {
            let parent = format!("parent{count}");
            world.begin(&parent, "Parent", count).await;
            let children: Vec<_> =
                (0..number(count).unwrap()).map(|n| format!("{parent}::sub::{}", n + 2)).collect();
            for child in &children {
                world.until_waiting(child, "go").await;
            }
            world.client.cancel_instance(&parent, "no need").await.unwrap();
            assert_eq!(world.cancelled(&parent).await, "no need");
            for child in &children {
                assert_eq!(world.cancelled(child).await, "parent canceled");
                assert_eq!(count_of_ends(&world, child).await, (1, 1));
            }
            assert_eq!(count_of_ends(&world, &parent).await, (1, 1));
        }
        world.stop().await;
    }
}

/// How often an instance was asked to end, and how often it did.
async fn count_of_ends(world: &World, instance: &str) -> (usize, usize) {
    let history = world.history(instance).await;
    let ends = history.iter().filter(|event| matches!(event.kind, EventKind::OrchestrationFailed { .. }));
    let own = ends.filter(|event| event.instance_id == instance && event.execution_id > 0).count();
    (count(&history, is_cancellation), own)
}

#[tokio::test]
async fn a_child_that_is_cancelled_tells_its_parent() {
    let world = World::start(activities(), family()).await;
    world.begin("caring", "Caring", "").await;
    world.until_waiting("cared-for", "go").await;
    world.client.cancel_instance("cared-for", "not this one").await.unwrap();
    assert_eq!(world.end("caring").await.unwrap(), "the child: canceled: not this one");
    let history = world.history("caring").await;
    let told = history.iter().find_map(|event| match &event.kind {
        EventKind::SubOrchestrationFailed { details } => Some((event.source_event_id, reason(details))),
        _ => None,
    });
    assert_eq!(told, Some((Some(2), Some("not this one"))));
    world.stop().await;
}

#[tokio::test]
async fn only_the_first_cancellation_of_a_running_instance_counts() {
    let world = World::start(activities(), family()).await;
    world.begin("p", "Patient", "").await;
    world.until_waiting("p", "go").await;
    for why in ["first", "second", "third"] {
        world.client.cancel_instance("p", why).await.unwrap();
    }
    assert_eq!(world.cancelled("p").await, "first");
    world.until_quiet().await;
    assert_eq!(count_of_ends(&world, "p").await, (1, 1));
    world.stop().await;
}

#[tokio::test]
async fn cancelling_what_has_ended_changes_nothing() {
    let world = World::start(activities(), family()).await;
    assert_eq!(world.run("Quick", "").await.unwrap(), "ok");
    let before = world.history("Quick-").await;
    world.client.cancel_instance("Quick-", "late").await.unwrap();
    world.until_quiet().await;
    assert_eq!(world.history("Quick-").await, before);
    world.stop().await;
}

#[tokio::test]
async fn cancelling_what_is_not_there_makes_nothing_and_waits_for_it() {
    let world = World::start(activities(), family()).await;
    world.client.cancel_instance("nobody", "in advance").await.unwrap();
    assert_eq!(world.run("Quick", "").await.unwrap(), "ok", "others are not held up");
    assert_eq!(world.client.list_all_instances().await.unwrap(), ["Quick-"]);
    let status = world.client.get_orchestration_status("nobody").await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    // It may have overtaken the start, which a process that is slow is yet to send.
    world.begin("nobody", "Quick", "").await;
    assert_eq!(world.cancelled("nobody").await, "in advance");
    world.stop().await;
}

#[tokio::test]
async fn a_cancellation_reaches_the_current_execution() {
    let world = World::start(activities(), family()).await;
    world.begin("s", "Second", "").await;
    world.until_waiting("s", "go").await;
    world.client.cancel_instance("s", "in the second").await.unwrap();
    assert_eq!(world.cancelled("s").await, "in the second");
    assert_eq!(count_of_ends(&world, "s").await, (1, 1));
    let first = world.client.read_execution_history("s", 1).await.unwrap();
    assert_eq!(count(&first, is_cancellation), 0);
    world.stop().await;
}

#[tokio::test]
async fn an_instance_that_is_cancelled_before_it_began_does_not_complete() {
    let home = Server::shared(Account::OneRegion).home();
    let store = home.provider().await;
    send(&store, start("early")).await;
    send(&store, WorkItem::CancelInstance { instance: "early".into(), reason: "at once".into() }).await;
    let orchestrations = orchestrations()
        .register("Test", |_: OrchestrationContext, _: String| async move { Ok("done".to_owned()) });
    let world = World::join(home, options(), activities().build(), orchestrations.build()).await;
    assert_eq!(world.cancelled("early").await, "at once");
    let completed = |kind: &EventKind| matches!(kind, EventKind::OrchestrationCompleted { .. });
    assert_eq!(count(&world.history("early").await, completed), 0);
    world.stop().await;
}

#[tokio::test]
async fn cancellations_from_the_user_and_from_the_parent_come_in_one_turn_and_end_the_child_once() {
    let home = Server::shared(Account::OneRegion).home();
    let store = home.provider().await;
    send(&store, start("parent")).await;
    let (_, token) = fetch(&store).await;
    let cancel = |reason: &str| WorkItem::CancelInstance { instance: "child".into(), reason: reason.into() };
    // One through the outbox of the parent's turn, behind the start of the child itself.
    let messages = vec![child("child", "parent"), cancel("by the parent")];
    let events = vec![started("parent", 1), child_scheduled("parent", 2, "child")];
    Turn { events, messages, ..Turn::default() }.ack(&store, &token).await.unwrap();
    send(&store, cancel("by the user")).await;
    let (item, token) = fetch(&store).await;
    let reasons: Vec<_> = item
        .messages
        .iter()
        .filter_map(|message| match message {
            WorkItem::CancelInstance { reason, .. } => Some(&**reason),
            _ => None,
        })
        .collect();
    assert_eq!((&*item.instance, reasons), ("child", vec!["by the parent", "by the user"]));
    store.abandon_orchestration_item(&token, None, true).await.unwrap();
    let runs = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&runs);
    let orchestrations =
        orchestrations().register("Test", move |context: OrchestrationContext, _: String| {
            counter.fetch_add(1, Ordering::Relaxed);
            async move { Ok(context.schedule_wait("go").await) }
        });
    let world = World::join(home, options(), activities().build(), orchestrations.build()).await;
    assert_eq!(world.cancelled("child").await, "by the parent");
    world.until_quiet().await;
    assert_eq!(count_of_ends(&world, "child").await, (1, 1));
    world.stop().await;
}
