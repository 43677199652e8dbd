//! No text is too long: inputs, events, completions and outputs beyond what a document holds.

use duroxide::providers::{ExecutionMetadata, Provider, WorkItem};
use duroxide::{Event, EventKind};
use serde_json::Value;

use crate::harness::{Account, Server};
use crate::steps::*;

const INSTANCE: &str = "long";

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
