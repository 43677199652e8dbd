//! Children that were started and are not there yet when their parent is deleted: they go with it, and none starts later.

use duroxide::providers::{Provider, ProviderAdmin};
use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::steps::*;

/// A parent that has started a child in its first turn.
async fn parent(provider: &dyn Provider, status: Option<&'static str>) {
    send(provider, start("parent")).await;
    let (_, token) = fetch(provider).await;
    let messages = vec![child("child", "parent")];
    Turn { messages, status, ..Turn::first("parent") }.ack(provider, &token).await.unwrap();
}

/// That nothing is left but traces, and nothing starts, now or when another process comes.
async fn has_gone(home: &Home, provider: &dyn Provider) {
    assert!(fetch_now(provider).await.is_none(), "nothing is started");
    for instance in ["parent", "child"] {
        let left = home.all(instance).await;
        assert!(left.iter().all(|document| document["type"] == "seen"), "{left:?}");
    }
    let later = home.provider().await;
    assert!(fetch_now(&later).await.is_none());
    later.checked_deliveries().await;
    assert!(fetch_now(&later).await.is_none(), "nothing is started later");
    assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the deletion");
}

#[tokio::test]
async fn a_child_whose_start_waits_does_not_outlive_its_parent() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    parent(&provider, None).await;
    let deleted = provider.delete_instances_atomic(&["parent".to_owned()], true).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1, "the child is no instance yet");
    has_gone(&home, &provider).await;
}

#[tokio::test]
async fn a_child_whose_start_is_still_owed_does_not_outlive_its_parent() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "parent", None).await;
    let body = serde_json::to_string(&child("child", "parent")).unwrap();
    let far = u64::MAX >> 12;
    let owed = json!({
        "id": "o:1.0", "instanceId": "parent", "type": "intent", "v": 1,
        "slot": duroxide_cosmonaut::slot_of("parent"), "target": "child", "targetId": "m:oaa.1.0", "what": "message",
        "targetVisibleAt": 0, "visibleAt": far, "body": body, "chunks": 0,
    });
    home.documents().create_item("parent", &owed).await.unwrap();
    provider.delete_instances_atomic(&["parent".to_owned()], true).await.unwrap();
    has_gone(&home, &provider).await;
}

#[tokio::test]
async fn a_child_that_runs_its_first_turn_meanwhile_does_not_come_to_be() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    parent(&provider, None).await;
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, "child");
    provider.delete_instances_atomic(&["parent".to_owned()], true).await.unwrap();
    let turn = Turn { parent: Some("parent".into()), ..Turn::first("child") };
    assert!(turn.ack(&provider, &token).await.is_err(), "it has lost its lock");
    has_gone(&home, &provider).await;
}

#[tokio::test]
async fn a_parent_that_has_ended_is_not_deleted_while_its_child_is_about_to_start() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    parent(&provider, Some("Completed")).await;
    let names = ["parent".to_owned()];
    let refused = provider.delete_instances_atomic(&names, false).await.unwrap_err();
    assert!(!refused.is_retryable() && refused.message.contains("child"), "{refused}");
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, "child", "it starts as if nothing had been");
    let turn = Turn { parent: Some("parent".into()), status: Some("Completed"), ..Turn::first("child") };
    turn.ack(&provider, &token).await.unwrap();
    let both = ["parent".to_owned(), "child".to_owned()];
    assert_eq!(provider.delete_instances_atomic(&both, false).await.unwrap().instances_deleted, 2);
    has_gone(&home, &provider).await;
}

#[tokio::test]
async fn an_instance_of_somebody_else_that_was_there_before_stays() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "child", None).await;
    parent(&provider, None).await;
    let deleted = provider.delete_instances_atomic(&["parent".to_owned()], true).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1);
    assert_eq!(provider.list_instances().await.unwrap(), ["child"]);
    let (item, token) = fetch(&provider).await;
    assert_eq!((&*item.instance, item.history.len()), ("child", 1), "it goes on");
    Turn::default().ack(&provider, &token).await.unwrap();
}
