//! Children that were started and are not there yet when their parent is deleted: they go with it, and none starts later.

use std::time::Duration;

use cosmonaut::Patch;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use cosmonaut_driver::OperationType;
use duroxide::providers::{Provider, ProviderAdmin};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, PayloadCodecs};
use serde_json::{Value, json};

use crate::cipher::cipher;
use crate::harness::{Account, Home, Server};
use crate::said::Said;
use crate::steps::*;
use crate::world::until;

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

#[tokio::test]
async fn a_deletion_asks_little_of_what_its_instance_has_sent_in_the_last_day() {
    const COUNT: usize = 300;
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for instance in ["other", "busy"] {
        make(&provider, instance, None).await;
    }
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    let mut messages: Vec<_> = (0..COUNT).map(|n| signal("other", n)).collect();
    // What still waits for somebody who is there need not be read either.
    messages.extend((0..COUNT).map(|n| signal("busy", n)));
    messages.push(child("child", "parent"));
    Turn { messages, ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    let taken = async || {
        loop {
            let (item, token) = fetch(&provider).await;
            if item.instance == "other" {
                return token;
            }
        }
    };
    let events = vec![scheduled("other", 2, "x")];
    Turn { events, ..Turn::default() }.ack(&provider, &taken().await).await.unwrap();
    // Of a process that does nothing else.
    let deleting = home.provider().await;
    deleting.delete_instances_atomic(&["parent".to_owned()], true).await.unwrap();
    let asked = deleting.usage().requests;
    println!("{asked} requests to delete an instance that has sent {} messages", 2 * COUNT + 1);
    assert!(asked < COUNT as u64 / 5, "{asked} requests");
    assert!(home.all("child").await.iter().all(|document| document["type"] == "seen"), "it goes, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_that_are_found_are_named_in_the_record_so_that_anybody_can_take_the_deletion_back() {
    let (server, faults) = (Server::shared(Account::OneRegion), FaultInjector::new());
    let home = server.home();
    let provider = home.provider().await;
    parent(&provider, None).await;
    // The record is patched for the child, and then the decision hangs.
    let patches = |max_hits| FaultInjectionCondition {
        operation: Some(OperationType::Patch),
        max_hits,
        ..FaultInjectionCondition::default()
    };
    let passes = FaultInjectionResult::Delay(Duration::from_millis(1));
    faults.set(FaultInjectionRule::new("first", passes).when(patches(Some(1))));
    faults.set(FaultInjectionRule::new("second", FaultInjectionResult::Hang).when(patches(None)));
    let elsewhere = Home { client: server.faulty_client(&faults), ..home.clone() }.provider().await;
    let names = ["parent".to_owned()];
    tokio::select! {
        deleted = elsewhere.delete_instances_atomic(&names, true) => panic!("{deleted:?}"),
        () = until("it is to be decided", async || faults.hits("second").is_some_and(|hits| hits > 0)) => {}
    }
    drop(elsewhere);
    let records = home.all("$cleanup").await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["instances"], json!(["parent", "child"]));
    let head = home.documents().read_item::<Value>("child", "instance").await.unwrap();
    assert_eq!(head.value()["lock"]["token"], records[0]["token"]);
    let left = Patch::new().set("/visibleAt", 0);
    home.documents().patch_item("$cleanup", records[0]["id"].as_str().unwrap(), left).await.unwrap();
    let later = home.provider().await;
    assert_eq!(fetch(&later).await.0.instance, "child", "it starts as if nothing had been");
    until("nothing is left of the deletion", async || home.all("$cleanup").await.is_empty()).await;
}

/// What becomes of the process that deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Process {
    Ends,
    GoesOn,
}

/// Stops a deletion of the parent after so many requests, and takes back the lock of the parent alone, as a failover may.
/// Gives whether the deletion was over before, and whether there was a lock.
async fn freed_after(requests: u64, home: &Home, process: Process) -> (bool, bool) {
    let deleting = home.provider().await;
    let begun = deleting.usage().requests;
    let reached = async {
        while deleting.usage().requests < begun + requests {
            tokio::task::yield_now().await;
        }
    };
    let names = ["parent".to_owned()];
    let mut deletion = Box::pin(deleting.delete_instances_atomic(&names, true));
    let has_ended = tokio::select! {
        biased;
        () = reached => false,
        deleted = &mut deletion => {
            deleted.unwrap();
            true
        }
    };
    let free =
        Patch::new().set("/lock", ()).condition(format!("FROM c WHERE c.lock.until = {}", 1_u64 << 52));
    let freed = home.documents().patch_item("parent", "instance", free).await;
    match process {
        Process::GoesOn if !has_ended => println!("{:?}", deletion.await),
        Process::GoesOn | Process::Ends => drop(deletion),
    }
    (has_ended, freed.is_ok())
}

#[tokio::test]
async fn a_parent_that_a_failover_has_freed_gets_its_child_whenever_that_was() {
    for process in [Process::GoesOn, Process::Ends] {
        let mut stages = 0;
        for requests in 1.. {
            let home = Server::shared(Account::OneRegion).home();
            parent(&home.provider().await, None).await;
            let (has_ended, has_freed) = freed_after(requests, &home, process).await;
            for record in home.all("$cleanup").await {
                let left = Patch::new().set("/visibleAt", 0);
                home.documents().patch_item("$cleanup", record["id"].as_str().unwrap(), left).await.unwrap();
            }
            if has_freed {
                stages += 1;
                let later = home.provider().await;
                assert_eq!(fetch(&later).await.0.instance, "child", "{process:?} after {requests} requests");
                assert_eq!(
                    later.list_instances().await.unwrap(),
                    ["parent"],
                    "it stays, and the child is not yet"
                );
                until("nothing is left of the deletion", async || home.all("$cleanup").await.is_empty())
                    .await;
            }
            if has_ended {
                break;
            }
        }
        assert!(stages > 3, "{stages} stages of the deletion had locked the parent");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_unborn_children_than_a_record_has_room_for_go_with_their_parent() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    let messages = (0..400).map(|n| child(&format!("{n:01900}"), "parent")).collect();
    Turn { messages, ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    let deleted = provider.delete_instances_atomic(&["parent".to_owned()], true).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1);
    assert!(fetch_now(&provider).await.is_none(), "nothing is started");
    assert_eq!((home.count("message").await, home.count("instance").await), (0, 0));
    assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the deletion");
}

#[tokio::test]
async fn a_message_that_cannot_be_read_ends_a_deletion_unless_it_is_by_force_and_is_named() {
    for (is_newer, remedy) in [(false, "CosmosProviderConfig::codecs"), (true, "update every process")] {
        let said = Said::listen();
        let home = Server::shared(Account::OneRegion).home();
        let codecs = PayloadCodecs::writing_with(cipher("theirs"));
        let knowing =
            CosmosProvider::connect(CosmosProviderConfig { codecs, ..home.config() }).await.unwrap();
        parent(&knowing, Some("Completed")).await;
        if is_newer {
            let waiting = home.all("child").await.pop().unwrap();
            let newer = Patch::new().set("/v", 99);
            home.documents().patch_item("child", waiting["id"].as_str().unwrap(), newer).await.unwrap();
        }
        let other = home.provider().await;
        let names = ["parent".to_owned()];
        let refused = other.delete_instances_atomic(&names, false).await.unwrap_err();
        assert!(!refused.is_retryable());
        for part in ["instance parent", "child", "by force", remedy] {
            assert!(refused.message.contains(part), "{part:?} in {refused}");
        }
        assert!(home.all("$cleanup").await.is_empty(), "nothing is left of the deletion");
        let deleted = other.delete_instances_atomic(&names, true).await.unwrap();
        assert_eq!(deleted.instances_deleted, 1);
        assert!(said.has(&["parent", "child", "starts without its parent"]), "it is named");
        assert_eq!(home.count("message").await, 1, "it is not known what it is, so it stays");
        if !is_newer {
            assert_eq!(fetch(&knowing).await.0.instance, "child", "whoever can read it does");
        }
    }
}
