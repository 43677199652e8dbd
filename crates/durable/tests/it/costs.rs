//! What orchestrations cost: requests and request units, and what must not add to them.

use std::sync::Arc;

use duroxide::providers::{Provider, WorkItem};
use duroxide::runtime::RuntimeOptions;
use duroxide::{Client, OrchestrationContext};

use crate::harness::{Account, Server};
use crate::steps::*;
use crate::world::{LONG, World, activities, options, orchestrations};

/// What fetching an instance costs that has so many timers which are not due.
async fn charge_of_fetch(timers: u64) -> f64 {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let timer =
        |n| WorkItem::TimerFired { instance: "a".into(), execution_id: 1, id: n, fire_at_ms: FAR + n };
    let turn = Turn { messages: (0..timers).map(timer).collect(), ..Turn::first("a") };
    turn.ack(&provider, &token).await.unwrap();
    send(&provider, signal("a", 1)).await;
    let before = provider.usage().charge;
    let (item, _) = fetch(&provider).await;
    assert_eq!(item.messages, [signal("a", 1)]);
    provider.usage().charge - before
}

/// A time that does not come while a test runs, in milliseconds since 1970.
const FAR: u64 = 4_000_000_000_000;

#[tokio::test]
async fn a_fetch_does_not_pay_for_timers_that_are_not_due() {
    let (mut few, mut many) = (f64::MAX, f64::MAX);
    // What the provider looks at besides is counted, too, now and then.
    for _ in 0..4 {
        few = few.min(charge_of_fetch(3).await);
        many = many.min(charge_of_fetch(400).await);
    }
    assert!(many < few + 4.0, "{many:.1} RU with many timers, {few:.1} RU with few");
}

/// Sets many timers, of which one is due so many milliseconds after the beginning. Gives whether it came alone, after a turn
/// in between; a machine that stalls for longer brings it with that turn.
async fn first_of_many_timers_comes_alone(after_ms: u64) -> bool {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let admin = provider.as_management_capability().unwrap();
    Turn::first("a").ack(&provider, &token).await.unwrap();
    let soon = admin.get_instance_info("a").await.unwrap().updated_at + after_ms;
    send(&provider, signal("a", 0)).await;
    let (_, token) = fetch(&provider).await;
    let timer = |n: u64| {
        let fire_at_ms = if n == 39 { soon } else { FAR + n };
        WorkItem::TimerFired { instance: "a".into(), execution_id: 1, id: n, fire_at_ms }
    };
    let (events, messages) = (vec![scheduled("a", 2, "x")], (0..40).map(timer).collect());
    Turn { events, messages, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    // A turn in between, after which only the container knows of the timer.
    send(&provider, signal("a", 1)).await;
    let (item, token) = fetch(&provider).await;
    if item.messages.contains(&timer(39)) {
        return false;
    }
    Turn { events: vec![scheduled("a", 3, "x")], ..Turn::default() }.ack(&provider, &token).await.unwrap();
    assert_eq!(fetch(&provider).await.0.messages, [timer(39)]);
    true
}

#[tokio::test]
async fn of_many_timers_the_first_is_fetched_when_it_is_due() {
    for after_ms in [1500, 5000, 20_000] {
        if first_of_many_timers_comes_alone(after_ms).await {
            return;
        }
    }
    panic!("it came too early, or this machine stalled for twenty seconds");
}

#[tokio::test]
async fn five_activities_together_take_at_most_eighteen_requests_and_two_hundred_request_units() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    // The first look asks for more than its own.
    assert!(fetch_now(&provider).await.is_none());
    let before = provider.usage();
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let mut turn = Turn::first("a");
    for id in 2..7 {
        turn.events.push(scheduled("a", id, "x"));
        turn.work.push(activity("a", id, "x"));
    }
    turn.ack(&provider, &token).await.unwrap();
    let mut tokens = Vec::new();
    for _ in 0..5 {
        let (item, token) = fetch_work(&provider).await;
        let WorkItem::ActivityExecute { id, .. } = item else { panic!("{item:?}") };
        tokens.push((id, token));
        // The runtime asks what the orchestration is called before it runs an activity.
        assert_eq!(provider.read("a").await.unwrap().len(), 6);
    }
    for (id, token) in tokens {
        provider.ack_work_item(&token, Some(completion("a", id))).await.unwrap();
    }
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.messages.len(), 5);
    let events = vec![scheduled("a", 7, "x")];
    Turn { events, status: Some("Completed"), ..Turn::default() }.ack(&provider, &token).await.unwrap();
    let used = provider.usage();
    let (requests, charge) = (used.requests - before.requests, used.charge - before.charge);
    assert!(requests <= 18, "{requests} requests");
    assert!(charge <= 200.0, "{charge:.0} RU");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_spends_at_most_twenty_requests_and_two_hundred_request_units_on_five_activities_together()
{
    const COUNT: usize = 40;
    let registry = orchestrations().register("Five", |context: OrchestrationContext, _: String| async move {
        let five = (0..5).map(|n| context.schedule_activity("Echo", n.to_string())).collect();
        context.join(five).await.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.join(" "))
    });
    // One dispatcher of orchestrations for many workers: completions wait for it, and come together.
    let options = RuntimeOptions { orchestration_concurrency: 1, worker_concurrency: 8, ..options() };
    let world = World::start_on(Account::OneRegion, options, activities(), registry).await;
    assert_eq!(world.run("Five", "warm").await.unwrap(), "0 1 2 3 4");
    // Who waits asks on an object of its own, whose requests are not those of the runtime.
    let caller = Client::new(Arc::new(world.home.provider().await));
    let before = world.store.usage();
    for n in 0..COUNT {
        world.begin(&format!("five-{n}"), "Five", "").await;
    }
    for n in 0..COUNT {
        caller.wait_for_orchestration(&format!("five-{n}"), LONG).await.unwrap();
    }
    let used = world.store.usage();
    let each = |now: f64, before: f64| (now - before) / COUNT as f64;
    let requests = each(used.requests as f64, before.requests as f64);
    let charge = each(used.charge, before.charge);
    println!("{requests:.1} requests and {charge:.1} RU");
    assert!(requests <= 20.0, "{requests:.1} requests");
    assert!(charge <= 200.0, "{charge:.1} RU");
    world.stop().await;
}
