//! Deletions of which a forced failover has lost the record, or the decision: they are finished if they have begun to
//! remove anything, and else taken back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut::{CosmosStatus, Patch};
use cosmonaut_driver::OperationType;
use duroxide::providers::{Provider, ProviderAdmin, ProviderError};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, LeaseProvider, Leases, Role, Slots, slot_of};
use http::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

const TOKEN: &str = "0abc";

/// Locks a head as a deletion does, which may have begun to remove the rest.
async fn lock(home: &Home, instance: &str, has_begun: bool) {
    let mut lock = json!({"token": TOKEN, "until": 1_u64 << 52, "messages": []});
    if has_begun {
        lock["erasing"] = true.into();
    }
    let patch = Patch::new().set("/lock", lock);
    home.documents().patch_item(instance, "instance", patch).await.unwrap();
}

/// Removes the history of an instance.
async fn forget(home: &Home, instance: &str) {
    for document in home.all(instance).await {
        if document["type"] == "history" {
            home.documents().delete_item(instance, document["id"].as_str().unwrap()).await.unwrap();
        }
    }
}

/// What processes have seen of failovers.
async fn seen(home: &Home) -> Option<Value> {
    home.all("$leases").await.into_iter().find(|document| document["type"] == "failovers")
}

/// A process has seen the partitions, and has ended.
async fn ends_after_it_has_seen_all(home: &Home, provider: CosmosProvider) {
    until("it is written down what was seen", async || seen(home).await.is_some()).await;
    provider.checked_deliveries().await;
}

/// Makes it look as if the partitions had been in an earlier version when a process last saw them.
async fn show_failover(home: &Home) {
    let mut record = seen(home).await.unwrap();
    for version in record["versions"].as_object_mut().unwrap().values_mut() {
        *version = (version.as_i64().unwrap() - 1).into();
    }
    home.documents().upsert_item("$leases", &record).await.unwrap();
}

/// A record of a deletion that is not decided, and that its writer has left.
async fn leave_record(home: &Home, instances: &[&str]) {
    let record = json!({
        "id": format!("d:{TOKEN}"), "instanceId": "$cleanup", "type": "deletion", "v": 1,
        "slot": slot_of("$cleanup"), "instances": instances, "token": TOKEN,
        "committed": false, "visibleAt": 0,
    });
    home.documents().create_item("$cleanup", &record).await.unwrap();
}

/// Waits until nothing is left of the deletion. Its record goes last.
async fn has_ended(home: &Home) {
    until("nothing is left of the deletion", async || home.all("$cleanup").await.is_empty()).await;
}

async fn is_gone(home: &Home, instance: &str) -> bool {
    home.all(instance).await.iter().all(|document| document["type"] == "message")
}

#[tokio::test]
async fn an_instance_that_was_only_locked_is_free_again() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    lock(&home, "a", false).await;
    send(&provider, signal("a", 1)).await;
    let (item, _) = fetch(&provider).await;
    assert_eq!((&*item.instance, item.history.len()), ("a", 1));
    has_ended(&home).await;
}

#[tokio::test]
async fn an_instance_of_which_parts_are_gone_is_deleted() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    // Earlier versions do not say that they have begun.
    for (instance, says_so) in [("a", true), ("b", false)] {
        make(&provider, instance, None).await;
        lock(&home, instance, says_so).await;
        forget(&home, instance).await;
        send(&provider, signal(instance, 1)).await;
        until(format!("{instance} is gone"), async || {
            assert!(fetch_now(&provider).await.is_none(), "{instance} is not run any more");
            is_gone(&home, instance).await
        })
        .await;
    }
    has_ended(&home).await;
}

#[tokio::test]
async fn what_is_left_of_an_instance_goes_although_it_owes_something_that_cannot_be_read() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    lock(&home, "a", true).await;
    forget(&home, "a").await;
    // Found by a search, and no turn of the instance can recover it.
    let strange = json!({
        "id": "o:1.0", "instanceId": "a", "type": "intent", "v": 99, "slot": slot_of("a"),
        "visibleAt": 0,
    });
    home.documents().create_item("a", &strange).await.unwrap();
    send(&provider, signal("a", 1)).await;
    until("it is gone", async || {
        assert!(fetch_now(&provider).await.is_none(), "it is not run any more");
        is_gone(&home, "a").await
    })
    .await;
}

/// Leases that a test gives: nothing ends them but the test.
struct Given(Mutex<Slots>);

impl Given {
    fn give(&self, slots: Slots) {
        *self.0.lock().unwrap() = slots;
    }
}

#[async_trait]
impl LeaseProvider for Given {
    fn owned(&self) -> Slots {
        *self.0.lock().unwrap()
    }

    async fn renew(&self, _: Role) -> Result<Duration, ProviderError> {
        Ok(Duration::from_millis(20))
    }

    async fn release(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_gets_slots_frees_what_a_lost_deletion_has_locked_there() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    let names: Vec<String> = (0..16).map(|n| format!("i{n}")).collect();
    for name in &names {
        make(&provider, name, None).await;
    }
    ends_after_it_has_seen_all(&home, provider).await;
    for name in &names {
        lock(&home, name, false).await;
    }
    show_failover(&home).await;
    let half: Slots = (0..128).collect();
    let given = Arc::new(Given(Mutex::new(half)));
    let leases = Leases::Custom(given.clone());
    let heir = CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap();
    let locked = async || {
        let mut locked = Vec::new();
        for name in &names {
            let head = home.documents().read_item::<Value>(&**name, "instance").await.unwrap();
            if !head.value()["lock"].is_null() {
                locked.push(name.clone());
            }
        }
        locked
    };
    let of_others: Vec<String> = names.iter().filter(|name| !half.contains(slot_of(name))).cloned().collect();
    assert!(!of_others.is_empty() && of_others.len() < names.len());
    until("only what others have is locked", async || {
        assert!(fetch_now(&heir).await.is_none());
        locked().await == of_others
    })
    .await;
    heir.checked_deliveries().await;
    has_ended(&home).await;
    assert_eq!(locked().await, of_others, "the heir leaves to others what is theirs");
    given.give(Slots::all());
    until("all are free", async || {
        assert!(fetch_now(&heir).await.is_none());
        locked().await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn an_instance_that_a_later_version_has_written_is_not_taken_for_one_with_parts_gone() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    lock(&home, "a", false).await;
    let documents = home.all("a").await;
    let history = documents.iter().find(|document| document["type"] == "history").unwrap();
    let later = Patch::new().set("/v", 99);
    home.documents().patch_item("a", history["id"].as_str().unwrap(), later).await.unwrap();
    send(&provider, signal("a", 1)).await;
    until("the lock of the deletion is taken away", async || {
        let _ = fetch_now(&provider).await;
        let head: Value = home.documents().read_item("a", "instance").await.unwrap().into_value();
        head["lock"].is_null() || head["lock"]["token"] != TOKEN
    })
    .await;
    assert!(home.all("a").await.iter().any(|document| document["v"] == 99), "its history stays");
}

#[tokio::test]
async fn every_instance_of_one_lost_deletion_is_dealt_with() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    // So many that they could not wait for each other.
    let mut left: std::collections::BTreeSet<String> = (0..40).map(|n| format!("i{n}")).collect();
    for instance in &left {
        make(&provider, instance, None).await;
        lock(&home, instance, false).await;
    }
    for instance in &left {
        send(&provider, signal(instance, 1)).await;
    }
    until("all are free again", async || {
        if let Ok(Some((item, _, _))) = provider.fetch_orchestration_item(LOCK, Duration::ZERO, None).await {
            left.remove(&item.instance);
        }
        left.is_empty()
    })
    .await;
    has_ended(&home).await;
}

#[tokio::test]
async fn every_instance_that_a_lost_deletion_has_begun_to_remove_goes() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    // So many that they could not wait for each other; one of them stays.
    let names: Vec<String> = (0..40).map(|n| format!("i{n}")).collect();
    for instance in names.iter().map(String::as_str).chain(["stays"]) {
        make(&provider, instance, None).await;
        lock(&home, instance, instance != "stays").await;
    }
    for instance in names.iter().map(String::as_str).chain(["stays"]) {
        send(&provider, signal(instance, 1)).await;
    }
    assert_eq!(fetch(&provider).await.0.instance, "stays");
    until("the others are gone", async || {
        assert!(fetch_now(&provider).await.is_none(), "they are not run any more");
        home.count("instance").await == 1
    })
    .await;
    has_ended(&home).await;
}

/// A process of which some patches are refused: those after the first so many.
async fn refused_after(passing: u64, home: &Home) -> (CosmosProvider, FaultInjector) {
    let faults = FaultInjector::new();
    let patches = |max_hits| FaultInjectionCondition {
        operation: Some(OperationType::Patch),
        max_hits: Some(max_hits),
        ..FaultInjectionCondition::default()
    };
    let passes = FaultInjectionResult::Delay(Duration::from_millis(1));
    let refused = FaultInjectionResult::Status {
        status: CosmosStatus::new(StatusCode::BAD_REQUEST, 0),
        retry_after: None,
    };
    faults.set(FaultInjectionRule::new("first", passes).when(patches(passing)));
    faults.set(FaultInjectionRule::new("refused", refused).when(patches(1)));
    let client = Server::shared(Account::OneRegion).faulty_client(&faults);
    (Home { client, ..home.clone() }.provider().await, faults)
}

#[tokio::test]
async fn a_lost_deletion_that_cannot_be_ended_is_tried_again_soon() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    lock(&home, "a", false).await;
    send(&provider, signal("a", 1)).await;
    drop(provider);
    let (provider, faults) = refused_after(0, &home).await;
    let (item, _) = fetch(&provider).await;
    assert_eq!((&*item.instance, faults.hits("refused")), ("a", Some(1)));
    has_ended(&home).await;
}

#[tokio::test]
async fn a_deletion_that_its_finder_cannot_finish_is_tried_again_soon() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    drop(provider);
    lock(&home, "a", false).await;
    leave_record(&home, &["a"]).await;
    // It takes the record over, and then cannot take it back.
    let (provider, faults) = refused_after(1, &home).await;
    until("nothing is left of the deletion", async || {
        assert!(fetch_now(&provider).await.is_none());
        home.all("$cleanup").await.is_empty()
    })
    .await;
    assert_eq!(faults.hits("refused"), Some(1));
    let head: Value = home.documents().read_item("a", "instance").await.unwrap().into_value();
    assert!(head["lock"].is_null(), "it stays");
}

#[tokio::test]
async fn another_deletion_does_not_revive_what_is_left_of_an_instance() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for name in ["a", "parent"] {
        make(&provider, name, Some("Completed")).await;
    }
    send(&provider, child("child", "parent")).await;
    let (_, token) = fetch(&provider).await;
    Turn { parent: Some("parent".into()), ..Turn::first("child") }.ack(&provider, &token).await.unwrap();
    lock(&home, "a", true).await;
    forget(&home, "a").await;
    let names = ["a".to_owned(), "parent".to_owned()];
    assert!(provider.delete_instances_atomic(&names, true).await.is_err(), "its child would be left");
    assert!(home.all("a").await.is_empty(), "it was deleted before");
    assert_eq!(provider.list_instances().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_deletion_whose_decision_is_lost_goes_on_if_it_has_begun() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for name in ["a", "b"] {
        make(&provider, name, Some("Completed")).await;
    }
    lock(&home, "a", true).await;
    lock(&home, "b", false).await;
    leave_record(&home, &["a", "b"]).await;
    let elsewhere = home.provider().await;
    until("the record is gone", async || {
        assert!(fetch_now(&elsewhere).await.is_none());
        home.count("deletion").await == 0
    })
    .await;
    assert!(provider.list_instances().await.unwrap().is_empty());
}

#[tokio::test]
async fn after_a_failover_instances_that_nobody_talks_to_are_free_again() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    ends_after_it_has_seen_all(&home, provider).await;
    lock(&home, "a", false).await;
    show_failover(&home).await;
    let later = home.provider().await;
    until("it is free", async || {
        assert!(fetch_now(&later).await.is_none());
        let head = home.documents().read_item::<Value>("a", "instance").await.unwrap();
        head.value()["lock"].is_null()
    })
    .await;
}

#[tokio::test]
async fn a_deletion_of_more_than_a_transaction_holds_says_that_it_has_begun() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    make(&provider, "a", Some("Completed")).await;
    for n in 0..250 {
        send(&provider, signal("a", n)).await;
    }
    // The first transaction passes, and the second one hangs.
    let batches = |max_hits| FaultInjectionCondition {
        operation: Some(OperationType::Batch),
        max_hits,
        ..FaultInjectionCondition::default()
    };
    let passes = FaultInjectionResult::Delay(Duration::from_millis(1));
    faults.set(FaultInjectionRule::new("first", passes).when(batches(Some(1))));
    faults.set(FaultInjectionRule::new("second", FaultInjectionResult::Hang).when(batches(None)));
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let names = ["a".to_owned()];
    tokio::select! {
        deleted = elsewhere.delete_instances_atomic(&names, true) => panic!("{deleted:?}"),
        () = until("it has begun", async || faults.hits("second").is_some_and(|hits| hits > 0)) => {}
    }
    let head = home.documents().read_item::<Value>("a", "instance").await.unwrap();
    assert_eq!(head.value()["lock"]["erasing"], true);
    drop(elsewhere);
    // Whoever comes finishes it, with a record or without.
    for record in home.all("$cleanup").await {
        home.documents().delete_item("$cleanup", record["id"].as_str().unwrap()).await.unwrap();
    }
    until("it is gone", async || {
        assert!(fetch_now(&provider).await.is_none());
        home.all("a").await.is_empty()
    })
    .await;
}
