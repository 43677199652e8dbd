//! Processes that share a container: each has its part, and what one leaves the others take over.

use std::collections::BTreeSet;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide_cosmonaut::{
    CosmosLeaseProvider, CosmosProvider, CosmosProviderConfig, LeaseProvider, Leases, SLOT_COUNT,
};

use crate::harness::{Account, Home, Server};
use crate::steps::*;

const LEASE: Duration = Duration::from_secs(1);

async fn member(home: &Home, name: &str) -> CosmosProvider {
    let leases = Leases::Container { name: name.into(), lease: LEASE };
    CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap()
}

/// Works on whatever comes until nothing has come for some time.
async fn work(provider: &CosmosProvider) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    while let Some((item, token, _)) = provider.fetch_orchestration_item(LOCK, 4 * LEASE, None).await.unwrap()
    {
        let turn = Turn { status: Some("Completed"), ..Turn::first(&item.instance) };
        turn.ack(provider, &token).await.unwrap();
        seen.insert(item.instance);
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_the_instances_and_none_is_worked_on_twice() {
    let home = Server::shared(Account::OneRegion).home();
    let (first, second) = (member(&home, "first").await, member(&home, "second").await);
    // Both have to be there before the slots can be shared.
    let joined = |provider: CosmosProvider| async move { fetch_now(&provider).await };
    joined(first.clone()).await;
    joined(second.clone()).await;
    for n in 0..60 {
        send(&first, start(&format!("i{n}"))).await;
    }
    let (mine, yours) = tokio::join!(work(&first), work(&second));
    assert!(mine.is_disjoint(&yours));
    assert_eq!(mine.len() + yours.len(), 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_process_had_that_is_gone_is_taken_over() {
    let home = Server::shared(Account::OneRegion).home();
    let (first, second) = (member(&home, "first").await, member(&home, "second").await);
    fetch_now(&first).await;
    fetch_now(&second).await;
    // One dies without a word.
    drop(first);
    for n in 0..40 {
        send(&second, start(&format!("i{n}"))).await;
    }
    assert_eq!(work(&second).await.len(), 40);
}

#[tokio::test]
async fn slots_are_balanced_on_joining_and_leaving_and_never_owned_twice() {
    let home = Server::shared(Account::OneRegion).home();
    home.provider().await;
    let member = |name: &str| CosmosLeaseProvider::new(home.documents(), name, Duration::from_secs(60));
    let members = [member("a"), member("b"), member("c")];
    for _ in 0..4 {
        for member in &members {
            member.renew().await.unwrap();
            for (n, one) in members.iter().enumerate() {
                for other in &members[n + 1..] {
                    assert_eq!(one.owned().without(&other.owned()), one.owned());
                }
            }
        }
    }
    let counts = members.each_ref().map(|member| member.owned().len());
    assert_eq!(counts.iter().sum::<usize>(), SLOT_COUNT);
    assert!(counts.iter().all(|count| (85..=86).contains(count)), "{counts:?}");
    members[0].release().await.unwrap();
    for _ in 0..2 {
        members[1].renew().await.unwrap();
        members[2].renew().await.unwrap();
    }
    assert_eq!(members.each_ref().map(|member| member.owned().len()), [0, 128, 128]);
}

#[tokio::test]
async fn a_process_that_was_paused_past_its_lease_owns_nothing_until_it_renews() {
    let home = Server::shared(Account::OneRegion).home();
    home.provider().await;
    let leases = CosmosLeaseProvider::new(home.documents(), "a", Duration::from_millis(200));
    leases.renew().await.unwrap();
    // The pause itself is what is tested.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(leases.owned().is_empty());
    leases.renew().await.unwrap();
    assert_eq!(leases.owned().len(), SLOT_COUNT);
}
