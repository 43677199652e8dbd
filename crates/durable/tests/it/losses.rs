//! Forced failovers that lose writes: what can be mended is mended, and everything goes on from what is there.

use std::sync::atomic::Ordering;

use cosmonaut_emulator::{Failover, Outage};
use duroxide::providers::{OrchestrationItem, Provider, WorkItem};

use crate::faults;
use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{LONG, until};

pub(crate) const EAST: &str = "East US";
pub(crate) const WEST: &str = "West US";

/// The next turn to run. That a session has seen what is lost takes some seconds to find out.
pub(crate) async fn fetch_after_loss(provider: &dyn Provider) -> (OrchestrationItem, String) {
    let fetched = provider.fetch_orchestration_item(LOCK, LONG, None).await.unwrap();
    let (item, token, _) = fetched.expect("there is a turn to run");
    (item, token)
}

/// Waits until all regions have the same.
pub(crate) async fn replicated(server: &Server, home: &Home) {
    until("all regions have everything", async || {
        let partitions = server.control().partitions(&home.link()).unwrap();
        partitions.iter().all(|partition| partition.lsns.iter().all(|(_, lsn)| *lsn == partition.lsns[0].1))
    })
    .await;
}

/// The partition that an instance is in.
pub(crate) async fn partition_of(server: &Server, home: &Home, instance: &str) -> String {
    let lsns = || {
        let partitions = server.control().partitions(&home.link()).unwrap();
        partitions
            .into_iter()
            .map(|partition| (partition.id.to_string(), partition.lsns[0].1))
            .collect::<Vec<_>>()
    };
    let before = lsns();
    let probe = serde_json::json!({"id": "probe", "instanceId": instance, "type": "probe"});
    home.documents().upsert_item(instance, &probe).await.unwrap();
    let changed = lsns().into_iter().zip(before).find(|(now, before)| now != before);
    changed.expect("a write raises the LSN of its partition").0.0
}

/// Two instances in different partitions of a new container, each with the name of its partition.
pub(crate) async fn apart(server: &Server, home: &Home) -> [(String, String); 2] {
    home.provider().await;
    server.control().split(&home.link(), "0").await.unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for n in 0.. {
        let name = format!("i{n}");
        let partition = partition_of(server, home, &name).await;
        if found.iter().all(|(_, other)| *other != partition) {
            found.push((name, partition));
        }
        if found.len() == 2 {
            break;
        }
    }
    found.try_into().unwrap()
}

pub(crate) fn has_lost(moved: u64) {
    assert!(moved > 0, "the failover has lost something, which is what is tested");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_goes_on_from_what_is_there() {
    let server = Server::start(Account::ThreeRegions);
    let home = server.home();
    let provider = home.provider().await;
    make(&provider, "a", None).await;
    send(&provider, signal("a", 1)).await;
    replicated(&server, &home).await;
    server.control().pause(None, None).unwrap();
    let turn = || Turn {
        events: vec![scheduled("a", 2, "x")],
        work: vec![activity("a", 2, "x")],
        ..Turn::default()
    };
    let (_, token) = fetch(&provider).await;
    turn().ack(&provider, &token).await.unwrap();
    assert_eq!(provider.read("a").await.unwrap().len(), 2, "the session has seen the turn");
    server.control().take_down(EAST, Outage::Refuse).await.unwrap();
    has_lost(server.control().move_writes(WEST, Failover::Forced).unwrap().lost);
    server.control().resume(None, None).unwrap();

    let (item, token) = fetch_after_loss(&provider).await;
    assert_eq!((&item.messages[..], item.history.len()), (&[signal("a", 1)][..], 1));
    turn().ack(&provider, &token).await.unwrap();
    assert_eq!(fetch_work(&provider).await.0, activity("a", 2, "x"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_end_as_they_should_although_a_failover_loses_some_of_what_they_did() {
    let server = Server::start(Account::ThreeRegions);
    let home = server.home();
    let (runtime, client, ran) = faults::start(&home).await;
    for n in 0..4 {
        client.start_orchestration(&format!("sum-{n}"), "Sum", "30").await.unwrap();
    }
    replicated(&server, &home).await;
    server.control().set_lag(None, None, "300ms".parse().unwrap()).unwrap();
    let before = ran.load(Ordering::Relaxed);
    // In the middle of it: some of what has happened is replicated, and some is not.
    until("some activities have run", async || ran.load(Ordering::Relaxed) > before + 20).await;
    server.control().take_down(EAST, Outage::Refuse).await.unwrap();
    has_lost(server.control().move_writes(WEST, Failover::Forced).unwrap().lost);
    for n in 0..4 {
        assert_eq!(faults::result(&client, &format!("sum-{n}")).await, "18555");
    }
    runtime.shutdown(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_not_told_that_its_result_is_kept_when_its_item_is_lost() {
    let server = Server::start(Account::MovingPartitions);
    let home = server.home();
    let [(instance, partition), _] = apart(&server, &home).await;
    let provider = home.provider().await;
    replicated(&server, &home).await;
    server.control().pause(None, None).unwrap();
    provider.enqueue_for_worker(activity(&instance, 2, "x")).await.unwrap();
    let (_, token) = fetch_work(&provider).await;
    let moved = server.control().move_partition(&home.link(), &partition, WEST, Failover::Forced);
    has_lost(moved.unwrap().lost);
    // The region of before refuses it, and where the driver asks then there is no such item.
    let told = provider.ack_work_item(&token, Some(completion(&instance, 2))).await;
    assert!(told.as_ref().is_err_and(|error| !error.is_retryable()), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivered_message_that_its_target_has_lost_is_delivered_again() {
    let server = Server::start(Account::MovingPartitions);
    let home = server.home();
    let [(parent, _), (child, partition)] = apart(&server, &home).await;
    let provider = home.provider().await;
    make(&provider, &parent, None).await;
    send(&provider, signal(&parent, 1)).await;
    replicated(&server, &home).await;
    server.control().pause(None, None).unwrap();
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, parent);
    let (events, messages) = (vec![scheduled(&parent, 2, "x")], vec![start(&child)]);
    Turn { events, messages, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    let moved = server.control().move_partition(&home.link(), &partition, WEST, Failover::Forced);
    has_lost(moved.unwrap().lost);
    server.control().resume(None, None).unwrap();

    let (item, token) = fetch_after_loss(&provider).await;
    assert_eq!((&*item.instance, item.messages), (&*child, vec![start(&child)]));
    Turn::first(&child).ack(&provider, &token).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_its_source_has_lost_does_not_send_its_messages_twice() {
    let server = Server::start(Account::MovingPartitions);
    let home = server.home();
    let [(source, partition), (target, _)] = apart(&server, &home).await;
    let provider = home.provider().await;
    make(&provider, &target, None).await;
    make(&provider, &source, None).await;
    send(&provider, signal(&source, 1)).await;
    replicated(&server, &home).await;
    server.control().pause(None, None).unwrap();
    let turn = |messages: Vec<WorkItem>| Turn {
        events: vec![scheduled(&source, 2, "x")],
        messages,
        ..Turn::default()
    };
    let (same, before, after) =
        (signal(&target, "same"), signal(&target, "before"), signal(&target, "after"));
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, source);
    turn(vec![same.clone(), before.clone()]).ack(&provider, &token).await.unwrap();
    let moved = server.control().move_partition(&home.link(), &partition, WEST, Failover::Forced);
    has_lost(moved.unwrap().lost);
    server.control().resume(None, None).unwrap();

    let mut received = Vec::new();
    for _ in 0..2 {
        let (item, token) = fetch_after_loss(&provider).await;
        if item.instance == source {
            // The turn is run once more, and this time it sends something else.
            turn(vec![same.clone(), after.clone()]).ack(&provider, &token).await.unwrap();
        } else {
            received.extend(item.messages);
            let events = vec![scheduled(&target, 2, "x")];
            Turn { events, ..Turn::default() }.ack(&provider, &token).await.unwrap();
        }
    }
    while received.len() < 3 {
        let (item, token) = fetch_after_loss(&provider).await;
        assert_eq!(item.instance, target);
        received.extend(item.messages);
        let events = vec![scheduled(&target, 3, "x")];
        Turn { events, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    }
    assert_eq!(received.iter().filter(|it| **it == same).count(), 1, "what is the same comes once");
    assert!(received.contains(&before) && received.contains(&after), "{received:?}");
}
