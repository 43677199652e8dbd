//! Turns in which something is given up while messages for it arrive: what was decided once is decided again when
//! another process replays it from the store; and histories that cannot be replayed at all.
//!
//! After the runtime half of the cancellation corner cases and of the queue suite.

use std::time::Duration;

use cosmonaut::{FeedScope, Patch};
use duroxide::providers::WorkItem;
use duroxide::runtime::RuntimeOptions;
use duroxide::{Either2, Either3, EventKind, OrchestrationContext};
use semver::Version;
use serde_json::Value;

use super::seeding::*;
use crate::harness::{Account, Server};
use crate::world::*;

/// The timers of the seeds are due at once or never, whatever the orchestration says.
const SOME_TIME: Duration = Duration::from_secs(1);

/// What is waited for first, and read after that.
struct Race {
    name: &'static str,
    stamp: Version,
    /// What its first turn has left.
    waits: Vec<EventKind>,
    /// The timer that fires in the second, if one does.
    fires: Option<u64>,
    /// Behind the timer in the same turn: `s` is an event, `q` a message.
    sent: &'static [(&'static str, &'static str)],
    output: &'static str,
}

fn races() -> Vec<Race> {
    let both: &[_] = &[("q", "first"), ("q", "second")];
    let race = |name, waits, fires, sent, output| Race { name, stamp: NEW, waits, fires, sent, output };
    vec![
        race("BothReadsLose", vec![read("q"), read("q"), timer()], Some(4), both, "timer first second"),
        race("FirstReadWins", vec![read("q"), read("q"), timer()], None, both, "first second"),
        race("NestedReadLoses", vec![read("q"), timer(), timer()], Some(4), &both[..1], "timer first"),
        // An event for a wait that is given up is gone; the next wait gets the next event.
        race("WaitLoses", vec![wait("s"), timer()], Some(3), &[("s", "stale")], "timer fresh"),
        race(
            "WaitAndReadLose",
            vec![wait("s"), read("q"), timer()],
            Some(4),
            &[("s", "stale"), ("q", "first")],
            "timer fresh first",
        ),
        Race { stamp: OLD, ..race("ReadWins", vec![read("q"), timer()], None, &both[..1], "first") },
    ]
}

/// Runs the race that has the name of the instance, and then an activity.
async fn run(context: OrchestrationContext, _: String) -> Result<String, String> {
    let read = || context.dequeue_event("q");
    let (name, timed_out) = (context.instance_id(), "timer".to_owned());
    let mut log = Vec::new();
    match &*name {
        "BothReadsLose" | "FirstReadWins" => {
            let first = context.select3(read(), read(), context.schedule_timer(SOME_TIME)).await;
            match first {
                Either3::First(message) => log.extend([message, read().await]),
                Either3::Second(message) => return Err(format!("{message} overtook another")),
                Either3::Third(()) => log.extend([timed_out, read().await, read().await]),
            }
        }
        "NestedReadLoses" => {
            let inner = context.select2(read(), context.schedule_timer(SOME_TIME));
            match context.select2(inner, context.schedule_timer(SOME_TIME)).await {
                Either2::First(_) => return Err("the inner timer is not due".to_owned()),
                Either2::Second(()) => log.extend([timed_out, read().await]),
            }
        }
        "WaitLoses" => {
            match context.select2(context.schedule_wait("s"), context.schedule_timer(SOME_TIME)).await {
                Either2::First(event) => log.push(event),
                Either2::Second(()) => log.extend([timed_out, context.schedule_wait("s").await]),
            }
        }
        "WaitAndReadLose" => {
            let wait = context.schedule_wait("s");
            let first = context.select3(wait, read(), context.schedule_timer(SOME_TIME)).await;
            match first {
                Either3::First(text) | Either3::Second(text) => log.push(text),
                Either3::Third(()) => log.extend([timed_out, context.schedule_wait("s").await, read().await]),
            }
        }
        _ => match context.select2(read(), context.schedule_timer(SOME_TIME)).await {
            Either2::First(message) => log.push(message),
            Either2::Second(()) => log.push(timed_out),
        },
    }
    // Done by the process that replays all of the above.
    context.schedule_activity("Echo", log.join(" ")).await
}

#[tokio::test]
async fn what_was_given_up_while_messages_came_is_given_up_again_when_another_process_replays_it() {
    let home = Server::shared(Account::OneRegion).home();
    for race in races() {
        let timer = race.fires.map(|id| fired(race.name, 1, id));
        let sent = race.sent.iter().map(|(name, data)| match *name {
            "s" => event(race.name, name, data),
            _ => message(race.name, name, data),
        });
        let messages: Vec<WorkItem> = timer.into_iter().chain(sent).collect();
        Seed { instance: race.name, stamp: race.stamp, events: race.waits, messages }.store(&home).await;
    }
    let registry = orchestrations().register(ORCHESTRATION, run).build();
    let idle = RuntimeOptions { worker_concurrency: 0, ..options() };
    let world = World::join(home, idle, activities().build(), registry.clone()).await;
    for race in races() {
        if race.output.contains("fresh") {
            until(format!("{}: its second wait", race.name), async || {
                let history = world.history(race.name).await;
                count(&history, |kind| matches!(kind, EventKind::ExternalSubscribed { .. })) == 2
            })
            .await;
            world.client.raise_event(race.name, "s", "fresh").await.unwrap();
        }
        let is_activity = |kind: &EventKind| matches!(kind, EventKind::ActivityScheduled { .. });
        world.until_history(race.name, "its activity", is_activity).await;
    }
    let home = world.stop().await;
    let world = World::join(home, options(), activities().build(), registry).await;
    for race in races() {
        assert_eq!(world.end(race.name).await.unwrap(), race.output, "{}", race.name);
        let stamp = &world.history(race.name).await[0].duroxide_version;
        assert_eq!(*stamp, race.stamp.to_string(), "the stamp of its first turn stays");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_read_that_was_given_up_behind_one_that_took_its_place_is_replayed_from_the_history() {
    let home = Server::shared(Account::OneRegion).home();
    let delivered = EventKind::QueueEventDelivered { name: "q".into(), data: "first".into() };
    let given_up = EventKind::QueueSubscriptionCancelled { reason: "dropped_future".into() };
    // The timer fired and the next read took the message, all in one turn.
    let events = vec![
        read("q"),
        timer(),
        EventKind::TimerFired { fire_at_ms: 1000 },
        delivered,
        read("q"),
        timer(),
        read("q"),
        timer(),
        given_up,
    ];
    let messages = vec![message("i", "q", "second")];
    Seed { instance: "i", stamp: NEW, events, messages }.store(&home).await;
    let registry =
        orchestrations().register(ORCHESTRATION, |context: OrchestrationContext, _: String| async move {
            let mut log = Vec::new();
            while log.iter().filter(|entry| *entry != "timer").count() < 2 {
                match context.select2(context.dequeue_event("q"), context.schedule_timer(SOME_TIME)).await {
                    Either2::First(message) => log.push(message),
                    Either2::Second(()) => log.push("timer".to_owned()),
                }
            }
            Ok(log.join(" "))
        });
    let world = World::join(home, options(), activities().build(), registry.build()).await;
    assert_eq!(world.end("i").await.unwrap(), "timer first second");
    world.stop().await;
}

#[tokio::test]
async fn an_instance_whose_history_cannot_be_read_ends_as_poisoned_and_says_why() {
    let without_stamp = |body: &str| {
        let mut events: Vec<Value> = serde_json::from_str(body).unwrap();
        for event in &mut events {
            event.as_object_mut().unwrap().remove("duroxide_version").unwrap();
        }
        Value::from(events).to_string()
    };
    for damage in [without_stamp, |_: &str| "no history".to_owned()] as [fn(&str) -> String; 2] {
        let home = Server::shared(Account::OneRegion).home();
        let messages = vec![event("i", "ping", "")];
        Seed { instance: "i", stamp: OLD, events: Vec::new(), messages }.store(&home).await;
        let documents = home.documents();
        for document in home.all(FeedScope::Container).await {
            if document["type"] == "history" {
                let (id, body) = (document["id"].as_str().unwrap(), document["body"].as_str().unwrap());
                let patch = Patch::new().set("/body", damage(body));
                documents.patch_item("i", id, patch).await.unwrap();
            }
        }
        let impatient = RuntimeOptions { max_attempts: 0, ..options() };
        let world = World::join(home, impatient, activities().build(), orchestrations().build()).await;
        let info = async || world.client.get_instance_info("i").await.unwrap();
        until("it has failed", async || info().await.status == "Failed").await;
        let why = info().await.output.unwrap_or_default();
        assert!(why.contains("deserialization failed"), "{why}");
        world.until_quiet().await;
        world.stop().await;
    }
}
