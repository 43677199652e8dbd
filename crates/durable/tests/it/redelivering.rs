//! What was delivered and is gone is delivered again, whoever was there to see that it went; what was taken is not.

use std::time::Duration;

use cosmonaut::FeedScope;
use cosmonaut_emulator::{Effect, Failover, Fault, Operations};
use duroxide::providers::{ExecutionMetadata, Provider, ProviderAdmin, ScheduledActivityIdentifier};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};
use serde_json::{Value, json};

use crate::harness::{Account, Home, Server};
use crate::losses::{WEST, apart, has_lost, partition_of, replicated};
use crate::steps::*;
use crate::world::{LONG, until};

/// The same container, for a process that has seen nothing of it.
fn elsewhere(server: &Server, home: &Home) -> Home {
    Home { client: server.client(), ..home.clone() }
}

/// Lets a parent send messages in one turn.
async fn sent(provider: &CosmosProvider, parent: &str, messages: Vec<duroxide::providers::WorkItem>) {
    send(provider, start(parent)).await;
    let (item, token) = fetch(provider).await;
    assert_eq!(item.instance, parent);
    Turn { messages, ..Turn::first(parent) }.ack(provider, &token).await.unwrap();
}

/// Takes from a target what was delivered to it, as a failover does that loses its last writes.
async fn lose(home: &Home, target: &str) {
    for document in home.all(target).await {
        let id = document["id"].as_str().unwrap();
        home.documents().delete_item(target, id).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_lost_while_no_process_ran_is_delivered_again() {
    let server = Server::start(Account::MovingPartitions);
    let home = server.home();
    let [(parent, _), (child, partition)] = apart(&server, &home).await;
    let provider = home.provider().await;
    make(&provider, &parent, None).await;
    send(&provider, signal(&parent, 1)).await;
    replicated(&server, &home).await;
    server.control().pause(None, None).unwrap();
    let (_, token) = fetch(&provider).await;
    let (events, messages) = (vec![scheduled(&parent, 2, "x")], vec![start(&child)]);
    Turn { events, messages, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    drop(provider);
    let moved = server.control().move_partition(&home.link(), &partition, WEST, Failover::Forced);
    has_lost(moved.unwrap().lost);
    server.control().resume(None, None).unwrap();

    let later = elsewhere(&server, &home).provider().await;
    let (item, token) = fetch(&later).await;
    assert_eq!((&*item.instance, item.messages), (&*child, vec![start(&child)]));
    Turn::first(&child).ack(&later, &token).await.unwrap();
}

#[tokio::test]
async fn what_was_taken_is_not_taken_again_however_often_processes_start_and_starting_asks_little() {
    const COUNT: usize = 60;
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    let names: Vec<_> = (0..COUNT).map(|n| format!("child-{n}")).collect();
    let messages = names.iter().map(|name| start(name)).collect();
    sent(&provider, "parent", messages).await;
    for _ in 0..COUNT {
        let (item, token) = fetch(&provider).await;
        Turn { status: Some("Completed"), ..Turn::first(&item.instance) }
            .ack(&provider, &token)
            .await
            .unwrap();
    }
    assert_eq!(home.count("delivered").await, COUNT);
    for _ in 0..2 {
        let later = home.provider().await;
        assert!(fetch_now(&later).await.is_none());
        later.checked_deliveries().await;
        assert!(fetch_now(&later).await.is_none(), "each child was started before");
        let (calls, background) = (later.usage(), later.background_usage());
        let (asked, charge) = (calls.requests + background.requests, calls.charge + background.charge);
        println!("{asked} requests and {charge:.0} RU to start with {COUNT} messages of the last minutes");
        assert!(asked < COUNT as u64 / 2, "{asked} requests for {COUNT} messages");
        assert!(charge < COUNT as f64, "{charge:.0} RU for {COUNT} messages");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_asks_each_partition_once_however_much_was_sent() {
    const PARTITIONS: usize = 16;
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    for _ in 0..PARTITIONS.ilog2() {
        for partition in server.control().partitions(&home.link()).unwrap() {
            server.control().split(&home.link(), &partition.id.to_string()).await.unwrap();
        }
    }
    sent(&provider, "parent", (0..1000).map(|n| start(&format!("child-{n}"))).collect()).await;
    drop(provider);
    let later = elsewhere(&server, &home).provider().await;
    assert!(fetch_now(&later).await.is_some());
    later.checked_deliveries().await;
    let asked = later.background_usage().requests;
    println!("{asked} requests to start with {PARTITIONS} partitions");
    assert!(asked < 15 * PARTITIONS as u64, "{asked} requests for {PARTITIONS} partitions");
}

/// An instance schedules an activity of another one.
async fn give_work_to_another(provider: &CosmosProvider) {
    send(provider, start("parent")).await;
    let (_, token) = fetch(provider).await;
    let turn = Turn { work: vec![activity("other", 7, "x")], ..Turn::first("parent") };
    turn.ack(provider, &token).await.unwrap();
}

#[tokio::test]
async fn work_for_another_instance_that_was_done_is_not_done_again() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    give_work_to_another(&provider).await;
    let (item, token) = fetch_work(&provider).await;
    assert_eq!(item, activity("other", 7, "x"));
    provider.ack_work_item(&token, None).await.unwrap();
    let later = home.provider().await;
    assert!(work_now(&later).await.is_none());
    later.checked_deliveries().await;
    assert!(work_now(&later).await.is_none(), "it was done before");
}

#[tokio::test]
async fn work_for_another_instance_that_was_got_rid_of_does_not_come_back() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    give_work_to_another(&provider).await;
    let damage = cosmonaut::Patch::new().set("/attempts", "many");
    home.documents().patch_item("other", "w:1:7", damage).await.unwrap();
    assert_eq!(provider.terminate_dead("other").await.unwrap().len(), 1);
    let later = home.provider().await;
    assert!(work_now(&later).await.is_none());
    later.checked_deliveries().await;
    assert!(work_now(&later).await.is_none(), "nobody wants it any more");
}

#[tokio::test]
async fn work_for_another_instance_that_was_cancelled_does_not_come_back() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    give_work_to_another(&provider).await;
    send(&provider, signal("parent", 1)).await;
    let (_, token) = fetch(&provider).await;
    let cancelled = ScheduledActivityIdentifier { instance: "other".into(), execution_id: 1, activity_id: 7 };
    let (events, metadata) = (vec![scheduled("parent", 2, "x")], ExecutionMetadata::default());
    let (work, messages) = (Vec::new(), Vec::new());
    provider
        .ack_orchestration_item(&token, 1, events, work, messages, metadata, vec![cancelled])
        .await
        .unwrap();
    let kept = async |instance: &str, kind: &str| {
        let all = home.all(instance).await;
        all.iter().find(|document| document["type"] == kind).unwrap()["ttl"].as_u64().unwrap()
    };
    let (delivered, trace) = (kept("parent", "delivered").await, kept("other", "cancelled").await);
    assert!(trace >= 2 * delivered, "{trace} seconds, and the delivery {delivered}");
    // Not even when nothing else is left of the instance.
    provider.delete_instances_atomic(&["other".to_owned()], true).await.unwrap();
    let later = home.provider().await;
    assert!(work_now(&later).await.is_none());
    later.checked_deliveries().await;
    assert!(work_now(&later).await.is_none(), "nobody wants it any more");
}

#[tokio::test]
async fn an_unreadable_delivery_does_not_keep_others_from_being_made_again() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    sent(&provider, "parent", vec![start("child")]).await;
    let slot = duroxide_cosmonaut::slot_of("parent");
    for (id, v) in [("o:0.0", 1), ("o:0.1", 99)] {
        let strange = json!({"id": id, "instanceId": "parent", "type": "delivered", "v": v, "slot": slot});
        home.documents().create_item("parent", &strange).await.unwrap();
    }
    drop(provider);
    lose(&home, "child").await;
    let later = home.provider().await;
    assert_eq!(fetch(&later).await.0.instance, "child");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_does_not_answer_keeps_no_other_from_what_it_has_lost() {
    let server = Server::start(Account::MovingPartitions);
    let home = server.home();
    let [(parent, near), (far, silent)] = apart(&server, &home).await;
    let mut n = 0;
    let beside = loop {
        let name = format!("beside-{n}");
        if partition_of(&server, &home, &name).await == near {
            break name;
        }
        n += 1;
    };
    let provider = home.provider().await;
    sent(&provider, &parent, vec![start(&far), start(&beside)]).await;
    drop(provider);
    for child in [&far, &beside] {
        lose(&home, child).await;
    }
    let effect = Effect::Throttle { retry_after: Duration::from_millis(1) };
    let fault = Fault::new(effect).in_container(home.link()).in_partition(&*silent).on(Operations::Read);
    server.control().add_fault(fault).await.unwrap();
    let later = elsewhere(&server, &home).provider().await;
    let (item, token) = fetch(&later).await;
    assert_eq!(item.instance, beside, "its partition answers");
    Turn::first(&beside).ack(&later, &token).await.unwrap();
    server.control().clear().await.unwrap();
    assert_eq!(fetch(&later).await.0.instance, far);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_over_the_slots_of_a_process_delivers_again_what_that_had_sent() {
    let home = Server::shared(Account::OneRegion).home();
    let lease = Duration::from_secs(1);
    let member = async |name: &str| {
        let leases = Leases::Container { name: name.into(), lease };
        CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap()
    };
    let first = member("first").await;
    sent(&first, "parent", vec![start("child")]).await;
    let second = member("second").await;
    assert!(fetch_now(&second).await.is_none());
    lose(&home, "child").await;
    first.release().await.unwrap();
    drop(first);
    assert_eq!(fetch(&second).await.0.instance, "child");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_has_seen_of_a_failover_all_others_hear_of() {
    let home = Server::shared(Account::OneRegion).home();
    let leases = Leases::Container { name: "first".into(), lease: Duration::from_secs(1) };
    let config = CosmosProviderConfig { leases, ..home.config() };
    let provider = CosmosProvider::connect(config).await.unwrap();
    sent(&provider, "parent", vec![start("child")]).await;
    let record = async || -> Option<Value> {
        let found = home.all("$leases").await;
        found.into_iter().find(|document| document["type"] == "failovers")
    };
    until("the versions of the partitions are written down", async || record().await.is_some()).await;
    provider.checked_deliveries().await;
    lose(&home, "child").await;
    // As another process writes it that is told of a newer version of a partition.
    let mut changed = record().await.unwrap();
    for version in changed["versions"].as_object_mut().unwrap().values_mut() {
        *version = (version.as_i64().unwrap() + 1).into();
    }
    home.documents().upsert_item("$leases", &changed).await.unwrap();
    assert_eq!(fetch(&provider).await.0.instance, "child");
    assert!(home.all(FeedScope::Container).await.iter().all(|document| document["type"] != "intent"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_fails_over_alone_takes_nothing_from_instances_of_other_processes() {
    let server = Server::start(Account::MovingPartitions);
    let home = server.home();
    let [(parent, _), (child, partition)] = apart(&server, &home).await;
    let member = async |name: &str| {
        let leases = Leases::Container { name: name.into(), lease: Duration::from_secs(3) };
        CosmosProvider::connect(CosmosProviderConfig { leases, ..elsewhere(&server, &home).config() })
            .await
            .unwrap()
    };
    let members = [member("one").await, member("two").await];
    // Each has the half of the slots that is one of the partitions, and has seen something of it.
    for instance in [&parent, &child] {
        send(&members[0], signal(instance, 0)).await;
    }
    until("both have their share", async || {
        for member in &members {
            assert!(fetch_now(member).await.is_none());
        }
        let table = home.documents().read_item::<Value>("$leases", "shares").await;
        table.is_ok_and(|table| table.value()["shares"].as_array().is_some_and(|all| all.len() == 2))
    })
    .await;
    send(&members[0], start(&parent)).await;
    let (owner, token) = async {
        loop {
            for (n, member) in members.iter().enumerate() {
                if let Some((item, token)) = fetch_now(member).await {
                    assert_eq!(item.instance, parent);
                    return (n, token);
                }
            }
        }
    }
    .await;
    replicated(&server, &home).await;
    server.control().pause(None, None).unwrap();
    Turn { messages: vec![start(&child)], ..Turn::first(&parent) }
        .ack(&members[owner], &token)
        .await
        .unwrap();
    let moved = server.control().move_partition(&home.link(), &partition, WEST, Failover::Forced);
    has_lost(moved.unwrap().lost);
    server.control().resume(None, None).unwrap();

    // Whoever has the slot of the child, only the other process knows what was sent to it.
    let both = async { tokio::join!(taken(&members[0], &child), taken(&members[1], &child)) };
    let (first, second) = crate::waiting::timeout(LONG, both).await.expect("the child is started");
    assert_eq!(usize::from(first) + usize::from(second), 1, "the child is started once");
}

/// Whether a process gets to start an instance; until another one has.
async fn taken(provider: &CosmosProvider, instance: &str) -> bool {
    loop {
        let fetched = provider.fetch_orchestration_item(LOCK, Duration::from_secs(1), None).await;
        if let Ok(Some((item, token, _))) = fetched {
            assert_eq!(item.instance, instance);
            let turn = Turn { status: Some("Completed"), ..Turn::first(instance) };
            turn.ack(provider, &token).await.unwrap();
            return true;
        }
        if provider.list_instances().await.is_ok_and(|all| all.iter().any(|name| name == instance)) {
            return false;
        }
    }
}
