//! What a client learns about instances: which there are, their state, executions, histories and families, how many
//! there are of each kind, and what waits in the queues.
//!
//! After the management suite. Sizes and counts of one instance are in `statistics`.

use duroxide::providers::ProviderAdmin;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{EventKind, OrchestrationContext};

use crate::harness::{Account, Server};
use crate::steps::{send, start};
use crate::world::*;

fn shop() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Order", |context: OrchestrationContext, order: String| async move {
            context.schedule_activity("Echo", order).await
        })
        .register("Broken", |context: OrchestrationContext, why: String| async move {
            context.schedule_activity("Fail", why).await
        })
        .register("Patient", |context: OrchestrationContext, _: String| async move {
            Ok(context.schedule_wait("never").await)
        })
        .register("Rounds", |context: OrchestrationContext, n: String| async move {
            match number(&n)? {
                3 => Ok("three".to_owned()),
                n => context.continue_as_new((n + 1).to_string()).await,
            }
        })
        .register("Parent", |context: OrchestrationContext, _: String| async move {
            let children =
                ["one", "two"].map(|id| context.schedule_sub_orchestration_with_id("Order", id, id));
            let results: Result<Vec<String>, String> =
                context.join(children.into()).await.into_iter().collect();
            Ok(results?.join(" "))
        })
}

#[tokio::test]
async fn an_empty_container_has_nothing_and_what_is_not_there_is_not_found() {
    let store = Server::shared(Account::OneRegion).home().provider().await;
    let client = duroxide::Client::new(std::sync::Arc::new(store.clone()));
    assert!(client.has_management_capability());
    assert!(client.list_all_instances().await.unwrap().is_empty());
    for status in ["Running", "Completed", "No such status"] {
        assert!(client.list_instances_by_status(status).await.unwrap().is_empty(), "{status}");
    }
    let metrics = client.get_system_metrics().await.unwrap();
    assert_eq!((metrics.total_instances, metrics.total_executions, metrics.total_events), (0, 0, 0));
    assert_eq!((metrics.running_instances, metrics.completed_instances, metrics.failed_instances), (0, 0, 0));
    let depths = client.get_queue_depths().await.unwrap();
    assert_eq!((depths.orchestrator_queue, depths.worker_queue, depths.timer_queue), (0, 0, 0));
    for error in [
        client.get_instance_info("nobody").await.unwrap_err(),
        client.get_execution_info("nobody", 1).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("not found"), "{error}");
    }
    assert!(client.list_executions("nobody").await.unwrap().is_empty());
    assert!(client.read_execution_history("nobody", 1).await.unwrap().is_empty());
    assert!(client.get_orchestration_stats("nobody").await.unwrap().is_none());
    assert_eq!(store.latest_execution_id("nobody").await.unwrap(), 1);
}

#[tokio::test]
async fn instances_are_listed_and_counted_by_their_status() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), shop()).await;
        for (instance, orchestration) in
            [("o1", "Order"), ("o2", "Order"), ("broken", "Broken"), ("patient", "Patient"), ("r", "Rounds")]
        {
            world.begin(instance, orchestration, "1").await;
        }
        world.until_waiting("patient", "never").await;
        for instance in ["o1", "o2", "r"] {
            world.end(instance).await.unwrap();
        }
        world.end("broken").await.unwrap_err();
        let listed = async |status: &str| {
            let mut instances = world.client.list_instances_by_status(status).await.unwrap();
            instances.sort();
            instances
        };
        assert_eq!(listed("Completed").await, ["o1", "o2", "r"]);
        assert_eq!(listed("Failed").await, ["broken"]);
        assert_eq!(listed("Running").await, ["patient"]);
        assert!(listed("ContinuedAsNew").await.is_empty(), "that is a state of executions");
        assert_eq!(world.client.list_all_instances().await.unwrap().len(), 5);
        let metrics = world.client.get_system_metrics().await.unwrap();
        assert_eq!((metrics.total_instances, metrics.total_executions), (5, 7));
        assert_eq!(
            (metrics.completed_instances, metrics.failed_instances, metrics.running_instances),
            (3, 1, 1)
        );
        let mut events = 0;
        for instance in world.client.list_all_instances().await.unwrap() {
            for execution in world.client.list_executions(&instance).await.unwrap() {
                events += world.client.read_execution_history(&instance, execution).await.unwrap().len();
            }
        }
        assert_eq!(metrics.total_events, events as u64);
        world.stop().await;
    }
}

#[tokio::test]
async fn an_instance_and_its_execution_are_described_as_they_ended() {
    let world = World::start(activities(), shop()).await;
    for (orchestration, input, status, output) in
        [("Order", "tea", "Completed", "tea"), ("Broken", "glass", "Failed", "glass")]
    {
        world.run(orchestration, input).await.unwrap_or_else(|error| error);
        let instance = format!("{orchestration}-{input}");
        let info = world.client.get_instance_info(&instance).await.unwrap();
        assert_eq!(
            (&*info.instance_id, &*info.orchestration_name, &*info.orchestration_version),
            (&*instance, orchestration, "1.0.0")
        );
        assert_eq!((info.current_execution_id, &*info.status), (1, status));
        assert!(info.output.unwrap().contains(output));
        let execution = world.client.get_execution_info(&instance, 1).await.unwrap();
        assert_eq!((execution.execution_id, &*execution.status), (1, status));
        assert!(execution.output.unwrap().contains(output));
        assert!(execution.completed_at.unwrap() >= execution.started_at);
        let history = world.client.read_execution_history(&instance, 1).await.unwrap();
        assert_eq!(execution.event_count, history.len());
        let kinds = [
            |kind: &EventKind| matches!(kind, EventKind::OrchestrationStarted { .. }),
            |kind: &EventKind| matches!(kind, EventKind::ActivityScheduled { .. }),
        ];
        assert_eq!(kinds.map(|kind| count(&history, kind)), [1, 1]);
        let missing = world.client.get_execution_info(&instance, 999).await.unwrap_err();
        assert!(missing.to_string().contains("not found"), "{missing}");
    }
    world.stop().await;
}

#[tokio::test]
async fn each_execution_is_described_and_the_instance_by_its_last() {
    let world = World::start(activities(), shop()).await;
    assert_eq!(world.run("Rounds", "0").await.unwrap(), "three");
    let client = &world.client;
    assert_eq!(client.list_executions("Rounds-0").await.unwrap(), [1, 2, 3, 4]);
    for execution in 1..=4 {
        let info = client.get_execution_info("Rounds-0", execution).await.unwrap();
        let expected = if execution == 4 { "Completed" } else { "ContinuedAsNew" };
        assert_eq!((info.execution_id, &*info.status), (execution, expected));
        let history = client.read_execution_history("Rounds-0", execution).await.unwrap();
        assert!(history.len() == info.event_count && history[0].execution_id == execution);
    }
    let info = client.get_instance_info("Rounds-0").await.unwrap();
    assert_eq!((info.current_execution_id, &*info.status), (4, "Completed"));
    assert_eq!(world.store.latest_execution_id("Rounds-0").await.unwrap(), 4);
    world.stop().await;
}

#[tokio::test]
async fn a_family_is_a_tree_and_each_member_knows_its_place() {
    let world = World::start(activities(), shop()).await;
    world.begin("parent", "Parent", "").await;
    assert_eq!(world.end("parent").await.unwrap(), "one two");
    let tree = world.client.get_instance_tree("parent").await.unwrap();
    let mut all = tree.all_ids.clone();
    all.sort();
    assert_eq!((&*tree.root_id, tree.is_root_only(), tree.size()), ("parent", false, 3));
    assert_eq!(all, ["one", "parent", "two"]);
    let mut children = world.store.list_children("parent").await.unwrap();
    children.sort();
    assert_eq!(children, ["one", "two"]);
    assert!(world.store.list_children("one").await.unwrap().is_empty());
    assert_eq!(world.store.get_parent_id("one").await.unwrap().as_deref(), Some("parent"));
    assert_eq!(world.store.get_parent_id("parent").await.unwrap(), None);
    world.store.get_parent_id("nobody").await.unwrap_err();
    world.stop().await;
}

#[tokio::test]
async fn summaries_come_by_family_and_by_status_page_by_page() {
    let world = World::start(activities(), shop()).await;
    world.begin("parent", "Parent", "").await;
    world.begin("alone", "Order", "x").await;
    assert_eq!(world.end("parent").await.unwrap(), "one two");
    world.end("alone").await.unwrap();
    let tree = world.store.tree_summaries("parent").await.unwrap();
    assert_eq!((&*tree[0].instance, tree.len()), ("parent", 3));
    assert!(tree[1..].iter().all(|child| child.parent.as_deref() == Some("parent")), "{tree:?}");
    assert_eq!(world.store.tree_summaries("nobody").await.unwrap(), []);
    let page = world.store.list_summaries_page(Some("Completed"), 3, None).await.unwrap();
    let rest = world.store.list_summaries_page(Some("Completed"), 3, page.continuation).await.unwrap();
    let all: Vec<_> = page.summaries.iter().chain(&rest.summaries).collect();
    assert_eq!((page.summaries.len(), all.len(), rest.continuation), (3, 4, None));
    let child = all.iter().find(|found| found.instance == "one").unwrap();
    assert_eq!((child.orchestration.as_deref(), child.execution), (Some("Order"), 1));
    assert!(child.completed_at.is_some() && child.events > 0, "{child:?}");
    assert_eq!(world.store.list_summaries_page(Some("Running"), 3, None).await.unwrap(), Default::default());
    world.stop().await;
}

#[tokio::test]
async fn the_queues_are_as_deep_as_what_waits_in_them() {
    let home = Server::shared(Account::OneRegion).home();
    let store = home.provider().await;
    let client = duroxide::Client::new(std::sync::Arc::new(store.clone()));
    let depths = async || {
        let depths = client.get_queue_depths().await.unwrap();
        (depths.orchestrator_queue, depths.worker_queue)
    };
    for n in 0..3 {
        send(&store, start(&format!("i{n}"))).await;
    }
    assert_eq!(depths().await, (3, 0));
    // A runtime without workers leaves the activities where they are.
    let registry = orchestrations()
        .register("Test", |context: OrchestrationContext, _: String| async move {
            context.schedule_activity("Echo", "").await
        })
        .build();
    let idle = RuntimeOptions { worker_concurrency: 0, ..options() };
    let world = World::join(home, idle, activities().build(), registry.clone()).await;
    until("all have had their first turn", async || depths().await == (0, 3)).await;
    let home = world.stop().await;
    let world = World::join(home, options(), activities().build(), registry).await;
    for n in 0..3 {
        world.end(&format!("i{n}")).await.unwrap();
    }
    until("nothing waits", async || depths().await == (0, 0)).await;
    world.stop().await;
}
