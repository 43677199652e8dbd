//! Processes that share a container: each has its part, and what one leaves the others take over.

use std::collections::BTreeSet;
use std::time::Duration;

use duroxide::providers::{Provider, ProviderAdmin, SessionFetchConfig, TagFilter, WorkItem};
use duroxide_cosmonaut::{
    CosmosLeaseProvider, CosmosProvider, CosmosProviderConfig, LeaseProvider, Leases, Role, SLOT_COUNT,
};

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::until;

const LEASE: Duration = Duration::from_secs(1);

async fn member(home: &Home, name: &str) -> CosmosProvider {
    let leases = Leases::Container { name: name.into(), lease: LEASE };
    CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await.unwrap()
}

/// Works on whatever comes until so many instances have ended.
async fn work(provider: &CosmosProvider, count: usize) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    until(format!("{count} instances have ended"), async || {
        let fetched = provider.fetch_orchestration_item(LOCK, LEASE, None).await.unwrap();
        if let Some((item, token, _)) = fetched {
            let turn = Turn { status: Some("Completed"), ..Turn::first(&item.instance) };
            turn.ack(provider, &token).await.unwrap();
            assert!(seen.insert(item.instance), "an instance is started twice");
            return false;
        }
        provider.list_instances_by_status("Completed").await.unwrap().len() == count
    })
    .await;
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
    let (mine, yours) = tokio::join!(work(&first, 60), work(&second, 60));
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
    assert_eq!(work(&second, 40).await.len(), 40);
}

#[tokio::test]
async fn slots_are_balanced_on_joining_and_leaving_and_never_owned_twice() {
    let home = Server::shared(Account::OneRegion).home();
    home.provider().await;
    let member = |name: &str| CosmosLeaseProvider::new(home.documents(), name, Duration::from_secs(60));
    let members = [member("a"), member("b"), member("c")];
    for _ in 0..4 {
        for member in &members {
            member.renew(Role::Leader).await.unwrap();
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
        members[1].renew(Role::Leader).await.unwrap();
        members[2].renew(Role::Leader).await.unwrap();
    }
    assert_eq!(members.each_ref().map(|member| member.owned().len()), [0, 128, 128]);
}

#[tokio::test]
async fn a_process_that_was_paused_past_its_lease_owns_nothing_until_it_renews() {
    let home = Server::shared(Account::OneRegion).home();
    home.provider().await;
    let leases = CosmosLeaseProvider::new(home.documents(), "a", Duration::from_millis(200));
    leases.renew(Role::Leader).await.unwrap();
    // The pause itself is what is tested.
    crate::waiting::sleep(Duration::from_millis(200)).await;
    assert!(leases.owned().is_empty());
    until("it has renewed in time", async || {
        leases.renew(Role::Leader).await.unwrap();
        leases.owned().len() == SLOT_COUNT
    })
    .await;
}

/// Two processes that have each a part of the slots.
async fn pair(home: &Home) -> (CosmosProvider, CosmosProvider) {
    let (first, second) = (member(home, "first").await, member(home, "second").await);
    for provider in [&first, &second, &first, &second] {
        fetch_now(provider).await;
    }
    (first, second)
}

/// Instances of all slots that a test needs, each with an activity of this kind.
async fn enqueue(provider: &CosmosProvider, session: Option<&str>, tag: Option<&str>) -> BTreeSet<String> {
    let mut instances = BTreeSet::new();
    for n in 0..20 {
        let instance = format!("i{n}");
        let mut item = activity(&instance, 1, "");
        if let WorkItem::ActivityExecute { session_id, tag: tag_of, .. } = &mut item {
            (*session_id, *tag_of) = (session.map(Into::into), tag.map(Into::into));
        }
        provider.enqueue_for_worker(item).await.unwrap();
        instances.insert(instance);
    }
    instances
}

/// Takes and completes work until all of it is done.
async fn finish(
    provider: &CosmosProvider,
    session: Option<&SessionFetchConfig>,
    tags: &TagFilter,
    mut instances: BTreeSet<String>,
) {
    while !instances.is_empty() {
        let fetched = provider.fetch_work_item(LOCK, PATIENCE, session, tags).await.unwrap();
        let (item, token, _) = fetched.unwrap_or_else(|| panic!("left behind: {instances:?}"));
        let WorkItem::ActivityExecute { instance, .. } = item else { panic!("{item:?}") };
        provider.ack_work_item(&token, None).await.unwrap();
        assert!(instances.remove(&instance), "{instance} comes twice");
    }
}

#[tokio::test]
async fn activities_whose_tag_only_another_process_takes_go_there_whatever_slot_they_are_in() {
    let home = Server::shared(Account::OneRegion).home();
    let (first, second) = pair(&home).await;
    let tagged = enqueue(&first, None, Some("gpu")).await;
    finish(&second, None, &TagFilter::tags(["gpu"]), tagged).await;
    assert!(work_now(&first).await.is_none());
}

#[tokio::test]
async fn activities_of_a_session_go_to_the_worker_that_has_it_whatever_slot_they_are_in() {
    let home = Server::shared(Account::OneRegion).home();
    let (first, second) = pair(&home).await;
    let worker = |name: &str| SessionFetchConfig { owner_id: name.into(), lock_timeout: LOCK };
    let (mine, yours) = (worker("mine"), worker("yours"));
    let of_session = enqueue(&first, Some("s"), None).await;
    let taken = second.fetch_work_item(LOCK, PATIENCE, Some(&mine), &TagFilter::Any).await.unwrap();
    let (_, token, _) = taken.unwrap();
    second.abandon_work_item(&token, None, true).await.unwrap();
    let other = first.fetch_work_item(LOCK, Duration::ZERO, Some(&yours), &TagFilter::Any).await.unwrap();
    assert!(other.is_none(), "the session has an owner: {other:?}");
    finish(&second, Some(&mine), &TagFilter::Any, of_session).await;
}

#[tokio::test]
async fn a_process_that_only_works_on_activities_keeps_no_instance_from_the_others() {
    let home = Server::shared(Account::OneRegion).home();
    let (worker, leader) = (member(&home, "worker").await, member(&home, "leader").await);
    assert!(work_now(&worker).await.is_none());
    for n in 0..20 {
        send(&worker, start(&format!("i{n}"))).await;
    }
    assert_eq!(work(&leader, 20).await.len(), 20);
    // Nor does one that has all slots keep activities to itself which it does not want.
    let activities = enqueue(&leader, None, None).await;
    finish(&worker, None, &TagFilter::Any, activities).await;
    // What was there before a process came is there for it, too.
    let activities = enqueue(&leader, None, Some("late")).await;
    let late = member(&home, "late").await;
    finish(&late, None, &TagFilter::tags(["late"]), activities).await;
}
