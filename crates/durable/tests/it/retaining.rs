//! What has ended is removed when it has been kept long enough.

use std::time::Duration;

use duroxide::providers::ProviderAdmin;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Retention, Swept};

use crate::harness::{Account, Server};
use crate::steps::*;
use crate::world::World;

#[tokio::test]
async fn instances_go_when_they_have_ended_long_enough_ago() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    for (name, status) in [("done", Some("Completed")), ("failed", Some("Failed")), ("runs", None)] {
        make(&provider, name, status).await;
    }
    let keep = |time| Retention { ended_instances: Some(time), ..Retention::default() };
    let hour = Duration::from_secs(3600);
    assert_eq!(provider.sweep(keep(hour)).await.unwrap(), Swept::default(), "they have just ended");
    assert_eq!(provider.sweep(Retention::default()).await.unwrap(), Swept::default(), "all is kept");
    // An end at this very millisecond is not before it.
    crate::world::until("both ended instances are gone", async || {
        provider.sweep(keep(Duration::ZERO)).await.unwrap();
        provider.list_instances().await.unwrap() == ["runs"]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_executions_go_beyond_the_number_that_is_kept() {
    let orchestrations = OrchestrationRegistry::builder().register(
        "Count",
        |context: OrchestrationContext, n: String| async move {
            match n.parse::<u32>().map_err(|error| error.to_string())? {
                0 => Ok("done".to_owned()),
                n => context.continue_as_new((n - 1).to_string()).await,
            }
        },
    );
    let world = World::start(ActivityRegistry::builder(), orchestrations).await;
    for (name, input) in [("long", "4"), ("short", "1")] {
        world.begin(name, "Count", input).await;
        world.end(name).await.unwrap();
    }
    let retention = Retention { executions: Some(3), ..Retention::default() };
    assert_eq!(world.store.sweep(retention).await.unwrap(), Swept { instances: 0, executions: 2 });
    assert_eq!(world.store.list_executions("long").await.unwrap(), [3, 4, 5]);
    assert_eq!(world.store.list_executions("short").await.unwrap(), [1, 2]);
    assert_eq!(world.store.sweep(retention).await.unwrap(), Swept::default());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_removes_by_itself_what_need_not_be_kept() {
    let home = Server::shared(Account::OneRegion).home();
    let at_once = Some(Duration::ZERO);
    let retention = Retention {
        ended_instances: at_once,
        every: Some(Duration::from_millis(20)),
        ..Retention::default()
    };
    let config = CosmosProviderConfig { retention, ..home.config() };
    let provider = CosmosProvider::connect(config).await.unwrap();
    make(&provider, "done", Some("Completed")).await;
    make(&provider, "runs", None).await;
    crate::world::until("the ended instance is gone", async || {
        provider.list_instances().await.unwrap() == ["runs"]
    })
    .await;
}
