//! Orchestrations while the account below them fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut_emulator::{Effect, Failover, Fault, Operations, Outage};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};

use crate::harness::{Account, Home, Server};
use crate::world::LONG;

/// A runtime whose orchestration `Sum` adds what many activities and a child give.
pub(crate) async fn start(home: &Home) -> (Arc<Runtime>, Client, Arc<AtomicU64>) {
    let store = Arc::new(home.provider().await);
    let ran = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&ran);
    let activities = ActivityRegistry::builder()
        .register("Square", move |_: ActivityContext, n: String| {
            counter.fetch_add(1, Ordering::Relaxed);
            async move {
                let n: u64 = n.parse().map_err(|error| format!("{n}: {error}"))?;
                Ok((n * n).to_string())
            }
        })
        .build();
    let add = |results: Vec<Result<String, String>>| -> Result<u64, String> {
        results.into_iter().map(|result| result?.parse::<u64>().map_err(|_| "no number".to_owned())).sum()
    };
    let orchestrations = OrchestrationRegistry::builder()
        .register("Leaf", |context: OrchestrationContext, n: String| async move {
            context.schedule_activity("Square", n).await
        })
        .register("Sum", move |context: OrchestrationContext, n: String| async move {
            let n: u64 = n.parse().map_err(|_| "no number".to_owned())?;
            let squares = (0..n).map(|n| context.schedule_activity("Square", n.to_string())).collect();
            let squares = add(context.join(squares).await)?;
            let leaf = context.schedule_sub_orchestration("Leaf", "100").await?;
            Ok((squares + add(vec![Ok(leaf)])?).to_string())
        })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    (runtime, Client::new(store), ran)
}

pub(crate) async fn result(client: &Client, instance: &str) -> String {
    match client.wait_for_orchestration(instance, LONG).await.unwrap() {
        OrchestrationStatus::Completed { output, .. } => output,
        other => panic!("{instance}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_refusals_and_throttling_change_no_result() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let (runtime, client, _) = start(&home).await;
    for (effect, probability) in [
        (Effect::DropResponse, 0.05),
        (Effect::status(cosmonaut::CosmosStatus::SERVICE_UNAVAILABLE), 0.05),
        (Effect::Throttle { retry_after: std::time::Duration::from_millis(10) }, 0.1),
    ] {
        let fault =
            Fault::new(effect).in_container(home.link()).on(Operations::Write).with_probability(probability);
        server.control().add_fault(fault).await.unwrap();
    }
    for n in 0..5 {
        client.start_orchestration(&format!("sum-{n}"), "Sum", "20").await.unwrap();
    }
    for n in 0..5 {
        assert_eq!(result(&client, &format!("sum-{n}")).await, "12470");
    }
    server.control().clear().await.unwrap();
    runtime.shutdown(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_go_on_when_the_region_they_write_to_is_lost() {
    let server = Server::start(Account::ThreeRegions);
    let home = server.home();
    let (runtime, client, ran) = start(&home).await;
    for n in 0..4 {
        client.start_orchestration(&format!("sum-{n}"), "Sum", "30").await.unwrap();
    }
    // In the middle of it, and not before.
    while ran.load(Ordering::Relaxed) < 20 {
        tokio::task::yield_now().await;
    }
    server.control().take_down("East US", Outage::Refuse).await.unwrap();
    server.control().move_writes("West US", Failover::Forced).unwrap();
    for n in 0..4 {
        assert_eq!(result(&client, &format!("sum-{n}")).await, "18555");
    }
    client.start_orchestration("later", "Sum", "3").await.unwrap();
    assert_eq!(result(&client, "later").await, "10005");
    runtime.shutdown(None).await;
}
