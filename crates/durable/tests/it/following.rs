//! A process follows its share of the container, and holds slots only while it dispatches.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cosmonaut_emulator::{Delay, Effect, Fault, Operations};
use duroxide::OrchestrationContext;
use duroxide::providers::{Provider, ProviderError};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, LeaseProvider, Leases, Role, Slots};

use tokio::task::JoinSet;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{World, activities, options, orchestrations, until};

async fn member(home: &Home, name: &str, lease: Duration) -> CosmosProvider {
    let leases = Leases::Container { name: name.into(), lease };
    CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap()
}

/// What reading has cost all these processes while somebody starts some instances, none of which is run. Each of them
/// follows as if it waited.
async fn cost_of_reading(home: &Home, members: &[CosmosProvider]) -> f64 {
    let charge = || members.iter().map(|member| member.background_usage().charge).sum::<f64>();
    let sender = home.provider().await;
    let before = charge();
    for n in 0..100 {
        let mut item = start(&format!("big-{}-{n}", members.len()));
        if let duroxide::providers::WorkItem::StartOrchestration { input, .. } = &mut item {
            *input = "x".repeat(50_000);
        }
        send(&sender, item).await;
    }
    // Every reader asks at least once more, and reads what there is for it.
    for member in members {
        member
            .fetch_work_item(LOCK, Duration::ZERO, None, &duroxide::providers::TagFilter::Any)
            .await
            .unwrap();
    }
    charge() - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_processes_together_read_about_as_much_as_one() {
    const LEASE: Duration = Duration::from_secs(3);
    let server = Server::start(Account::OneRegion);
    let alone = server.home();
    let one = [member(&alone, "one", LEASE).await];
    fetch_now(&one[0]).await;
    let cost_of_one = cost_of_reading(&alone, &one).await;
    let shared = server.home();
    let mut twenty = Vec::new();
    for n in 0..20 {
        twenty.push(member(&shared, &format!("member-{n}"), LEASE).await);
    }
    let mut waiting = JoinSet::new();
    for member in twenty.clone() {
        waiting.spawn(async move { member.fetch_orchestration_item(LOCK, PATIENCE * 10, None).await });
    }
    until("all have their share", async || {
        let table = shared.documents().read_item::<serde_json::Value>("$leases", "shares").await;
        table.is_ok_and(|table| table.value()["shares"].as_array().is_some_and(|all| all.len() == 20))
    })
    .await;
    let cost_of_twenty = cost_of_reading(&shared, &twenty).await;
    waiting.abort_all();
    assert!(cost_of_one > 0.0);
    assert!(cost_of_twenty < 6.0 * cost_of_one, "{cost_of_twenty} RU for twenty, {cost_of_one} for one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_that_was_stopped_leaves_no_instance_behind_though_its_provider_lives_on() {
    let home = Server::shared(Account::OneRegion).home();
    let quick = || {
        orchestrations().register("Quick", |_: OrchestrationContext, input: String| async move { Ok(input) })
    };
    let share = |name: &'static str| {
        World::share(home.clone(), name, options(), activities().build(), quick().build())
    };
    let (first, second) = (share("first").await, share("second").await);
    // Both have slots.
    for n in 0..20 {
        assert_eq!(first.run("Quick", &n.to_string()).await.unwrap(), n.to_string());
    }
    let store = first.store.clone();
    first.stop().await;
    let client = duroxide::Client::new(store);
    for n in 0..40 {
        client.start_orchestration(&format!("later-{n}"), "Quick", "done").await.unwrap();
    }
    for n in 0..40 {
        assert_eq!(second.end(&format!("later-{n}")).await.unwrap(), "done");
    }
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runtimes_on_one_provider_do_not_take_each_others_slots() {
    let home = Server::shared(Account::OneRegion).home();
    let quick = || {
        orchestrations().register("Quick", |_: OrchestrationContext, input: String| async move { Ok(input) })
    };
    let first = World::share(home.clone(), "both", options(), activities().build(), quick().build()).await;
    let second = World::on(home, first.store.clone(), options(), activities().build(), quick().build()).await;
    first.run("Quick", "1").await.unwrap();
    second.stop().await;
    for n in 2..20 {
        first.run("Quick", &n.to_string()).await.unwrap();
    }
    first.stop().await;
}

/// Leases that count how often they are renewed.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl LeaseProvider for Counting {
    fn owned(&self) -> Slots {
        Slots::all()
    }

    async fn renew(&self, _: Role) -> Result<Duration, ProviderError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Duration::from_millis(20))
    }

    async fn release(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_are_renewed_while_a_search_takes_long() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    home.provider().await;
    let leases = Arc::new(Counting::default());
    let config = CosmosProviderConfig { leases: Leases::Custom(leases.clone()), ..home.config() };
    let provider = CosmosProvider::connect(config).await.unwrap();
    let fault = Fault::new(Effect::Hang).in_container(home.link()).on(Operations::Read);
    server.control().add_fault(fault).await.unwrap();
    let mut fetching = JoinSet::new();
    fetching.spawn(async move { provider.fetch_orchestration_item(LOCK, PATIENCE, None).await });
    until("leases are renewed", async || leases.0.load(Ordering::Relaxed) > 10).await;
    fetching.abort_all();
    server.control().clear().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_process_releases_when_it_is_dropped_others_have_without_waiting_for_the_lease() {
    /// Longer than the test waits.
    const LEASE: Duration = Duration::from_secs(90);
    let home = Server::shared(Account::OneRegion).home();
    let first = member(&home, "first", LEASE).await;
    assert!(fetch_now(&first).await.is_none());
    drop(first);
    until("it has gone", async || {
        let documents = home.all("$leases").await;
        documents.iter().all(|document| document["type"] != "member")
    })
    .await;
    let second = member(&home, "second", LEASE).await;
    send(&second, start("a")).await;
    let (item, _) = fetch(&second).await;
    assert_eq!(item.instance, "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_answers_of_one_kind_do_not_make_a_process_forget_what_it_knows() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    fetch_now(&provider).await;
    let slow = Effect::Slow(Delay::Fixed(Duration::from_millis(300)));
    server.control().add_fault(Fault::new(slow).on(Operations::Read)).await.unwrap();
    let wanted: BTreeSet<String> = (0..5).map(|n| format!("i{n}")).collect();
    for instance in &wanted {
        send(&provider, start(instance)).await;
    }
    let mut seen = BTreeSet::new();
    while seen.len() < wanted.len() {
        let (item, token) = fetch(&provider).await;
        Turn::first(&item.instance).ack(&provider, &token).await.unwrap();
        assert!(seen.insert(item.instance), "handed out twice");
    }
    assert_eq!(seen, wanted);
    server.control().clear().await.unwrap();
}
