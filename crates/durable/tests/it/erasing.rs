//! A deleted instance stays deleted, and what it owed to others before is delivered.

use std::time::Duration;

use cosmonaut::CosmosStatus;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::OperationType;
use duroxide::providers::{Provider, ProviderAdmin};
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

async fn delete(provider: &dyn ProviderAdmin, instance: &str, force: bool) {
    provider.delete_instances_atomic(&[instance.to_owned()], force).await.unwrap();
}

/// What is asked is to be asked again.
fn busy() -> FaultInjectionResult {
    let retry_after = Some(Duration::from_millis(10));
    FaultInjectionResult::Status { status: CosmosStatus::TOO_MANY_REQUESTS, retry_after }
}

fn kinds(documents: &[Value]) -> Vec<&str> {
    documents.iter().map(|document| document["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_was_delivered_to_an_instance_does_not_start_it_again_after_its_deletion() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    // One of them is taken, the other one waits.
    let messages = vec![start("one"), start("other")];
    Turn { messages, ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    let (item, token) = fetch(&provider).await;
    Turn { status: Some("Completed"), ..Turn::first(&item.instance) }.ack(&provider, &token).await.unwrap();
    for instance in ["one", "other"] {
        delete(&provider, instance, false).await;
        assert_eq!(kinds(&home.all(instance).await), ["seen"], "{instance}: its trace is left");
    }
    drop(provider);
    let later = home.provider().await;
    assert!(fetch_now(&later).await.is_none());
    later.checked_deliveries().await;
    assert!(fetch_now(&later).await.is_none(), "nothing is started again");
    // The name is free all the same.
    make(&later, "one", None).await;
}

#[tokio::test]
async fn what_an_ended_instance_owes_is_delivered_before_it_goes() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for instance in ["owing", "other"] {
        make(&provider, instance, Some("Completed")).await;
    }
    let far = u64::MAX >> 12;
    let body = serde_json::to_string(&start("owed")).unwrap();
    let owed = json!({
        "id": "o:1.0", "instanceId": "owing", "type": "intent", "v": 1,
        "slot": duroxide_cosmonaut::slot_of("owing"), "target": "owed", "targetId": "m:oaa.1.0", "what": "message",
        "targetVisibleAt": 0, "visibleAt": far, "body": body, "chunks": 0,
    });
    home.documents().create_item("owing", &owed).await.unwrap();
    delete(&provider, "owing", false).await;
    assert!(home.all("owing").await.is_empty());
    assert_eq!(fetch(&provider).await.0.instance, "owed");

    // What cannot be read stays, with its instance, unless that is to go by force.
    let mut strange = owed.clone();
    (strange["instanceId"], strange["v"]) = ("other".into(), 99.into());
    home.documents().create_item("other", &strange).await.unwrap();
    let error = provider.delete_instances_atomic(&["other".to_owned()], false).await.unwrap_err();
    assert!(error.message.contains("other") && error.message.contains("o:1.0"), "{error}");
    delete(&provider, "other", true).await;
    assert!(home.all("other").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_does_not_start_while_its_name_is_deleted() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let later = Some(Duration::from_secs(3600));
    provider.enqueue_for_orchestrator(signal("a", 1), later).await.unwrap();
    let batches = FaultInjectionCondition {
        operation: Some(OperationType::Batch),
        ..FaultInjectionCondition::default()
    };
    let slow = FaultInjectionResult::Delay(Duration::from_secs(2));
    faults.set(FaultInjectionRule::new("slow", slow).when(batches));
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let deleted = async {
        delete(&elsewhere, "a", false).await;
    };
    let begun = async {
        until("the deletion is at its end", async || faults.hits("slow").is_some_and(|hits| hits > 0)).await;
        assert!(fetch_now(&provider).await.is_none(), "it is being deleted");
    };
    tokio::join!(deleted, begun);
    assert!(home.all("a").await.is_empty());
    // A check that fails leaves nothing of the name either.
    make(&provider, "parent", Some("Completed")).await;
    send(&provider, child("child", "parent")).await;
    let (_, token) = fetch(&provider).await;
    Turn { parent: Some("parent".into()), ..Turn::first("child") }.ack(&provider, &token).await.unwrap();
    let names = ["nobody".to_owned(), "parent".to_owned()];
    assert!(provider.delete_instances_atomic(&names, true).await.is_err(), "its child would be left");
    assert!(home.all("nobody").await.is_empty());
    assert_eq!(provider.list_instances().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_new_instance_of_a_deleted_name_has_no_history_of_the_old_one() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let mut turn = Turn::first("a");
    for id in [2, 3] {
        turn.events.push(scheduled("a", id, "x"));
        turn.work.push(activity("a", id, "x"));
    }
    turn.ack(&provider, &token).await.unwrap();
    fetch_work(&provider).await;
    delete(&provider, "a", true).await;
    assert!(provider.read("a").await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_goes_while_its_instance_is_deleted_does_not_matter() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    for n in 0..150 {
        send(&provider, signal("a", n)).await;
    }
    let batches = FaultInjectionCondition {
        operation: Some(OperationType::Batch),
        ..FaultInjectionCondition::default()
    };
    let slow = FaultInjectionResult::Delay(Duration::from_secs(1));
    faults.set(FaultInjectionRule::new("slow", slow).when(batches));
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let gone = async {
        until("the deletion is at its end", async || faults.hits("slow").is_some_and(|hits| hits > 0)).await;
        for document in home.all("a").await {
            if document["type"] == "message" {
                let id = document["id"].as_str().unwrap();
                drop(home.documents().delete_item("a", id).await);
                break;
            }
        }
    };
    tokio::join!(async { delete(&elsewhere, "a", true).await }, gone);
    assert!(home.all("a").await.is_empty());
    assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the deletion");
}

/// Lets none of these operations through.
fn hold_up(faults: &FaultInjector, operation: OperationType) {
    let these = FaultInjectionCondition { operation: Some(operation), ..FaultInjectionCondition::default() };
    faults.set(FaultInjectionRule::new("busy", busy()).when(these));
}

/// Unlocks an instance as soon as something is held up, and lets that go on.
async fn take_lock_back(home: &Home, faults: &FaultInjector, instance: &str) {
    until("something is held up", async || faults.hits("busy").is_some_and(|hits| hits > 0)).await;
    let free = cosmonaut::Patch::new().set("/lock", ());
    home.documents().patch_item(instance, "instance", free).await.unwrap();
    faults.remove("busy");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_whose_lock_was_taken_back_stays_and_does_not_count() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    for instance in ["a", "b"] {
        make(&provider, instance, Some("Completed")).await;
    }
    // Nothing is removed until the lock is gone.
    hold_up(&faults, OperationType::Batch);
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let freed = take_lock_back(&home, &faults, "a");
    let names = ["a".to_owned(), "b".to_owned()];
    let (deleted, ()) = tokio::join!(elsewhere.delete_instances_atomic(&names, false), freed);
    let deleted = deleted.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted, deleted.events_deleted), (1, 1, 1));
    assert_eq!(provider.list_instances().await.unwrap(), ["a"]);
    assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the deletion");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_failover_brings_back_of_an_instance_while_it_is_deleted_goes_as_well() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    for n in 0..150 {
        send(&provider, signal("a", n)).await;
    }
    let before = home.all("a").await;
    // The first transaction passes, and the second one has to wait.
    let batches = |max_hits| FaultInjectionCondition {
        operation: Some(OperationType::Batch),
        max_hits,
        ..FaultInjectionCondition::default()
    };
    let passes = FaultInjectionResult::Delay(Duration::from_millis(1));
    faults.set(FaultInjectionRule::new("first", passes).when(batches(Some(1))));
    faults.set(FaultInjectionRule::new("second", busy()).when(batches(None)));
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let brought_back = async {
        until("it has begun", async || faults.hits("second").is_some_and(|hits| hits > 0)).await;
        let left: Vec<Value> = home.all("a").await;
        for document in before.iter().filter(|it| !left.iter().any(|left| left["id"] == it["id"])) {
            home.documents().upsert_item("a", document).await.unwrap();
        }
        let head = left.iter().find(|document| document["type"] == "instance").unwrap();
        let mut lock = head["lock"].clone();
        lock.as_object_mut().unwrap().retain(|name, _| ["token", "until", "messages"].contains(&&**name));
        let locked = cosmonaut::Patch::new().set("/lock", lock);
        home.documents().patch_item("a", "instance", locked).await.unwrap();
        faults.remove("second");
    };
    let (deleted, ()) = tokio::join!(
        async { elsewhere.delete_instances_atomic(&["a".to_owned()], false).await.unwrap() },
        brought_back
    );
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (1, 150));
    assert!(home.all("a").await.is_empty(), "nothing is left of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_of_several_instances_goes_if_a_failover_has_taken_back_the_lock_of_one() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    let messages = vec![child("child", "parent")];
    Turn { messages, ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    // Nothing is searched for until the lock is gone.
    hold_up(&faults, OperationType::Query);
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let freed = take_lock_back(&home, &faults, "parent");
    let names = ["parent".to_owned()];
    let (refused, ()) = tokio::join!(elsewhere.delete_instances_atomic(&names, true), freed);
    let refused = refused.unwrap_err();
    assert!(refused.is_retryable() && refused.message.contains("parent"), "{refused}");
    assert_eq!(fetch(&provider).await.0.instance, "child", "the parent gets its child");
    assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the deletion");
}
