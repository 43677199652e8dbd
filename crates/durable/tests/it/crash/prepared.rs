//! What is written ahead of a transaction: it does not stay if that never comes, and a late writer harms nobody.

use cosmonaut::Patch;
use duroxide::EventKind;
use duroxide::providers::{ExecutionMetadata, Provider, WorkItem};
use duroxide_cosmonaut::CosmosProvider;
use serde_json::Value;

use super::wire::Wire;
use crate::harness::{Account, Home, Server};
use crate::steps::*;

const INSTANCE: &str = "prepared";

/// A provider on a network that can hold back what it writes.
async fn provider_on(wire: &Wire) -> (Home, CosmosProvider) {
    let server = Server::shared(Account::OneRegion);
    let home = Home { client: server.client_on(wire.factory()), ..server.home() };
    let provider = home.provider().await;
    (Home { client: server.client(), ..home }, provider)
}

fn long() -> String {
    "x".repeat(1_000_000)
}

/// Pieces of text and history of the instance: how many stay, and how many go after a while.
async fn stay_and_go(home: &Home) -> (usize, usize) {
    let ahead = home.all(INSTANCE).await.into_iter();
    let ahead = ahead.filter(|document| matches!(document["type"].as_str(), Some("chunk" | "history")));
    let (go, stay): (Vec<_>, Vec<_>) = ahead.partition(|document| document["ttl"].as_i64() > Some(0));
    (stay.len(), go.len())
}

/// A turn that does not fit in a transaction.
fn wide() -> Turn {
    let mut turn = Turn::first(INSTANCE);
    for id in 2..150 {
        turn.events.push(scheduled(INSTANCE, id, "x"));
        turn.work.push(activity(INSTANCE, id, "x"));
    }
    turn
}

/// One that has long texts besides.
fn large() -> Turn {
    let mut turn = wide();
    for id in 150..152 {
        turn.events.push(scheduled(INSTANCE, id, long()));
        turn.work.push(activity(INSTANCE, id, long()));
    }
    turn
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pieces_of_a_message_that_never_came_go_after_a_while() {
    let wire = Wire::new(None);
    let (home, provider) = provider_on(&wire).await;
    // The message comes with what keeps its pieces.
    wire.hold_after(0);
    tokio::select! {
        _ = provider.enqueue_for_orchestrator(signal(INSTANCE, long()), None) => panic!("it is held back"),
        () = wire.holds() => {}
    }
    wire.release();
    assert_eq!(stay_and_go(&home).await, (0, 2));
    send(&provider, signal(INSTANCE, long())).await;
    assert_eq!(stay_and_go(&home).await, (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pieces_of_a_completion_stay_with_it() {
    let (home, provider) = provider_on(&Wire::new(None)).await;
    provider.enqueue_for_worker(activity(INSTANCE, 2, long())).await.unwrap();
    assert_eq!(stay_and_go(&home).await, (2, 0));
    let (_, token) = fetch_work(&provider).await;
    provider.ack_work_item(&token, Some(completion(INSTANCE, 2))).await.unwrap();
    assert_eq!(stay_and_go(&home).await, (0, 0));
    provider.enqueue_for_worker(activity(INSTANCE, 3, "x")).await.unwrap();
    let (_, token) = fetch_work(&provider).await;
    let result =
        WorkItem::ActivityCompleted { instance: INSTANCE.into(), execution_id: 1, id: 3, result: long() };
    provider.ack_work_item(&token, Some(result)).await.unwrap();
    assert_eq!(stay_and_go(&home).await, (2, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_large_turn_has_prepared_goes_unless_it_is_committed() {
    let wire = Wire::new(None);
    let (home, provider) = provider_on(&wire).await;
    send(&provider, start(INSTANCE)).await;
    let (_, token) = fetch(&provider).await;
    // Most pieces are written by then.
    wire.hold_after(3);
    tokio::select! {
        _ = large().ack(&provider, &token) => panic!("it is held back"),
        () = wire.holds() => {}
    }
    wire.release();
    let (stay, go) = stay_and_go(&home).await;
    assert!(stay == 0 && go > 2, "{stay} stay, {go} go");
    provider.abandon_orchestration_item(&token, None, false).await.unwrap();
    let (_, token) = fetch(&provider).await;
    large().ack(&provider, &token).await.unwrap();
    let (stay, go) = stay_and_go(&home).await;
    assert!(stay > 4 && go == 0, "{stay} stay, {go} go");
    assert_eq!(provider.read(INSTANCE).await.unwrap().len(), 151);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_large_turn_prepares_prolongs_its_lock() {
    let wire = Wire::new(None);
    let (home, provider) = provider_on(&wire).await;
    send(&provider, start(INSTANCE)).await;
    let (_, token) = fetch(&provider).await;
    let until = || async {
        let head = home.documents().read_item::<Value>(INSTANCE, "instance").await.unwrap();
        head.value()["lock"]["until"].as_u64().unwrap()
    };
    let fetched = until().await;
    wire.hold_after(3);
    tokio::select! {
        _ = large().ack(&provider, &token) => panic!("it is held back"),
        () = wire.holds() => {}
    }
    assert!(until().await > fetched);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_write_of_a_large_turn_does_not_touch_what_a_successor_has_committed() {
    let wire = Wire::new(None);
    let (home, late) = provider_on(&wire).await;
    let successor = home.provider().await;
    send(&late, start(INSTANCE)).await;
    let (_, token, _) = late.fetch_orchestration_item(LOCK * 10, PATIENCE, None).await.unwrap().unwrap();
    wire.hold_after(0);
    let ack = wide().ack(&late, &token);
    let take_over = async {
        wire.holds().await;
        // The lock ends here, however long the machine has stalled before.
        let over = Patch::new().set("/lock/until", 1);
        home.documents().patch_item(INSTANCE, "instance", over).await.unwrap();
        send(&successor, signal(INSTANCE, 1)).await;
        let (item, token) = fetch(&successor).await;
        assert_eq!(item.messages.len(), 2);
        let events = vec![started(INSTANCE, 1), scheduled(INSTANCE, 2, "short")];
        Turn { events, ..Turn::default() }.ack(&successor, &token).await.unwrap();
        wire.release();
    };
    let (acked, ()) = tokio::join!(ack, take_over);
    assert!(!acked.unwrap_err().is_retryable());
    // Nobody has it in memory.
    let history = home.provider().await.read(INSTANCE).await.unwrap();
    assert_eq!(history.len(), 2);
    assert!(matches!(&history[1].kind, EventKind::ActivityScheduled { input, .. } if input == "short"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_turn_of_more_documents_than_a_transaction_holds_has_prepared_goes_unless_it_is_committed() {
    let wire = Wire::new(None);
    let (home, provider) = provider_on(&wire).await;
    send(&provider, start(INSTANCE)).await;
    let fetched = provider.fetch_orchestration_item(LOCK * 10, PATIENCE, None).await.unwrap();
    let (_, token, _) = fetched.unwrap();
    let mut turn = Turn::first(INSTANCE);
    // Each event is two pieces, in a history of its own.
    for id in 2..52 {
        turn.events.push(scheduled(INSTANCE, id, long()));
    }
    // The writer dies when all is prepared.
    wire.hold_after(60);
    tokio::select! {
        _ = turn.clone().ack(&provider, &token) => panic!("it is held back"),
        () = wire.holds() => {}
    }
    wire.release();
    let (stay, go) = stay_and_go(&home).await;
    assert!(stay == 0 && go > 50, "{stay} would stay for ever, {go} go after a while");
    turn.ack(&provider, &token).await.unwrap();
    let (stay, go) = stay_and_go(&home).await;
    assert!(stay >= 150 && go == 0, "{stay} stay, {go} of a committed turn would go");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_an_instance_that_never_came_to_be_however_many_messages_it_had() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for n in 0..120 {
        send(&provider, signal(INSTANCE, n)).await;
    }
    send(&provider, start(INSTANCE)).await;
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.messages.len(), 121);
    let nothing = ExecutionMetadata::default();
    provider.ack_orchestration_item(&token, 1, vec![], vec![], vec![], nothing, vec![]).await.unwrap();
    let left = home.all(INSTANCE).await;
    assert!(left.is_empty(), "{left:?}");
}
