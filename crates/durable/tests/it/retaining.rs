//! What has ended is removed when it has been kept long enough.

use std::time::Duration;

use duroxide::providers::{Provider, ProviderAdmin};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Retention, Swept};
use serde_json::Value;

use crate::harness::{Account, Home, Server};
use crate::steps::*;
use crate::world::{World, options, until};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

/// A provider that keeps what it is told to.
async fn keeping(home: &Home, retention: Retention) -> CosmosProvider {
    CosmosProvider::connect(CosmosProviderConfig { retention, ..home.config() }).await.unwrap()
}

/// Sweeps until only these instances are left. An end at this very millisecond is not before it.
async fn sweep_to(provider: &CosmosProvider, left: &[&str]) {
    until(format!("{left:?} is left"), async || {
        provider.sweep().await.unwrap();
        let mut names = provider.list_instances().await.unwrap();
        names.sort();
        names == left
    })
    .await;
}

#[tokio::test]
async fn instances_go_when_they_have_ended_long_enough_ago() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    for (name, status) in [("done", Some("Completed")), ("failed", Some("Failed")), ("runs", None)] {
        make(&provider, name, status).await;
    }
    assert_eq!(provider.sweep().await.unwrap(), Swept::default(), "all is kept");
    let hour = Some(Duration::from_secs(3600));
    let patient = keeping(&home, Retention { ended_instances: hour, ..Retention::default() }).await;
    assert_eq!(patient.sweep().await.unwrap(), Swept::default(), "they have just ended");
    let eager = keeping(&home, Retention { ended_instances: AT_ONCE, ..Retention::default() }).await;
    sweep_to(&eager, &["runs"]).await;
}

#[tokio::test]
async fn an_instance_that_cannot_go_yet_does_not_keep_the_others() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = keeping(&home, Retention { ended_instances: AT_ONCE, ..Retention::default() }).await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    let turn =
        Turn { messages: vec![child("child", "parent")], status: Some("Completed"), ..Turn::first("parent") };
    turn.ack(&provider, &token).await.unwrap();
    let (_, token) = fetch(&provider).await;
    let turn = Turn { parent: Some("parent".into()), ..Turn::first("child") };
    turn.ack(&provider, &token).await.unwrap();
    make(&provider, "done", Some("Completed")).await;
    sweep_to(&provider, &["child", "parent"]).await;
}

#[tokio::test]
async fn an_archived_instance_can_be_looked_at_as_before() {
    let home = Server::shared(Account::OneRegion).home();
    let archive = Home { container: format!("{}-archive", home.container), ..home.clone() };
    let retention = Retention {
        ended_instances: AT_ONCE,
        archive: Some(archive.container.clone()),
        ..Retention::default()
    };
    let provider = keeping(&home, retention.clone()).await;
    make(&provider, "done", Some("Completed")).await;
    make(&provider, "runs", None).await;
    let (info, history) =
        (provider.get_instance_info("done").await.unwrap(), provider.read("done").await.unwrap());
    sweep_to(&provider, &["runs"]).await;
    let archived = archive.provider().await;
    assert_eq!(archived.list_instances().await.unwrap(), ["done"]);
    let found = archived.get_instance_info("done").await.unwrap();
    assert_eq!((found.status, found.output, found.created_at), (info.status, info.output, info.created_at));
    assert_eq!(archived.read("done").await.unwrap(), history);

    // A later instance of the same name takes its place.
    make(&provider, "done", Some("Failed")).await;
    sweep_to(&provider, &["runs"]).await;
    assert_eq!(archived.list_instances_by_status("Failed").await.unwrap(), ["done"]);
    assert_eq!(archived.list_instances().await.unwrap().len(), 1);

    let itself = Retention { archive: Some(home.container.clone()), ..retention };
    let config = CosmosProviderConfig { retention: itself, ..home.config() };
    let error = CosmosProvider::connect(config).await.unwrap_err().to_string();
    assert!(error.contains("must be another container"), "{error}");
}

/// An ended instance with a child that runs.
async fn make_with_running_child(provider: &CosmosProvider) {
    send(provider, start("parent")).await;
    let (_, token) = fetch(provider).await;
    let turn =
        Turn { messages: vec![child("child", "parent")], status: Some("Completed"), ..Turn::first("parent") };
    turn.ack(provider, &token).await.unwrap();
    let (_, token) = fetch(provider).await;
    let turn = Turn { parent: Some("parent".into()), ..Turn::first("child") };
    turn.ack(provider, &token).await.unwrap();
}

#[tokio::test]
async fn an_instance_whose_child_runs_is_not_archived() {
    let home = Server::shared(Account::OneRegion).home();
    let archive = Home { container: format!("{}-archive", home.container), ..home.clone() };
    let retention = Retention {
        ended_instances: AT_ONCE,
        archive: Some(archive.container.clone()),
        ..Retention::default()
    };
    let provider = keeping(&home, retention).await;
    make_with_running_child(&provider).await;
    make(&provider, "done", Some("Completed")).await;
    sweep_to(&provider, &["child", "parent"]).await;
    assert_eq!(archive.provider().await.list_instances().await.unwrap(), ["done"]);
    // It can be worked on as before.
    send(&provider, signal("parent", 1)).await;
    assert_eq!(fetch(&provider).await.0.instance, "parent");
}

#[tokio::test]
async fn instances_that_cannot_go_keep_no_others_however_often_processes_restart() {
    const PAGE: u64 = 100;
    let home = Server::shared(Account::OneRegion).home();
    let retention = Retention { ended_instances: AT_ONCE, ..Retention::default() };
    let provider = keeping(&home, retention.clone()).await;
    make_with_running_child(&provider).await;
    make(&provider, "done", Some("Completed")).await;
    // As many as a sweep looks at, all of which ended before.
    let parent = home.documents().read_item::<Value>("parent", "instance").await.unwrap().into_value();
    let running = home.documents().read_item::<Value>("child", "instance").await.unwrap().into_value();
    for n in 0..PAGE {
        let (name, of) = (format!("parent-{n}"), format!("child-{n}"));
        let (mut parent, mut running) = (parent.clone(), running.clone());
        (parent["instanceId"], parent["state"]["completedAt"]) = (name.clone().into(), (1000 + n).into());
        (running["instanceId"], running["state"]["parent"]) = (of.clone().into(), name.clone().into());
        home.documents().create_item(name, &parent).await.unwrap();
        home.documents().create_item(of, &running).await.unwrap();
    }
    until("the one that may go has gone", async || {
        // Each sweep is another process's first one.
        keeping(&home, retention.clone()).await.sweep().await.unwrap();
        provider.get_instance_info("done").await.is_err()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_executions_go_beyond_the_number_that_is_kept() {
    let orchestrations = OrchestrationRegistry::builder()
        .register("Count", |context: OrchestrationContext, n: String| async move {
            match n.parse::<u32>().map_err(|error| error.to_string())? {
                0 => Ok("done".to_owned()),
                n => context.continue_as_new((n - 1).to_string()).await,
            }
        })
        .build();
    let home = Server::shared(Account::OneRegion).home();
    let store = keeping(&home, Retention { executions: Some(3), ..Retention::default() }).await;
    let activities = ActivityRegistry::builder().build();
    let world = World::on(home, store.into(), options(), activities, orchestrations).await;
    for (name, input) in [("long", "4"), ("short", "1")] {
        world.begin(name, "Count", input).await;
        world.end(name).await.unwrap();
    }
    assert_eq!(world.store.sweep().await.unwrap(), Swept { instances: 0, executions: 2 });
    assert_eq!(world.store.list_executions("long").await.unwrap(), [3, 4, 5]);
    assert_eq!(world.store.list_executions("short").await.unwrap(), [1, 2]);
    assert_eq!(world.store.sweep().await.unwrap(), Swept::default());
    world.stop().await;
}

#[tokio::test]
async fn a_sweep_looks_at_a_bounded_number_of_executions_and_the_next_one_goes_on() {
    const PAGE: u64 = 1000;
    let home = Server::shared(Account::OneRegion).home();
    let provider = keeping(&home, Retention { executions: Some(1), ..Retention::default() }).await;
    for name in ["a", "b"] {
        make(&provider, name, None).await;
    }
    let document = |instance: &str, n: u64| {
        serde_json::json!({
            "id": format!("e:{}", n + 2), "instanceId": instance, "type": "execution", "v": 1,
            "slot": duroxide_cosmonaut::slot_of(instance), "execution": n + 2, "status": "ContinuedAsNew",
            "startedAt": 1, "completedAt": 2, "lastEvent": 0, "events": 0,
        })
    };
    for (instance, count) in [("a", PAGE), ("b", 3)] {
        for n in 0..count {
            home.documents().create_item(instance, document(instance, n)).await.unwrap();
        }
    }
    assert_eq!(provider.sweep().await.unwrap(), Swept { instances: 0, executions: PAGE });
    // Another process goes on.
    let later = keeping(&home, Retention { executions: Some(1), ..Retention::default() }).await;
    assert_eq!(later.sweep().await.unwrap(), Swept { instances: 0, executions: 3 });
    assert_eq!(later.sweep().await.unwrap(), Swept::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_removes_by_itself_what_need_not_be_kept() {
    let home = Server::shared(Account::OneRegion).home();
    let every = Some(Duration::from_millis(20));
    let provider =
        keeping(&home, Retention { ended_instances: AT_ONCE, every, ..Retention::default() }).await;
    make(&provider, "done", Some("Completed")).await;
    make(&provider, "runs", None).await;
    until("the ended instance is gone", async || provider.list_instances().await.unwrap() == ["runs"]).await;
}
