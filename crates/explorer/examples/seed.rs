//! Fills an account with something to look at: `seed ENDPOINT KEY`. For the check of the explorer in a browser.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{ContainerProperties, CosmosClient, Credential};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};
use serde_json::json;

type Problem = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Problem> {
    let mut arguments = std::env::args().skip(1);
    let (endpoint, key) = arguments.next().zip(arguments.next()).ok_or("seed ENDPOINT KEY")?;
    let client = CosmosClient::new(&endpoint, Credential::master_key(&key)?)?;
    items(&client).await?;
    orchestrations(&client).await
}

async fn items(client: &CosmosClient) -> Result<(), Problem> {
    client.create_database_if_not_exists("shop").await?;
    let shop = client.database("shop");
    shop.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    let orders = shop.container("orders");
    for n in 0..350 {
        let customer = ["contoso", "fabrikam", "adventure"][n % 3];
        let order = json!({
            "id": format!("{n}"),
            "customer": customer,
            "total": n as f64 / 4.0 + 0.25,
            "status": if n % 7 == 0 { "open" } else { "paid" },
            "lines": [{ "product": "lamp", "count": n % 5 }, { "product": "desk", "count": 1 }],
        });
        orders.upsert_item(customer, order).await?;
    }
    let hostile = json!({
        "id": "hostile",
        "customer": "<img src=x onerror=alert(1)>",
        "javascript:alert(1)": "</script><script>window.ran = 1</script>",
        "status": "\u{202e}right to left\u{0007}",
    });
    orders.upsert_item("<img src=x onerror=alert(1)>", hostile).await?;
    let name = "<img src=x onerror=window.ran=1>";
    let hostile = json!({ "id": name, "customer": "hostile", "note": "42", "empty": "", "sum": "=1+1" });
    orders.upsert_item("hostile", hostile).await?;
    Ok(())
}

async fn orchestrations(client: &CosmosClient) -> Result<(), Problem> {
    let store = Arc::new(CosmosProvider::connect(CosmosProviderConfig::with_client(client.clone())).await?);
    let activities = ActivityRegistry::builder()
        .register(
            "Reserve",
            |_: ActivityContext, order: String| async move { Ok(format!("{order} is reserved")) },
        )
        .register("Charge", |_: ActivityContext, order: String| async move {
            if order.ends_with('3') {
                Err("the card was declined".to_owned())
            } else {
                Ok(format!("{order} is paid"))
            }
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Checkout", |context: OrchestrationContext, order: String| async move {
            context.set_custom_status("reserving");
            context.schedule_activity("Reserve", order.clone()).await?;
            context.schedule_timer(Duration::from_millis(200)).await;
            context.set_kv_value("order", order.clone());
            let paid = context.schedule_sub_orchestration("Payment", order).await?;
            context.set_custom_status("done");
            Ok(paid)
        })
        .register("Payment", |context: OrchestrationContext, order: String| async move {
            context.schedule_activity("Charge", order).await
        })
        .register("Approval", |context: OrchestrationContext, _: String| async move {
            context.set_custom_status("waits for somebody");
            Ok(context.schedule_wait("approved").await)
        })
        .build();
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let durable = Client::new(store.clone());
    for n in 1..=5 {
        let instance = format!("order-{n}");
        durable.start_orchestration(&instance, "Checkout", &instance).await?;
    }
    for n in 1..=5 {
        durable.wait_for_orchestration(&format!("order-{n}"), Duration::from_secs(120)).await?;
    }
    for waiting in ["approval-1", "<img src=x onerror=window.ran=1>"] {
        durable.start_orchestration(waiting, "Approval", "").await?;
        while durable
            .get_orchestration_stats(waiting)
            .await?
            .is_none_or(|stats| stats.history_event_count < 2)
        {
            tokio::task::yield_now().await;
        }
    }
    runtime.shutdown(None).await;
    given_up(&durable, store).await
}

/// An instance that has stopped for good, as nobody can run its activity.
async fn given_up(durable: &Client, store: Arc<CosmosProvider>) -> Result<(), Problem> {
    let orchestrations = OrchestrationRegistry::builder()
        .register("Ask", |context: OrchestrationContext, input: String| async move {
            context.schedule_activity("Nobody", input).await
        })
        .build();
    let options = RuntimeOptions { max_attempts: 1, ..RuntimeOptions::default() };
    let activities = ActivityRegistry::builder().build();
    let runtime = Runtime::start_with_options(store, activities, orchestrations, options).await;
    durable.start_orchestration("lost", "Ask", "7").await?;
    durable.wait_for_orchestration("lost", Duration::from_secs(120)).await?;
    runtime.shutdown(None).await;
    Ok(())
}
