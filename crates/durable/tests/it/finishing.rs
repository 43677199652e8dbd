//! What a process that died has left half done is finished by others, soon, and each thing by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use cosmonaut_emulator::{Effect, Fault};
use duroxide::providers::Provider;
use duroxide_cosmonaut::CosmosProvider;
use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

/// Writes down, as a process that dies right after would, that an instance owes the start of another one.
async fn owe(home: &Home, source: &str, target: &str) {
    let intent = json!({
        "id": "o:1.0", "instanceId": source, "type": "intent", "v": 1, "slot": 0, "target": target,
        "targetId": format!("m:o{}.1.0", source.len()), "what": "message", "targetVisibleAt": 0, "visibleAt": 1,
        "body": serde_json::to_string(&start(target)).unwrap(),
    });
    home.documents().create_item(source, &intent).await.unwrap();
}

/// Fetches until all of these have been started.
async fn all_start(provider: &CosmosProvider, wanted: &BTreeSet<String>) {
    let mut left = wanted.clone();
    until(format!("started: {wanted:?}"), async || {
        let fetched = provider.fetch_orchestration_item(LOCK, Duration::from_millis(100), None).await;
        if let Ok(Some((item, token, _))) = fetched {
            Turn::first(&item.instance).ack(provider, &token).await.unwrap();
            left.remove(&item.instance);
        }
        left.is_empty()
    })
    .await;
}

#[tokio::test]
async fn what_is_owed_is_found_in_the_feed_and_needs_no_search() {
    let home = Server::shared(Account::OneRegion).home();
    // A search comes too late for this test.
    let seldom = duroxide_cosmonaut::CosmosProviderConfig {
        reconciler_interval: Duration::from_secs(3600),
        ..home.config()
    };
    let provider = CosmosProvider::connect(seldom).await.unwrap();
    assert!(fetch_now(&provider).await.is_none());
    owe(&home, "gone", "owed").await;
    all_start(&provider, &BTreeSet::from(["owed".to_owned()])).await;
    until("the debt is struck out", async || home.count("intent").await == 0).await;
}

#[tokio::test]
async fn what_was_owed_before_a_process_came_is_found_without_the_head_of_its_instance() {
    let home = Server::shared(Account::OneRegion).home();
    home.provider().await;
    for n in 0..20 {
        owe(&home, &format!("headless-{n}"), &format!("owed-{n}")).await;
    }
    let provider = home.provider().await;
    all_start(&provider, &(0..20).map(|n| format!("owed-{n}")).collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debts_that_cannot_be_paid_delay_no_other() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    home.provider().await;
    let control = server.control();
    let only = control.partitions(&home.link()).unwrap().swap_remove(0).id;
    control.split(&home.link(), only.as_str()).await.unwrap();
    let partitions = control.partitions(&home.link()).unwrap();
    let ranges = home.documents().feed_ranges().await.unwrap();
    let mut halves = [Vec::new(), Vec::new()];
    for n in 0..200 {
        let name = format!("i{n}");
        let range = home.documents().feed_range_of(&*name).await.unwrap();
        halves[usize::from(ranges[1].contains(&range))].push(name);
    }
    let [healthy, stuck] = halves;
    let (sources, targets) = healthy.split_at(healthy.len() / 2);
    // Three debts to the partition that does not answer, and ten to the other one, all owed in the healthy one.
    for (source, target) in sources.iter().take(3).zip(&stuck) {
        owe(&home, source, target).await;
    }
    for (source, target) in sources.iter().skip(3).take(10).zip(targets) {
        owe(&home, source, target).await;
    }
    let effect = Effect::Throttle { retry_after: Duration::from_millis(50) };
    let fault = Fault::new(effect).in_container(home.link()).in_partition(partitions[1].id.clone());
    control.add_fault(fault).await.unwrap();
    let provider = home.provider().await;
    all_start(&provider, &targets.iter().take(10).cloned().collect()).await;
    control.clear().await.unwrap();
    all_start(&provider, &stuck.iter().take(3).cloned().collect()).await;
}
