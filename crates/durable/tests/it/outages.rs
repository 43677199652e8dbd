//! Locks while the service cannot answer for a while: what holds is kept, and nothing is given up too early.

use std::time::Duration;

use cosmonaut::CosmosStatus;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::OperationType;
use cosmonaut_emulator::{Effect, Fault, Operations};
use duroxide::EventKind;
use duroxide::providers::{ExecutionMetadata, Provider, TagFilter};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::waiting::timeout;

/// Longer than the provider has ever tried something that it gives up too early.
const OUTAGE: Duration = Duration::from_secs(7);

async fn break_writes(server: &Server, home: &Home, effect: Effect) {
    let fault = Fault::new(effect).in_container(home.link()).on(Operations::Write);
    server.control().add_fault(fault).await.unwrap();
}

fn unavailable() -> Effect {
    Effect::status(CosmosStatus::SERVICE_UNAVAILABLE)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_item_is_renewed_although_the_service_is_away_for_a_part_of_its_lock() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    provider.enqueue_for_worker(activity("a", 2, "x")).await.unwrap();
    let (_, token) = fetch_work(&provider).await;
    break_writes(&server, &home, unavailable()).await;
    let mut renewal = std::pin::pin!(provider.renew_work_item_lock(&token, LOCK));
    let ended = timeout(OUTAGE, &mut renewal).await;
    assert!(ended.is_err(), "it is tried until the lock's end, and the lock has not ended: {ended:?}");
    server.control().clear().await.unwrap();
    renewal.await.unwrap();
    provider.ack_work_item(&token, Some(completion("a", 2))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_lock_has_ended_in_an_outage_does_not_remove_its_item() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    provider.enqueue_for_worker(activity("a", 2, "x")).await.unwrap();
    let lock = Duration::from_secs(1);
    let fetched = provider.fetch_work_item(lock, PATIENCE, None, &TagFilter::Any).await.unwrap();
    let (_, token, _) = fetched.unwrap();
    break_writes(&server, &home, unavailable()).await;
    assert!(!provider.renew_work_item_lock(&token, lock).await.unwrap_err().is_retryable());
    server.control().clear().await.unwrap();
    // The runtime takes the activity for cancelled now, and its result for worthless.
    assert!(provider.ack_work_item(&token, None).await.is_err());
    let (item, _) = fetch_work(&provider).await;
    assert_eq!(item, activity("a", 2, "x"), "another worker runs it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_not_told_that_its_result_is_kept_when_another_one_has_done_the_item() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let cut_off = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let other = home.provider().await;
    other.enqueue_for_worker(activity("a", 2, "x")).await.unwrap();
    // It has to hold until the acknowledgement is tried, on a machine that stalls for seconds.
    let lock = Duration::from_secs(5);
    let fetched = cut_off.fetch_work_item(lock, PATIENCE, None, &TagFilter::Any).await.unwrap();
    let (_, token, _) = fetched.unwrap();
    let status =
        FaultInjectionResult::Status { status: CosmosStatus::SERVICE_UNAVAILABLE, retry_after: None };
    let batches = FaultInjectionCondition {
        operation: Some(OperationType::Batch),
        ..FaultInjectionCondition::default()
    };
    faults.set(FaultInjectionRule::new("cut off", status).when(batches));
    let mut ack = std::pin::pin!(cut_off.ack_work_item(&token, Some(completion("a", 2))));
    let ended = timeout(lock, &mut ack).await;
    assert!(ended.is_err(), "it is tried on, because nobody else may have the item yet: {ended:?}");
    let (_, others) = fetch_work(&other).await;
    other.ack_work_item(&others, Some(completion("a", 2))).await.unwrap();
    faults.remove("cut off");
    let told = ack.await;
    assert!(told.as_ref().is_err_and(|error| !error.is_retryable()), "{told:?}");
    assert_eq!((home.count("work").await, home.count("message").await), (0, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_committed_however_long_it_takes_while_its_lock_is_renewed() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let provider = Home { client: server.faulty_client(&faults), ..server.home() }.provider().await;
    send(&provider, start("a")).await;
    // Three waits are longer than the lock, and a machine that stalls for seconds between two of them does not lose it.
    let (lock, wait) = (Duration::from_secs(14), Duration::from_secs(5));
    let (_, token, _) = provider.fetch_orchestration_item(lock, PATIENCE, None).await.unwrap().unwrap();
    // Commits are throttled, and renewals pass.
    let batches = FaultInjectionCondition {
        operation: Some(OperationType::Batch),
        ..FaultInjectionCondition::default()
    };
    let (status, retry_after) = (CosmosStatus::TOO_MANY_REQUESTS, Some(Duration::from_millis(20)));
    let throttled = FaultInjectionResult::Status { status, retry_after };
    faults.set(FaultInjectionRule::new("throttled", throttled).when(batches));
    let mut commit = std::pin::pin!(Turn::first("a").ack(&provider, &token));
    for _ in 0..3 {
        let ended = timeout(wait, &mut commit).await;
        assert!(ended.is_err(), "the lock holds, so the commit is tried on: {ended:?}");
        provider.renew_orchestration_item_lock(&token, lock).await.unwrap();
    }
    faults.remove("throttled");
    commit.await.unwrap();
    assert_eq!(provider.read("a").await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_does_not_fail_an_orchestration() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    // It has to hold until the commit is tried, on a machine that stalls for seconds.
    let lock = Duration::from_secs(14);
    let (_, token, _) = provider.fetch_orchestration_item(lock, PATIENCE, None).await.unwrap().unwrap();
    break_writes(&server, &home, unavailable()).await;
    let error = Turn::first("a").ack(&provider, &token).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    server.control().clear().await.unwrap();
    // What the runtime does when it has tried often enough: it fails the orchestration under the same token.
    let failed = EventKind::OrchestrationFailed {
        details: duroxide::ErrorDetails::Infrastructure {
            operation: "ack".into(),
            message: "unavailable".into(),
            retryable: true,
        },
    };
    let failed = vec![duroxide::Event::with_event_id(1, "a", 1, None, failed)];
    let metadata = ExecutionMetadata { status: Some("Failed".into()), ..ExecutionMetadata::default() };
    let refused = provider.ack_orchestration_item(&token, 1, failed, vec![], vec![], metadata, vec![]).await;
    assert!(!refused.unwrap_err().is_retryable());
    let (item, token) = fetch(&provider).await;
    assert_eq!((item.instance.as_str(), item.history.len()), ("a", 0), "it is as it was");
    Turn::first("a").ack(&provider, &token).await.unwrap();
}
