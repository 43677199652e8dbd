//! What orchestrations do, through the runtime: the patterns that users write.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::ProviderAdmin;
use duroxide::runtime::registry::{ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, Either2, OrchestrationContext, OrchestrationRegistry, RetryPolicy};
use duroxide_cosmonaut::CosmosProvider;

use crate::harness::{Account, Server};

/// How long a test waits for an orchestration.
pub(crate) const LONG: Duration = Duration::from_secs(60);

struct World {
    store: Arc<CosmosProvider>,
    runtime: Arc<Runtime>,
    client: Client,
}

impl World {
    async fn start(
        activities: ActivityRegistryBuilder,
        orchestrations: OrchestrationRegistryBuilder,
    ) -> Self {
        let store = Arc::new(Server::shared(Account::OneRegion).home().provider().await);
        // On a busy machine a turn of megabytes may take an unoptimized emulator longer than the usual lock.
        let options = RuntimeOptions { orchestrator_lock_timeout: LONG, ..RuntimeOptions::default() };
        let (activities, orchestrations) = (activities.build(), orchestrations.build());
        let runtime = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        Self { client: Client::new(store.clone()), store, runtime }
    }

    async fn begin(&self, instance: &str, orchestration: &str, input: &str) {
        self.client.start_orchestration(instance, orchestration, input).await.unwrap();
    }

    /// The output, or why it failed.
    async fn end(&self, instance: &str) -> Result<String, String> {
        match self.client.wait_for_orchestration(instance, LONG).await.unwrap() {
            OrchestrationStatus::Completed { output, .. } => Ok(output),
            OrchestrationStatus::Failed { details, .. } => Err(details.display_message()),
            other => panic!("{instance}: {other:?}"),
        }
    }

    async fn run(&self, orchestration: &str, input: &str) -> Result<String, String> {
        let instance = format!("{orchestration}-{input}");
        self.begin(&instance, orchestration, input).await;
        self.end(&instance).await
    }

    async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

fn activities() -> ActivityRegistryBuilder {
    ActivityRegistry::builder()
        .register("Hello", |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}!")) })
        .register("Double", |_: ActivityContext, n: String| async move {
            n.parse::<u64>().map(|n| (n * 2).to_string()).map_err(|error| format!("{n:?}: {error}"))
        })
        .register("Fail", |_: ActivityContext, why: String| async move { Err::<String, _>(why) })
}

fn orchestrations() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn activities_run_one_after_the_other_by_control_flow_and_all_at_once() {
    let world = World::start(
        activities(),
        orchestrations()
            .register("Chain", |context: OrchestrationContext, n: String| async move {
                let mut n = n;
                while n.len() < 3 {
                    n = context.schedule_activity("Double", n).await?;
                }
                Ok(n)
            })
            .register("Fan", |context: OrchestrationContext, count: String| async move {
                let count: u64 = count.parse().map_err(|_| "no number")?;
                let doubled =
                    (0..count).map(|n| context.schedule_activity("Double", n.to_string())).collect();
                let doubled: Result<Vec<String>, String> = context.join(doubled).await.into_iter().collect();
                Ok(doubled?.join(","))
            }),
    )
    .await;
    assert_eq!(world.run("Chain", "7").await.unwrap(), "112");
    assert_eq!(world.run("Fan", "5").await.unwrap(), "0,2,4,6,8");
    let many: Vec<_> = (0..150).map(|n| (n * 2).to_string()).collect();
    assert_eq!(world.run("Fan", "150").await.unwrap(), many.join(","));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_reach_the_orchestration_which_may_make_up_for_them() {
    let world = World::start(
        activities(),
        orchestrations()
            .register("Careless", |context: OrchestrationContext, why: String| async move {
                context.schedule_activity("Fail", why).await
            })
            .register("Careful", |context: OrchestrationContext, why: String| async move {
                match context.schedule_activity("Fail", why).await {
                    Ok(_) => Err("it should have failed".to_owned()),
                    Err(why) => context.schedule_activity("Hello", why).await,
                }
            })
            .register("Stubborn", |context: OrchestrationContext, why: String| async move {
                context.schedule_activity_with_retry("Fail", why, RetryPolicy::new(3)).await
            })
            .register("Nobody", |context: OrchestrationContext, _: String| async move {
                context.schedule_sub_orchestration("Careless", "below").await
            }),
    )
    .await;
    assert!(world.run("Careless", "broken").await.unwrap_err().contains("broken"));
    assert_eq!(world.run("Careful", "broken").await.unwrap(), "Hello, broken!");
    assert!(world.run("Stubborn", "broken").await.unwrap_err().contains("broken"));
    assert!(world.run("Nobody", "").await.unwrap_err().contains("below"));
    let failed = world.store.list_instances_by_status("Failed").await.unwrap();
    assert!(failed.len() >= 3, "{failed:?}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timers_and_events_race_and_the_first_wins() {
    let world = World::start(
        activities(),
        orchestrations()
            .register("Sleep", |context: OrchestrationContext, ms: String| async move {
                context.schedule_timer(Duration::from_millis(ms.parse().map_err(|_| "no number")?)).await;
                Ok("woken".to_owned())
            })
            .register("Wait", |context: OrchestrationContext, ms: String| async move {
                let timer =
                    context.schedule_timer(Duration::from_millis(ms.parse().map_err(|_| "no number")?));
                match context.select2(context.schedule_wait("approval"), timer).await {
                    Either2::First(by) => Ok(format!("approved by {by}")),
                    Either2::Second(()) => Ok("too late".to_owned()),
                }
            }),
    )
    .await;
    assert_eq!(world.run("Sleep", "50").await.unwrap(), "woken");
    assert_eq!(world.run("Wait", "50").await.unwrap(), "too late");
    world.begin("w", "Wait", "60000").await;
    // An event to an instance that does not wait yet is kept for it only if the instance is there.
    while world
        .client
        .get_orchestration_stats("w")
        .await
        .unwrap()
        .is_none_or(|stats| stats.history_event_count < 3)
    {
        tokio::task::yield_now().await;
    }
    world.client.raise_event("w", "approval", "Ada").await.unwrap();
    assert_eq!(world.end("w").await.unwrap(), "approved by Ada");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_start_others_and_wait_for_them_or_not() {
    let world = World::start(
        activities(),
        orchestrations()
            .register("Child", |context: OrchestrationContext, n: String| async move {
                context.schedule_activity("Double", n).await
            })
            .register("Parent", |context: OrchestrationContext, count: String| async move {
                let count: u64 = count.parse().map_err(|_| "no number")?;
                let children =
                    (0..count).map(|n| context.schedule_sub_orchestration("Child", n.to_string())).collect();
                let results: Result<Vec<String>, String> = context.join(children).await.into_iter().collect();
                context.schedule_orchestration("Child", "detached", "21");
                Ok(results?.join(","))
            }),
    )
    .await;
    assert_eq!(world.run("Parent", "4").await.unwrap(), "0,2,4,6");
    assert_eq!(world.end("detached").await.unwrap(), "42");
    let tree = world.client.get_instance_tree("Parent-4").await.unwrap();
    assert_eq!(tree.all_ids.len(), 5);
    let tree = world.store.tree_summaries("Parent-4").await.unwrap();
    assert_eq!((&*tree[0].instance, tree.len()), ("Parent-4", 5));
    assert!(tree[1..].iter().all(|child| child.parent.as_deref() == Some("Parent-4")), "{tree:?}");
    assert_eq!(world.store.tree_summaries("nobody").await.unwrap(), []);
    let page = world.store.list_summaries_page(Some("Completed"), 4, None).await.unwrap();
    let rest = world.store.list_summaries_page(Some("Completed"), 4, page.continuation).await.unwrap();
    let all: Vec<_> = page.summaries.iter().chain(&rest.summaries).collect();
    assert_eq!((all.len(), rest.continuation), (6, None));
    let child = all.iter().find(|found| found.orchestration.as_deref() == Some("Child")).unwrap();
    assert!(child.completed_at.is_some() && child.events > 0 && child.execution == 1, "{child:?}");
    assert_eq!(world.store.list_summaries_page(Some("Running"), 4, None).await.unwrap(), Default::default());
    assert_eq!(world.client.delete_instance("Parent-4", false).await.unwrap().instances_deleted, 5);
    assert_eq!(world.store.list_instances().await.unwrap(), ["detached"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestration_goes_on_as_a_new_one_with_its_keys_and_its_queue() {
    let world = World::start(
        activities(),
        orchestrations().register("Counter", |context: OrchestrationContext, n: String| async move {
            let n: u64 = n.parse().map_err(|_| "no number")?;
            let message = context.dequeue_event("inbox").await;
            context.set_kv_value("last", message.clone());
            context.set_kv_value(format!("key-{n}"), message);
            context.set_custom_status(format!("{n} read"));
            if n == 4 {
                let values = context.get_kv_all_values();
                let mut keys: Vec<_> =
                    values.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
                keys.sort();
                return Ok(keys.join(" "));
            }
            context.continue_as_new((n + 1).to_string()).await
        }),
    )
    .await;
    world.begin("c", "Counter", "1").await;
    world.client.wait_for_orchestration("c", Duration::from_millis(1)).await.unwrap_err();
    for message in ["a", "b", "c", "d"] {
        world.client.enqueue_event("c", "inbox", message).await.unwrap();
    }
    assert_eq!(world.end("c").await.unwrap(), "key-1=a key-2=b key-3=c key-4=d last=d");
    assert_eq!(world.client.get_kv_value("c", "last").await.unwrap().as_deref(), Some("d"));
    assert_eq!(world.client.list_executions("c").await.unwrap(), [1, 2, 3, 4]);
    let pruned = world.client.prune_executions("c", Default::default()).await.unwrap();
    assert_eq!(pruned.executions_deleted, 3);
    assert_eq!(
        world.client.get_kv_value("c", "key-1").await.unwrap().as_deref(),
        Some("a"),
        "keys outlive it"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_orchestration_ends_and_so_do_its_activities_and_children() {
    let world = World::start(
        ActivityRegistry::builder().register("Endless", |context: ActivityContext, _: String| async move {
            context.cancelled().await;
            Err::<String, _>("cancelled".to_owned())
        }),
        orchestrations()
            .register("Below", |context: OrchestrationContext, _: String| async move {
                context.schedule_activity("Endless", "").await
            })
            .register("Above", |context: OrchestrationContext, _: String| async move {
                context.schedule_sub_orchestration_with_id("Below", "below", "").await
            }),
    )
    .await;
    world.begin("above", "Above", "").await;
    while world.client.get_orchestration_status("below").await.unwrap() == OrchestrationStatus::NotFound {
        tokio::task::yield_now().await;
    }
    world.client.cancel_instance("above", "no need").await.unwrap();
    assert!(world.end("above").await.unwrap_err().contains("no need"));
    assert!(world.end("below").await.is_err());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn activities_of_a_session_stay_together_and_large_payloads_pass() {
    let world = World::start(
        activities().register("Where", |context: ActivityContext, _: String| async move {
            Ok(context.session_id().unwrap_or("none").to_owned())
        }),
        orchestrations()
            .register("Session", |context: OrchestrationContext, session: String| async move {
                let mut seen = Vec::new();
                for _ in 0..3 {
                    seen.push(context.schedule_activity_on_session("Where", "", session.clone()).await?);
                }
                Ok(seen.join(","))
            })
            .register("Echo", |context: OrchestrationContext, text: String| async move {
                context.schedule_activity("Hello", text).await
            }),
    )
    .await;
    assert_eq!(world.run("Session", "s").await.unwrap(), "s,s,s");
    let large = format!("\"ä\n{}", "x".repeat(2_200_000));
    world.begin("echo", "Echo", &large).await;
    assert!(world.end("echo").await.unwrap() == format!("Hello, {large}!"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestration_outlives_the_runtime_that_began_it() {
    let home = Server::shared(Account::OneRegion).home();
    let registry = || {
        orchestrations()
            .register("Patient", |context: OrchestrationContext, _: String| async move {
                let first = context.schedule_activity("Hello", "first").await?;
                let event = context.schedule_wait("go").await;
                let second = context.schedule_activity("Hello", event).await?;
                Ok(format!("{first} {second}"))
            })
            .build()
    };
    let store = Arc::new(home.provider().await);
    let runtime = Runtime::start_with_store(store.clone(), activities().build(), registry()).await;
    let client = Client::new(store.clone());
    client.start_orchestration("p", "Patient", "").await.unwrap();
    while client.get_orchestration_stats("p").await.unwrap().is_none_or(|stats| stats.history_event_count < 4)
    {
        tokio::task::yield_now().await;
    }
    runtime.shutdown(None).await;
    drop((client, store));
    let store = Arc::new(home.provider().await);
    let runtime = Runtime::start_with_store(store.clone(), activities().build(), registry()).await;
    let client = Client::new(store);
    client.raise_event("p", "go", "second").await.unwrap();
    match client.wait_for_orchestration("p", LONG).await.unwrap() {
        OrchestrationStatus::Completed { output, .. } => assert_eq!(output, "Hello, first! Hello, second!"),
        other => panic!("{other:?}"),
    }
    runtime.shutdown(None).await;
}
