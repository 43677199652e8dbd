//! What instances send each other arrives, and once.

use std::time::Duration;

use cosmonaut::FeedScope;
use duroxide::providers::Provider;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::steps::*;

async fn eager(home: &Home) -> CosmosProvider {
    let soon = Duration::from_millis(50);
    let config =
        CosmosProviderConfig { reconciler_interval: soon, reconciler_age_threshold: soon, ..home.config() };
    CosmosProvider::connect(config).await.unwrap()
}

#[tokio::test]
async fn a_delivery_that_is_repeated_after_it_was_processed_is_no_second_one() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    Turn { messages: vec![start("child")], ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, "child");
    let message = home.all("child").await.into_iter().find(|document| document["type"] == "message").unwrap();
    Turn { status: Some("Completed"), ..Turn::first("child") }.ack(&provider, &token).await.unwrap();
    // As if the process had died before it could note that the delivery was made.
    let owed = json!({
        "id": "o:1.0", "instanceId": "parent", "type": "intent", "v": 1, "slot": message["slot"],
        "target": "child", "targetId": message["id"], "what": "message", "targetVisibleAt": 0, "visibleAt": 0,
        "body": message["body"], "chunks": 0,
    });
    home.documents().upsert_item("parent", with_slot_of(owed, "parent")).await.unwrap();
    drop(provider);
    let elsewhere = eager(&home).await;
    while home.count("intent").await > 0 {
        assert!(fetch_now(&elsewhere).await.is_none(), "the child was started before");
    }
    assert!(fetch_now(&elsewhere).await.is_none());
}

fn with_slot_of(mut document: Value, instance: &str) -> Value {
    document["slot"] = duroxide_cosmonaut::slot_of(instance).into();
    document
}

#[tokio::test]
async fn deliveries_of_many_turns_do_not_get_in_each_others_way() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "parent", None).await;
    for n in 0..5_u64 {
        send(&provider, signal("parent", n)).await;
        let (item, token) = fetch(&provider).await;
        assert_eq!(item.instance, "parent");
        let events = vec![scheduled("parent", n + 2, "x")];
        let messages = vec![start(&format!("child-{n}"))];
        Turn { events, messages, ..Turn::default() }.ack(&provider, &token).await.unwrap();
        let (item, token) = fetch(&provider).await;
        assert_eq!(item.instance, format!("child-{n}"));
        Turn { status: Some("Completed"), ..Turn::first(&item.instance) }
            .ack(&provider, &token)
            .await
            .unwrap();
    }
    assert!(fetch_now(&provider).await.is_none());
    let left = home.all(FeedScope::Container).await;
    assert!(left.iter().all(|document| document["type"] != "message"), "{left:?}");
}

#[tokio::test]
async fn what_a_process_owed_when_it_died_is_delivered_by_another() {
    let server = Server::shared(Account::OneRegion);
    for requests in 1..6 {
        let home = server.home();
        let provider = eager(&home).await;
        send(&provider, start("parent")).await;
        let lock = Duration::from_millis(300);
        let (_, token, _) = provider.fetch_orchestration_item(lock, PATIENCE, None).await.unwrap().unwrap();
        let begun = provider.usage().requests;
        let stopped = async {
            while provider.usage().requests < begun + requests {
                tokio::task::yield_now().await;
            }
        };
        let turn = Turn { messages: vec![start("child")], ..Turn::first("parent") };
        tokio::select! {
            biased;
            () = stopped => {}
            // It may also have come to its end, or have been too slow for its lock.
            _ = turn.ack(&provider, &token) => {}
        }
        drop(provider);
        let elsewhere = eager(&home).await;
        let (item, token) = fetch(&elsewhere).await;
        if item.instance == "parent" {
            let turn = Turn { messages: vec![start("child")], ..Turn::first("parent") };
            turn.ack(&elsewhere, &token).await.unwrap();
            assert_eq!(fetch(&elsewhere).await.0.instance, "child");
        } else {
            assert_eq!(item.instance, "child", "after {requests}");
        }
        assert!(fetch_now(&elsewhere).await.is_none());
    }
}
