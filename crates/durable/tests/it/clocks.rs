//! Processes whose machines have wrong clocks share a container.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut::{CosmosStatus, FeedScope};
use cosmonaut_driver::OperationType;
use duroxide::providers::{Provider, ProviderError, SessionFetchConfig, TagFilter, WorkItem};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::CosmosProvider;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{LONG, World, options};

const TEN_MINUTES_MS: i64 = 10 * 60 * 1000;

/// A provider on a machine whose clock is wrong.
async fn skewed(home: &Home, ms: i64) -> CosmosProvider {
    let provider = home.provider().await;
    provider.skew_clock(ms);
    provider
}

#[tokio::test]
async fn a_lock_holds_against_a_clock_that_is_ahead_and_ends_for_one_that_is_behind() {
    let home = Server::shared(Account::OneRegion).home();
    let (slow, fast) = (skewed(&home, -TEN_MINUTES_MS).await, skewed(&home, TEN_MINUTES_MS).await);
    send(&slow, start("a")).await;
    slow.enqueue_for_worker(activity("b", 2, "x")).await.unwrap();
    let (_, turn) = fetch(&slow).await;
    let (_, work) = fetch_work(&slow).await;
    assert!(fetch_now(&fast).await.is_none(), "the turn is locked");
    assert!(work_now(&fast).await.is_none(), "the activity is locked");
    Turn::first("a").ack(&slow, &turn).await.unwrap();
    slow.ack_work_item(&work, None).await.unwrap();

    // The other way round, and with locks that end.
    send(&fast, start("c")).await;
    fast.enqueue_for_worker(activity("b", 3, "x")).await.unwrap();
    let lock = Duration::from_secs(1);
    let (_, turn, _) = fast.fetch_orchestration_item(lock, PATIENCE, None).await.unwrap().unwrap();
    let (_, work, _) = fast.fetch_work_item(lock, PATIENCE, None, &TagFilter::Any).await.unwrap().unwrap();
    let (item, _) = fetch(&slow).await;
    assert_eq!(item.instance, "c", "the lock of a process with a fast clock ends like any other");
    fetch_work(&slow).await;
    assert!(fast.renew_orchestration_item_lock(&turn, lock).await.is_err());
    assert!(fast.ack_work_item(&work, None).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_of_processes_with_wrong_clocks_run_once_and_at_once() {
    const INSTANCES: u64 = 6;
    let home = Server::shared(Account::OneRegion).home();
    let ran = Arc::new(AtomicU64::new(0));
    let mut worlds = Vec::new();
    for skew in [-TEN_MINUTES_MS, 0, TEN_MINUTES_MS] {
        let counter = Arc::clone(&ran);
        let activities = ActivityRegistry::builder()
            .register("Count", move |_: ActivityContext, text: String| {
                counter.fetch_add(1, Ordering::Relaxed);
                async move { Ok(text) }
            })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register("Child", |context: OrchestrationContext, text: String| async move {
                context.schedule_activity("Count", text).await
            })
            .register("Main", |context: OrchestrationContext, text: String| async move {
                let text = context.schedule_activity("Count", text).await?;
                context.schedule_timer(Duration::from_millis(100)).await;
                context.schedule_sub_orchestration("Child", text).await
            })
            .build();
        let store = Arc::new(skewed(&home, skew).await);
        worlds.push(World::on(home.clone(), store, options(), activities, orchestrations).await);
    }
    for n in 0..INSTANCES {
        worlds[n as usize % worlds.len()].begin(&format!("i{n}"), "Main", "x").await;
    }
    let ended = async {
        for n in 0..INSTANCES {
            assert_eq!(worlds[0].end(&format!("i{n}")).await, Ok("x".to_owned()));
        }
    };
    // Ten minutes are not to be waited for, whoever's clock says so.
    crate::waiting::timeout(LONG, ended).await.unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 2 * INSTANCES, "each activity runs once");
    for world in worlds {
        world.stop().await;
    }
}

#[tokio::test]
async fn a_machine_that_wakes_up_believes_none_of_the_locks_that_it_had() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    provider.enqueue_for_worker(activity("b", 2, "x")).await.unwrap();
    let (_, turn) = fetch(&provider).await;
    let (_, work) = fetch_work(&provider).await;
    // To a process, ten minutes of sleep are a time of day that runs ahead of all that it counts.
    provider.skew_clock(TEN_MINUTES_MS);
    assert!(provider.renew_orchestration_item_lock(&turn, LOCK).await.is_err());
    assert!(provider.renew_work_item_lock(&work, LOCK).await.is_err());
    assert!(Turn::first("a").ack(&provider, &turn).await.is_err());
    assert!(provider.ack_work_item(&work, None).await.is_err());
    // What it locks from now on holds, and by the server's time: for others too.
    send(&provider, start("c")).await;
    let (item, turn) = fetch(&provider).await;
    assert_eq!(item.instance, "c");
    let until =
        home.all("c").await.into_iter().find_map(|document| document["lock"]["until"].as_u64()).unwrap();
    let other =
        home.all("a").await.into_iter().find_map(|document| document["lock"]["until"].as_u64()).unwrap();
    assert!(until.abs_diff(other) < 60_000, "{until} {other}");
    Turn::first("c").ack(&provider, &turn).await.unwrap();
}

const HOUR_MS: i64 = 60 * 60 * 1000;

fn of_session(item: WorkItem) -> WorkItem {
    match item {
        WorkItem::ActivityExecute { instance, execution_id, id, name, input, tag, .. } => {
            let session_id = Some("s".into());
            WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag }
        }
        other => other,
    }
}

/// What there is to do at this moment for a worker, of its session or of a free one.
async fn work_of_session(provider: &CosmosProvider, owner: &str) -> Result<Option<String>, ProviderError> {
    let session = SessionFetchConfig { owner_id: owner.into(), lock_timeout: LOCK };
    let fetched = provider.fetch_work_item(LOCK, Duration::ZERO, Some(&session), &TagFilter::Any).await;
    Ok(fetched?.map(|(_, token, _)| token))
}

/// The session of the test: whose it is, and until when.
async fn session(home: &Home) -> (String, u64) {
    let all = home.all(FeedScope::Container).await;
    let session = all.iter().find(|document| document["type"] == "session").expect("the session is there");
    (session["owner"].as_str().unwrap().to_owned(), session["until"].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_not_taken_from_its_owner_by_a_machine_whose_clock_was_set() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let owner = home.provider().await;
    owner.enqueue_for_worker(of_session(activity("a", 2, "x"))).await.unwrap();
    owner.enqueue_for_worker(of_session(activity("b", 2, "x"))).await.unwrap();
    work_of_session(&owner, "owner").await.unwrap().unwrap();
    let other = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    // It knows of the activities, and not yet of the session.
    assert!(work_now(&other).await.is_none());
    // The clock is set, and nobody can be asked how late it is.
    let refused = FaultInjectionResult::Status { status: CosmosStatus::FORBIDDEN, retry_after: None };
    let condition = FaultInjectionCondition {
        operation: Some(OperationType::Read),
        ..FaultInjectionCondition::default()
    };
    faults.set(FaultInjectionRule::new("time", refused).when(condition));
    other.skew_clock(HOUR_MS);
    let taken = work_of_session(&other, "other").await;
    assert!(!matches!(taken, Ok(Some(_))), "{taken:?}");
    assert_eq!(session(&home).await.0, "owner");
    faults.remove("time");
    assert_eq!(work_of_session(&other, "other").await.unwrap(), None);
    assert_eq!(session(&home).await.0, "owner");
}

#[tokio::test]
async fn sessions_are_renewed_and_cleaned_up_by_the_servers_time_on_machines_whose_clocks_were_set() {
    let home = Server::shared(Account::OneRegion).home();
    let (owner, other) = (home.provider().await, home.provider().await);
    owner.enqueue_for_worker(of_session(activity("a", 2, "x"))).await.unwrap();
    let token = work_of_session(&owner, "owner").await.unwrap().unwrap();
    owner.ack_work_item(&token, None).await.unwrap();
    let (_, until) = session(&home).await;
    other.skew_clock(HOUR_MS);
    assert_eq!(other.cleanup_orphaned_sessions(Duration::ZERO).await.unwrap(), 0);
    owner.skew_clock(HOUR_MS);
    assert_eq!(owner.renew_session_lock(&["owner"], LOCK, LOCK).await.unwrap(), 1);
    let (_, renewed) = session(&home).await;
    assert!(renewed.abs_diff(until) < LOCK.as_millis() as u64, "{until} {renewed}");
}

#[tokio::test]
async fn a_delay_is_by_the_servers_time_on_a_machine_whose_clock_was_set() {
    let home = Server::shared(Account::OneRegion).home();
    let (provider, exact) = (home.provider().await, home.provider().await);
    let delay = Some(Duration::from_secs(600));
    send(&provider, start("a")).await;
    provider.enqueue_for_worker(activity("b", 2, "x")).await.unwrap();
    let (_, turn) = fetch(&provider).await;
    let (_, work) = fetch_work(&provider).await;
    exact.enqueue_for_orchestrator(signal("c", 1), delay).await.unwrap();
    // It is set anew each time, so that none of them knows of the one before.
    provider.skew_clock(HOUR_MS);
    provider.enqueue_for_orchestrator(signal("d", 1), delay).await.unwrap();
    provider.skew_clock(2 * HOUR_MS);
    provider.abandon_orchestration_item(&turn, delay, false).await.unwrap();
    provider.skew_clock(3 * HOUR_MS);
    provider.abandon_work_item(&work, delay, false).await.unwrap();

    let times = async |instance: &str| {
        let documents = home.all(instance).await;
        let deliveries = documents.iter().filter_map(|document| document["deliveries"].as_object());
        let put_off = deliveries.flat_map(|all| all.values()).filter_map(|it| it["notBefore"].as_u64());
        let own = documents.iter().filter_map(|document| document["visibleAt"].as_u64());
        own.chain(put_off).filter(|time| *time > 0).collect::<Vec<_>>()
    };
    let expected = times("c").await;
    for place in ["a", "b", "d"] {
        let found = times(place).await;
        assert_eq!((found.len(), expected.len()), (1, 1), "{place}: {found:?}");
        assert!(found[0].abs_diff(expected[0]) < 60_000, "{place}: {found:?}, and not {expected:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_while_a_clock_is_wrong_is_tried_again_as_soon_as_by_any_other_clock() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let provider = Home { client: server.faulty_client(&faults), ..server.home() }.provider().await;
    assert!(fetch_now(&provider).await.is_none());
    send(&provider, start("a")).await;
    provider.enqueue_for_worker(activity("b", 2, "x")).await.unwrap();
    // The clock is set, and the server does not say that it is wrong.
    provider.skew_clock(TEN_MINUTES_MS);
    let refused = FaultInjectionResult::Status { status: CosmosStatus::UNAUTHORIZED, retry_after: None };
    faults.set(FaultInjectionRule::new("refused", refused));
    assert!(provider.fetch_orchestration_item(LOCK, Duration::ZERO, None).await.is_err());
    faults.remove("refused");
    // The answer to any write says what time it is.
    send(&provider, signal("a", 1)).await;
    let (item, _) = fetch(&provider).await;
    assert_eq!(item.instance, "a");
    fetch_work(&provider).await;
}
