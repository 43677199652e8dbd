//! Instances that need a newer runtime than a process has: they cost that process little, and others run them.

use std::time::Duration;

use duroxide::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, Provider, ProviderAdmin, SemverRange, WorkItem,
};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Leases};
use semver::Version;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

const NEW: Version = Version::new(9, 0, 0);

/// Runtimes of all versions up to one.
fn up_to(major: u64) -> DispatcherCapabilityFilter {
    let range = SemverRange::new(Version::new(0, 0, 0), Version::new(major, 0, 0));
    DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] }
}

/// An instance that a new runtime has begun.
async fn make_pinned(provider: &dyn Provider, instance: &str) {
    send(provider, start(instance)).await;
    let (item, token) = fetch(provider).await;
    assert_eq!(item.instance, instance);
    let metadata = ExecutionMetadata {
        orchestration_name: Some("Test".into()),
        orchestration_version: Some("1.0.0".into()),
        pinned_duroxide_version: Some(NEW),
        ..ExecutionMetadata::default()
    };
    let (events, none) = (vec![started(instance, 1)], Vec::new());
    provider
        .ack_orchestration_item(&token, 1, events, none.clone(), none, metadata, Vec::new())
        .await
        .unwrap();
}

async fn member(home: &Home, name: &str) -> CosmosProvider {
    let leases = Leases::Container { name: name.into(), lease: Duration::from_secs(1) };
    CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap()
}

#[tokio::test]
async fn an_instance_that_no_fetch_can_run_is_not_looked_at_by_each_of_them() {
    const FETCHES: u64 = 60;
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    make_pinned(&provider, "new").await;
    send(&provider, signal("new", 1)).await;
    let (old, poll) = (up_to(1), Duration::from_millis(5));
    let before = provider.usage().requests;
    for _ in 0..FETCHES {
        assert!(provider.fetch_orchestration_item(LOCK, poll, Some(&old)).await.unwrap().is_none());
    }
    let asked = provider.usage().requests - before;
    assert!(asked < FETCHES / 3, "{asked} requests for {FETCHES} fetches that nothing was there for");
    send(&provider, start("old")).await;
    let (item, ..) = provider.fetch_orchestration_item(LOCK, PATIENCE, Some(&old)).await.unwrap().unwrap();
    assert_eq!(item.instance, "old");
    // Who can run it need not wait for the others' pause.
    let fetched = provider.fetch_orchestration_item(LOCK, Duration::ZERO, Some(&up_to(9))).await.unwrap();
    assert_eq!(fetched.unwrap().0.instance, "new");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_the_owner_of_their_slot_cannot_run_are_run_by_a_process_that_can() {
    const COUNT: usize = 8;
    let home = Server::shared(Account::OneRegion).home();
    let alone = home.provider().await;
    for n in 0..COUNT {
        make_pinned(&alone, &format!("i{n}")).await;
    }
    for n in 0..COUNT {
        send(&alone, signal(&format!("i{n}"), 1)).await;
    }
    drop(alone);
    let (old, new) = (member(&home, "old").await, member(&home, "new").await);
    let idle = async {
        loop {
            let fetched = old.fetch_orchestration_item(LOCK, PATIENCE, Some(&up_to(1))).await.unwrap();
            assert!(fetched.is_none(), "{fetched:?}");
        }
    };
    let work = async {
        let mut left: Vec<_> = (0..COUNT).map(|n| format!("i{n}")).collect();
        while !left.is_empty() {
            let fetched = new.fetch_orchestration_item(LOCK, PATIENCE, Some(&up_to(9))).await.unwrap();
            let (item, token, _) = fetched.expect("an instance that only this process can run");
            assert!(matches!(item.messages[..], [WorkItem::ExternalRaised { .. }]));
            let turn = Turn {
                events: vec![scheduled(&item.instance, 2, "x")],
                status: Some("Completed"),
                ..Turn::default()
            };
            turn.ack(&new, &token).await.unwrap();
            left.retain(|name| *name != item.instance);
        }
    };
    tokio::select! {
        () = idle => {}
        () = work => {}
    }
    until("all have ended", async || new.list_instances_by_status("Completed").await.unwrap().len() == COUNT)
        .await;
}
