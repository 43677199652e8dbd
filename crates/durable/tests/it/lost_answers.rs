//! An answer that gets lost leaves the caller not knowing what happened; the provider finds out.

use cosmonaut::CosmosStatus;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::OperationType;
use duroxide::providers::{Provider, TagFilter};

use crate::harness::{Account, Home, Server};
use crate::steps::*;

const INSTANCE: &str = "lost";

/// The service does what the next request asks, and its answer is lost.
fn lose_one(faults: &FaultInjector) {
    let once = FaultInjectionCondition { max_hits: Some(1), ..FaultInjectionCondition::default() };
    faults.set(FaultInjectionRule::new("lost", FaultInjectionResult::ResponseLost).when(once));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_happens_once_although_its_first_answer_is_lost() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = Home { client: server.faulty_client(&faults), ..server.home() };
    let provider = home.provider().await;
    // From here on the container is known, and what is lost is the calls' own.
    assert!(fetch_now(&provider).await.is_none());

    lose_one(&faults);
    send(&provider, start(INSTANCE)).await;
    assert_eq!(home.count("message").await, 1);
    lose_one(&faults);
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.messages, [start(INSTANCE)]);
    lose_one(&faults);
    provider.renew_orchestration_item_lock(&token, LOCK).await.unwrap();
    lose_one(&faults);
    provider.abandon_orchestration_item(&token, None, true).await.unwrap();
    let (_, token) = fetch(&provider).await;
    lose_one(&faults);
    let turn = Turn { work: vec![activity(INSTANCE, 2, "a")], ..Turn::first(INSTANCE) };
    turn.ack(&provider, &token).await.unwrap();
    assert_eq!(provider.read(INSTANCE).await.unwrap().len(), 1);

    lose_one(&faults);
    provider.enqueue_for_worker(activity(INSTANCE, 7, "b")).await.unwrap();
    assert_eq!(home.count("work").await, 2);
    lose_one(&faults);
    let fetched = provider.fetch_work_item(LOCK, PATIENCE, None, &TagFilter::Any).await.unwrap().unwrap();
    assert_eq!(fetched.2, 1, "one attempt");
    lose_one(&faults);
    provider.renew_work_item_lock(&fetched.1, LOCK).await.unwrap();
    lose_one(&faults);
    provider.abandon_work_item(&fetched.1, None, true).await.unwrap();
    let fetched = provider.fetch_work_item(LOCK, PATIENCE, None, &TagFilter::Any).await.unwrap().unwrap();
    assert_eq!(fetched.2, 1, "the attempt that was given up does not count");
    lose_one(&faults);
    provider.ack_work_item(&fetched.1, Some(completion(INSTANCE, 2))).await.unwrap();
    assert_eq!((home.count("work").await, home.count("message").await), (1, 1));
    assert!(!provider.ack_work_item(&fetched.1, None).await.unwrap_err().is_retryable());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_id_another_one_has_gets_a_new_id() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = Home { client: server.faulty_client(&faults), ..server.home() };
    let provider = home.provider().await;
    assert!(fetch_now(&provider).await.is_none());
    // To the provider it is as if another client's message had the id.
    let taken = FaultInjectionResult::Status { status: CosmosStatus::CONFLICT, retry_after: None };
    let once = FaultInjectionCondition {
        operation: Some(OperationType::Create),
        max_hits: Some(1),
        ..FaultInjectionCondition::default()
    };
    faults.set(FaultInjectionRule::new("taken", taken).when(once));
    send(&provider, start(INSTANCE)).await;
    assert_eq!(faults.hits("taken"), Some(1));
    assert_eq!(fetch(&provider).await.0.messages, [start(INSTANCE)]);
}
