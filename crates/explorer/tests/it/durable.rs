//! Orchestrations that really run, listed, looked at and steered.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::json;

use crate::World;

/// How long an orchestration may take on a busy machine.
const LONG: Duration = Duration::from_secs(120);
const AT: &str = "database=duroxide&container=duroxide";

async fn run(world: &World) -> (Client, Arc<Runtime>) {
    let config = CosmosProviderConfig::with_client(world.client.clone());
    let store = Arc::new(CosmosProvider::connect(config).await.unwrap());
    let activities = ActivityRegistry::builder()
        .register("Greet", |_: ActivityContext, name: String| async move { Ok(format!("Hello, {name}!")) })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Welcome", |context: OrchestrationContext, name: String| async move {
            context.set_kv_value("guest", name.clone());
            context.schedule_activity("Greet", name).await
        })
        .register("Family", |context: OrchestrationContext, _: String| async move {
            context.schedule_sub_orchestration_with_id("Welcome", "first", "Ada").await?;
            Err::<String, _>("nobody is home".to_owned())
        })
        .register("Wait", |context: OrchestrationContext, _: String| async move {
            Ok(context.schedule_wait("approval").await)
        })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    (Client::new(store), runtime)
}

#[tokio::test(flavor = "multi_thread")]
async fn orchestrations_are_listed_looked_at_and_steered() {
    let world = World::start().await;
    let (client, runtime) = run(&world).await;
    client.start_orchestration("party", "Family", "").await.unwrap();
    client.wait_for_orchestration("party", LONG).await.unwrap();
    client.start_orchestration("order-7", "Wait", "").await.unwrap();
    client.start_orchestration("order-8", "Wait", "").await.unwrap();
    for waiting in ["order-7", "order-8"] {
        while client
            .get_orchestration_stats(waiting)
            .await
            .unwrap()
            .is_none_or(|stats| stats.history_event_count < 2)
        {
            tokio::task::yield_now().await;
        }
    }

    let places = world.get("durable/places").await.good();
    assert_eq!(places["places"], json!([{"database": "duroxide", "container": "duroxide", "usual": true}]));
    let failed = world.get(&format!("durable/list?{AT}&status=Failed")).await.good();
    assert_eq!(failed["instances"][0]["instance"], "party");
    let first = world.get(&format!("durable/list?{AT}&max=1")).await.good();
    assert!(first["next"].is_string(), "{first}");
    let metrics = world.get(&format!("durable/metrics?{AT}")).await.good();
    assert_eq!((&metrics["running"], &metrics["failed"]), (&json!(2), &json!(1)), "{metrics}");
    let over_time = |name: &str| metrics["overTime"][name].as_array().unwrap().last().unwrap().clone();
    assert_eq!((over_time("running"), over_time("messages")), (json!(2), json!(0)), "{metrics}");

    let party = world.get(&format!("durable/instance/party?{AT}")).await.good();
    assert!(party["output"].as_str().unwrap().contains("nobody is home"), "{party}");
    let history = world.get(&format!("durable/instance/party/history?{AT}")).await.good();
    let kinds: Vec<_> =
        history["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds[0], "OrchestrationStarted", "{history}");
    assert!(kinds.contains(&json!("SubOrchestrationScheduled")), "{history}");
    let tree = world.get(&format!("durable/instance/party/tree?{AT}")).await.good();
    assert_eq!(tree["instances"].as_array().unwrap().len(), 2, "{tree}");

    let all = history["events"].as_array().unwrap();
    let rest = world.get(&format!("durable/instance/party/history?{AT}&after=2")).await.good();
    assert_eq!(rest["events"].as_array().unwrap().len(), all.len() - 2, "{rest}");
    let pulse = world.get(&format!("durable/instance/party/pulse?{AT}")).await.good();
    for name in ["status", "execution", "updatedAt"] {
        assert_eq!(pulse[name], party[name], "the page compares the two");
    }
    assert_eq!(pulse["events"], party["executions"][0]["events"], "{pulse}");
    let by_id = world.get(&format!("durable/list?{AT}&id=order-8")).await.good();
    assert_eq!(by_id["instances"].as_array().unwrap().len(), 1, "{by_id}");
    assert_eq!(by_id["instances"][0]["status"], "Running");
    assert_eq!(world.get(&format!("durable/list?{AT}&id=order-9")).await.good()["instances"], json!([]));

    let raise = json!({ "instance": "order-7", "event": "approval", "data": "yes" }).to_string();
    world.post(&format!("durable/raise?{AT}"), &raise).await.good();
    client.wait_for_orchestration("order-7", LONG).await.unwrap();
    let ended = world.post(&format!("durable/raise?{AT}"), &raise).await;
    assert_eq!(ended.status, 409, "{}", ended.body);
    let running = json!({ "instances": ["order-8"] }).to_string();
    let kept = world.post(&format!("durable/delete?{AT}"), &running).await.good();
    assert!(kept["failed"][0]["message"].as_str().unwrap().contains("still runs"), "{kept}");
    client.start_orchestration("order-10", "Wait", "").await.unwrap();
    while client.get_orchestration_stats("order-10").await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let by_force = json!({ "instances": ["order-10"], "force": true }).to_string();
    let gone = world.post(&format!("durable/delete?{AT}"), &by_force).await.good();
    assert_eq!(gone["done"], 1, "{gone}");
    assert_eq!(world.get(&format!("durable/instance/order-10?{AT}")).await.status, 404);
    let cancel = json!({ "instances": ["order-8"], "reason": "late" }).to_string();
    world.post(&format!("durable/cancel?{AT}"), &cancel).await.good();
    client.wait_for_orchestration("order-8", LONG).await.unwrap();
    let delete = json!({ "instances": ["party", "nobody"] }).to_string();
    let gone = world.post(&format!("durable/delete?{AT}"), &delete).await.good();
    assert_eq!((&gone["done"], gone["failed"].as_array().unwrap().len()), (&json!(2), 1), "{gone}");
    assert_eq!(world.get(&format!("durable/instance/party?{AT}")).await.status, 404);
    world.post(&format!("durable/prune?{AT}"), r#"{"keepLast":1}"#).await.good();
    assert_eq!(world.get(&format!("durable/dead?{AT}")).await.good()["dead"], json!([]));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_container_that_is_not_there_is_named_and_not_made() {
    let world = World::start().await;
    let heard = world.get("durable/list?database=a&container=b").await;
    assert_eq!(heard.status, 404, "{}", heard.body);
    assert!(heard.message().contains("a/b"));
    assert_eq!(world.get("databases").await.good()["databases"], json!([]));
}
