//! Instances may be called almost anything.

use duroxide::providers::{Provider, ProviderAdmin, ProviderError};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::Leases;

use crate::harness::{Account, Server};
use crate::steps::*;
use crate::world::World;

#[tokio::test]
async fn any_name_goes_through_every_call() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    for name in ["\"", "'", "a\"b'c", "a/b\\c?d#e", "100 %", "größer 🚀", " space ", "a${x}", "a\nb", "]}"]
    {
        send(&provider, start(name)).await;
        let (item, token) = fetch(&provider).await;
        assert_eq!(item.instance, name);
        let child_name = format!("{name}::child");
        let turn = Turn {
            work: vec![activity(name, 2, "x")],
            messages: vec![child(&child_name, name)],
            ..Turn::first(name)
        };
        turn.ack(&provider, &token).await.unwrap();
        let (_, token) = fetch_work(&provider).await;
        provider.ack_work_item(&token, Some(completion(name, 2))).await.unwrap();
        for _ in 0..2 {
            let (item, token) = fetch(&provider).await;
            let parent = (item.instance == child_name).then(|| name.to_owned());
            let events = if parent.is_some() { vec![started(&child_name, 1)] } else { Vec::new() };
            let turn = Turn { status: Some("Completed"), events, parent, ..Turn::default() };
            turn.ack(&provider, &token).await.unwrap();
        }
        assert_eq!(provider.get_parent_id(&child_name).await.unwrap().as_deref(), Some(name));
        assert_eq!(provider.list_children(name).await.unwrap(), std::slice::from_ref(&child_name));
        let deleted = provider.delete_instance(name, false).await.unwrap();
        assert_eq!(deleted.instances_deleted, 2, "{name:?}");
        assert_eq!(provider.list_instances().await.unwrap(), Vec::<String>::new());
    }
}

/// A permanent error that says why.
fn is_refusal<T>(result: Result<T, ProviderError>) -> bool {
    result.err().is_some_and(|error| !error.is_retryable() && error.message.contains("reserved"))
}

#[tokio::test]
async fn a_name_of_the_providers_own_is_refused_wherever_it_is_used() {
    let home = Server::shared(Account::OneRegion).home();
    let leases = Leases::Container { name: "a".into(), lease: std::time::Duration::from_secs(60) };
    let config = duroxide_cosmonaut::CosmosProviderConfig { leases, ..home.config() };
    let provider = duroxide_cosmonaut::CosmosProvider::connect(config).await.unwrap();
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    assert_eq!(home.count("shares").await, 1);
    for name in ["$leases", "$cleanup", "$session:a", "$"] {
        assert!(is_refusal(provider.enqueue_for_orchestrator(start(name), None).await), "{name}: start");
        assert!(is_refusal(provider.enqueue_for_orchestrator(signal(name, 1), None).await), "{name}: raise");
        assert!(is_refusal(provider.enqueue_for_worker(activity(name, 1, "x")).await), "{name}: work");
        assert!(is_refusal(provider.read(name).await), "{name}: read");
        assert!(is_refusal(provider.get_instance_info(name).await), "{name}: look");
        assert!(is_refusal(provider.prune_executions(name, Default::default()).await), "{name}: prune");
        for force in [false, true] {
            assert!(is_refusal(provider.delete_instance(name, force).await), "{name}: delete");
        }
        let turn = Turn { messages: vec![child(name, "a")], ..Turn::first("a") };
        assert!(is_refusal(turn.ack(&provider, &token).await), "{name}: a child");
    }
    assert_eq!((home.count("shares").await, home.count("message").await), (1, 1), "nothing was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestration_that_names_a_child_so_fails_and_says_why() {
    let orchestrations = OrchestrationRegistry::builder().register(
        "Parent",
        |context: OrchestrationContext, name: String| async move {
            context.schedule_sub_orchestration_with_id("Parent", &name, "").await
        },
    );
    let world = World::start(ActivityRegistry::builder(), orchestrations).await;
    let error = world.run("Parent", "$leases").await.unwrap_err();
    assert!(error.contains("reserved"), "{error}");
    world.stop().await;
}
