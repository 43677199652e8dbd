//! What has stopped for good is listed, tried again and got rid of.

use duroxide::providers::{Provider, ProviderAdmin};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::DeadCause;
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{World, options};

/// A runtime that gives up after one attempt, and knows no activity.
async fn without_activities() -> World {
    let options = RuntimeOptions { max_attempts: 1, ..options() };
    let orchestrations = OrchestrationRegistry::builder().register(
        "Ask",
        |context: OrchestrationContext, input: String| async move {
            context.schedule_activity("Nobody", input).await
        },
    );
    World::start_on(Account::OneRegion, options, ActivityRegistry::builder(), orchestrations).await
}

/// Changes a document behind the back of the provider.
async fn damage(home: &Home, instance: &str, kind: &str, member: &str, value: Value) {
    for mut document in home.all(instance).await {
        if document["type"] == kind {
            document[member] = value.clone();
            home.documents().upsert_item(instance, &document).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_was_given_up_is_listed_tried_again_and_deleted() {
    let world = without_activities().await;
    world.begin("a", "Ask", "7").await;
    let error = world.end("a").await.unwrap_err();
    assert!(error.starts_with("poison: "), "{error}");
    let letters = world.store.dead_letters(10).await.unwrap();
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(
        (&*letters[0].instance, letters[0].cause, &letters[0].why),
        ("a", DeadCause::Poisoned, &error)
    );

    world.store.retry_dead("a", "b").await.unwrap();
    world.end("b").await.unwrap_err();
    let input = |history: Vec<duroxide::Event>| format!("{:?}", history[0].kind);
    let (old, new) = (world.store.read("a").await.unwrap(), world.store.read("b").await.unwrap());
    assert_eq!(input(old), input(new), "the same orchestration with the same input");
    let error = world.store.retry_dead("a", "b").await.unwrap_err();
    assert!(!error.is_retryable() && error.message.contains("already"), "{error}");

    assert_eq!(world.store.terminate_dead("a").await.unwrap().len(), 1);
    let left: Vec<_> =
        world.store.dead_letters(10).await.unwrap().into_iter().map(|found| found.instance).collect();
    assert_eq!(left, ["b"]);
    world.stop().await;
}

#[tokio::test]
async fn an_instance_that_failed_by_itself_is_not_dead() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    make(&provider, "a", Some("Failed")).await;
    make(&provider, "b", None).await;
    assert_eq!(provider.dead_letters(10).await.unwrap(), []);
    for instance in ["a", "b"] {
        assert!(!provider.retry_dead(instance, "c").await.unwrap_err().is_retryable(), "{instance}");
        assert!(!provider.terminate_dead(instance).await.unwrap_err().is_retryable(), "{instance}");
    }
    assert_eq!(provider.list_instances().await.unwrap().len(), 2, "nothing was deleted");
}

#[tokio::test]
async fn messages_and_activities_that_cannot_be_read_are_removed_and_activities_fail() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let turn = Turn { work: vec![activity("a", 2, "x")], ..Turn::first("a") };
    turn.ack(&provider, &token).await.unwrap();
    send(&provider, signal("a", 1)).await;
    damage(&home, "a", "message", "visibleAt", json!("soon")).await;
    damage(&home, "a", "work", "v", json!(9)).await;
    let mut causes: Vec<_> =
        provider.dead_letters(10).await.unwrap().iter().map(|found| found.cause).collect();
    causes.sort_by_key(|cause| *cause == DeadCause::Newer);
    assert_eq!(causes, [DeadCause::Damaged, DeadCause::Newer]);

    assert_eq!(provider.terminate_dead("a").await.unwrap().len(), 2);
    assert_eq!(provider.dead_letters(10).await.unwrap(), []);
    let (item, _) = fetch(&provider).await;
    let told = format!("{:?}", item.messages);
    assert!(item.messages.len() == 1 && told.contains("ActivityFailed"), "{told}");
    assert!(work_now(&provider).await.is_none());
}

#[tokio::test]
async fn an_activity_whose_text_is_damaged_is_found_and_a_long_one_is_not() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    provider.enqueue_for_worker(activity("long", 2, "x".repeat(800_000))).await.unwrap();
    provider.enqueue_for_worker(activity("a", 2, "x")).await.unwrap();
    assert_eq!(provider.dead_letters(10).await.unwrap(), []);
    damage(&home, "a", "work", "body", json!("{\"ActivityExec")).await;
    let letters = provider.dead_letters(10).await.unwrap();
    assert_eq!((letters.len(), letters[0].document.as_deref()), (1, Some("w:1:2")), "{letters:?}");
    provider.terminate_dead("a").await.unwrap();
    assert_eq!((home.count("work").await, home.count("message").await), (1, 1));
}

#[tokio::test]
async fn the_head_of_a_newer_version_is_left_alone() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    damage(&home, "a", "instance", "v", json!(3)).await;
    let letters = provider.dead_letters(10).await.unwrap();
    assert_eq!((letters.len(), letters[0].document.as_deref()), (1, Some("instance")));
    let error = provider.terminate_dead("a").await.unwrap_err();
    assert!(error.message.contains("update every process"), "{error}");
    assert_eq!(home.count("instance").await, 1);
}

#[tokio::test]
async fn a_message_that_only_a_newer_process_understands_stays() {
    let home = Server::shared(Account::OneRegion).home();
    make(&home.provider().await, "born", None).await;
    let provider = home.provider().await;
    send(&provider, signal("born", 1)).await;
    send(&provider, signal("unborn", 1)).await;
    for instance in ["born", "unborn"] {
        damage(&home, instance, "message", "body", json!(r#"{"Future":{}}"#)).await;
    }
    send(&provider, signal("born", 2)).await;
    let (item, token) = fetch(&provider).await;
    assert_eq!((&*item.instance, item.messages.len()), ("born", 1));
    Turn::default().ack(&provider, &token).await.unwrap();
    assert!(fetch_now(&provider).await.is_none());
    assert_eq!(home.count("message").await, 2, "both wait for a process that understands them");
}
