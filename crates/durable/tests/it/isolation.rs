//! What fails delays only itself: one instance, one work item, one partition.

use std::collections::BTreeSet;
use std::time::Duration;

use cosmonaut::Patch;
use cosmonaut_emulator::{Effect, Fault};
use duroxide::providers::{Provider, TagFilter, WorkItem};
use duroxide_cosmonaut::CosmosProvider;
use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

/// What a dispatcher gets that asks again and again, whatever errors there are on the way.
async fn run(provider: &CosmosProvider, wanted: &BTreeSet<String>) {
    let mut left = wanted.clone();
    let all = async {
        while !left.is_empty() {
            let fetched = provider.fetch_orchestration_item(LOCK, Duration::from_millis(100), None).await;
            let Ok(Some((item, token, _))) = fetched else { continue };
            Turn::first(&item.instance).ack(provider, &token).await.unwrap();
            left.remove(&item.instance);
        }
    };
    let done = crate::waiting::timeout(PATIENCE, all).await;
    assert!(done.is_ok(), "starved: {left:?}");
}

fn names(prefix: &str, count: usize) -> BTreeSet<String> {
    (0..count).map(|n| format!("{prefix}-{n}")).collect()
}

#[tokio::test]
async fn instances_that_cannot_be_read_keep_no_other_waiting() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for instance in ["newer-1", "newer-2"] {
        make(&provider, instance, None).await;
        let newer = Patch::new().set("/v", 99);
        home.documents().patch_item(instance, "instance", newer).await.unwrap();
        send(&provider, signal(instance, 1)).await;
    }
    let healthy = names("healthy", 5);
    for instance in &healthy {
        send(&provider, start(instance)).await;
    }
    run(&provider, &healthy).await;
}

#[tokio::test]
async fn a_work_item_that_cannot_be_read_keeps_no_other_waiting() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for instance in ["poisoned", "a", "b"] {
        provider.enqueue_for_worker(activity(instance, 1, "")).await.unwrap();
    }
    let poison = Patch::new().set("/v", 99);
    home.documents().patch_item("poisoned", "w:1:1", poison).await.unwrap();
    let mut left = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
    until("the healthy items are run", async || {
        let fetched = provider.fetch_work_item(LOCK, Duration::ZERO, None, &TagFilter::Any).await;
        if let Ok(Some((WorkItem::ActivityExecute { instance, .. }, token, _))) = fetched {
            provider.ack_work_item(&token, None).await.unwrap();
            left.remove(&instance);
        }
        left.is_empty()
    })
    .await;
}

/// A container of two partitions; gives the id of the second.
pub(crate) async fn in_two(server: &Server, home: &Home) -> String {
    home.provider().await;
    let control = server.control();
    let only = control.partitions(&home.link()).unwrap().swap_remove(0).id;
    control.split(&home.link(), only.as_str()).await.unwrap();
    control.partitions(&home.link()).unwrap().swap_remove(1).id.to_string()
}

/// Some names of instances that are in a half of the container, and some in the other.
async fn halves(home: &Home, count: usize) -> (BTreeSet<String>, BTreeSet<String>) {
    let ranges = home.documents().feed_ranges().await.unwrap();
    let (mut first, mut second) = (BTreeSet::new(), BTreeSet::new());
    for n in 0..1000 {
        let name = format!("i{n}");
        let range = home.documents().feed_range_of(&*name).await.unwrap();
        let half = if ranges[0].contains(&range) { &mut first } else { &mut second };
        if half.len() < count {
            half.insert(name);
        }
    }
    (first, second)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_throttled_delays_only_what_is_in_it() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let throttled = in_two(&server, &home).await;
    let (healthy, stuck) = halves(&home, 4).await;
    let provider = home.provider().await;
    fetch_now(&provider).await;
    // Those of the throttled partition have waited for longer.
    for instance in stuck.iter().chain(&healthy) {
        send(&provider, start(instance)).await;
    }
    let effect = Effect::Throttle { retry_after: Duration::from_millis(50) };
    let fault = Fault::new(effect).in_container(home.link()).in_partition(&*throttled);
    server.control().add_fault(fault).await.unwrap();
    run(&provider, &healthy).await;
    server.control().clear().await.unwrap();
    run(&provider, &stuck).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_is_seen_although_a_partition_cannot_be_read() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let throttled = in_two(&server, &home).await;
    let (healthy, _) = halves(&home, 4).await;
    let effect = Effect::Throttle { retry_after: Duration::from_millis(50) };
    let fault = Fault::new(effect).in_container(home.link()).in_partition(&*throttled);
    server.control().add_fault(fault).await.unwrap();
    let provider = home.provider().await;
    let other = home.provider().await;
    let (_, ()) = tokio::join!(
        async {
            for instance in &healthy {
                send(&other, start(instance)).await;
            }
        },
        run(&provider, &healthy)
    );
    server.control().clear().await.unwrap();
}

#[tokio::test]
async fn events_to_instances_that_do_not_exist_are_not_asked_for_again_and_again() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for n in 0..100 {
        // Long ago, so that it counts as left behind.
        let instance = format!("nobody-{n}");
        let event = json!({
            "id": "m:c1", "instanceId": instance, "type": "message", "v": 1, "slot": 0, "visibleAt": 1,
            "body": serde_json::to_string(&signal(&instance, n)).unwrap(),
        });
        home.documents().create_item(&*instance, &event).await.unwrap();
    }
    // Each is looked at once.
    assert!(fetch_now(&provider).await.is_none());
    let before = provider.usage().requests;
    let fetched = provider.fetch_orchestration_item(LOCK, Duration::from_secs(7), None).await.unwrap();
    assert!(fetched.is_none());
    let asked = provider.usage().requests - before;
    assert!(asked <= 20, "{asked} requests for events that nobody can have");
    // The instance comes after all, and gets its event.
    send(&home.provider().await, start("nobody-7")).await;
    let (item, _) = fetch(&provider).await;
    assert_eq!((&*item.instance, item.messages.len()), ("nobody-7", 2));
}

#[tokio::test]
async fn a_partition_that_splits_is_followed_on() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    let other = home.provider().await;
    assert!(fetch_now(&provider).await.is_none());
    in_two(&server, &home).await;
    let wanted = names("after", 20);
    for instance in &wanted {
        send(&other, start(instance)).await;
    }
    run(&provider, &wanted).await;
    assert_eq!(home.count("message").await, 0);
}
