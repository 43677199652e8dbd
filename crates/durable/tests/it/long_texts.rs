//! No text is too long: inputs, events, completions and outputs beyond what a document holds.

use duroxide::providers::{ExecutionMetadata, Provider, TagFilter, WorkItem};
use duroxide::{Event, EventKind};
use serde_json::Value;

use crate::harness::{Account, Server};
use crate::steps::*;

const INSTANCE: &str = "long";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_of_more_pieces_than_a_transaction_holds_is_acknowledged_and_leaves_nothing() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    let long = "x".repeat(72_000_000);
    provider.enqueue_for_worker(activity(INSTANCE, 2, &*long)).await.unwrap();
    let fetched = provider.fetch_work_item(LOCK * 10, LOCK * 10, None, &TagFilter::Any).await.unwrap();
    let (work, token, _) = fetched.unwrap();
    assert!(work == activity(INSTANCE, 2, &*long));
    provider.ack_work_item(&token, Some(completion(INSTANCE, 2))).await.unwrap();
    let query = "SELECT VALUE c.type FROM c";
    let left: Vec<String> = home.documents().query_items(query, INSTANCE).collect().await.unwrap();
    assert_eq!(left, ["message"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_queue_message_to_an_instance_that_is_not_there_goes_as_a_whole() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    let message =
        WorkItem::QueueMessage { instance: INSTANCE.into(), name: "q".into(), data: "x".repeat(2_000_000) };
    send(&provider, message).await;
    assert!(home.count("chunk").await > 1);
    assert!(fetch_now(&provider).await.is_none());
    assert!(home.all(INSTANCE).await.is_empty(), "dropped, with all its pieces");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_piece_is_an_error_that_names_the_instance_and_no_standstill() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    let long = "x".repeat(1_000_000);
    let lose_piece = async |id: &str| home.documents().delete_item(INSTANCE, id).await.unwrap();
    // Of an activity's input: the orchestration learns that the activity has failed.
    provider.enqueue_for_worker(activity(INSTANCE, 2, &*long)).await.unwrap();
    let work = home.all(INSTANCE).await.into_iter().find(|document| document["type"] == "work").unwrap();
    lose_piece(&format!("{}~1", work["id"].as_str().unwrap())).await;
    assert!(work_now(&provider).await.is_none());
    // Of a message: the turn says what is lost.
    send(&provider, start(INSTANCE)).await;
    let (item, token) = fetch(&provider).await;
    let WorkItem::ActivityFailed { id: 2, details, .. } = &item.messages[0] else { panic!("{item:?}") };
    assert!(details.display_message().contains(INSTANCE), "{details:?}");
    Turn::first(INSTANCE).ack(&provider, &token).await.unwrap();
    send(&provider, signal(INSTANCE, &long)).await;
    let all = home.all(INSTANCE).await;
    let message = all.into_iter().find(|document| document["type"] == "message").unwrap();
    lose_piece(&format!("{}~1", message["id"].as_str().unwrap())).await;
    let (item, _) = fetch(&provider).await;
    assert!(item.history_error.is_some_and(|error| error.contains(INSTANCE)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_text_of_an_orchestration_may_be_longer_than_a_document() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    // Quotes and other letters than English ones take more room than they seem to.
    let long = "\"long\" é\\".repeat(300_000);
    let start = WorkItem::ExternalRaised { instance: INSTANCE.into(), name: "n".into(), data: long.clone() };
    send(&provider, crate::steps::start(INSTANCE)).await;
    send(&provider, start.clone()).await;
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.messages[1], start);
    let turn = Turn {
        events: vec![started(INSTANCE, 1), scheduled(INSTANCE, 2, &*long)],
        work: vec![activity(INSTANCE, 2, &*long)],
        ..Turn::default()
    };
    turn.ack(&provider, &token).await.unwrap();

    let (work, token) = fetch_work(&provider).await;
    assert_eq!(work, activity(INSTANCE, 2, &*long));
    let completion = WorkItem::ActivityCompleted {
        instance: INSTANCE.into(),
        execution_id: 1,
        id: 2,
        result: long.clone(),
    };
    provider.ack_work_item(&token, Some(completion.clone())).await.unwrap();

    let (item, token) = fetch(&provider).await;
    assert_eq!(item.messages, [completion]);
    assert_eq!(item.history[1].kind, scheduled(INSTANCE, 2, &*long).kind);
    let done = EventKind::OrchestrationCompleted { output: long.clone() };
    let done = Event::with_event_id(3, INSTANCE, 1, None, done);
    let (status, output) = (Some("Completed".to_owned()), Some(long.clone()));
    let metadata = ExecutionMetadata { status, output, ..ExecutionMetadata::default() };
    provider.ack_orchestration_item(&token, 1, vec![done], vec![], vec![], metadata, vec![]).await.unwrap();

    let admin = provider.as_management_capability().unwrap();
    assert_eq!(admin.get_instance_info(INSTANCE).await.unwrap().output, Some(long));
    // Another process reads the same, and what was processed has left nothing behind.
    let history = home.provider().await.read(INSTANCE).await.unwrap();
    assert_eq!(history.iter().map(|event| event.event_id).collect::<Vec<_>>(), [1, 2, 3]);
    let chunks: Vec<Value> =
        home.all(INSTANCE).await.into_iter().filter(|it| it["type"] == "chunk").collect();
    let of_state =
        |chunk: &Value| chunk["id"].as_str().is_some_and(|id| id.starts_with("h:") || id.starts_with("out:"));
    assert!(!chunks.is_empty() && chunks.iter().all(of_state));
}
