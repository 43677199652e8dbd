//! Failovers that come long after the writes that they lose: what was delivered before is still known, and what is not
//! known any more is said.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut_emulator::{Failover, SystemWorld, Timestamp, World};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};
use serde_json::Value;

use crate::harness::{Account, Home, Server};
use crate::losses::{WEST, apart, has_lost, replicated};
use crate::said::Said;
use crate::steps::*;
use crate::world::until;

/// An account takes requests whose clock is up to a quarter of an hour off.
const MOST_OFF: Duration = Duration::from_secs(12 * 60);

/// A world whose time can be moved on.
struct Shifted {
    world: SystemWorld,
    by: AtomicU64,
}

impl Shifted {
    /// Its clock is slow at first.
    fn new() -> Arc<Self> {
        Arc::new(Self { world: SystemWorld::new(), by: AtomicU64::new(0) })
    }

    /// From here on its clock is fast: so much time has passed between what was before and what comes.
    fn move_on(&self) {
        self.by.store(2 * MOST_OFF.as_micros() as u64, Ordering::Relaxed);
    }
}

impl World for Shifted {
    fn now(&self) -> Timestamp {
        let slow = self.world.now().0 - MOST_OFF.as_micros() as u64;
        Timestamp(slow + self.by.load(Ordering::Relaxed))
    }

    fn random(&self) -> u64 {
        self.world.random()
    }
}

/// A container in which a child has lost the message that starts it, 24 minutes after that was delivered. Gives the child,
/// and the process that has sent the message.
async fn lost_late(server: &Server, world: &Shifted) -> (Home, String, CosmosProvider) {
    let home = server.home();
    let [(parent, _), (child, partition)] = apart(server, &home).await;
    let provider = home.provider().await;
    make(&provider, &parent, None).await;
    send(&provider, signal(&parent, 1)).await;
    // What is known of the partitions is written down by then.
    provider.checked_deliveries().await;
    replicated(server, &home).await;
    server.control().pause(None, None).unwrap();
    let (_, token) = fetch(&provider).await;
    let (events, messages) = (vec![scheduled(&parent, 2, "x")], vec![start(&child)]);
    Turn { events, messages, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    world.move_on();
    let moved = server.control().move_partition(&home.link(), &partition, WEST, Failover::Forced);
    has_lost(moved.unwrap().lost);
    server.control().resume(None, None).unwrap();
    (home, child, provider)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_delivered_is_known_after_an_outage_although_no_process_ran_meanwhile() {
    let world = Shifted::new();
    let server = Server::start_in(Account::MovingPartitions, Some(world.clone()));
    let (home, child, provider) = lost_late(&server, &world).await;
    drop(provider);
    let later = Home { client: server.client(), ..home }.provider().await;
    let (item, token) = fetch(&later).await;
    assert_eq!((&*item.instance, item.messages), (&*child, vec![start(&child)]));
    Turn::first(&child).ack(&later, &token).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_delivered_is_known_to_a_process_that_has_lived_through_an_outage() {
    let world = Shifted::new();
    let server = Server::start_in(Account::MovingPartitions, Some(world.clone()));
    let (_, child, provider) = lost_late(&server, &world).await;
    let (item, _) = crate::losses::fetch_after_loss(&provider).await;
    assert_eq!(item.instance, child);
}

/// What processes have written down of failovers.
async fn record(home: &Home) -> Option<Value> {
    home.all("$leases").await.into_iter().find(|document| document["type"] == "failovers")
}

#[tokio::test]
async fn a_delivery_is_kept_for_a_day_and_the_trace_of_it_for_longer() {
    const DAY: u64 = 24 * 60 * 60;
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    Turn { messages: vec![start("child")], ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    let (_, token) = fetch(&provider).await;
    Turn::first("child").ack(&provider, &token).await.unwrap();
    let kept = async |instance: &str, kind: &str| {
        let all = home.all(instance).await;
        all.iter().find(|document| document["type"] == kind).unwrap()["ttl"].as_u64().unwrap()
    };
    let (delivered, seen) = (kept("parent", "delivered").await, kept("child", "seen").await);
    assert!(delivered >= DAY && seen >= 2 * delivered, "{delivered} {seen}");
}

#[tokio::test]
async fn who_may_have_sent_what_is_forgotten_is_named_after_an_outage_of_days() {
    let said = Said::listen();
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    const DAY: u64 = 24 * 60 * 60 * 1000;
    for instance in ["sender-before-a-long-outage", "newcomer"] {
        make(&provider, instance, None).await;
    }
    // One of them was there before the outage, and has gone on since.
    let head = home.documents().read_item::<Value>("newcomer", "instance").await.unwrap();
    let created = head.value()["state"]["createdAt"].as_u64().unwrap();
    let older = cosmonaut::Patch::new().set("/state/createdAt", created - 3 * DAY);
    home.documents().patch_item("sender-before-a-long-outage", "instance", older).await.unwrap();
    provider.checked_deliveries().await;
    drop(provider);
    // As if the partitions had been in an earlier version, and had not been seen for two days.
    let mut changed = record(&home).await.unwrap();
    for version in changed["versions"].as_object_mut().unwrap().values_mut() {
        *version = (version.as_i64().unwrap() - 1).into();
    }
    for at in changed["seen"].as_object_mut().unwrap().values_mut() {
        *at = (at.as_u64().unwrap() - 2 * DAY).into();
    }
    home.documents().upsert_item("$leases", &changed).await.unwrap();
    let later = home.provider().await;
    assert!(fetch_now(&later).await.is_none());
    until("the sender is named", async || said.has(&["sender-before-a-long-outage", "lost for good"])).await;
    assert!(!said.has(&["newcomer", "lost for good"]), "what it has sent is known");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loss_that_a_process_has_noticed_and_not_mended_is_mended_by_the_next() {
    let world = Shifted::new();
    let server = Server::start_in(Account::OneRegion, Some(world.clone()));
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    Turn { messages: vec![start("child")], ..Turn::first("parent") }.ack(&provider, &token).await.unwrap();
    provider.checked_deliveries().await;
    drop(provider);
    for document in home.all("child").await {
        home.documents().delete_item("child", document["id"].as_str().unwrap()).await.unwrap();
    }
    let mut changed = record(&home).await.unwrap();
    let sent = home.all("parent").await.iter().map(|document| document["_ts"].as_u64().unwrap()).max();
    changed["lost"] = serde_json::json!({"from": 0, "to": sent.unwrap() * 1000});
    home.documents().upsert_item("$leases", &changed).await.unwrap();
    world.move_on();
    let later = Home { client: server.client(), ..home }.provider().await;
    assert_eq!(fetch(&later).await.0.instance, "child");
}

#[tokio::test]
async fn nothing_is_delivered_again_while_a_process_leaves_no_traces_and_that_is_said() {
    let said = Said::listen();
    let home = Server::shared(Account::OneRegion).home();
    let member = async |name: &str| {
        let leases = Leases::Container { name: name.into(), lease: Duration::from_secs(1) };
        CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap()
    };
    let provider = member("new").await;
    // As a process of an earlier version makes it.
    let earlier = serde_json::json!({
        "id": "member:earlier", "instanceId": "$leases", "type": "member", "v": 1, "name": "earlier", "beat": 1, "seen": 0,
        "role": "worker",
    });
    home.documents().upsert_item("$leases", &earlier).await.unwrap();
    let sent = async |parent: &str, child: &str| {
        send(&provider, start(parent)).await;
        let (_, token) = fetch(&provider).await;
        Turn { messages: vec![start(child)], ..Turn::first(parent) }.ack(&provider, &token).await.unwrap();
        // As the earlier process does that starts, runs and deletes an instance.
        for document in home.all(child).await {
            home.documents().delete_item(child, document["id"].as_str().unwrap()).await.unwrap();
        }
    };
    sent("mixed", "taken-without-a-trace").await;
    let mixed = home.all("mixed").await;
    let delivered = mixed.iter().find(|document| document["type"] == "delivered").unwrap();
    assert!(delivered["ttl"].as_u64().unwrap() <= 600, "the earlier one leaves traces for an hour at most");
    home.documents().delete_item("$leases", "member:earlier").await.unwrap();
    // Until the process has seen that the earlier one is gone.
    let mut n = 0;
    let lost = loop {
        let (parent, child) = (format!("parent-{n}"), format!("lost-{n}"));
        sent(&parent, &child).await;
        if home.all(&*parent).await.iter().any(|document| document["traced"] == true) {
            break child;
        }
        n += 1;
    };
    drop(provider);
    let later = home.provider().await;
    assert_eq!(fetch(&later).await.0.instance, lost);
    later.checked_deliveries().await;
    assert!(fetch_now(&later).await.is_none(), "the other one may have been taken");
    assert!(said.has(&["taken-without-a-trace", "mixed", "not delivered again"]));
}
