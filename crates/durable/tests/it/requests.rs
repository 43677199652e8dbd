//! What calls cost, in requests.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::CosmosClientOptions;
use cosmonaut::{CosmosClient, Credential};
use cosmonaut_emulator::{Consistency, Emulator};
use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{LONG, World, activities, options, orchestrations, until};

/// Counts the requests of one call after another.
struct Counter<'a> {
    provider: &'a CosmosProvider,
    before: u64,
}

impl Counter<'_> {
    fn since(&mut self) -> u64 {
        let now = self.provider.usage().requests;
        now - std::mem::replace(&mut self.before, now)
    }
}

#[tokio::test]
async fn each_call_keeps_to_its_number_of_requests() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    let mut counter = Counter { provider: &provider, before: 0 };
    send(&provider, start("a")).await;
    assert_eq!(counter.since(), 1, "a start");
    let (_, token) = fetch(&provider).await;
    assert_eq!(counter.since(), 2, "a fetch without history");
    let events = vec![started("a", 1), scheduled("a", 2, "x")];
    let turn = Turn { events, work: vec![activity("a", 2, "x")], ..Turn::default() };
    turn.ack(&provider, &token).await.unwrap();
    assert_eq!(counter.since(), 1, "a turn");
    let (_, token) = fetch_work(&provider).await;
    assert_eq!(counter.since(), 1, "a fetch of work");
    provider.renew_work_item_lock(&token, LOCK).await.unwrap();
    assert_eq!(counter.since(), 1, "a renewal of work");
    provider.ack_work_item(&token, Some(completion("a", 2))).await.unwrap();
    assert_eq!(counter.since(), 1, "a completion");
    let (_, token) = fetch(&provider).await;
    assert_eq!(counter.since(), 2, "a fetch with the history in memory");
    provider.renew_orchestration_item_lock(&token, LOCK).await.unwrap();
    assert_eq!(counter.since(), 1, "a renewal");
    provider.abandon_orchestration_item(&token, None, false).await.unwrap();
    assert_eq!(counter.since(), 1, "giving up");
}

#[tokio::test]
async fn a_region_that_has_yet_to_hear_of_a_turn_is_not_asked_without_a_pause() {
    let bounded =
        Consistency::BoundedStaleness { max_prefix: 100_000, max_interval: Duration::from_secs(300) };
    let builder = Emulator::builder().regions(["East US", "West US"]).consistency(bounded);
    let emulator = builder.start().await.unwrap();
    let in_region = async |region: &str| {
        let mut options = CosmosClientOptions::default();
        options.regions.preferred_regions = Some(vec![region.into()]);
        let key = Credential::master_key(emulator.key()).unwrap();
        let client = CosmosClient::builder().endpoint(emulator.url()).credential(key).options(options);
        let config = CosmosProviderConfig::with_client(client.build().unwrap());
        CosmosProvider::connect(config).await.unwrap()
    };
    let near = in_region("East US").await;
    make(&near, "a", None).await;
    send(&near, signal("a", 1)).await;
    until("the other region has everything", async || {
        emulator.control().regions().iter().all(|region| region.behind == 0)
    })
    .await;
    let far = in_region("West US").await;
    emulator.control().pause(None, None).unwrap();
    let (_, token) = fetch(&near).await;
    Turn::default().ack(&near, &token).await.unwrap();
    // There the message still waits, and whoever locks the instance is told that it has changed.
    let mut counter = Counter { provider: &far, before: far.usage().requests };
    let fetched = far.fetch_orchestration_item(LOCK, Duration::from_secs(2), None).await;
    assert!(fetched.unwrap().is_none());
    let asked = counter.since();
    assert!((3..40).contains(&asked), "{asked} requests");
}

#[tokio::test]
async fn a_history_that_this_process_knows_is_read_in_one_request() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    let mut counter = Counter { provider: &provider, before: 0 };
    make(&provider, "a", None).await;
    send(&provider, signal("a", 1)).await;
    let (_, token) = fetch(&provider).await;
    counter.since();
    assert_eq!(provider.read("a").await.unwrap().len(), 1);
    assert_eq!(counter.since(), 1, "while its instance is locked, as activities ask for it");
    let turn = Turn { events: vec![scheduled("a", 2, "x")], status: Some("Completed"), ..Turn::default() };
    turn.ack(&provider, &token).await.unwrap();
    counter.since();
    assert_eq!(provider.read("a").await.unwrap().len(), 2);
    assert_eq!(counter.since(), 1, "after its end, as those who have waited for it ask");
}

#[tokio::test]
async fn a_fetch_by_a_process_that_knows_nothing_takes_three_requests() {
    let home = Server::shared(Account::OneRegion).home();
    make(&home.provider().await, "a", None).await;
    let provider = home.provider().await;
    send(&provider, signal("a", 1)).await;
    let mut counter = Counter { provider: &provider, before: provider.usage().requests };
    let (item, _) = fetch(&provider).await;
    assert_eq!(item.history.len(), 1);
    assert!(counter.since() <= 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestration_with_one_activity_takes_at_most_ten_requests() {
    let home = Server::shared(Account::OneRegion).home();
    let store = Arc::new(home.provider().await);
    let activities = ActivityRegistry::builder()
        .register("Greet", |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}")) })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Welcome", |context: OrchestrationContext, name: String| async move {
            context.schedule_activity("Greet", name).await
        })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    // The caller's own polls are counted on an object of their own.
    let caller = Arc::new(home.provider().await);
    let client = Client::new(caller);
    let starter = Client::new(store.clone());
    let mut used = 0;
    // The first one also sees what a runtime asks when it starts.
    for instance in ["first", "second"] {
        let before = store.usage().requests;
        starter.start_orchestration(instance, "Welcome", "Ada").await.unwrap();
        let status = client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { output, .. } if output == "Hello, Ada"));
        used = store.usage().requests - before;
    }
    assert!(used <= 10, "{used} requests");
    runtime.shutdown(None).await;
}

/// The requests that an orchestration of five activities takes, on average, if so many processes share the work.
async fn requests_of_one(processes: usize) -> f64 {
    const COUNT: usize = 60;
    let home = Server::shared(Account::OneRegion).home();
    let five = || {
        orchestrations().register("Five", |context: OrchestrationContext, _: String| async move {
            for n in 0..5 {
                context.schedule_activity("Echo", n.to_string()).await?;
            }
            Ok("done".to_owned())
        })
    };
    let mut worlds = Vec::new();
    for n in 0..processes {
        let (activities, orchestrations) = (activities().build(), five().build());
        let name = format!("process-{n}");
        worlds.push(World::share(home.clone(), &name, options(), activities, orchestrations).await);
    }
    until("all have their share", async || {
        let table = home.documents().read_item::<serde_json::Value>("$leases", "shares").await;
        table.is_ok_and(|table| table.value()["shares"].as_array().is_some_and(|all| all.len() == processes))
    })
    .await;
    let used = || worlds.iter().map(|world| world.store.usage().requests).sum::<u64>();
    let before = used();
    // The caller's own polls are counted on an object of their own.
    let caller = Client::new(Arc::new(home.provider().await));
    for n in 0..COUNT {
        worlds[n % processes].client.start_orchestration(&format!("i{n}"), "Five", "").await.unwrap();
    }
    for n in 0..COUNT {
        caller.wait_for_orchestration(&format!("i{n}"), LONG).await.unwrap();
    }
    let each = (used() - before) as f64 / COUNT as f64;
    for world in worlds {
        world.stop().await;
    }
    each
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestration_takes_as_many_requests_however_many_processes_there_are() {
    let one = requests_of_one(1).await;
    let several = requests_of_one(6).await;
    println!("{one} requests with one process, {several} with six");
    assert!(several <= 1.2 * one, "{several} requests with six processes, {one} with one");
}

/// What a runtime with nothing to do asks in some seconds, once it has come to rest.
async fn idle_requests(home: &Home, most_per_second: f64) -> Asked {
    let store = Arc::new(home.provider().await);
    let all = || store.background_usage().requests + store.usage().requests;
    let runtime = Runtime::start_with_store(
        store.clone(),
        ActivityRegistry::builder().build(),
        OrchestrationRegistry::builder().build(),
    )
    .await;
    let asked = at_rest(most_per_second, all).await;
    runtime.shutdown(None).await;
    asked
}

/// Requests, and the time in which they were sent.
struct Asked {
    requests: u64,
    time: Duration,
}

impl Asked {
    fn per_second(&self) -> f64 {
        self.requests as f64 / self.time.as_secs_f64()
    }
}

/// How often something asks that has come to rest, or has had long enough for it: whoever starts asks more.
async fn at_rest(most_per_second: f64, count: impl Fn() -> u64) -> Asked {
    let over = async |time: Duration| {
        let (before, began) = (count(), crate::waiting::now());
        crate::waiting::sleep(time).await;
        Asked { requests: count() - before, time: began.elapsed() }
    };
    for _ in 0..10 {
        if over(Duration::from_secs(3)).await.per_second() <= most_per_second {
            break;
        }
    }
    over(Duration::from_secs(12)).await
}

/// Splits partitions until there are so many.
async fn split_into(server: &Server, home: &Home, count: usize) {
    home.provider().await;
    loop {
        let partitions = server.control().partitions(&home.link()).unwrap();
        if partitions.len() == count {
            return;
        }
        for partition in partitions.iter().take(count - partitions.len()) {
            server.control().split(&home.link(), partition.id.as_str()).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_runtime_asks_twice_a_second_and_half_as_often_for_each_further_partition() {
    let server = Server::start(Account::OneRegion);
    for partitions in [1, 12, 50] {
        let home = server.home();
        split_into(&server, &home, partitions).await;
        let most = 2.0 + 0.5 * (partitions - 1) as f64;
        let asked = idle_requests(&home, most).await;
        assert!(asked.per_second() <= most, "{partitions}: {} requests a second", asked.per_second());
        assert!(asked.requests >= partitions as u64, "{partitions}: {} requests in all", asked.requests);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_process_that_shares_its_container_asks_no_more_than_one_that_does_not() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let leases = Leases::Container { name: "idle".into(), lease: Duration::from_secs(15) };
    let config = CosmosProviderConfig { leases, ..home.config() };
    let store = Arc::new(CosmosProvider::connect(config).await.unwrap());
    let (activities, orchestrations) = (activities().build(), orchestrations().build());
    let world = World::on(home, store, options(), activities, orchestrations).await;
    // Leases and all: the server counts.
    let asked = at_rest(2.0, || server.control().requests()).await;
    assert!(asked.per_second() <= 2.0, "{} requests a second", asked.per_second());
    world.stop().await;
}
