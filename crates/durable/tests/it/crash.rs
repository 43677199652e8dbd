//! A process dies at one of its requests, before it is sent or before its answer is there, and another goes on
//! from what is stored.
//!
//! By default a few requests of the scenario are tried; `DURABLE_CRASH_STRIDE=1` tries each of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::FeedScope;
use cosmonaut::fault_injection::{
    FaultInjectionCondition, FaultInjectionResult, FaultInjectionRule, FaultInjector,
};
use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, Event, EventKind, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::Value;

use crate::harness::{Account, Home, Server};

const INSTANCE: &str = "crash";
const PATIENCE: Duration = Duration::from_secs(60);
/// Enough that its turn does not fit in one transaction.
const FAN: u64 = 101;

/// What dies: a runtime and its provider, on threads of their own.
struct Process(Option<tokio::runtime::Runtime>);

impl Process {
    fn start(server: &'static Server, container: &str, faults: FaultInjector) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let container = container.to_owned();
        runtime.spawn(async move {
            let home = Home { client: server.faulty_client(&faults), container };
            let config = CosmosProviderConfig {
                reconciler_interval: Duration::from_millis(200),
                reconciler_age_threshold: Duration::from_millis(200),
                ..home.config()
            };
            // Connecting has its own tests: a process that dies there has done nothing.
            let Ok(store) = CosmosProvider::connect(config).await else { return };
            let options = RuntimeOptions {
                orchestrator_lock_timeout: Duration::from_millis(800),
                orchestrator_lock_renewal_buffer: Duration::from_millis(200),
                worker_lock_timeout: Duration::from_millis(1500),
                worker_lock_renewal_buffer: Duration::from_millis(500),
                worker_concurrency: 8,
                ..RuntimeOptions::default()
            };
            let _running =
                Runtime::start_with_options(Arc::new(store), activities(), orchestrations(), options).await;
            std::future::pending::<()>().await;
        });
        Self(Some(runtime))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // As a killed process does: nothing is finished, nothing is given back.
        self.0.take().into_iter().for_each(tokio::runtime::Runtime::shutdown_background);
    }
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Double", |_: ActivityContext, n: String| async move {
            Ok((2 * n.parse::<u64>().map_err(|error| error.to_string())?).to_string())
        })
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Child", |context: OrchestrationContext, n: String| async move {
            context.schedule_activity("Double", n).await
        })
        .register("Main", |context: OrchestrationContext, round: String| async move {
            let first = round == "1";
            context.set_kv_value("round", round);
            let fan = if first { FAN } else { 3 };
            let doubles = (0..fan).map(|n| context.schedule_activity("Double", n.to_string())).collect();
            let mut sum = 0;
            for double in context.join(doubles).await {
                sum += double?.parse::<u64>().map_err(|error| error.to_string())?;
            }
            context.schedule_timer(Duration::from_millis(20)).await;
            let child = context.schedule_sub_orchestration("Child", sum.to_string()).await?;
            if first {
                return context.continue_as_new("2").await;
            }
            Ok(child)
        })
        .build()
}

fn die_after(faults: &FaultInjector, requests: u64, applied: bool) {
    let rule = |name: &str, result, most| {
        let condition = FaultInjectionCondition { max_hits: most, ..FaultInjectionCondition::default() };
        faults.set(FaultInjectionRule::new(name, result).when(condition));
    };
    rule("pass", FaultInjectionResult::Delay(Duration::ZERO), Some(requests));
    if applied {
        rule("last", FaultInjectionResult::ResponseLost, Some(1));
    }
    rule("dead", FaultInjectionResult::Hang, None);
}

/// Runs the scenario with a process that dies after so many requests; false if it was done before.
async fn run(server: &'static Server, requests: u64, applied: bool) -> bool {
    let home = server.home();
    let store = Arc::new(home.provider().await);
    let client = Client::new(store.clone());
    client.start_orchestration(INSTANCE, "Main", "1").await.unwrap();
    let faults = FaultInjector::new();
    die_after(&faults, requests, applied);
    let process = Process::start(server, &home.container, faults.clone());
    let has_died = tokio::select! {
        ended = client.wait_for_orchestration(INSTANCE, PATIENCE) => ended.is_err(),
        () = async { while faults.hits("dead") == Some(0) { tokio::task::yield_now().await } } => true,
    };
    drop(process);
    let next = Process::start(server, &home.container, FaultInjector::new());
    let place = format!("request {requests}, applied: {applied}");
    match client.wait_for_orchestration(INSTANCE, PATIENCE).await {
        // 2 * (0 + 2 + 4)
        Ok(OrchestrationStatus::Completed { output, .. }) => assert_eq!(output, "12", "{place}"),
        other => panic!("{place}: {other:?}"),
    }
    settle(&home, &place).await;
    drop(next);
    audit(&home, &*store, &place).await;
    has_died
}

/// Waits until nothing is on its way any more. A stage that no turn has come of is left to its time to live.
async fn settle(home: &Home, place: &str) {
    let query = "SELECT VALUE c FROM c WHERE ARRAY_CONTAINS(['message', 'work', 'intent'], c.type)";
    let mut left = Vec::new();
    let nothing = async {
        loop {
            left = home
                .documents()
                .query_items::<Value>(query, FeedScope::Container, None)
                .collect()
                .await
                .unwrap();
            if left.is_empty() {
                return;
            }
        }
    };
    let settled = tokio::time::timeout(PATIENCE, nothing).await;
    assert!(settled.is_ok(), "{place}: never done: {left:?}");
}

/// Every history is whole, every completion was consumed once, and there is one end.
async fn audit(home: &Home, store: &dyn Provider, place: &str) {
    let admin = store.as_management_capability().unwrap();
    assert_eq!(store.get_kv_value(INSTANCE, "round").await.unwrap().as_deref(), Some("2"), "{place}");
    let instances = admin.list_instances().await.unwrap();
    assert_eq!(instances.len(), 3, "{place}: the main one and two children, not {instances:?}");
    for instance in &instances {
        for execution in admin.list_executions(instance).await.unwrap() {
            let history = store.read_with_execution(instance, execution).await.unwrap();
            check(&history, &format!("{place}: {instance} {execution}"));
        }
    }
    for head in home.all(FeedScope::Container).await.iter().filter(|document| document["type"] == "instance")
    {
        assert!(head["stage"].is_null() && head["lock"].is_null(), "{place}: {head}");
    }
}

fn check(history: &[Event], place: &str) {
    let ids: Vec<_> = history.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, (1..=history.len() as u64).collect::<Vec<_>>(), "{place}: without gaps");
    let mut seen = HashSet::new();
    let twice: Vec<_> =
        history.iter().filter_map(|event| event.source_event_id).filter(|id| !seen.insert(*id)).collect();
    assert!(twice.is_empty(), "{place}: completed twice: {twice:?}");
    let is_end = |event: &&Event| {
        matches!(
            event.kind,
            EventKind::OrchestrationCompleted { .. }
                | EventKind::OrchestrationFailed { .. }
                | EventKind::OrchestrationContinuedAsNew { .. }
        )
    };
    assert_eq!(history.iter().filter(is_end).count(), 1, "{place}: one end");
    assert!(history.last().as_ref().is_some_and(is_end), "{place}: at the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_a_process_dies_another_goes_on_from_there() {
    let stride = std::env::var("DURABLE_CRASH_STRIDE").ok().and_then(|text| text.parse().ok()).unwrap_or(199);
    let server = Server::shared(Account::OneRegion);
    let mut at = 4;
    loop {
        let died = [run(server, at, false).await, run(server, at + stride / 2, true).await];
        if died == [false, false] {
            break;
        }
        at += stride;
    }
    assert!(at > 100, "the scenario takes more requests than {at}");
}
